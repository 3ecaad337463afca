"""Asking a judge patiently: retries, one deadline, a rate, a budget, a cassette; and keeping account of all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from markbook.judge.cassette import Cassette
from markbook.judge.live import MODES, Answer, Fault
from markbook.judge.prompts import Call
from markbook.judge.reply import Violation
from markbook.prices import Price
from markbook.types import Missing, MissingKind

CHARS_PER_TOKEN = 3.5
"""For the estimate before a call; on the low side, so that the budget errs towards not spending."""
OUTPUT_TOKENS = 1200
"""What a reply may cost at most, for the same estimate."""
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0


class Asks(Protocol):
    """Whatever answers one request."""

    async def ask(self, call: Call, mode: str) -> Answer:
        """Return an answer or raise a `Fault`."""
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """How much is done for one answer."""

    max_retries: int = 2
    """Further requests after the first, whatever went wrong: transport and structure together."""
    seconds: float = 30.0
    """The deadline for the call as a whole, waiting included."""
    per_minute: float | None = None
    """The most requests a minute."""
    concurrency: int = 4
    max_cost: float | None = None
    """US dollars for the whole run; checked before a request with an estimate."""
    mode: str = "auto"


@dataclass(slots=True)
class Account:
    """What the judge has cost, apart from what the agents did."""

    requests: int = 0
    replayed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars spent on requests whose price is known."""
    unpriced: int = 0
    """Requests whose price is not known."""
    saved: float = 0.0
    """What the replayed answers cost when they were recorded."""
    seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)

    def as_record(self) -> dict[str, Any]:
        """Return it for run.json: unknown cost is null, not 0."""
        priced = self.requests == 0 or self.unpriced < self.requests
        return {
            "requests": self.requests,
            "replayed": self.replayed,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost if priced else None,
            "requests_without_price": self.unpriced,
            "saved_by_cassette": self.saved,
            "latency_seconds": round(self.seconds, 3),
            "faults": dict(sorted(self.faults.items())),
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """The end of one call: an answer whose structure was found good, or the reason why there is none."""

    answer: Answer | None
    missing: Missing | None
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """Over all requests of the call; None if a price is not known."""
    seconds: float = 0.0
    replayed: bool = False
    is_lasting: bool = True
    """Whether asking again later would bring the same: an answer or a misbehaving judge, not a server that is down."""


Check = Callable[[str], object]
"""Raises `Violation` for a payload that does not have the asked structure."""


class Judge:
    """One judge with its patience, cassette and account. Made and used within one event loop."""

    def __init__(
        self,
        model: str,
        live: Asks | None,
        patience: Patience,
        *,
        cassette: Cassette | None = None,
        price: Price | None = None,
    ) -> None:
        """Put the parts together; `live` may be None where the cassette is whole."""
        self.model = model
        self.patience = patience
        self.account = Account()
        self._live = live
        self._cassette = cassette
        self._price = price
        self._mode = MODES[0] if patience.mode == "auto" else patience.mode
        self._gate = asyncio.Semaphore(patience.concurrency)
        self._next_start = 0.0
        self._dead: Fault | None = None
        self._reserved = 0.0

    async def judge(self, call: Call, check: Check) -> Judged:
        """Return the judge's answer to a call, from the cassette if it is there."""
        if self._cassette is not None:
            if (kept := self._cassette.find(call.key)) is not None:
                return self._replay(kept, check)
            if self._cassette.is_whole:
                missing = Missing(MissingKind.UNAVAILABLE, f"the cassette {self._cassette.path.name} lacks this call")
                return Judged(None, missing, is_lasting=False)
        async with self._gate:
            start = time.monotonic()
            judged = await self._ask(call, check, start)
        self.account.seconds += judged.seconds
        if self._cassette is not None and judged.is_lasting:
            self._cassette.record(call.key, to_record(judged))
        return judged

    async def _ask(self, call: Call, check: Check, start: float) -> Judged:
        tally = _Tally()
        last = Missing(MissingKind.UNAVAILABLE, "there is no judge to ask")
        lasting = False
        try:
            async with asyncio.timeout(self.patience.seconds):
                for attempt in range(self.patience.max_retries + 1):
                    if self._live is None:
                        break
                    if (stop := self._stop(call)) is not None:
                        return tally.end(None, stop, start, lasting=False)
                    await self._wait_for_turn()
                    try:
                        answer = await self._once(self._live, call, check, tally)
                    except Violation as error:
                        last, lasting = Missing(MissingKind.FAILED, f"the judge's reply does not count: {error}"), True
                        self._note("violation")
                    except Fault as fault:
                        last, lasting = Missing(fault.kind, fault.detail), False
                        self._note(fault.detail.partition(":")[0])
                        if not await self._again(fault, attempt, tally.mode):
                            break
                    else:
                        return tally.end(answer, None, start, lasting=True)
        except TimeoutError:
            last = Missing(MissingKind.TIMEOUT, f"the judge did not answer within {self.patience.seconds:g} s")
            lasting = False
            self._note("timeout")
        return tally.end(None, last, start, lasting=lasting)

    async def _once(self, live: Asks, call: Call, check: Check, tally: _Tally) -> Answer:
        """Send one request and check what came back; every token is counted whether or not it helped."""
        self.account.requests += 1
        tally.requests += 1
        tally.mode = self._mode
        estimate = self._estimate(call) or 0.0
        self._reserved += estimate
        try:
            answer = await live.ask(call, tally.mode)
        finally:
            self._reserved -= estimate
        cost = _cost(answer, self._price)
        tally.add(answer, cost)
        self.account.input_tokens += answer.input_tokens or 0
        self.account.output_tokens += answer.output_tokens or 0
        if cost is None:
            self.account.unpriced += 1
        else:
            self.account.cost += cost
        if answer.refused or not answer.payload.strip():
            raise Violation("it refused" if answer.refused else "the reply is empty")
        check(answer.payload)
        return answer

    def _stop(self, call: Call) -> Missing | None:
        """Return why no request may go out: a judge known to be closed to us, or the budget."""
        if self._dead is not None:
            return Missing(self._dead.kind, self._dead.detail)
        limit = self.patience.max_cost
        if limit is None:
            return None
        estimate = self._estimate(call)
        if estimate is None or self.account.cost + self._reserved + estimate > limit:
            return Missing(MissingKind.BUDGET, f"the judge's budget of ${limit:g} would be exceeded")
        return None

    def _estimate(self, call: Call) -> float | None:
        if self._price is None:
            return None
        tokens = (len(call.system) + len(call.prompt) + len(str(call.schema))) / CHARS_PER_TOKEN
        return self._price.of(tokens, OUTPUT_TOKENS)

    async def _wait_for_turn(self) -> None:
        if not self.patience.per_minute:
            return
        now = time.monotonic()
        turn = max(now, self._next_start)
        self._next_start = turn + 60.0 / self.patience.per_minute
        await asyncio.sleep(turn - now)

    async def _again(self, fault: Fault, attempt: int, mode: str) -> bool:
        """Prepare for asking again; return False if it cannot help."""
        if fault.fatal:
            self._dead = fault
        if not fault.again or attempt >= self.patience.max_retries:
            return False
        if fault.unsupported and self.patience.mode == "auto" and mode != MODES[-1]:
            # Calls run side by side: only the first to fail in a mode moves on from it.
            if self._mode == mode:
                self._mode = MODES[MODES.index(mode) + 1]
            return True
        await asyncio.sleep(fault.wait if fault.wait is not None else min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT))
        return True

    def _note(self, what: str) -> None:
        self.account.faults[what] = self.account.faults.get(what, 0) + 1

    def _replay(self, kept: Mapping[str, Any], check: Check) -> Judged:
        judged = from_record(kept)
        self.account.replayed += 1
        self.account.saved += judged.cost or 0.0
        if judged.answer is not None:
            try:
                check(judged.answer.payload)
            except Violation as error:
                missing = Missing(MissingKind.FAILED, f"the cassette's reply does not count: {error}")
                return Judged(None, missing, replayed=True)
        return judged


@dataclass(slots=True)
class _Tally:
    """What one call has used, over all its requests."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    is_priced: bool = True
    mode: str = ""

    def add(self, answer: Answer, cost: float | None) -> None:
        self.input_tokens += answer.input_tokens or 0
        self.output_tokens += answer.output_tokens or 0
        self.cost += cost or 0.0
        self.is_priced &= cost is not None

    def end(self, answer: Answer | None, missing: Missing | None, start: float, *, lasting: bool) -> Judged:
        cost = self.cost if self.is_priced else None
        seconds = time.monotonic() - start
        return Judged(
            answer, missing, self.requests, self.input_tokens, self.output_tokens, cost, seconds, is_lasting=lasting
        )


def to_record(judged: Judged) -> dict[str, Any]:
    """Return a lasting end of a call as JSON, without the time it took."""
    record: dict[str, Any] = {
        "requests": judged.requests,
        "input_tokens": judged.input_tokens,
        "output_tokens": judged.output_tokens,
        "cost": judged.cost,
    }
    if judged.answer is not None:
        record["payload"] = judged.answer.payload
        record["mode"] = judged.answer.mode
        if judged.answer.logprobs:
            record["logprobs"] = [dict(token) for token in judged.answer.logprobs]
    if judged.missing is not None:
        record["missing"] = {"kind": judged.missing.kind.value, "detail": judged.missing.detail}
    return record


def from_record(record: Mapping[str, Any]) -> Judged:
    """Return the end of a call from what a cassette or journal kept; what is not well formed is missing."""

    def count(name: str) -> int:
        value = record.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0

    cost = record.get("cost")
    cost = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None
    payload, missing = record.get("payload"), record.get("missing")
    answer = None
    reason = None
    if isinstance(payload, str):
        logprobs = record.get("logprobs")
        tokens = tuple(token for token in logprobs if isinstance(token, dict)) if isinstance(logprobs, list) else ()
        answer = Answer(payload, str(record.get("mode", "")), logprobs=tokens)
    elif isinstance(missing, Mapping) and missing.get("kind") in set(MissingKind):
        reason = Missing(MissingKind(missing["kind"]), str(missing.get("detail", "")))
    else:
        reason = Missing(MissingKind.FAILED, "the kept answer is damaged")
    used = count("requests"), count("input_tokens"), count("output_tokens")
    return Judged(answer, reason, *used, cost, replayed=True)


def _cost(answer: Answer, price: Price | None) -> float | None:
    """Return what an answer cost; its provider's own figure where there is one, None if tokens or price are unknown."""
    if answer.cost is not None or price is None:
        return answer.cost
    if answer.input_tokens is None or answer.output_tokens is None:
        return None
    return price.of(answer.input_tokens, answer.output_tokens)
