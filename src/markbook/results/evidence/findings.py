"""Evidence that a score's stats hold as words: quality points with their lines, a judge's reasons, and whatever else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markbook.evidence import Evidence, Finding
from markbook.text import cut

_MOST, _WORDS, _QUOTE, _NAME = 40, 1_200, 300, 80
_FACTS = 12


def point_to_lines(name: str, stats: Mapping[str, object]) -> Evidence | None:
    """Return the points of a quality score with their lines; None where the stats hold none."""
    points = [point for point in _list(stats.get("points")) if isinstance(point, Mapping)]
    if not points:
        return None
    linter_results = _mapping(stats.get("evidence"))
    findings = [_point(point) for point in points] + [
        _read_finding(tool, _mapping(linter_result)) for tool, linter_result in list(linter_results.items())[:5]
    ]
    return Evidence(name, facts_text({key: stats[key] for key in ("passed", "total") if key in stats}), tuple(findings))


def _point(point: Mapping[str, object]) -> Finding:
    passed = point.get("passed") is True
    words = _text(point.get("evidence"), _WORDS) + (
        " (nothing there could have failed it)" if point.get("vacuous") else ""
    )
    return Finding(
        _text(point.get("id"), _NAME), "passed" if passed else "failed", _line(point.get("line")), words.strip()
    )


def _read_finding(tool: object, result: Mapping[str, object]) -> Finding:
    """Return what a linter said; it changes no score."""
    return Finding(_text(tool, _NAME), "noted", words=facts_text(_mapping(result.get("rules"))) or "nothing found")


def read_judge_marks(name: str, stats: Mapping[str, object]) -> Evidence | None:
    """Return a judge's marks with its reasons and quotes; None where the stats are no judge's."""
    marks, by_judge = _mapping(stats.get("marks")), _mapping(stats.get("by_judge"))
    if not marks and not by_judge:
        return None
    why = _mapping(stats.get("evidence"))
    findings = [
        Finding(
            _text(criterion, _NAME).replace("_", " "),
            _number(mark),
            words=_text(_mapping(why.get(criterion)).get("reason"), _WORDS),
            quotes=tuple(_text(quote, _QUOTE) for quote in _list(_mapping(why.get(criterion)).get("quotes"))[:5]),
        )
        for criterion, mark in list(marks.items())[:_MOST]
    ]
    findings += [
        Finding(f"judge {_text(judge, _NAME)}", "", words=facts_text(_mapping(judge_marks)))
        for judge, judge_marks in list(by_judge.items())[:_MOST]
    ]
    named = {"n": "replies that counted", "n_missing": "replies without a mark", "deviation": "deviation",
             "coverage": "share of the text read", "quotes": "quotes", "quotes_found": "quotes found in the text",
             "flipped": "changed their mind with the order"}  # fmt: skip
    facts = {words: stats[key] for key, words in named.items() if stats.get(key) not in (None, "")}
    return Evidence(name, facts_text(facts), tuple(findings))


def facts_of(name: str, stats: Mapping[str, object]) -> Evidence | None:
    """Return stats of any shape in words; None where nothing in them can be said in a line."""
    words = facts_text(stats)
    return Evidence(name, words) if words else None


def facts_text(stats: Mapping[str, object]) -> str:
    """Return numbers and short words with their names, in one line."""
    facts = []
    for key, value in list(stats.items())[:_FACTS]:
        value_text = _plain(value)
        if value_text:
            facts.append(f"{_text(key, _NAME).replace('_', ' ')} {value_text}")
    return ", ".join(facts)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return cut(value, 200)
    if isinstance(value, Mapping):
        inner = [f"{_text(key, 40)} {_number(number)}" for key, number in list(value.items())[:8] if _is_number(number)]
        return f"({', '.join(inner)})" if inner else ""
    if isinstance(value, Sequence) and value and all(isinstance(part, str | int | float) for part in value):
        return cut(" / ".join(_number(part) if _is_number(part) else str(part) for part in value[:20]), 200)
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: object) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return _text(value, 40)
    return f"{value:g}" if isinstance(value, int) or not math.isfinite(value) else f"{value:.4g}"


def _list(value: object) -> Sequence[object]:
    return value[:_MOST] if isinstance(value, list | tuple) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object, most: int) -> str:
    return cut(value, most) if isinstance(value, str) else "" if value is None else cut(str(value), most)


def _line(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
