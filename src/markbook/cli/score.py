"""`markbook score`: quick marks for a file of candidates and references."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import Grouped, completing, fail_under_option, options_of, part_names, say
from markbook.errors import DataError, StrictDataError, UsageError, misspelt
from markbook.judge.judge_options import JudgeOptions
from markbook.option import parameter_name
from markbook.row_keys import SCORE_KEYS, find_failure, parse_map
from markbook.text import cut
from markbook.text.format import NOTHING, Scale, format_level, format_number
from markbook.types import Measurement, Metric, Summary

if TYPE_CHECKING:
    from markbook.files.jsonl import Line, Rejection
    from markbook.judge.assess import PanelAgreement
    from markbook.results.gates import GateMark

INCOMPLETE = 3
_BATCH = 2_000
"""Rows that are read and marked at a time, by each worker."""
_EXAMPLES = """
\b
Examples:
  markbook score rougeL answers.jsonl
  markbook score bleu,rouge_score,meteor answers.jsonl --json
  markbook score bleu answers.jsonl --option tokenize=intl \\
      --option lowercase=true
  markbook score judge answers.jsonl --rubric helpfulness \\
      --judge openai:gpt-4o-mini --cassette judged.jsonl
  markbook score exact_match answers.csv \\
      --map candidate=answer,reference=gold
  cat answers.jsonl | markbook score rougeL -
  markbook score edit_distance answers.jsonl --fail-under edit_distance=0.3
"""


@click.command("score", cls=Grouped, epilog=_EXAMPLES)
@click.argument("metrics", shell_complete=completing(part_names("metrics")))
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--map",
    "columns",
    metavar="KEY=COLUMN,...",
    default="",
    help="Columns or keys of the file. KEY: candidate, reference, references, question, context.",
)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the metric; repeat.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("--rows", is_flag=True, help="Print one JSON object per row instead of the summary.")
@click.option("--strict", is_flag=True, help="Stop with exit 65 at the first row that cannot be read.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap.")
@click.option("--rubric", help="Rubric of the metric `judge`: a built-in name, or a .yaml file.")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="PROVIDER:NAME",
    help="The judge; repeat for a panel. PROVIDER:NAME@URL names its server.",
)
@options_of(JudgeOptions)
@fail_under_option("a metric")
def command(  # noqa: PLR0913 - one argument an option, as click wants it
    metrics: str,
    file: Path,
    options: tuple[str, ...],
    fail_under: tuple[str, ...],
    *,
    columns: str,
    as_json: bool,
    rows: bool,
    strict: bool,
    workers: int,
    seed: int,
    rubric: str | None,
    judges: tuple[str, ...],
    **judging: Any,
) -> int:
    """Score the rows {"candidate": .., "reference": .. or "references": [..]} of FILE with METRICS.

    FILE is JSON Lines, JSON, CSV, TSV or Parquet, or - for JSON Lines on standard input. The metric `judge` also reads
    "question" and "context".
    """
    from markbook.judge.metric import LOST_SAMPLES, JudgeMetric
    from markbook.metrics.measure import expand, measure_rows
    from markbook.plugins import create
    from markbook.results.gates import check_gates, hold_gates, parse_gates
    from markbook.results.summary import MeasurementTally

    named = parse_map(columns, SCORE_KEYS, "candidate=COLUMN,reference=COLUMN") if columns else {}
    names = expand([name.strip() for name in metrics.split(",") if name.strip()])
    if not names:
        raise UsageError("no metric is named", hint="`markbook list metrics` shows them")
    metric_options = _options(options, names)
    gates = parse_gates(fail_under)
    if "judge" in names:
        metric_options = _add_judging(metric_options, rubric, judges, judging)
    metrics_made = _make_metrics(names, metric_options)
    check_gates(gates, _marks(metrics_made))
    needs_reference = any(metric.needs_reference for metric in metrics_made.values())
    # Some values hang on the whole batch, and `--strict` wants every row read before any is marked.
    size = sys.maxsize if strict or any(metric.whole_batch for metric in metrics_made.values()) else _BATCH * workers
    tallies = {name: MeasurementTally(metric) for name, metric in metrics_made.items()}
    panels: dict[str, PanelAgreement] = {}
    lost: Counter[str] = Counter()
    skipped = 0
    # One worker is this process: a pool would only send the rows to and fro.
    with create("engines", "local", workers=workers) if workers > 1 else nullcontext() as executor:
        keep = any(isinstance(metric, JudgeMetric) and metric.rubric.row for metric in metrics_made.values())
        for read in _read(file, named, size, strict=strict, needs_reference=needs_reference, keep_rows=keep):
            measurements = measure_rows(
                metrics_made, read.candidates, read.references, metric_options, executor=executor, **read.beside
            )
            for name, tally in tallies.items():
                tally.add(measurements[name])
            for name, metric in metrics_made.items():
                if name in names and isinstance(metric, JudgeMetric):
                    lost[name] += metric.count_lost(measurements[name])
                    agreement = metric.agreement(measurements[name])
                    panels |= {} if agreement is None else {name: agreement}
            skipped += len(read.problems)
            for problem in read.problems:
                say(f"markbook: {problem}")
            if rows:
                _print_rows(read, measurements)
    summaries = {name: tally.summary(seed=seed) for name, tally in tallies.items()}
    count = next(iter(tallies.values())).count
    if as_json and not rows:
        report = {
            "file": str(file),
            "rows": count,
            "skipped": skipped,
            "metrics": {name: summary.to_record() for name, summary in summaries.items()},
            **({"panels": dict(panels)} if panels else {}),
        }
        click.echo(json.dumps(report, ensure_ascii=False, allow_nan=False, indent=2))
    elif not rows:
        _print_table(skipped, summaries, panels)
        for name, tally in ((name, tallies[name]) for name in names if tallies[name].failures):
            say(f"markbook: {name} failed on {tally.failures} of {tally.count} rows; the first: {tally.first_failure}")
    for detail in sorted({detail for tally in tallies.values() for detail in tally.broken}):
        say(f"markbook: {detail}")
    for name, count in (+lost).items():
        say(f"markbook: {name}: {count} {LOST_SAMPLES}")
    if +lost or any(tally.broken or tally.failures for tally in tallies.values()):
        # Before the gates: a mean that lacks rows for a reason of ours must not pass or fail anybody.
        return INCOMPLETE
    hold_gates(gates, _marks(metrics_made, summaries))
    return 0


@dataclass(slots=True)
class _Read:
    """What stood in the file."""

    candidates: list[object] = field(default_factory=list)
    references: list[object] = field(default_factory=list)
    questions: list[object] = field(default_factory=list)
    contexts: list[object] = field(default_factory=list)
    rows: list[object] | None = None
    """The rows as they stood in the file, for metrics that read more of them; None without such a metric."""
    places: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take(self, record: Mapping[str, object], at: str) -> None:
        """Add a row."""
        self.candidates.append(record["candidate"])
        self.references.append(record.get("references", record.get("reference")))
        self.questions.append(record.get("question"))
        self.contexts.append(record.get("context"))
        self.places.append(at)
        if self.rows is not None:
            self.rows.append(record)

    @property
    def beside(self) -> dict[str, list[object] | None]:
        """What metrics may read of a row beside the two texts."""
        return {"questions": self.questions, "contexts": self.contexts, "rows": self.rows}


def _lines(file: Path) -> Iterator[Line | Rejection]:
    """Yield the rows of a file, or of standard input, which is kept on disk while it is read."""
    from markbook.files.jsonl import read_jsonl
    from markbook.files.tables import read_table, suffix

    if str(file) != "-":
        yield from read_table(file) if suffix(file) else read_jsonl(file)
        return
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as copy:
        # The reader of JSON Lines opens a file by its path, and standard input has none.
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        for row in read_jsonl(Path(copy.name)):
            yield replace(row, at=row.at.replace(copy.name, "<stdin>", 1))


def _read(
    file: Path, columns: Mapping[str, str], size: int, *, strict: bool, needs_reference: bool, keep_rows: bool
) -> Iterator[_Read]:
    """Yield the rows that can be marked, so many at a time, with what is wrong with others."""
    from markbook.files.jsonl import Rejection

    read, has_rows = _Read(rows=[] if keep_rows else None), False
    for line in _lines(file):
        if len(read.candidates) >= size:
            yield read
            read, has_rows = _Read(rows=[] if keep_rows else None), True
        if isinstance(line, Rejection):
            reason, record = line.reason, {}
        else:
            record = dict(line.record) | {
                key: line.record[name] for key, name in columns.items() if name in line.record
            }
            if find_failure(record, ["candidate"]):
                record["candidate"] = None  # whatever text stands beside it, it is not what was answered
            lacking = [name for name in columns.values() if name not in line.record]
            reason = ""
            if lacking:
                reason = f"no key {lacking[0]!r}"
            elif "candidate" not in record:
                meant = next((key for key in record if misspelt(key, ["candidate"])), "")
                reason = "no key 'candidate'" + (f" (is {cut(meant, 40)!r} meant?)" if meant else "")
            elif "reference" in record and "references" in record:
                reason = "both 'reference' and 'references'"
            elif needs_reference and not record.keys() & {"reference", "references"}:
                reason = "no key 'reference' or 'references'"
            elif not isinstance(record.get("references", []), list | type(None)):
                reason = "'references' is not a list"
        if reason:
            if strict:
                raise StrictDataError(reason, at=line.at)
            read.problems.append(f"{line.at}: {reason}: row skipped")
            continue
        read.take(record, line.at)
    # An empty last batch is an error only where no earlier one had a row.
    if not read.candidates and not has_rows:
        for problem in read.problems[:5]:
            say(f"markbook: {problem}")
        raise DataError(
            "no row can be scored",
            at="<stdin>" if str(file) == "-" else str(file),
            hint='each row needs {"candidate": .., "reference": ..}; --map candidate=COLUMN,reference=COLUMN reads other columns',
        )
    yield read


def _options(pairs: Sequence[str], names: Sequence[str]) -> dict[str, object]:
    """Read NAME=VALUE; a value that is JSON (a number, true, null, a list) is that where the metrics take it, else a text."""
    from markbook.plugins import factory, from_text, option_kinds

    kinds: dict[str, tuple[str, ...]] = {}
    for metric in names if pairs else ():
        for name, some in option_kinds(factory("metrics", metric, allow_code=True)).items():
            # Two metrics may have an option of one name and take other kinds of values: a text is read as what any of
            # them takes.
            kinds[name] = kinds.get(name, ()) + some
    values: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"--option {pair!r} is not NAME=VALUE")
        if name in values:
            raise UsageError(f"--option {name!r} is named twice")
        values[name] = from_text(text, kinds.get(name, ()))
    return values


def _add_judging(
    options: Mapping[str, object], rubric: str | None, judges: Sequence[str], judging: Mapping[str, object]
) -> dict[str, object]:
    """Return options with those of the metric `judge` that the command line states; UsageError where no rubric is among them."""
    from markbook.judge.rubrics import ready_rubrics

    # click knows the options by their flags, the metric by the names of the record's fields.
    names = {parameter_name(field): field.name for field in fields(JudgeOptions)}
    stated = {names[name]: value for name, value in judging.items() if value is not None}
    stated |= ({"models": list(judges)} if judges else {}) | ({} if rubric is None else {"rubric": rubric})
    if "rubric" not in options and rubric is None:
        ready = ", ".join(ready_rubrics())
        raise UsageError("the metric 'judge' needs a rubric", hint=f"--rubric NAME|FILE.yaml; ready ones: {ready}")
    return {**options, **stated}


def _make_metrics(names: Sequence[str], options: Mapping[str, object]) -> dict[str, Metric]:
    """Return the metrics, behind a judge those of its criteria; each of them can do its work."""
    from markbook.judge.metric import JudgeMetric
    from markbook.metrics import list_assumptions
    from markbook.metrics.measure import make

    metrics: dict[str, Metric] = {}
    for name, metric in make(names, options).items():
        metrics[name] = metric
        if isinstance(metric, JudgeMetric):
            metrics |= {criterion.name: criterion for criterion in metric.by_criterion().values()}
    for note in list_assumptions(metrics.values()):
        say(f"markbook: {note}")
    for metric in metrics.values():
        # A judge without a key or a model file that is not there is found out before the first row is marked.
        getattr(metric, "check", lambda: None)()
    return metrics


def _marks(metrics: Mapping[str, Metric], summaries: Mapping[str, Summary] | None = None) -> list[GateMark]:
    """Return what gates may be about; before the work, without values."""
    from markbook.metrics.measure import ALIASES
    from markbook.results.gates import GateMark

    spelled = {name: [alias for alias, several in ALIASES.items() if name in several] for name in metrics}
    return [
        GateMark(
            name, (name, *spelled[name]), summaries[name].value if summaries else None, metric.range, metric.direction
        )
        for name, metric in metrics.items()
    ]


def _print_rows(read: _Read, measurements: dict[str, list[Measurement]]) -> None:
    for i, position in enumerate(read.places):
        row: dict[str, object] = {"at": position}
        missing = {}
        stats = {}
        for name, measured in measurements.items():
            measurement = measured[i]
            if name.startswith("judge") and measurement.stats:
                # the marks by criterion, and what each judge gives as its reasons
                stats[name] = dict(measurement.stats)
            row[name] = measurement.value
            if measurement.missing is not None:
                missing[name] = measurement.missing.to_record()
        row["missing"] = missing
        if stats:
            row["stats"] = stats
        click.echo(json.dumps(row, ensure_ascii=False))


def _print_table(skipped: int, summaries: dict[str, Summary], panels: Mapping[str, PanelAgreement]) -> None:
    from markbook.results.summary import summarise_warnings

    width = max(6, *(len(name) for name in summaries))
    head = f"{format_level(summary.interval for summary in summaries.values())} CI"
    click.echo(f"{'metric':<{width}}   value  {head:<16} method            n  missing")
    for name, summary in summaries.items():
        scale, method = Scale(summary.range), NOTHING if summary.interval is None else summary.interval.method
        value, between = scale.value(summary.value).rjust(5), scale.interval(summary.interval).ljust(16)
        arrow = "" if summary.direction == "higher" else "  (lower is better)"
        reasons = ", ".join(f"{count} {kind}" for kind, count in summary.n_missing.items()) or "0"
        click.echo(f"{name:<{width}}  {value}  {between} {method:<13} {summary.n:>5}  {reasons}{arrow}")
    if warning := summarise_warnings((name, summary.note) for name, summary in summaries.items()):
        click.echo(warning)
    if skipped:
        click.echo(f"{skipped} rows could not be read; see stderr")
    for name, panel in panels.items():
        value = format_number(panel["value"])
        click.echo(f"{name}: the judges' agreement is {value} (Krippendorff's alpha over {panel['n']} marks)")
