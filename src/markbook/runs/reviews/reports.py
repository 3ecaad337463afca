"""Reports of a run of reviews: the page, the Markdown and the documented files."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from markbook import text
from markbook.report import charts
from markbook.report.page import Chart, Page, Problem, Section, ShownAnswer
from markbook.report.words import chart_cells, summary_cells
from markbook.results.evidence import Room, read_judge_marks
from markbook.results.files import reasons_text
from markbook.results.sheet import Status, find_status
from markbook.runs.reviews import review_rows as review_lacking
from markbook.runs.reviews.review_rows import (
    Numbers,
    PaperRead,
    ReviewRow,
    ReviewSummary,
    ReviewsView,
    SystemSummary,
    Tier,
)
from markbook.runs.reviews.summary import FIELDS
from markbook.runs.rows import chart_bars
from markbook.stats.intervals import mean_interval
from markbook.store import encode
from markbook.text import Table, cut, markdown_table
from markbook.text.format import NOTHING, PERCENT, Scale, format_level, format_number, format_percent
from markbook.types import Summary
from markbook.why import Evidence

# What the judges of a review said beside their marks.


def judges_said(tier2: Numbers) -> tuple[Evidence, ...]:
    """Return marks, reasons and quotes by rubric, out of a published row's second tier."""
    details = tier2.get("details") or {}
    evidence = (
        read_judge_marks(str(name).replace("_", " "), detail)
        for name, detail in details.items()
        if isinstance(detail, Mapping)
    )
    return tuple(evidence_item for evidence_item in evidence if evidence_item is not None)


# What a review run shows of time and of the agents' traces.

GRAPHS_SHOWN = 4
EDGES_SHOWN = 40
_SCORES: tuple[tuple[Tier, str], ...] = (
    ("composite", "composite_score"),
    ("tier1", "overall_score"),
    ("tier1", "cosine_score"),
)


def time_sections(view: ReviewsView, systems: Sequence[str]) -> list[Section]:
    """Return score against time by system: the composite, or the first number of tier 1 that any review has."""
    # Of each row what the section needs: a large run's page does not hold all of them.
    rows: list[tuple[str, dict[str, Numbers]]] = []
    for row in view.rows():
        slim: dict[str, Numbers] = {"tier1": {"execution_time": row["tier1"].get("execution_time")}}
        for tier, name in _SCORES:
            slim.setdefault(tier, {})[name] = row[tier].get(name)
        rows.append((row["system"], slim))
    fields = [(tier, name) for tier, name in _SCORES if any(row[tier].get(name) is not None for _, row in rows)]
    if not fields or not any(row["tier1"].get("execution_time") is not None for _, row in rows):
        return []
    tier, name = fields[0]
    scale = metric_scale(view.summary, f"{tier}.{name}")
    lines, cells = [], []
    for system in systems:
        mine = [row for owner, row in rows if owner == system]
        times = [float(seconds) for row in mine if (seconds := row["tier1"].get("execution_time")) is not None]
        marks = [float(value) for row in mine if (value := row[tier].get(name)) is not None]
        if not times or not marks:
            lines.append((system, NOTHING, NOTHING, str(len(times)), str(len(marks))))
            continue
        # Held to 0..1 for the interval alone, which knows no other range; the mean beside it is of the numbers as
        # they are.
        estimate = mean_interval([min(1.0, max(0.0, mark)) for mark in marks])
        seconds = math.fsum(times) / len(times)
        value = math.fsum(marks) / len(marks)
        lines.append((system, f"{seconds:.2f}", scale.value(value), str(len(times)), str(len(marks))))
        low, high = (
            (estimate.low, estimate.high) if estimate.low is not None and estimate.high is not None else (value, value)
        )
        if 0 <= value <= 1:  # the document's formulas leave the chart's 0 to 100; the table has every number
            cells.append({"name": system, "x": seconds, "value": 100 * value, "low": 100 * low, "high": 100 * high})
    label = f"{tier} {name}"
    headers = ("System", "Mean seconds", f"Mean {label}", "Reviews with a time", "Reviews with a score")
    table = Table("Score and time", headers, tuple(lines), frozenset({1, 2, 3, 4}))
    picture = charts.scatter(cells, list(systems), x_title="Mean seconds per review", y_title=f"{label}, 0 to 100")
    chart = Chart(picture, "Mean score of each system against its mean time") if cells else None
    return [Section("time", "Score against time", "Up and to the left is better.", (table,), chart)]


def graph_sections(view: ReviewsView, systems: Sequence[str]) -> list[Section]:
    """Return who addressed whom, one section for each of the first systems, over all its traces; nothing without traces."""
    steps: dict[str, Counter[str]] = {}
    edges: dict[str, Counter[tuple[str, str]]] = {}
    for row in view.run.rows("tier3"):
        graph = row.data.get("graph")
        if not graph or not graph["agents"]:
            continue
        system = str(row.key[1])
        steps.setdefault(system, Counter()).update(graph["agents"])
        edges.setdefault(system, Counter()).update({(str(end), str(two)): int(n) for end, two, n in graph["edges"]})
    sections = []
    for number, system in enumerate([name for name in systems if name in steps][:GRAPHS_SHOWN], start=1):
        frequent = sorted(edges[system].items(), key=lambda edge: (-edge[1], edge[0]))[:EDGES_SHOWN]
        names = {*steps[system], *(agent for pair, _ in frequent for agent in pair)}
        agents = sorted(names, key=lambda agent: (-steps[system][agent], agent))[:EDGES_SHOWN]
        # On a circle by their steps and names: the same agents always lie in the same places, whichever trace was read first.
        turn = 2 * math.pi / max(1, len(agents))
        points = {
            agent: (0.5 + 0.42 * math.sin(turn * at), 0.5 + 0.42 * math.cos(turn * at))
            for at, agent in enumerate(agents)
        }
        nodes = [
            {"name": agent, "x": x, "y": y, "size": max(1, steps[system][agent])} for agent, (x, y) in points.items()
        ]
        lines = []
        for (sender, two), count in frequent:
            if sender in points and two in points:
                (x, y), (x2, y2) = points[sender], points[two]
                lines.append({"x": x, "y": y, "x2": x2, "y2": y2, "weight": count})
        n_edges = len(edges[system])
        table = Table(
            title=f"Messages between agents: {system}",
            headers=("From", "To", "Times", "Steps of the sender"),
            rows=tuple((sender, two, str(count), str(steps[system][sender])) for (sender, two), count in frequent),
            numeric=frozenset({2, 3}),
            note=f"The {EDGES_SHOWN} most frequent of {n_edges}." if n_edges > EDGES_SHOWN else "",
        )
        alt = f"Graph of the agents of {system}: {len(agents)} agents, {n_edges} connections"
        lead = "Larger points did more steps, thicker lines passed more messages; over all traces of the system."
        chart = Chart(charts.graph(nodes, lines), alt)
        sections.append(Section(f"agents-{number}", f"Agents: {system}", lead, (table,), chart))
    return sections


# The page of a review run: tiers and composite by system, and each paper's reviews.

PAPERS_SHOWN = 200
REPEATED = ("similarity", "raw_score", "tier1_score", "tier2_score", "tier3_score")
"""Fields on 0..1 of a score that the same row has in points."""
REVIEWS_SHOWN = 40
"""Of one paper; results.jsonl has all."""
_TIERS = {
    "tier1": ("Tier 1: text", "Similarity of the generated review to the human ones, and the time it took."),
    "tier2": ("Tier 2: judge", "Scores given by a model; markbook judge check measures how reliable that judge is."),
    "tier3": ("Tier 3: trace", "How the agents worked together, from the trace of their run."),
    "composite": ("Composite", f"Weighted mean of all tiers, all of which it needs by the default policy. {PERCENT}"),
}


def review_page(view: ReviewsView) -> Page:
    """Return everything that a review's report shows."""
    summary = view.summary
    systems = list(summary["systems"])
    systems_by_warning: dict[str, list[str]] = {}
    for system, record in summary["systems"].items():
        warnings = [f"{sentence}." for sentence in review_lacking.describe_lacks(record)]
        if record["metrics"]["composite.composite_score"]["n"] == 0:
            warnings.insert(0, "no composite is complete; the tiers below stand for themselves.")
            warnings.insert(1, f"{review_lacking.RENORMALISE}.")
        read = record.get("paper_read")
        if read and read["in_part"]:
            warnings.append(_say_part_read(read))
        if record["papers_without_review"]:
            warnings.append(f"papers without a review: {record['papers_without_review']}.")
        for warning in warnings:
            systems_by_warning.setdefault(warning, []).append(system)
    sections = [_tier(summary, systems, tier) for tier in ("composite", "tier1", "tier2", "tier3")]
    sections.append(_labels(summary, systems))
    if rows := _agreement_rows(summary):
        headers = ("Rubric", "Krippendorff's alpha", _agreement_head(summary), "Reviews")
        table = Table("Agreement of the judges", headers, tuple(rows), frozenset({1, 2, 3}))
        sections.append(Section("agreement", "Agreement", "1 is perfect agreement, 0 is chance.", (table,)))
    return Page(
        title="Review evaluation",
        facts=(
            ("Papers", str(summary["papers"])),
            ("Reviews", str(summary["reviews"])),
            ("Systems", str(len(systems))),
            ("Policy", str(summary["policy"])),
            ("Profile", str(summary["profile"])),
        ),
        warnings=tuple(f"{', '.join(names)}: {warning}" for warning, names in systems_by_warning.items()),
        sections=(*sections, *time_sections(view, systems), *graph_sections(view, systems)),
        problems=tuple(_papers(view)),
        problems_total=int(summary["papers"]),
        items="papers",
        models=tuple(systems),
    )


def _say_part_read(read: PaperRead) -> str:
    share = format_percent(read["least_share"], 0)
    judged = f"{read['in_part']} of {read['n']} reviews were judged on a part of their paper only"
    return f"{judged}; the least share read is {share}."


def _agreement_head(summary: ReviewSummary) -> str:
    return f"{format_level(agreement['interval'] for agreement in summary['judge_agreement'].values())} CI"


def _agreement_rows(summary: ReviewSummary) -> list[tuple[str, ...]]:
    return [
        (name, Scale().value(agreement["value"]), Scale().interval(agreement["interval"]), str(agreement["n"]))
        for name, agreement in sorted(summary["judge_agreement"].items())
    ]


def _tier(summary: ReviewSummary, systems: Sequence[str], tier: Tier) -> Section:
    title, lead = _TIERS[tier]
    rows, cells, intervals = [], [], []
    names = [name for name in summary["systems"][systems[0]]["metrics"] if name.startswith(tier)] if systems else []
    for name in names:
        short, scale = name.partition(".")[2], metric_scale(summary, name)
        for system in systems:
            summary_ = Summary.from_record(summary["systems"][system]["metrics"][name])
            intervals.append(summary_.interval)
            bounds = NOTHING if summary_.bounds is None else scale.spread(*summary_.bounds)
            rows.append((short, system, *summary_cells(summary_, scale), bounds))
            cells += chart_cells(short, system, summary_, scale)
    level, worst_best = format_level(intervals), "If all missing were worst, best"
    headers = ("Metric", "System", "Mean", f"{level} CI", "Scored", "Missing", worst_best)
    table = Table(title, headers, tuple(rows), frozenset({2, 3, 4}))
    short_names = [name.partition(".")[2] for name in names]
    chart = chart_bars(cells, short_names, systems, "Mean", f"{title}: mean of each metric by system")
    return Section(tier, title, lead, (table,), chart)


def _labels(summary: ReviewSummary, systems: Sequence[str]) -> Section:
    counts = {system: summary["systems"][system]["recommendations"] for system in systems}
    labels = list(dict.fromkeys(itertools.chain.from_iterable(counts.values())))
    rows = tuple((system, *(str(counts[system].get(label, 0)) for label in labels)) for system in systems)
    cells = [
        {"name": system, "kind": label, "value": counts[system].get(label, 0), "place": at}
        for system in systems
        for at, label in enumerate(labels)
    ]
    stable = summary["weight_sensitivity"]["label_changes"]
    note = ""
    if stable is not None:
        note = f"If the weights vary at random around the stated ones, {format_percent(stable)} of the recommendations change."
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
    # Of every row, also of those whose text the page has no room for: the lowest composite, and none at all below it.
    worst: dict[tuple[str, str], tuple[float, str]] = {}
    for row in view.rows():
        paper = str(row["paper_id"])
        if paper in by_paper or len(by_paper) < PAPERS_SHOWN:
            rows = by_paper.setdefault(paper, [])
            total[paper] += 1
            if len(rows) < REVIEWS_SHOWN:
                rows.append(row)
            score, key = row["composite"].get("composite_score"), (paper, row["system"])
            # A missing composite is below any number, so that it is what the page shows of the paper.
            mark = (-math.inf, "") if score is None else (score, str(row["composite"].get("recommendation")))
            worst[key] = min(mark, worst.get(key, mark))
    room, scale = Room(), metric_scale(view.summary, "composite.composite_score")
    problems = []
    for paper, rows in by_paper.items():
        outcomes: list[tuple[str, Status, str]] = []
        for system in view.summary["systems"]:
            lowest = worst.get((paper, system))
            if lowest is None:
                outcomes.append((system, find_status(is_absent=True), ""))
            elif lowest[0] == -math.inf:
                outcomes.append((system, find_status(is_complete=False), "composite missing"))
            else:
                outcomes.append((system, find_status(), f"{scale.value(lowest[0])} {lowest[1]}"))
        problems.append(_paper(view.summary, paper, rows, outcomes, total[paper], room))
    return problems


def _paper(
    summary: ReviewSummary, paper: str, rows: Sequence[ReviewRow], outcomes: Sequence[tuple[str, Status, str]], total: int,
    room: Room,
) -> Problem:  # fmt: skip
    answers = []
    for row in rows:
        score = row["composite"].get("composite_score")
        label = f"{row['system']}, review {row['index'] + 1}" if row.get("index") else str(row["system"])
        numbers = []
        for tier in ("tier1", "tier2", "tier3"):
            values = [
                f"{name} {show_field(name, value, metric_scale(summary, f'{tier}.{name}'))}"
                for name, value in row[tier].items()
                if isinstance(value, float) and name not in REPEATED
            ]
            numbers += [f"{tier}: {', '.join(values)}"] if values else []
        answers.append(
            ShownAnswer(
                row["system"], label, find_status(is_complete=score is not None), score, error=cut(reasons_text(row), 1500),
                note=cut("; ".join(numbers), 3000), evidence=room(judges_said(row["tier2"])),
            )
        )  # fmt: skip
    more = f"The first {len(rows)} of {total} reviews; results.jsonl has all." if total > len(rows) else ""
    return Problem(paper, more, tuple(answers), tuple(outcomes))


# A review run's summary as Markdown and as tables for the terminal.

_SHORT = {"tier1": "1", "tier2": "2", "tier3": "3", "composite": "composite"}


def show_field(name: str, value: object, scale: Scale) -> str:
    """Return a value of a row in words, with its unit."""
    if isinstance(value, float):
        return f"{format_number(value)} s" if name == "execution_time" else scale.value(value)
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def metric_scale(summary: ReviewSummary, name: str) -> Scale:
    """Return how the numbers of a field are written: alike for all systems, as documented formulas may leave 0..1 for some."""
    return Scale(
        *(system["metrics"][name]["range"] for system in summary["systems"].values() if name in system["metrics"])
    )


def tier_rows(summary: ReviewSummary, system: str) -> list[tuple[str, ...]]:
    """Return the tier table of one system: tier, metric, value, interval, scored, missing."""
    metrics = summary["systems"][system]["metrics"]
    return [
        (_SHORT[tier], name, *summary_cells(Summary.from_record(metrics[field]), metric_scale(summary, field)))
        for tier, name, field in ((tier, name, f"{tier}.{name}") for tier, name in FIELDS)
    ]


def short_rows(summary: ReviewSummary, system: str) -> list[tuple[str, ...]]:
    """Return the tier table for a terminal: a tier in which nothing has a value is one row."""
    rows = tier_rows(summary, system)
    empty = {tier for tier, *_ in rows if all(row[2] == NOTHING for row in rows if row[0] == tier)}
    table_rows: list[tuple[str, ...]] = []
    for row in rows:
        if row[0] not in empty:
            table_rows.append(row)
        elif not any(earlier[0] == row[0] for earlier in table_rows):
            table_rows.append((row[0], "all" if row[0] != "composite" else row[1], *row[2:]))
    return table_rows


def tier_head(system: SystemSummary) -> tuple[str, ...]:
    """Return the head of the tier table."""
    level = format_level(metric["interval"] for metric in system["metrics"].values())
    return "tier", "metric", "mean", f"{level} CI", "scored", "missing"


def markdown(summary: ReviewSummary) -> str:
    """Return evaluation_summary.md; foreign names are escaped."""
    lines = [
        "# Review evaluation",
        "",
        (
            f"{summary['reviews']} reviews by {len(summary['systems'])} systems, {summary['papers']} papers; "
            f"policy `{summary['policy']}`, profile `{summary['profile']}`."
        ),
    ]
    for name, system in summary["systems"].items():
        table = markdown_table(tier_head(system), tier_rows(summary, name))
        lines += ["", f"## {text.markdown(name)}", "", *table, "", *_below(system)]
    lines += ["", "## Human-human similarity", "", *_human(summary)]
    lines += ["", "## Sensitivity to the weights", ""]
    sensitivity = summary["weight_sensitivity"]
    if sensitivity["reviews"]:
        changes, n_complete = format_percent(sensitivity["label_changes"]), sensitivity["reviews"]
        over = "If the weights vary at random around the stated ones"
        lines.append(f"{over}, {changes} of the recommendations change ({n_complete} complete composites).")
        for system_name, rank_record in (sensitivity["ranks"] or {}).items():
            shares = ", ".join(format_percent(share, 0) for share in rank_record["rank_shares"])
            lines.append(
                f"- {text.markdown(system_name)}: rank {rank_record['rank']}; shares of ranks 1, 2, ...: {shares}"
            )
    else:
        lines.append("No composite is complete, so the sensitivity is unknown.")
    if rows := _agreement_rows(summary):
        lines += ["", "## Agreement of the judges (Krippendorff's alpha, ordinal)", ""]
        lines += markdown_table(("rubric", "alpha", _agreement_head(summary), "reviews"), rows)
    return "\n".join(lines) + "\n"


def _below(system: SystemSummary) -> list[str]:
    labels = ", ".join(f"{count} {name}" for name, count in system["recommendations"].items()) or "none"
    own, share = system["own_recommendation"], Scale((0.0, 1.0))
    lines = [f"Recommendations by composite: {labels}."]
    if gaps := review_lacking.lines(system):
        lines += ["", "What the composite lacks:", "", *(f"- {text.markdown(gap)}" for gap in gaps), ""]
    if own["n"]:
        lines.append(
            f"The reviews' own recommendations differ from the human mean by {share.value(own['mean_absolute_difference'])} "
            f"{share.interval(own.get('mean_absolute_difference_interval'))} % of the scale on average ({own['n']} reviews; "
            f"{share.gap(own['mean_difference'])} {share.interval(own.get('mean_difference_interval'), signed=True)} signed)."
        )
    read = system["paper_read"]
    if read["in_part"]:
        lines.append(_say_part_read(read))
    if system["papers_without_review"]:
        lines.append(f"Papers without a review by this system: {system['papers_without_review']}.")
    return lines


def _human(summary: ReviewSummary) -> list[str]:
    yardstick = summary["human_yardstick"]
    if not yardstick["papers"]:
        return ["No paper has two human reviews."]
    rows = []
    for part in ("every_pair", "closest_other", "closest_pair_of_paper"):
        for name, spread in yardstick[part].items():
            numbers = (Scale((0.0, 1.0)).value(spread[key]) for key in ("median", "min", "max"))
            rows.append((part.replace("_", " "), name, str(spread["n"]), *numbers))
    threshold = summary["task_success_threshold"]
    lines = [*markdown_table(("compared", "similarity", "n", "median", "min", "max"), rows), ""]
    lines.append(f"Task success asks for {format_percent(threshold['value'])} ({threshold['from']}).")
    if yardstick["success_rate"] is not None:
        lines.append(f"{format_percent(yardstick['success_rate'])} of the human reviews would reach it.")
    elif yardstick["most_possible_combined"] is not None:
        lines.append(
            f"Even with a semantic score of 100 everywhere, the best human review would reach "
            f"{format_percent(yardstick['most_possible_combined'])}."
        )
    return lines


# The files of a review run.


def reports(rows: Sequence[ReviewRow], summary: ReviewSummary) -> dict[str, str | Iterator[str]]:
    """Return the files of a review run, made from its rows alone: no times are in them."""
    return {
        "results.jsonl": (encode(row) + "\n" for row in rows),
        "summary.json": json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n",
        "evaluation_summary.md": markdown(summary),
    }
