"""The four documented quality scores of Python code: context, style, security, performance.

Each is the share of its documented points (5, 6, 4, 4) that the code earns. By default a point is decided on the syntax
tree and the tokens, so that words in strings, comments and docstrings count for nothing; `profile="documented"` gives
the plain textual checks instead. Source: the single-turn metrics document; `docs/metrics/quality.md` has every point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markbook.errors import UsageError
from markbook.metrics import python_source
from markbook.metrics.pairs import NO_STATS, Score, measure_each, missing_undefined
from markbook.metrics.quality import lint
from markbook.metrics.quality.context import judge
from markbook.metrics.quality.points import POINTS, ParsedCode, Point, PointLimits, read
from markbook.metrics.quality.textual import CHECKS
from markbook.types import Direction, Item, Measurement, Metric, Missing, MissingKind

_DOCUMENTED = PointLimits()
PROFILES = ("corrected", "documented")


@dataclass(frozen=True, slots=True)
class QualityMetric(Metric):
    """One of the four scores. `stats["points"]` has each point as {id, passed, vacuous, line, evidence}."""

    name: str
    signature: str
    profile: str = "corrected"
    limits: PointLimits = _DOCUMENTED
    reads_context: bool = False
    evidence: tuple[str, ...] = ()
    version: int = 1
    direction: Direction = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    needs_reference: bool = False

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order: the share of points earned.

        Missing: `no_completion` for an empty answer, `missing_undefined` for one that does not parse, `not_applicable` for a
        context that states no rule (only where the context is read).
        """
        measurements = measure_each(self.name, self.signature, items, self._score, needs_reference=False)
        return _with_evidence(self.evidence, items, measurements) if self.evidence else measurements

    def _score(self, item: Item) -> Score:
        text = item.attempt.text
        if self.profile == "documented":
            return _score_documentation(self.name, text)
        if not text.strip():
            return Missing(MissingKind.NO_COMPLETION, "the answer is empty"), NO_STATS
        answer = read(text)
        if isinstance(answer, str):
            return missing_undefined(f"the answer does not parse: {answer}"), NO_STATS
        if self.reads_context:
            return self._against_context(_context(item), answer)
        points = [decide(answer, self.limits) for decide in POINTS[self.name]]
        return _share(points, answer)

    def _against_context(self, context: str, answer: ParsedCode) -> Score:
        verdicts = judge(context, answer, self.limits)
        if not verdicts.points:
            why = "the context states no rule that can be checked on this answer"
            return Missing(MissingKind.NOT_APPLICABLE, why), {"not_judged": list(verdicts.not_judged)}
        score, stats = _share(verdicts.points, answer)
        return score, {**stats, "not_judged": list(verdicts.not_judged)}


def context_adherence(
    *,
    profile: str = "corrected",
    context: str = "ignored",
    line_length: int = 80,
    loop_names: Iterable[str] = (),
    evidence: Iterable[str] = (),
) -> QualityMetric:
    """Return the share of five points: descriptive names, type hints, a docstring, line length, def with return.

    Args:
        profile: `corrected` decides on the syntax tree; `documented` gives the document's textual checks.
        context: `ignored` as documented, or `list_settings`: the points are then the rules that the problem's own context
            states (line length, hints, docstrings, naming, ...), missing where it states none. The context is
            `sample.context`, or the sample's input.
        line_length: the limit in code points.
        loop_names: short names that count as descriptive, such as `["i", "j", "k"]`.
        evidence: `ruff`, `bandit` or both: their findings stand in `stats["evidence"]` and change no score.

    Raises:
        UsageError: an option has a value that it cannot have.
        ExtraMissingError: evidence is asked for and the extra `lint` is not installed.
    """
    if context not in ("ignored", "stated"):
        raise UsageError(f"unknown context {context!r}", hint="ignored, stated")
    if context == "stated" and profile == "documented":
        raise UsageError("the documented profile does not read the context", hint="leave out one of the two")
    return _make(
        "context_adherence",
        profile,
        PointLimits(line_length, frozenset(loop_names)),
        evidence,
        context=context == "stated",
    )


def style_compliance(
    *,
    profile: str = "corrected",
    line_length: int = 80,
    loop_names: Iterable[str] = (),
    evidence: Iterable[str] = (),
) -> QualityMetric:
    """Return the share of six points: indents of four, names, docstring, hints, line length, operator spacing.

    Options and errors as in `context_adherence`.
    """
    return _make("style_compliance", profile, PointLimits(line_length, frozenset(loop_names)), evidence)


def security_compliance(*, profile: str = "corrected", evidence: Iterable[str] = ()) -> QualityMetric:
    """Return the share of four points: validation, error handling, no credentials, no eval, exec or compile.

    Options and errors as in `context_adherence`.
    """
    return _make("security_compliance", profile, PointLimits(), evidence)


def performance_awareness(*, profile: str = "corrected", evidence: Iterable[str] = ()) -> QualityMetric:
    """Return the share of four points: comprehension, generator expression, no nested loops, fast built-ins.

    Options and errors as in `context_adherence`.
    """
    return _make("performance_awareness", profile, PointLimits(), evidence)


def _make(
    name: str, profile: str, limits: PointLimits, evidence: Iterable[str], *, context: bool = False
) -> QualityMetric:
    if profile not in PROFILES:
        raise UsageError(f"unknown profile {profile!r}", hint=", ".join(PROFILES))
    if limits.line_length < 1:
        raise UsageError(f"a line length of {limits.line_length} is no limit")
    parts = [name, f"profile:{profile}"]
    if profile == "corrected" and name in ("context_adherence", "style_compliance"):
        parts += [f"line:{limits.line_length}", f"short:{'+'.join(sorted(limits.loop_names)) or 'none'}"]
    if context:
        parts.append("context:stated")
    return QualityMetric(name, "|".join([*parts, "v1"]), profile, limits, context, lint.check_tools(tuple(evidence)))


def _context(item: Item) -> str:
    return item.sample.input if item.sample.context is None else item.sample.context


def _share(points: Sequence[Point], answer: ParsedCode) -> Score:
    passed = sum(point.passed for point in points)
    points_shown = [_in_answer(point, answer) for point in points]
    facts = answer.facts
    stats: dict[str, object] = {
        "points": points_shown,
        "passed": passed,
        "total": len(points),
        "non_vacuous": sum(point.passed and not point.vacuous for point in points) / len(points),
        "read": answer.rung,
    }
    if facts.hintable:
        stats["hint_coverage"] = facts.hinted / facts.hintable
    return passed / len(points), stats


def _in_answer(point: Point, answer: ParsedCode) -> Mapping[str, object]:
    """Return the point with its line counted in the answer as it was given."""
    line = point.line + answer.offset if point.line is not None else None
    return {**point.as_dict(), "line": line}


def _score_documentation(name: str, text: str) -> Score:
    if not text:
        # The document's context score leaves empty answers out of its mean; the others count them as 0.
        empty: float | Missing = 0.0
        if name == "context_adherence":
            empty = Missing(MissingKind.NO_COMPLETION, "the answer is empty")
        return empty, {"points": []}
    points = [Point(point, passed=check(text)) for point, check in CHECKS[name].items()]
    passed = sum(point.passed for point in points)
    stats = {"points": [point.as_dict() for point in points], "passed": passed, "total": len(points)}
    return passed / len(points), stats


def _with_evidence(
    tools: tuple[str, ...], items: Sequence[Item], measurements: Sequence[Measurement]
) -> list[Measurement]:
    sources: list[str | None] = []
    for item in items:
        text = item.attempt.text
        source = python_source.read(text) if isinstance(text, str) and text.strip() else ""
        sources.append(source.text if isinstance(source, python_source.PythonSource) else None)
    findings = lint.findings(tools, sources)
    return [
        Measurement(
            metric=measurement.metric,
            value=measurement.value,
            missing=measurement.missing,
            sample_id=measurement.sample_id,
            index=measurement.index,
            model=measurement.model,
            stats={**measurement.stats, "evidence": evidence},
            signature=measurement.signature,
        )
        for measurement, evidence in zip(measurements, findings, strict=True)
    ]
