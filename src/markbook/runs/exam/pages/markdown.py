"""The two documented Markdown reports: a model's summary, and the comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markbook.results.comparison import MOST_COMPARED
from markbook.runs.exam.marks import Grouping
from markbook.runs.exam.pages.comparison import ranking, strengths
from markbook.runs.exam.pages.scores import overall_stats
from markbook.runs.exam.tally import Tally
from markbook.text import markdown, markdown_code
from markbook.text.numbers import NOTHING, Scale, format_percent
from markbook.types import Summary

_TITLES: tuple[tuple[Grouping, str, str], ...] = (
    ("topic", "By topic", "Topic"),
    ("complexity", "By complexity", "Level"),
    ("problem_type", "By problem type", "Type"),
)
NOT_SEPARATED = (
    "Verdicts were not separated (--in-process): every test ran beside the answer that it tests, and every pass is "
    "unchecked, for an answer can forge it."
)
"""What stands in the head of every report of such a run."""


def head_notes(config: Mapping[str, object]) -> list[str]:
    """Return what stands in the head of every report of a run with this config, a sentence each."""
    unavailable = config.get("unavailable")
    notes = [] if config.get("separate", True) else [NOT_SEPARATED]
    return [*notes, *map(str, unavailable if isinstance(unavailable, list | tuple) else ())]


_POLICIES = {
    "zero": "an attempt that raised an error scores 0",
    "partial": "an attempt keeps the share of tests that passed, also if another test raised an error",
}


def summary_text(tally: Tally, *, isolation: str, benchmark: str, notes: Sequence[str] = ()) -> str:
    """Return `evaluation_summary.md`."""
    total, attempted = tally.exam_score(), tally.attempted_score()
    lines = [
        f"# Evaluation summary: {markdown(tally.model)}",
        "",
        f"Benchmark {markdown(benchmark)}, {len(tally.samples)} problems. Absent answers count 0; {_POLICIES[tally.policy]}.",
        "",
        *_head(notes),
        "## Overall performance",
        "",
        *_table(
            ("", "Score", "95 % interval", "n", "absent"),
            [
                ("**Exam score**", _percent(total.value), _interval(total), str(total.n), str(_absent(total))),
                ("Attempted only", _percent(attempted.value), _interval(attempted), str(attempted.n), ""),
            ],
        ),
        *_pass_lines(tally),
        *_group_lines(tally),
        *_error_lines(tally),
        *_quality_lines(tally, isolation),
    ]
    return "\n".join(lines) + "\n"


def comparison_text(tallies: Sequence[Tally], *, benchmark: str, notes: Sequence[str] = ()) -> str:
    """Return `model_comparison_summary.md`."""
    best = ranking(tallies)
    lines = [
        "# Model comparison",
        "",
        f"{len(tallies)} models on {markdown(benchmark)}, {len(best[0].samples)} problems. Absent answers count 0.",
        "",
        *_head(notes),
        "## Ranking",
        "",
        *_table(
            ("#", "Model", "Score", "95 % interval", "Absent", "Error rate", "Separated", "Unchecked"),
            [
                (
                    str(rank),
                    markdown(tally.model),
                    _percent(tally.exam_score().value),
                    _interval(tally.exam_score()),
                    str(_absent(tally.exam_score())),
                    _percent(tally.error_rate),
                    _percent(tally.separated_share),
                    str(tally.unchecked),
                )
                for rank, tally in enumerate(best, start=1)
            ],
        ),
        "Two models whose intervals overlap may still differ, or not: `markbook compare` tests the paired difference.",
        "",
    ]
    for grouping, title, head in _TITLES:
        groups = best[0].groups(grouping)
        if groups:
            rows = [
                (markdown(group), *(_spread(tally.exam_score(tally.places(grouping, group))) for tally in best))
                for group in groups
            ]
            lines += [f"## {title}", "", *_table((head, *(markdown(tally.model) for tally in best)), rows)]
    if len(best) <= MOST_COMPARED:
        lines += _strength_lines(best)
    return "\n".join(lines) + "\n"


_SCALE = Scale((0.0, 1.0), digits=2)
"""Two decimals, as in the other files of an exam whose format is documented."""


def _head(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in (f"**{markdown(note)}**", "")]


def _strength_lines(best: Sequence[Tally]) -> list[str]:
    strengths_by_model = strengths(best)
    if not any(above or below for above, below in strengths_by_model.values()):
        return []
    rows = [
        (markdown(model), markdown("; ".join(above)) or NOTHING, markdown("; ".join(below)) or NOTHING)
        for model, (above, below) in strengths_by_model.items()
    ]
    return [
        "## Strengths and weaknesses",
        "",
        (
            "Topics farthest above and below the mean of the other models, in points with the 95 % interval over the topic's "
            "problems, from 5 points on. Where an interval holds 0, chance may be all of it."
        ),
        "",
        *_table(("Model", "Strengths", "Weaknesses"), rows),
    ]


def _pass_lines(tally: Tally) -> list[str]:
    rows = []
    for k in tally.pass_ks():
        estimate = tally.pass_at(k)
        if estimate.value is None:
            rows.append((f"pass@{k}", NOTHING, estimate.note))
        else:
            interval = (
                "" if estimate.low is None else f"{_SCALE.spread(estimate.low, estimate.high)} ({estimate.method})"
            )
            rows.append((f"pass@{k}", _percent(estimate.value), interval))
    return _table(("", "Share of problems", "95 % interval"), rows) if rows else []


def _group_lines(tally: Tally) -> list[str]:
    lines: list[str] = []
    for grouping, title, head in _TITLES:
        rows = []
        for group in tally.groups(grouping):
            places = tally.places(grouping, group)
            exam, attempted = tally.exam_score(places), tally.attempted_score(places)
            n, absent = str(exam.n), str(_absent(exam))
            rows.append((markdown(group), _percent(exam.value), _interval(exam), _percent(attempted.value), n, absent))
        if rows:
            heads = (head, "Score", "95 % interval", "Attempted only", "n", "absent")
            lines += [f"## {title}", "", *_table(heads, rows)]
    return lines


def _error_lines(tally: Tally) -> list[str]:
    total = sum(tally.errors.values())
    lines = [
        "## Errors",
        "",
        f"{total} of {tally.n_evaluated} attempts raised an error ({_percent(tally.error_rate)}).",
        "Failed tests and absent answers are no errors.",
        "",
    ]
    if total:
        rows = [
            (kind, str(count), _percent(count / total))
            for kind, count in sorted(tally.errors.items(), key=lambda item: (-item[1], item[0]))
        ]
        lines += _table(("Error", "Count", "Share of errors"), rows)
        lines += ["Examples:", ""]
        for kind, _, _ in rows:
            lines += [
                f"- {kind} in {markdown(example['task_id'])}: {markdown_code(example['message'], limit=200)}"
                for example in tally.examples[kind]
            ]
        lines.append("")
    return lines


def _quality_lines(tally: Tally, isolation: str) -> list[str]:
    stats = overall_stats(tally)
    count = stats["total_evaluated"]
    rows = [
        (name.replace("_", " "), str(value), _percent(value / count) if count else NOTHING)
        for name, value in stats.items()
        if name != "total_evaluated"
    ]
    share = tally.separated_share
    separated = (
        "no verdict"
        if share is None
        else f"{_percent(share)} of the verdicts from separate processes, {tally.unchecked} unchecked"
    )
    return [
        "## Solution quality",
        "",
        *_table(("Attempts", "Count", "Share"), rows),
        f"Isolation level {isolation}; {separated}.",
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def _percent(value: float | None) -> str:
    return format_percent(value, 2)


def _interval(summary: Summary) -> str:
    interval = summary.interval
    return NOTHING if interval is None else f"{_SCALE.spread(interval.low, interval.high)} ({interval.method})"


def _spread(summary: Summary) -> str:
    """Return a score with its interval in one cell."""
    interval = summary.interval
    return _percent(summary.value) + (f" {_SCALE.spread(interval.low, interval.high)}" if interval else "")


def _absent(summary: Summary) -> int:
    return summary.n_missing.get("absent", 0)
