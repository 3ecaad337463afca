"""One attempt as words for a terminal, or as JSON: what was asked, handed in, tested, and why it failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markbook.results.kind import Shown
from markbook.text import cut, terminal, visible
from markbook.trace import Step, StepKind, Trace
from markbook.why import Change, Evidence, TracebackLine, Why

_PROMPT, _CODE, _TESTS = 4_000, 20_000, 40


def as_record(attempt: Shown) -> dict[str, object]:
    """Return an attempt as plain JSON, whole."""
    return {
        "model": attempt.model,
        "id": attempt.sample,
        "status": attempt.status,
        "facts": dict(attempt.facts),
        "prompt": attempt.prompt,
        "text": attempt.text,
        "error": attempt.error or None,
        "tests": [{"test": test, "result": result, "how": how} for test, result, how in attempt.tests],
        "why": attempt.why.to_record() if attempt.why else None,
        "evidence": [evidence.to_record() for evidence in attempt.evidence],
    }


def render_lines(attempt: Shown, *, prompt: bool = True) -> Iterator[str]:
    """Yield an attempt line by line, what was asked in front; nothing in it can move the cursor or change colours."""
    if prompt and attempt.prompt:
        yield from ["Prompt", *_block(attempt.prompt, _PROMPT), ""]
    facts = ", ".join(f"{name.lower()} {value}" for name, value in attempt.facts)
    yield f"{terminal(attempt.model)}: {attempt.status}" + (f" ({terminal(facts, limit=200)})" if facts else "")
    if attempt.error:
        yield f"  {terminal(attempt.error, limit=2_000)}"
    if attempt.text:
        yield from ["", "  Answer", *_block(attempt.text, _CODE)]
    if attempt.tests:
        yield from ["", "  Tests"]
    for words, result, how in attempt.tests[:_TESTS]:
        yield f"    {result:<7} {terminal(words, limit=120)}" + (
            "" if result == "passed" else f"  [{terminal(how, limit=160)}]"
        )
    if len(attempt.tests) > _TESTS:
        yield f"    ... and {len(attempt.tests) - _TESTS} more"
    if attempt.why:
        yield from ["", *(f"  {line}" for line in reason_lines(attempt.why))]
    if attempt.evidence:
        yield from ["", "  Evidence", *(f"    {line}" for evidence in attempt.evidence for line in _grounds(evidence))]


_MARKED: Mapping[Change, tuple[str, str]] = {
    "same": ("", ""), "lost": ("[-", "-]"), "added": ("{+", "+}"), "gap": (" ... ", " ... "),
}  # fmt: skip
"""How edits are written, as git writes them word by word."""


def _grounds(evidence: Evidence) -> Iterator[str]:
    yield terminal(evidence.metric + (f": {evidence.lead}" if evidence.lead else ""), limit=400)
    for finding in evidence.findings:
        where = f"line {finding.line}: " if finding.line else ""
        words_said = " ".join((finding.words, *(f'"{quote}"' for quote in finding.quotes)))
        yield f"  {finding.verdict:<7} {terminal(finding.name, limit=60)}  {terminal(where + words_said, limit=600)}".rstrip()
    for name, some in evidence.lists:
        yield f"  {terminal(name)}: {terminal(' | '.join(some), limit=1_000)}"
    if evidence.edits:
        edits = "".join(_MARKED[change][0] + text + _MARKED[change][1] for change, text in evidence.edits)
        yield from (f"  {line}" for line in visible(cut(edits, 4_000)).splitlines())
    if evidence.note:
        yield f"  ({terminal(evidence.note)})"


def reason_lines(why: Why) -> Iterator[str]:
    """Yield why an attempt failed, line by line; nothing in it can move the cursor or change colours."""
    yield "Why it failed" + (" (seen in a second run, after the verdict)" if why.is_again else "")
    if why.error:
        yield f"  {terminal(why.error)}"
    if why.limit:
        yield f"  limit reached: {terminal(why.limit)}" + (", at:" if why.lines else "")
    yield from _render_traceback(why.lines)
    for failure in why.failures:
        yield f"  {terminal(failure.source, limit=300)}"
        if failure.error:
            yield f"      {terminal(failure.error)}"
            yield from _render_traceback(failure.lines)
        if failure.has_sides:
            expected = "expected" if failure.operator in ("==", "prints") else f"expected, {failure.operator}"
            kinds = (f"  ({failure.expected_type})", f"  ({failure.got_type})") if failure.types_differ else ("", "")
            yield f"      {terminal(expected)}  {terminal(failure.expected)}{terminal(kinds[0])}"
            yield f"      {'got':<{len(expected)}}  {terminal(failure.got)}{terminal(kinds[1])}"
        elif failure.operator:
            yield f"      is not true: {terminal(failure.got)}"
        if failure.difference:
            yield f"      {terminal(failure.difference)}"
        if failure.printed:
            yield from ["      stderr", *_block(failure.printed, None)]
    if why.left_out:
        yield f"  ... and {why.left_out} more"
    for name, text in (("stdout", why.stdout), ("stderr", why.stderr)):
        if text:
            yield from [f"  {name}", *_block(text, None)]


def _render_traceback(lines: tuple[TracebackLine, ...]) -> Iterator[str]:
    for line in lines:
        where = f" in {line.function}" if line.function and line.function != "<module>" else ""
        yield f"      line {line.number}{terminal(where)}: {terminal(line.text)}"


def _block(text: str, most: int | None) -> Iterator[str]:
    # Cut before it is made visible: a text of controls grows to several times its length.
    for line in visible(cut(text, most)).replace("\t", "    ").splitlines():
        yield f"    {line}"


# The steps of a trace in words: what was said and done, when, and what it cost.

STEPS = 400
_TEXT = 2_000
_ARGUMENTS = 4_000
_BRIEF = 90


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step in words."""

    kind: str
    at: str
    when: str
    x: float
    width: float
    """Where it lies in the run's time, in hundredths; no width without times."""
    agent: str
    what: str
    target: str
    mark: str
    is_failed: bool
    brief: str
    texts: tuple[tuple[str, str], ...]
    costs: str


def order_steps(trace: Trace) -> tuple[float | None, list[Step]]:
    """Return when a run began, and its steps as they are shown: by their times where all have one, else as the log has them.

    A message without an agent that repeats the result of a call is left out: the call has it.
    """
    results = {step.result for step in trace.steps if step.kind is StepKind.TOOL and step.result}
    steps = [
        step for step in trace.steps if step.kind is not StepKind.MESSAGE or step.agent or step.text not in results
    ]
    starts = [step.start for step in steps if step.start is not None]
    begin = min(starts if trace.start is None else [trace.start, *starts], default=None)
    return begin, sorted(steps, key=lambda step: step.start or 0.0) if len(starts) == len(steps) else steps


def describe_steps(trace: Trace) -> list[ShownStep]:
    """Return the first steps of a run, every foreign word made plain."""
    begin, steps = order_steps(trace)
    times = [time for step in steps for time in (step.start, step.end) if time is not None]
    begin = begin or 0.0
    span = max(times, default=begin) - begin
    return [_show_step(step, begin, span) for step in steps[:STEPS]]


def _show_step(step: Step, begin: float, span: float) -> ShownStep:
    x = width = 0.0
    when = "no time"
    at = ""
    if step.start is not None:
        at = f"{step.start - begin:.2f} s"
        x = round(100 * (step.start - begin) / span, 2) if span else 0.0
        # A step of no length would not be seen: a hundredth of the line is the least.
        width = round(max(1.0, 100 * (step.seconds or 0.0) / span), 2) if span else 1.0
        when = f"from {at}" + (f" for {step.seconds:.2f} s" if step.seconds is not None else "")
    failed = step.ok is False
    costs = [
        "" if step.seconds is None else f"{step.seconds:.2f} s",
        "" if step.input_tokens is None else f"{step.input_tokens:,} tokens in",
        "" if step.output_tokens is None else f"{step.output_tokens:,} tokens out",
        "" if step.cost is None else f"${step.cost:.4f}",
    ]
    texts = tuple((name, text) for name, text in _texts(step) if text)
    brief = next((text for name, text in texts if name in ("Arguments", "Message")), "")
    return ShownStep(
        kind="failed" if failed else step.kind.value,
        at=at, when=when, x=min(x, 99.0), width=min(width, 100.0 - min(x, 99.0)),
        agent=terminal(step.agent, limit=60), target=terminal(step.target, limit=60),
        what=terminal(step.name or step.kind.value, limit=80),
        mark="failed" if failed else "ok" if step.kind is StepKind.TOOL and step.ok else "",
        is_failed=failed, brief=terminal(brief, limit=_BRIEF), texts=texts, costs=", ".join(filter(None, costs)),
    )  # fmt: skip


def _texts(step: Step) -> list[tuple[str, str]]:
    import json

    def plain(text: str, most: int = _TEXT) -> str:
        return visible(cut(text, most)).replace("\t", "    ")

    arguments = step.arguments
    if arguments is not None and not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False, indent=2, default=str)
        except (ValueError, RecursionError):
            arguments = "too deep to be shown"
    return [
        ("Error", plain(step.error)),
        ("Arguments", plain(arguments or "", _ARGUMENTS)),
        ("Result", plain(step.result)),
        ("Message", plain(step.text)),
    ]
