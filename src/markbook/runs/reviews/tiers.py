"""Measuring tiers 1 and 3 of generated reviews, and the same similarities between human reviews as the yardstick."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from markbook import plugins
from markbook.datasets.papers import Paper
from markbook.engine import in_order
from markbook.errors import ConfigError, ExtraMissingError, MarkbookError, UsageError, suggest_path
from markbook.files.content import check_readable
from markbook.judge.assess import NO_REVIEW
from markbook.runs.reviews.config import ReviewConfig
from markbook.text import terminal
from markbook.trace import Reference, Trace, planning_summary
from markbook.traces import read_trace
from markbook.traces.references import ANY, list_unused, read_reference_values, read_references
from markbook.types import Attempt, Item, Measurement, Metric, Missing, MissingKind, Profile, Sample

BATCH = 512
"""Pairs measured together: memory stays flat in the number of reviews."""
UNREAD = ("unread_of_review", "unread_of_reference")
"""How many tokens of each text lie beyond what the semantic model reads; kept beside the similarities."""
PIECE = 32
"""The same for one worker of several, so that all have work to the end."""
PLUGINS = {"cosine": "tfidf_cosine", "jaccard": "jaccard", "semantic": "bertscore_f1"}

AGENTS_SHOWN, EDGES_SHOWN = 60, 200

_log = logging.getLogger(__name__)
_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Similarities:
    """The similarities of a run, each made once: in this process, or once in every worker."""

    def __init__(self, config: ReviewConfig, executor: Executor | None = None) -> None:
        """Make the metrics; one that cannot be made is remembered with its reason."""
        self.unavailable: dict[str, Missing] = {}
        self._executor = executor
        similarities = []
        for name in config.similarity:
            if name == "semantic" and not config.bertscore_model and not config.semantic_asked:
                hint = "name a model with bertscore_model in the config, or leave it out with --similarity"
                self.unavailable[name] = Missing(MissingKind.UNAVAILABLE, f"no model was named: {hint}")
            else:
                similarities.append((name, config.bertscore_model if name == "semantic" else ""))
        self._wanted = tuple(similarities)
        metrics, faults = _metrics(self._wanted)
        self.unavailable |= faults
        self.signatures = {name: metric.signature for name, metric in metrics.items()}
        """What can change each number."""

    def measure(self, pairs: Iterable[tuple[str, str]]) -> Iterator[dict[str, float | Missing]]:
        """Yield the similarities of each (review, reference) pair, in order, batch by batch."""
        iterator = iter(pairs)
        size = BATCH if self._executor is None else PIECE
        # Calls until it gets an empty list: the pairs are never all in memory.
        batches = iter(lambda: list(itertools.islice(iterator, size)), [])
        for piece in _each(self._executor, partial(_measure_batch, self._wanted), batches):
            yield from ({**self.unavailable, **row} for row in piece)


def _each(executor: Executor | None, work: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
    """Yield what work makes of each item, in order: here, or on an engine's workers."""
    if executor is None:
        return map(work, items)
    return in_order(executor, work, ((item,) for item in items))


@cache
def _metrics(similarities: tuple[tuple[str, str], ...]) -> tuple[dict[str, Metric], dict[str, Missing]]:
    """Return the metrics of these similarities and models, and why some cannot be made; one set a process."""
    metrics: dict[str, Metric] = {}
    faults: dict[str, Missing] = {}
    for name, model in similarities:
        options: dict[str, object] = {"model": model} if model else {}
        try:
            metrics[name] = plugins.create("metrics", PLUGINS[name], **options)
        except (ExtraMissingError, ConfigError, UsageError) as error:
            faults[name] = Missing(MissingKind.UNAVAILABLE, str(error))
    return metrics, faults


def _measure_batch(
    similarities: tuple[tuple[str, str], ...], batch: Sequence[tuple[str, str]]
) -> list[dict[str, float | Missing]]:
    items = [Item(Sample("", references=(reference,)), Attempt("", review)) for review, reference in batch]
    rows: list[dict[str, float | Missing]] = [{} for _ in batch]
    for name, metric in _metrics(similarities)[0].items():
        missing = None
        try:
            column: Sequence[Measurement] = metric.measure(items)
        except ExtraMissingError as error:
            # Models are loaded at first use, so a missing package or model file may show only now.
            missing = Missing(MissingKind.UNAVAILABLE, str(error))
        except Exception as error:  # noqa: BLE001 - the border of one measurement
            _log.warning("%s failed: %s: %s", metric.name, type(error).__name__, error)
            missing = Missing(MissingKind.FAILED, f"{type(error).__name__}: {error}")
        if missing is not None:
            column = [Measurement(metric.name, missing=missing) for _ in items]
        for row, measured in zip(rows, column, strict=True):
            row[name] = measured.value if measured.missing is None else measured.missing  # type: ignore[assignment]  # exactly one of the two is there
            cut = measured.stats.get("truncated")
            if isinstance(cut, list | tuple) and len(cut) == len(UNREAD):
                row.update(zip(UNREAD, map(float, cut), strict=True))
    return rows


def tier1_rows(
    similarities: Similarities, work: Sequence[tuple[Attempt, Paper | None]]
) -> Iterator[tuple[Attempt, dict[str, object]]]:
    """Yield what tier 1 keeps of each review: its similarities to every human review of its paper, and its time."""
    pairs = (
        (attempt.text, entry.text)
        for attempt, paper in work
        if paper is not None and attempt.text.strip()
        for entry in paper.human
    )
    measured = similarities.measure(pairs)
    for attempt, paper in work:
        record: dict[str, Any] = {"seconds": attempt.seconds, "references": []}
        if paper is None:
            record["reason"] = to_json(Missing(MissingKind.NOT_APPLICABLE, "the paper is not among the papers given"))
        elif not attempt.text.strip():
            # an empty review was written, null was not
            is_absent = bool(attempt.meta.get("absent"))
            kind, why = (
                (MissingKind.ABSENT, NO_REVIEW) if is_absent else (MissingKind.NO_COMPLETION, "the review is empty")
            )
            record["reason"] = to_json(Missing(kind, why))
        elif not paper.human:
            record["reason"] = to_json(Missing(MissingKind.NOT_APPLICABLE, "the paper has no human review"))
        else:
            # `measured` has no keys: its pairs come in the order in which they were made above, so many for each
            # review.
            rows = itertools.islice(measured, len(paper.human))
            record["references"] = [{name: to_json(value) for name, value in row.items()} for row in rows]
        yield attempt, record


def human_rows(similarities: Similarities, papers: Sequence[Paper]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the similarities between every two human reviews of a paper: `pairs` in the order (0,1), (0,2), (1,2), ..."""
    several = [paper for paper in papers if len(paper.human) > 1]
    measured = similarities.measure(
        (first.text, second.text) for paper in several for first, second in itertools.combinations(paper.human, 2)
    )
    for paper in several:
        count = len(paper.human)
        pairs = itertools.islice(measured, count * (count - 1) // 2)
        rows = [{name: to_json(value) for name, value in row.items()} for row in pairs]
        yield paper.id, {"reviews": count, "pairs": rows}


def to_json(value: float | Missing) -> Any:
    """Return a value or a reason as JSON."""
    return value.to_record() if isinstance(value, Missing) else value


def from_json(value: object) -> float | Missing:
    """Return what `to_json` was given."""
    if isinstance(value, Mapping):
        return Missing.from_record(value)
    assert isinstance(value, int | float)
    return float(value)


class TraceFolder:
    """The traces of a run by paper and system, found without trusting any name in the data."""

    def __init__(self, folder: Path | None) -> None:
        """List the folder: `<paper>.*`, `<system>/<paper>.*`, or `<paper>/trace.json`."""
        self.folder = folder
        self._files: dict[str, Path] = {}
        if folder is None:
            return
        if folder.exists() and not folder.is_dir():
            raise UsageError("this is a file, and traces are a folder", at=str(folder), hint="one file a paper in it")
        if not folder.is_dir():
            raise UsageError("there is no such folder of traces", at=str(folder), hint=suggest_path(folder))
        check_readable(folder)
        for file in sorted(folder.rglob("*")):
            if not file.is_file() or file.name.startswith("."):
                continue
            relative = file.relative_to(folder)
            name = relative.with_name(
                # Traces may be packed (`paper.json.gz`), and a paper's id may hold dots: the stem alone would cut
                # either wrongly.
                relative.name.split(".json")[0] if ".json" in relative.name else relative.stem
            ).as_posix()
            # The first by name wins: two formats of one trace are one trace.
            self._files.setdefault(name, file)
            if relative.name == "trace.json" and len(relative.parts) > 1:
                self._files.setdefault(relative.parent.as_posix(), file)

    def find(self, attempt: Attempt) -> Path | None:
        """Return the trace of a review, a system's own before the paper's, or the one that its row names."""
        for name in _names(attempt):
            if name in self._files:
                return self._files[name]
        # Last of all: a folder that the user named says more than a path that stands in the data.
        named = attempt.meta.get("trace")
        return Path(named) if isinstance(named, str) and Path(named).is_file() else None

    def strays(self, attempts: Iterable[Attempt]) -> list[str]:
        """Return the names of files directly in the folder that are the trace of no review."""
        used = {self.find(attempt) for attempt in attempts}
        return sorted(file.name for file in {*self._files.values()} - used if file.parent == self.folder)


def tool_references(config: ReviewConfig) -> dict[str, Reference]:
    """Return what the configuration says of the right tools, by paper; the empty key is for all.

    Raises:
        DataError: it is not a reference of tools.
        UsageError: the file does not exist.
    """
    tool_reference = config.tool_reference
    if tool_reference is None:
        return {}
    if isinstance(tool_reference, Path):
        return read_references(tool_reference)
    return read_reference_values(tool_reference, "tool_reference")


def reference_for(references: Mapping[str, Reference], attempt: Attempt) -> Reference | None:
    """Return the reference of a review's run: its system's and paper's, its paper's, or the one for all."""
    return next((references[name] for name in (*_names(attempt), ANY) if name in references), None)


def useless_references(references: Mapping[str, Reference], attempts: Iterable[Attempt]) -> list[str]:
    """Return the ids of references that belong to no review, where a review has none."""
    attempts = list(attempts)
    # Where every review has its reference, others in the file are for other runs and worth no word.
    if all(reference_for(references, attempt) for attempt in attempts):
        return []
    return list_unused(references, (name for attempt in attempts for name in _names(attempt)))


def _names(attempt: Attempt) -> tuple[str, str, str]:
    """Return what a review's trace and reference may be called, the most particular first."""
    paper = attempt.sample_id
    return f"{attempt.model}/{paper}", paper, paper.rpartition("/")[2]


TraceWork = tuple[Path, Reference | None]
"""A trace, and what a good run would have done."""


def tier3_rows(work: Iterable[TraceWork], profile: Profile, executor: Executor | None) -> Iterator[dict[str, object]]:
    """Yield what tier 3 keeps of each trace, in order."""
    return _each(executor, partial(tier3_row, profile=profile), work)


def tier3_row(work: TraceWork, profile: Profile) -> dict[str, object]:
    """Return what tier 3 keeps of one trace: its metrics, its time, and a summary for the judge."""
    path, reference = work
    try:
        from markbook.metrics.graph import trace_metrics

        trace = read_trace(path)
        measured = trace_metrics(trace, reference, profile)
    except (ModuleNotFoundError, ExtraMissingError) as error:
        return {"reason": to_json(Missing(MissingKind.UNAVAILABLE, f"traces cannot be read here: {error}"))}
    except MarkbookError as error:
        return {"reason": to_json(Missing(MissingKind.UNDEFINED, f"the trace cannot be read: {error.message}"))}
    except Exception as error:  # noqa: BLE001 - the border of one measurement
        _log.warning("%s: %s: %s", path.name, type(error).__name__, error)
        return {"reason": to_json(Missing(MissingKind.FAILED, f"{type(error).__name__}: {error}"))}
    metrics = {
        name: to_json(value.missing if value.missing is not None else float(value.value or 0.0))
        for name, value in measured.items()
    }
    planning_text, share = _summarise_trace(trace)
    return {
        "metrics": metrics,
        # A log with a single moment in it measures no duration.
        "seconds": trace.seconds or None,
        "summary": planning_text,
        "summary_share": share,
        "graph": agent_graph(trace),
    }


def _summarise_trace(trace: Trace) -> tuple[str, float]:
    """Return what a judge of planning reads, with the share of the steps that it stands for.

    Who took part and what it took; then who did what in which order, and how it ended.
    """
    summary = planning_summary(trace)
    if not summary.steps:
        return "", 1.0
    agents = ", ".join(terminal(name, limit=60) for name in trace.roster) or "unknown"
    tokens = "unknown"
    if trace.input_tokens is not None:
        tokens = f"{trace.input_tokens} in, {'unknown' if trace.output_tokens is None else trace.output_tokens} out"
    time = "unknown" if trace.seconds is None else f"{trace.seconds:.1f} s"
    head = (
        f"agents: {agents}; tool calls: {trace.tool_calls}; messages: {trace.messages}; tokens: {tokens}; time: {time}"
    )
    return f"{head}\n{summary.text}", summary.coverage


def agent_graph(trace: Trace) -> dict[str, object]:
    """Return who did how many steps and who addressed whom how often, the most frequent first; for the report."""
    steps = Counter(step.agent for step in trace.steps)
    edges = Counter((step.agent, step.target) for step in trace.steps if step.target)
    return {
        "agents": {name: steps[name] for name in trace.roster[:AGENTS_SHOWN]},
        "edges": [[sender, two, count] for (sender, two), count in edges.most_common(EDGES_SHOWN)],
    }
