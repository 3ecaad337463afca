"""Summaries and costs as pages write them; how a number looks is decided by `markbook.text.format`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

from markbook.text.format import Scale
from markbook.text.schema import make_check
from markbook.types import Summary, digest_text

if TYPE_CHECKING:
    from markbook.store import Run


def summary_cells(summary: Summary, scale: Scale) -> tuple[str, str, str, str]:
    """Return value, interval with its method, how many were scored and what is missing, as a table shows them."""
    method = "" if summary.interval is None else f" {summary.interval.method}"
    interval, scored = f"{scale.interval(summary.interval)}{method}", f"{summary.n} of {summary.n_items}"
    return scale.value(summary.value), interval, scored, missing_text(summary.n_missing)


def chart_cells(group: str, series: str, summary: Summary, scale: Scale) -> list[dict[str, object]]:
    """Return a summary's bar of a chart with the ends of its interval; none where it has no value."""
    if summary.value is None:
        return []
    ends = {} if summary.interval is None else {"low": summary.interval.low, "high": summary.interval.high}
    scaled = {name: round(scale.factor * number, 4) for name, number in {"value": summary.value, **ends}.items()}
    return [{"group": group, "series": series, "full": scale.factor, **scaled}]


def missing_text(counts: Mapping[str, int]) -> str:
    """Return what is missing by kind."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "none"


# What models and judges took, as run.json holds it.


class TokenUsage(TypedDict):
    """What a model's replies cost, as run.json holds it; a sum with an unknown part is unknown."""

    replies: int
    failed: int
    requests: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    cost_at_most: float | None
    replies_without_price: int


def costs(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the model and each judge of a run took, by who it was; of a damaged record nothing."""
    usage, accounts = manifest.get("usage"), manifest.get("judge_account")
    if usage is not None and make_check(TokenUsage)(usage) is None:
        yield "Model", usage_text(usage)
    if accounts:
        from markbook.model.budget import AccountRecord  # late: a run without judges needs nothing that asks models

        if make_check(dict[str, AccountRecord])(accounts) is None:
            yield from ((f"Judge {name}", account_text(account)) for name, account in accounts.items())


def run_costs(runs: Iterable[Run]) -> list[tuple[str, str]]:
    """Return what each of several runs took, by the run's name and who was asked."""
    return [
        (f"{run.manifest.get('name') or run.folder.name}: {who.lower()}", words)
        for run in runs
        for who, words in costs(run.manifest)
    ]


def cost_text(account: Mapping[str, Any]) -> str:
    """Return what a model cost; what is not known is said to be so, with the most that it can be."""
    if account["cost"] is not None:
        return f"${account['cost']:.4f}"
    cost = account.get("cost_at_most")
    return "cost unknown" if cost is None else f"cost unknown (at most ${cost:.4f})"


def usage_text(usage: Mapping[str, Any]) -> str:
    """Return what a model's replies took, in a line."""
    read, written = usage["input_tokens"], usage["output_tokens"]
    tokens = "unknown" if read is None else f"{read:,} in, {written:,} out"
    return f"{usage['replies']} replies, {usage['requests']} requests, tokens {tokens}, {cost_text(usage)}"


def account_text(account: Mapping[str, Any]) -> str:
    """Return what a judge took, in a line."""
    cost = cost_text(account)
    if account["requests"] and account["requests_without_price"] and account["cost"] is not None:
        cost += f" and {account['requests_without_price']} requests of unknown cost"
        if account.get("cost_at_most") is not None:
            cost += f", ${account['cost_at_most']:.4f} at most"
    return (
        f"{account['requests']} requests, {account['replayed']} replies from the cassette, "
        f"tokens {account['input_tokens']:,} in, {account['output_tokens']:,} out, {cost}, "
        f"latency {account['latency_seconds']:.1f} s in total"
    )


# Folder names for models: the model's own name where that is safe, else a readable part of it with a hash.

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@ -]{0,79}(?<![. ])")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d) *(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices: the part before the first dot counts, whatever follows it."""
_RESERVED = re.compile(r"journal|lock|run\.json|report\..*|.*model_comparison.*", re.IGNORECASE)
"""Names that a run folder has files of its own under."""


def harness_stamp(started: object) -> str:
    """Return what lm-evaluation-harness puts behind its files' names: when a run began, in UTC; empty if that is not known.

    >>> harness_stamp("2026-01-02T04:05:06+01:00")
    '_2026-01-02T03-05-06'
    """
    moment = _moment(started)
    return "" if moment is None else f"_{moment.astimezone(UTC):%Y-%m-%dT%H-%M-%S}"


def harness_date(started: object) -> float | None:
    """Return when a run began as the harness counts it, in seconds since 1970; None if that is not known."""
    moment = _moment(started)
    return None if moment is None else moment.timestamp()


def _moment(started: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(started))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def folder_names(models: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each model; no two are equal even where the file system ignores case.

    The name does not depend on the machine. A name never contains a separator, never begins with a dot and is at
    most 80 characters long, so that it cannot leave its folder.
    """
    names: dict[str, str] = {}
    names_used: set[str] = set()
    for model in models:
        is_safe = _SAFE.fullmatch(model) and not _DEVICE.fullmatch(model) and not _RESERVED.fullmatch(model)
        name = model if is_safe else _with_hash(model)
        while name.casefold() in names_used:
            name = _with_hash(model, name)  # another model is called what this one's folder would be
        names[model] = name
        names_used.add(name.casefold())
    return names


def _with_hash(model: str, but: str = "") -> str:
    """Return a readable part of the name with a hash; another one than `but`."""
    digest = digest_text(model + but)[:12]
    readable = _UNSAFE.sub("-", model).strip("-.")[:60].rstrip("-.")
    if not readable or _DEVICE.fullmatch(f"{readable}-{digest}"):
        readable = f"model-{readable}" if readable else "model"
    return f"{readable}-{digest}"
