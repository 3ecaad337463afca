"""The page of a review run: tiers and composite by system, and each paper's reviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markbook.report import charts
from markbook.report.page import Chart, Page, Problem, Section, ShownAnswer
from markbook.report.words import ends_of, interval_text, missing_text
from markbook.results.evidence import Room
from markbook.results.kind import Status
from markbook.results.rows import reasons_of
from markbook.runs.reviews.pages.agents import graph_sections, time_sections
from markbook.runs.reviews.pages.reasons import judges_said
from markbook.runs.reviews.scoring.records import ReviewRow, ReviewSummary, ReviewsView, Tier
from markbook.text import Table, cut
from markbook.text.numbers import NOTHING, format_interval, format_number, format_percent
from markbook.types import Summary

PAPERS_SHOWN = 200
REVIEWS_SHOWN = 40
"""Of one paper; results.jsonl has all."""
_TIERS = {
    "tier1": ("Tier 1: text", "How near the generated review is to the human ones, and how long it took."),
    "tier2": (
        "Tier 2: judge",
        "What a model judged; only as good as that judge: markbook judge check says how good.",
    ),
    "tier3": ("Tier 3: trace", "How the agents worked together, from the trace of their run."),
    "composite": (
        "Composite",
        "All tiers by their weights; missing where a tier is, unless the policy says otherwise.",
    ),
}


def review_page(view: ReviewsView) -> Page:
    """Return everything that a review's report shows."""
    summary = view.summary
    systems = list(summary["systems"])
    return Page(
        title="Review evaluation",
        facts=(
            ("Papers", str(summary["papers"])),
            ("Reviews", str(summary["reviews"])),
            ("Systems", str(len(systems))),
            ("Policy", str(summary["policy"])),
            ("Profile", str(summary["profile"])),
        ),
        warnings=tuple(_warnings(summary)),
        sections=(*_sections(summary, systems), *time_sections(view, systems), *graph_sections(view)),
        problems=tuple(_papers(view)),
        problems_total=int(summary["papers"]),
        items="papers",
        models=tuple(systems),
    )


def _warnings(summary: ReviewSummary) -> list[str]:
    warnings = []
    for system, record in summary["systems"].items():
        composite = record["metrics"]["composite.composite_score"]
        if composite["n"] == 0:
            warnings.append(f"{system}: no composite is complete; the tiers below stand for themselves.")
            warnings.append(f"{system}: --policy renormalise makes a composite of what there is.")
        for gap in record.get("lacking", ()):
            give = f": give {gap['give']}" if gap["give"] else ""
            warnings.append(
                f"{system}: {gap['metric']} is missing for {gap['reviews']} of {record['reviews']} reviews "
                f"({gap['reason']}){give}."
            )
        read = record.get("paper_read") or {"in_part": 0}
        if read["in_part"]:
            warnings.append(
                f"{system}: {read['in_part']} of {read['n']} reviews were judged on a part of their paper only; the least "
                f"share read is {format_percent(read['least_share'], 0)}."
            )
        if record["papers_without_review"]:
            warnings.append(f"{system}: {record['papers_without_review']} papers have no review.")
    return warnings


def _sections(summary: ReviewSummary, systems: Sequence[str]) -> list[Section]:
    sections = [_tier(summary, systems, tier) for tier in ("composite", "tier1", "tier2", "tier3")]
    sections.append(_labels(summary, systems))
    if summary["judge_agreement"]:
        rows = tuple(
            (
                name,
                format_number(agreement["value"]),
                NOTHING if ends is None else format_interval(ends["low"], ends["high"]),
                str(agreement["n"]),
            )
            for name, agreement in sorted(summary["judge_agreement"].items())
            for ends in [agreement["interval"]]
        )
        table = Table(
            "Agreement of the judges",
            ("Rubric", "Krippendorff's alpha", "95 % interval", "Marks"),
            rows,
            frozenset({1, 2, 3}),
        )
        sections.append(Section("agreement", "Agreement", "1 is perfect agreement, 0 is chance.", (table,)))
    return sections


def _tier(summary: ReviewSummary, systems: Sequence[str], tier: Tier) -> Section:
    title, lead = _TIERS[tier]
    rows, cells = [], []
    names = [name for name in summary["systems"][systems[0]]["metrics"] if name.startswith(tier)] if systems else []
    for name in names:
        short = name.partition(".")[2]
        for system in systems:
            summary_ = Summary.from_record(summary["systems"][system]["metrics"][name])
            rows.append(
                (short, system, format_number(summary_.value), interval_text(summary_.interval), f"{summary_.n} of {summary_.n_items}",
                 missing_text(summary_.n_missing), NOTHING if summary_.bounds is None else format_interval(*summary_.bounds))
            )  # fmt: skip
            if summary_.value is not None:
                cells.append({"group": short, "series": system, "value": round(summary_.value, 4), **ends_of(summary_)})
    headers = ("Metric", "System", "Mean", "95 % interval", "Scored", "Missing", "If all missing were worst, best")
    table = Table(title, headers, tuple(rows), frozenset({2, 3, 4}))
    chart = None
    if cells:
        short_names = [name.partition(".")[2] for name in names]
        chart = Chart(
            charts.bars(cells, short_names, systems, "Mean", (0, 1)), f"{title}: mean of each metric by system"
        )
    return Section(tier, title, lead, (table,), chart)


def _labels(summary: ReviewSummary, systems: Sequence[str]) -> Section:
    labels = list(dict.fromkeys(label for name in systems for label in summary["systems"][name]["recommendations"]))
    rows = tuple(
        (system, *(str(summary["systems"][system]["recommendations"].get(label, 0)) for label in labels))
        for system in systems
    )
    cells = [
        {
            "name": system,
            "kind": label,
            "value": summary["systems"][system]["recommendations"].get(label, 0),
            "place": at,
        }
        for system in systems
        for at, label in enumerate(labels)
    ]
    stable = summary["weight_sensitivity"]["label_changes"]
    note = (
        ""
        if stable is None
        else f"With weights drawn around the stated ones, {format_percent(stable)} of the labels change."
    )
    table = Table("Recommendations", ("System", *labels), rows, frozenset(range(1, len(labels) + 1)), note)
    picture = charts.stack_bars(cells, list(systems), labels, "Reviews")
    return Section(
        "recommendations", "Recommendations", "What the composite would recommend for each review.", (table,),
        Chart(picture, "Recommendations by system") if labels else None,
    )  # fmt: skip


def _papers(view: ReviewsView) -> list[Problem]:
    """Return the papers with each system's numbers: the first ones by order of the rows."""
    by_paper: dict[str, list[ReviewRow]] = {}
    total: Counter[str] = Counter()
    for row in view.rows():
        paper = str(row["paper_id"])
        if paper in by_paper or len(by_paper) < PAPERS_SHOWN:
            rows = by_paper.setdefault(paper, [])
            total[paper] += 1
            if len(rows) < REVIEWS_SHOWN:
                rows.append(row)
    systems = list(view.summary["systems"])
    room = Room()
    return [_paper(paper, rows, systems, total[paper], room) for paper, rows in by_paper.items()]


def _paper(paper: str, rows: Sequence[ReviewRow], systems: Sequence[str], total: int, room: Room) -> Problem:
    answers = []
    worst: dict[str, tuple[str, Status, str]] = {system: (system, "absent", "") for system in systems}
    for row in rows:
        score = row["composite"].get("composite_score")
        label = row["composite"].get("recommendation")
        status: Status = "scored" if score is not None else "partial"
        detail = f"{format_number(score)} {label}" if score is not None else "composite missing"
        worst[row["system"]] = (row["system"], status, detail)
        name = f"{row['system']}, review {row['index'] + 1}" if row.get("index") else str(row["system"])
        reasons = "; ".join(f"{field}: {reason.kind}" for field, reason in reasons_of(row).items())
        answers.append(
            ShownAnswer(
                row["system"],
                name,
                status,
                score,
                0,
                0,
                "",
                error=cut(reasons, 1500),
                note=cut(_numbers(row), 3000),
                evidence=room(judges_said(row["tier2"])),
            )
        )
    more = f"The first {len(rows)} of {total} reviews; results.jsonl has all." if total > len(rows) else ""
    return Problem(
        id=paper, topic="", complexity="", kind="", prompt=more, checks=(), answers=tuple(answers),
        outcomes=tuple(worst.values()),
    )  # fmt: skip


def _numbers(row: ReviewRow) -> str:
    parts = []
    for tier in ("tier1", "tier2", "tier3"):
        numbers = [f"{name} {format_number(value)}" for name, value in row[tier].items() if isinstance(value, float)]
        if numbers:
            parts.append(f"{tier}: " + ", ".join(numbers))
    return "; ".join(parts)
