"""The four documented quality scores of Python code: context, style, security, performance.

Each is the share of its documented points (5, 6, 4, 4) that the code earns. By default a point is decided on the syntax
tree and the tokens, so that words in strings, comments and docstrings count for nothing; `profile="documented"` gives
the plain textual checks instead. Source: the single-turn metrics document; `docs/metrics/quality.md` has every point.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from markbook.errors import ExtraMissingError, IncompleteError, UsageError
from markbook.metrics import NO_STATS, Score, UnitMetric, measure_each, missing_undefined, python_source
from markbook.metrics.quality import points
from markbook.metrics.quality.points import POINTS, Decide, ParsedCode, Point, PointLimits, read
from markbook.metrics.quality.visit import Place
from markbook.types import Item, Measurement, Missing, MissingKind

# The documented profile: the plain textual checks, with every false hit and miss that they have.
#
# Each decides exactly what the original regular expression decides, in time linear in the text: the expressions
# `\[.*for.*in.*\]` and the like take minutes on one long line.

_WORD = re.compile(r"\b[a-z_][a-z0-9_]*\b")
_SECRET = re.compile(r"(password|secret|key|token|api_key)\s*=\s*[\"'][^\"']+[\"']", re.IGNORECASE)
_UNSAFE = re.compile(r"\b(eval|exec|compile)\s*\(")
_OPERATOR = re.compile(r"\w\s*+[+\-*/=]\s*+\w")
_FAST = ("sum(", "max(", "min(", "any(", "all(", "enumerate(", "zip(")


def check_text(score: str, text: str) -> dict[str, bool]:
    """Return which of a score's points a text earns by the documented textual checks, by the id of the point."""
    lines = text.split("\n")
    if score == "security_compliance":
        lowered = text.lower()
        return {
            "validation": any(word in lowered for word in ("validate", "check", "verify", "isinstance", "assert")),
            "errors": any(word in text for word in ("try:", "except", "raise", "ValueError", "TypeError")),
            "credentials": _SECRET.search(text) is None,
            "unsafe_calls": _UNSAFE.search(text) is None,
        }
    if score == "performance_awareness":
        bodies = list(_loop_bodies(lines))
        listed = any(_in_order(line, ("[", "for", "in", "]")) for line in lines)
        return {
            "comprehension": listed or not any("append" in body for body in bodies),
            "generator": any(_in_order(line, ("(", "for", "in", ")")) for line in lines),
            "nested_loops": not any(_in_order(body, ("for", ":")) for body in bodies),
            "built_ins": any(call in text for call in _FAST),
        }
    words = _WORD.findall(text)
    long_words = sum(len(word) > 2 for word in words)
    shared = {
        "docstring": '"""' in text or "'''" in text,
        "hints": "->" in text or ": " in text,
        "lines": all(len(line) <= 80 for line in lines),
    }
    if score == "context_adherence":
        hints = {"names": long_words > 0, "hints": shared["hints"]}
        return {**hints, **shared, "structure": "def " in text and "return" in text}
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    return {
        "indentation": not any(indent % 4 for indent in indents),
        "names": long_words >= len(words) * 0.8,
        **shared,
        "operators": _OPERATOR.search(text) is not None,
    }


def _in_order(line: str, parts: tuple[str, ...]) -> bool:
    """Tell whether the parts stand in the line one after the other, as `a.*b.*c` does."""
    position = 0
    for part in parts:
        index = line.find(part, position)
        if index < 0:
            return False
        position = index + len(part)
    return True


def _loop_bodies(lines: Iterable[str]) -> Iterator[str]:
    """Yield the next line that is not blank after each line that has a `for` and ends in a colon."""
    is_head = False
    for line in lines:
        stripped = line.rstrip()
        if not stripped:
            continue
        if is_head:
            yield line
        is_head = stripped.endswith(":") and "for" in stripped[:-1]


# What a problem's own context asks of the code, as far as a program can check it.
#
# A context such as "Use descriptive variable names, add type hints, include docstrings for all functions. Maximum line
# length 80 characters." becomes one point a rule. A rule that is stated as not wanted ("no docstrings needed") is
# dropped, and a rule that the answer could not have kept (a type hint, where the answer is only a function's body) is
# listed as not judged.

MAX_CONTEXT = 20_000
"""Characters of the context that are read for rules."""

# A point within a number, as in Python 3.11, does not end a sentence.
_SENTENCE = re.compile(r"[^.;\n]+(?:\.\d[^.;\n]*)*")
_NOT_WANTED = re.compile(r"\b(?:no|not|without|don't|never|omit|skip|optional|unnecessary)\b(?:(?!\bbut\b)[^,]){0,24}$")
_WAIVED = re.compile(r"^[^,]{0,16}\b(?:not (?:needed|required|necessary)|optional|unnecessary)\b")
_LENGTH = (re.compile(r"\blines?\b[^,]{0,60}?\b(\d{2,3})\b"), re.compile(r"\b(\d{2,3})[- ](?:char|col)\w*"))
_EVERY = re.compile(r"\b(?:all|every|each)\b")
_SNAKE = re.compile(r"_*[a-z0-9][a-z0-9_]*|_+")
_CAMEL = re.compile(r"_*[a-z][A-Za-z0-9]*|_+")
_PASCAL = re.compile(r"_*[A-Z][A-Za-z0-9]*")
_UPPER = re.compile(r"_*[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of the rules of one context."""

    points: tuple[Point, ...]
    not_judged: tuple[str, ...]
    """Rules that the answer could not have kept or broken."""


def _check_spelling(name: str, pattern: re.Pattern[str], kind: str, *, variables: bool = False) -> Decide:
    """Return a check that names of a kind are spelled in one way."""

    def check(answer: ParsedCode, limits: PointLimits) -> Point:
        constants = {word for _, word, what in answer.facts.defined if what == "constant"}
        judged: list[Place] = [(line, word) for line, word, what in answer.facts.defined if what == kind]
        if variables:
            judged += [(line, word) for line, word in answer.facts.names if word not in constants]
        # Names such as `__init__` are Python's own and not the author's choice.
        if kind == "function":
            judged = [(line, word) for line, word in judged if not word.startswith("__")]
        wrong = [(line, word) for line, word in sorted(judged) if not pattern.fullmatch(word)]
        if wrong:
            return Point(name, passed=False, line=wrong[0][0], evidence=wrong[0][1])
        return Point(name, passed=True, vacuous=not judged, evidence=f"{len(judged)} names")

    return check


_RULES: tuple[tuple[str, Decide, bool], ...] = (
    (r"descriptive|meaningful (?:variable )?names", points.names, True),
    (r"snake[_ -]?case|pep[ -]?8 nam", _check_spelling("snake_case", _SNAKE, "function", variables=True), True),
    (r"(?<!upper )\bcamel[_ -]?case", _check_spelling("camel_case", _CAMEL, "function", variables=True), True),
    (r"pascal[_ -]?case|capwords|upper ?camel", _check_spelling("pascal_case", _PASCAL, "class"), True),
    (r"upper[_ ]?(?:snake[_ ]?)?case|all[_ -]caps", _check_spelling("upper_case", _UPPER, "constant"), True),
    (r"(?:4|four)[- ]spaces?|indent\w* (?:of|with) (?:4|four)", points.indentation, True),
    (r"error[- ]handling|try[-/ ]*(?:and )?except|handle (?:all )?exceptions", points.errors, True),
    (r"validat(?:e|ed|ion)|sanitiz|bounds check", points.validation, True),
    (r"hard-?coded|credentials", points.credentials, False),
    (r"\beval\b|\bexec\b", points.unsafe_calls, False),
    (r"comprehension", points.comprehension, True),
    (r"generator", points.generator, True),
    (r"built-?in", points.built_ins, True),
    (r"nested loop", points.nested_loops, False),
    (r"context manager", points.context_manager, True),
)
"""What is looked for, how it is checked, and whether a negation before it drops the rule (False: it is a ban)."""


def judge(context: str, answer: ParsedCode, limits: PointLimits) -> Verdicts:
    """Return one point a rule that the context states and that can be checked."""
    points_by_id: dict[str, Point] = {}
    not_judged: list[str] = []
    for match in _SENTENCE.finditer(context[:MAX_CONTEXT].lower()):
        for check, needs_head in _read_checks(match[0]):
            point = check(answer, limits)
            if needs_head and answer.is_body:
                not_judged.append(point.id)
            else:
                points_by_id.setdefault(point.id, point)
    return Verdicts(tuple(points_by_id.values()), tuple(dict.fromkeys(not_judged)))


def _read_checks(sentence: str) -> list[tuple[Decide, bool]]:
    """Return the checks that one sentence asks for, and whether each needs the function's head to be there."""
    every = _EVERY.search(sentence) is not None
    stated: list[tuple[Decide, bool]] = []
    lengths = [int(match[1]) for pattern in _LENGTH if (match := pattern.search(sentence))]
    # The range keeps other numbers that stand near the word "line" out.
    length = next((length for length in lengths if 40 <= length <= 400), None)
    if length and "line" in sentence:
        stated.append((lambda answer, _: points.lines(answer, PointLimits(line_length=length)), False))
    if _is_required(sentence, r"type[- ](?:hint|annotation)|annotat"):
        stated.append((points.every_hint if every else points.hints, True))
    if _is_required(sentence, r"docstring|\bdocument (?:all|every|each|your|public)"):
        stated.append((points.every_docstring if every else points.docstring, True))
    for pattern, check, droppable in _RULES:
        if _is_required(sentence, pattern) if droppable else re.search(pattern, sentence):
            stated.append((check, False))
    return stated


def _is_required(sentence: str, pattern: str) -> bool:
    """Tell whether the sentence asks for it, and does not say that it is not needed."""
    match = re.search(pattern, sentence)
    if match is None:
        return False
    return not _NOT_WANTED.search(sentence[: match.start()]) and not _WAIVED.search(sentence[match.end() :])


# What ruff and bandit say about answers: evidence beside a score, never the score.
#
# Their rules change from version to version, so the versions stand beside every finding. One process for the whole
# batch: a process an answer costs 11 ms (ruff) or half a second (bandit).

TOOLS = ("ruff", "bandit")
_SECONDS = 600.0
# Isolated from any configuration file, and deaf to `noqa`: an answer must not choose the rules that it is held to.
_RUFF = (
    *("check", "--isolated", "--preview", "--no-cache", "--exit-zero", "--quiet", "--ignore-noqa"),
    *("--select", "E1,E2,E501,E7,F,D1,ANN,S,PERF,N,BLE", "--line-length", "80", "--output-format", "json"),
)
# An answer must not silence a finding by a `nosec` of its own.
_BANDIT = ("-r", "-f", "json", "-q", "--ignore-nosec", "--exit-zero")


def check_tools(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the tools' names, in order.

    Raises:
        UsageError: one of them is unknown.
        ExtraMissingError: one of them is not installed (extra `lint`).
    """
    for tool in tools:
        if tool not in TOOLS:
            raise UsageError(f"unknown evidence {tool!r}", hint="ruff, bandit")
        if importlib.util.find_spec(tool) is None:  # not imported: they run in a process of their own
            raise ExtraMissingError(f"this needs the package {tool!r}", hint="pip install 'markbook[lint]'")
    return tuple(tools)


def list_findings(tools: Sequence[str], sources: Sequence[str | None]) -> list[dict[str, object]]:
    """Return, for each source, `{tool: {"version", "rules": {rule id: count}}}`; empty for None."""
    findings_by_source: list[dict[str, object]] = [{} for _ in sources]
    if not tools or not any(source is not None for source in sources):
        return findings_by_source
    with tempfile.TemporaryDirectory(prefix="markbook-lint-") as folder:
        for index, source in enumerate(sources):
            if source is not None:
                # A lone surrogate cannot stand in a file; the linters then see a question mark in its place.
                text = source.encode("utf-8", "replace").decode("utf-8")
                (Path(folder) / f"answer_{index}.py").write_text(text, encoding="utf-8", newline="\n")
        for tool in tools:
            if tool == "ruff":
                rows = [(row["filename"], row["code"] or "syntax") for row in _run(tool, [*_RUFF, folder])]
            else:
                rows = [(row["filename"], row["test_id"]) for row in _run(tool, [*_BANDIT, folder])["results"]]
            rules: dict[str, Counter[str]] = {}
            for path, rule in rows:
                rules.setdefault(Path(path).name, Counter())[rule] += 1
            version = metadata.version(tool)
            for index, source in enumerate(sources):
                if source is not None:
                    counted: Mapping[str, int] = rules.get(f"answer_{index}.py", Counter())
                    findings_by_source[index][tool] = {"version": version, "rules": dict(sorted(counted.items()))}
    return findings_by_source


def _run(tool: str, arguments: Sequence[str]) -> Any:
    command = [sys.executable, "-m", tool, *arguments]
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        message = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise IncompleteError(f"{tool} gave no findings (exit {done.returncode}): {message}") from error


_DOCUMENTED = PointLimits()
PROFILES = ("corrected", "documented")


@dataclass(frozen=True, slots=True)
class QualityMetric(UnitMetric):
    """One of the four scores. `stats["points"]` has each point as {id, passed, vacuous, line, evidence}."""

    name: str
    signature: str
    profile: str = "corrected"
    limits: PointLimits = _DOCUMENTED
    reads_context: bool = False
    evidence: tuple[str, ...] = ()
    needs_reference: bool = False

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order: the share of points earned.

        Missing: `no_completion` for an empty answer, `undefined` for one that does not parse, `not_applicable` for a
        context that states no rule (only where the context is read).
        """
        measurements = measure_each(self.name, self.signature, items, self._score, needs_reference=False)
        if not self.evidence:
            return measurements
        sources: list[str | None] = []
        for item in items:
            text = item.attempt.text
            source = python_source.read(text) if isinstance(text, str) and text.strip() else ""
            sources.append(source.text if isinstance(source, python_source.PythonSource) else None)
        findings = list_findings(self.evidence, sources)
        return [
            replace(measurement, stats={**measurement.stats, "evidence": evidence})
            for measurement, evidence in zip(measurements, findings, strict=True)
        ]

    def _score(self, item: Item) -> Score:
        text = item.attempt.text
        if self.profile == "documented":
            if not text and self.name == "context_adherence":
                # The document's context score leaves empty answers out of its mean; the others count them as 0.
                return Missing(MissingKind.NO_COMPLETION, "the answer is empty"), {"points": []}
            if not text:
                return 0.0, {"points": []}
            checked = [Point(point, passed=passed) for point, passed in check_text(self.name, text).items()]
            n_passed = sum(point.passed for point in checked)
            listed = [point.as_dict() for point in checked]
            return n_passed / len(checked), {"points": listed, "passed": n_passed, "total": len(checked)}
        if not text.strip():
            return Missing(MissingKind.NO_COMPLETION, "the answer is empty"), NO_STATS
        answer = read(text)
        if isinstance(answer, str):
            return missing_undefined(f"the answer does not parse: {answer}"), NO_STATS
        if not self.reads_context:
            return _share([decide(answer, self.limits) for decide in POINTS[self.name]], answer)
        verdicts = judge(item.sample.input if item.sample.context is None else item.sample.context, answer, self.limits)
        not_judged = {"not_judged": list(verdicts.not_judged)}
        if not verdicts.points:
            why = "the context states no rule that can be checked on this answer"
            return Missing(MissingKind.NOT_APPLICABLE, why), not_judged
        score, stats = _share(verdicts.points, answer)
        return score, {**stats, **not_judged}


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
        context: `ignored` as documented, or `stated`: the points are then the rules that the problem's own context
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
    *, profile: str = "corrected", line_length: int = 80, loop_names: Iterable[str] = (), evidence: Iterable[str] = ()
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
        raise UsageError(f"a line length of {limits.line_length} is not a limit")
    parts = [name, f"profile:{profile}"]
    if profile == "corrected" and name in ("context_adherence", "style_compliance"):
        parts += [f"line:{limits.line_length}", f"short:{'+'.join(sorted(limits.loop_names)) or 'none'}"]
    if context:
        parts.append("context:stated")
    return QualityMetric(name, "|".join([*parts, "v1"]), profile, limits, context, check_tools(tuple(evidence)))


def _share(points: Sequence[Point], answer: ParsedCode) -> Score:
    passed = sum(point.passed for point in points)
    facts = answer.facts
    # Lines are counted in the answer as it was given, whose code may begin further down.
    lines = [None if point.line is None else point.line + answer.offset for point in points]
    stats: dict[str, object] = {
        "points": [{**point.as_dict(), "line": line} for point, line in zip(points, lines, strict=True)],
        "passed": passed,
        "total": len(points),
        "non_vacuous": sum(point.passed and not point.vacuous for point in points) / len(points),
        "read": answer.rung,
    }
    if facts.hintable:
        stats["hint_coverage"] = facts.hinted / facts.hintable
    return passed / len(points), stats
