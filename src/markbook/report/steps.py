"""The steps of a trace in words: what was said and done, when, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from markbook.text import cut, terminal, visible
from markbook.trace import Step, StepKind, Trace

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


def shown_steps(trace: Trace) -> list[ShownStep]:
    """Return the first steps of a run, every foreign word made plain."""
    starts = [step.start for step in trace.steps if step.start is not None]
    ends = [step.end for step in trace.steps if step.end is not None]
    begin = min(starts, default=0.0)
    span = max([*starts, *ends], default=begin) - begin
    return [_show_step(step, begin, span) for step in trace.steps[:STEPS]]


def _show_step(step: Step, begin: float, span: float) -> ShownStep:
    x = width = 0.0
    when = "no time"
    at = ""
    if step.start is not None:
        at = f"{step.start - begin:.2f} s"
        x = round(100 * (step.start - begin) / span, 2) if span else 0.0
        width = round(max(1.0, 100 * (step.seconds or 0.0) / span), 2) if span else 1.0
        when = f"from {at}" + (f" for {step.seconds:.2f} s" if step.seconds is not None else "")
    failed = step.ok is False
    texts = tuple((name, text) for name, text in _texts(step) if text)
    brief = next((text for name, text in texts if name in ("Arguments", "Message")), "")
    return ShownStep(
        kind="failed" if failed else step.kind.value,
        at=at,
        when=when,
        x=min(x, 99.0),
        width=min(width, 100.0 - min(x, 99.0)),
        agent=terminal(step.agent, limit=60),
        what=terminal(step.name or step.kind.value, limit=80),
        target=terminal(step.target, limit=60),
        mark={True: "ok", False: "failed", None: ""}[step.ok]
        if step.kind is StepKind.TOOL
        else "failed"
        if failed
        else "",
        is_failed=failed,
        brief=terminal(brief, limit=_BRIEF),
        texts=texts,
        costs=_costs(step),
    )


def _texts(step: Step) -> list[tuple[str, str]]:
    def plain(text: str, most: int = _TEXT) -> str:
        return visible(cut(text, most)).replace("\t", "    ")

    return [
        ("Error", plain(step.error)),
        ("Arguments", plain(_arguments(step.arguments), _ARGUMENTS)),
        ("Result", plain(step.result)),
        ("Message", plain(step.text)),
    ]


def _arguments(value: object) -> str:
    import json

    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except (ValueError, RecursionError):
        return "too deep to be shown"


def _costs(step: Step) -> str:
    costs = [
        "" if step.seconds is None else f"{step.seconds:.3f} s",
        "" if step.input_tokens is None else f"{step.input_tokens:,} tokens in",
        "" if step.output_tokens is None else f"{step.output_tokens:,} tokens out",
        "" if step.cost is None else f"${step.cost:.4f}",
    ]
    return ", ".join(filter(None, costs))
