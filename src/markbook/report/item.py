"""One attempt as words for a terminal, or as JSON: what was asked, handed in, tested, and why it failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from markbook.evidence import Change, Evidence
from markbook.results.kind import Shown
from markbook.text import cut, terminal, visible
from markbook.why import Failure, TracebackLine, Why

_PROMPT, _CODE, _TESTS = 4_000, 20_000, 40


def as_record(shown: Shown) -> dict[str, object]:
    """Return an attempt as plain JSON, whole."""
    return {
        "model": shown.model,
        "id": shown.sample,
        "status": shown.status,
        "facts": dict(shown.facts),
        "prompt": shown.prompt,
        "text": shown.text,
        "error": shown.error or None,
        "tests": [{"test": test, "result": result, "how": how} for test, result, how in shown.tests],
        "why": shown.why.to_record() if shown.why else None,
        "evidence": [one.to_record() for one in shown.evidence],
    }


def lines_of(shown: Shown, *, prompt: bool = True) -> Iterator[str]:
    """Yield an attempt line by line; nothing in it can move the cursor or change colours.

    Args:
        shown: the attempt.
        prompt: whether what was asked stands in front.
    """
    if prompt and shown.prompt:
        yield from ["Prompt", *_block(shown.prompt, _PROMPT), ""]
    facts = ", ".join(f"{name.lower()} {value}" for name, value in shown.facts)
    yield f"{terminal(shown.model)}: {shown.status}" + (f" ({terminal(facts, limit=200)})" if facts else "")
    if shown.error:
        yield f"  {terminal(shown.error, limit=2_000)}"
    if shown.text:
        yield from ["", "  Answer", *_block(shown.text, _CODE)]
    if shown.tests:
        yield from ["", "  Tests"]
    for words, result, how in shown.tests[:_TESTS]:
        yield f"    {result:<7} {terminal(words, limit=120)}" + (
            "" if result == "passed" else f"  [{terminal(how, limit=160)}]"
        )
    if len(shown.tests) > _TESTS:
        yield f"    ... and {len(shown.tests) - _TESTS} more"
    if shown.why:
        yield from ["", *(f"  {line}" for line in _why(shown.why))]
    if shown.evidence:
        yield from [
            "",
            "  What the scores rest on",
            *(f"    {line}" for one in shown.evidence for line in _grounds(one)),
        ]


_MARKED: Mapping[Change, tuple[str, str]] = {
    "same": ("", ""), "lost": ("[-", "-]"), "added": ("{+", "+}"), "gap": (" ... ", " ... "),
}  # fmt: skip
"""How edits are written, as git writes them word by word."""


def _grounds(one: Evidence) -> Iterator[str]:
    yield terminal(one.metric + (f": {one.lead}" if one.lead else ""), limit=400)
    for each in one.findings:
        where = f"line {each.line}: " if each.line else ""
        said = " ".join((each.words, *(f'"{quote}"' for quote in each.quotes)))
        yield f"  {each.verdict:<7} {terminal(each.name, limit=60)}  {terminal(where + said, limit=600)}".rstrip()
    for name, some in one.lists:
        yield f"  {terminal(name)}: {terminal(' | '.join(some), limit=1_000)}"
    if one.edits:
        edits = "".join(_MARKED[change][0] + text + _MARKED[change][1] for change, text in one.edits)
        yield from (f"  {line}" for line in visible(cut(edits, 4_000)).splitlines())
    if one.note:
        yield f"  ({terminal(one.note)})"


def _why(why: Why) -> Iterator[str]:
    yield "Why it failed" + (" (seen in a second run, after the verdict)" if why.is_again else "")
    if why.error:
        yield f"  {terminal(why.error)}"
    if why.limit:
        yield f"  a limit was reached: {terminal(why.limit)}" + ("; it was here:" if why.lines else "")
    yield from _traced(why.lines)
    for one in why.failures:
        yield from _failure(one)
    if why.left_out:
        yield f"  ... and {why.left_out} more"
    for name, text in (("stdout", why.stdout), ("stderr", why.stderr)):
        if text:
            yield from [f"  {name}", *_block(text, None)]


def _failure(one: Failure) -> Iterator[str]:
    yield f"  {terminal(one.source, limit=300)}"
    if one.error:
        yield f"      {terminal(one.error)}"
        yield from _traced(one.lines)
    if one.has_sides:
        wanted = "expected" if one.operator in ("==", "prints") else f"expected, {one.operator}"
        width = len(wanted)
        kinds = (f"  ({one.expected_type})", f"  ({one.got_type})") if one.types_differ else ("", "")
        yield f"      {terminal(wanted)}  {terminal(one.expected)}{terminal(kinds[0])}"
        yield f"      {'got':<{width}}  {terminal(one.got)}{terminal(kinds[1])}"
    elif one.operator:
        yield f"      is not true: {terminal(one.got)}"
    if one.difference:
        yield f"      {terminal(one.difference)}"
    if one.printed:
        yield from ["      stderr", *_block(one.printed, None)]


def _traced(lines: tuple[TracebackLine, ...]) -> Iterator[str]:
    for line in lines:
        where = f" in {line.function}" if line.function and line.function != "<module>" else ""
        yield f"      line {line.number}{terminal(where)}: {terminal(line.text)}"


def _block(text: str, most: int | None) -> Iterator[str]:
    for line in visible(cut(text, most)).replace("\t", "    ").splitlines():
        yield f"    {line}"
