"""Asking a judge: from a cassette or from the model, each answer checked before it counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

from markbook.judge.prompts import Call
from markbook.judge.reply import Violation
from markbook.judge.structured import MODES, RawAnswer, read, send
from markbook.judge.tokens import TokenRecord, token_of
from markbook.measurements import MissingRecord
from markbook.model.asker import Asker, Patience, QuestionEnd
from markbook.model.budget import Account, Budget, Weight
from markbook.model.cassette import Cassette
from markbook.model.faults import RequestFault
from markbook.model.prices import Price
from markbook.types import Missing, MissingKind


@dataclass(frozen=True, slots=True)
class Judged:
    """The end of one call: an answer whose structure was found good, or the reason why there is none."""

    answer: RawAnswer | None
    missing: Missing | None
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """Over all requests of the call; None if that of one is not known."""
    cost_at_most: float | None = None
    """The same with requests of unknown cost at their dearest; None where no price is known."""
    seconds: float = 0.0
    replayed: bool = False
    is_lasting: bool = True
    """Whether asking again later would bring the same: an answer or a misbehaving judge, not a server that is down."""


Check = Callable[[str], object]
"""Raises `Violation` for a payload that does not have the asked structure."""


class JudgeClient:
    """One judge with its patience, cassette and account. Made and used within one event loop."""

    def __init__(
        self,
        model: str,
        client: Any,
        patience: Patience,
        *,
        cassette: Cassette | None = None,
        price: Price | None = None,
        mode: str = "auto",
        spent: float = 0.0,
    ) -> None:
        """Put the parts together.

        Args:
            model: what it is called.
            client: a model of pydantic-ai; may be None where the cassette is whole.
            patience: how much is done for one answer.
            cassette: what is replayed or recorded.
            price: of its tokens, where it is known.
            mode: how the structure is asked for.
            spent: US dollars of the patience's `max_cost` that are gone already.
        """
        self.model = model
        self.ways = Ways(mode)
        self._client = client
        self._cassette = cassette
        self._asker = Asker(model, patience, Budget(patience.max_cost, price, spent))

    @property
    def account(self) -> Account:
        """What it has cost so far."""
        return self._asker.account

    async def judge(self, call: Call, check: Check) -> Judged:
        """Return the judge's answer to a call, from the cassette if it is there."""
        if self._cassette is not None:
            if (recorded := self._cassette.find(call.key)) is not None:
                return self._replay(recorded, check)
            if self._cassette.is_whole:
                detail = f"the cassette {self._cassette.path.name} lacks this call: {call.told}"
                return Judged(None, Missing(MissingKind.UNAVAILABLE, detail), is_lasting=False)
        judged = _to_judged(await self._asker.ask(_Asked(self._client, call, check, self.ways)))
        if self._cassette is not None and judged.is_lasting:
            self._cassette.record(call.key, to_record(judged))
        return judged

    def _replay(self, recorded: Mapping[str, object], check: Check) -> Judged:
        judged = from_record(recorded)
        self.account.replayed += 1
        self.account.saved += judged.cost or 0.0
        if judged.answer is not None:
            try:
                check(judged.answer.payload)
            except Violation as error:
                missing = Missing(MissingKind.FAILED, f"the cassette's reply does not count: {error}")
                return Judged(None, missing, replayed=True)
        return judged


class Ways:
    """Which way of asking for a structure a server knows: `auto` finds out, once for all questions to a judge."""

    def __init__(self, mode: str) -> None:
        """Start with a mode, or with the most reliable one."""
        self.mode = MODES[0] if mode == "auto" else mode
        self._is_known = mode != "auto"
        self._is_first = mode == "auto"
        self._door = asyncio.Lock()

    @asynccontextmanager
    async def choose_way(self) -> AsyncIterator[str]:
        """Yield the way to ask. The first question goes alone, so that not all find out the same side by side."""
        if self._is_first:
            async with self._door:
                if self._is_first:
                    with self._learning():
                        yield self.mode
                    return
        with self._learning():
            yield self.mode

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Take note of how a request ends."""
        try:
            yield
        except RequestFault as fault:
            self._is_first &= fault.unsupported and self.mode != MODES[-1]
            raise
        self._is_first = False
        self._is_known = True

    def move_from(self, mode: str) -> bool:
        """Go on to the next way of asking after a mode; False if another request did, or there is none.

        Once a server has answered, what it refuses is the question and not the way.
        """
        if self._is_known or mode != self.mode or mode == MODES[-1]:
            return False
        self.mode = MODES[MODES.index(mode) + 1]
        return True


class _Asked:
    """A call on its way to a judge."""

    def __init__(self, client: Any, call: Call, check: Check, ways: Ways) -> None:
        self._client, self._call, self._check, self._ways = client, call, check, ways
        self._mode = ways.mode
        size = sum(len(text.encode("utf-8", "replace")) for text in (call.system, call.prompt, str(call.schema)))
        self.weight = Weight(size, call.settings.get("max_tokens"))

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[None]:
        """Wait until it is known how to ask."""
        async with self._ways.choose_way() as self._mode:
            yield

    async def send(self) -> Any:
        """Send it once."""
        return await send(self._client, self._call, self._mode)

    def read(self, response: Any) -> RawAnswer:
        """Return the answer, or raise a `RequestFault` for one that does not count."""
        try:
            answer = read(response, self._mode)
            self._check(answer.payload)
        except Violation as error:
            detail = f"the judge's reply does not count: {error}"
            raise RequestFault(detail, kind=MissingKind.FAILED, is_reply=True) from error
        return answer

    def adapt(self, fault: RequestFault, /) -> bool:
        """Move to the next way of asking where the server does not know this one: a gift, twice a run at most."""
        if fault.unsupported and self._ways.move_from(self._mode):
            return True
        if fault.unsupported and self._ways.mode != self._mode:
            fault.again, fault.wait = True, 0.0  # somebody else has found the way meanwhile
        return False


def _to_judged(ended: QuestionEnd[RawAnswer]) -> Judged:
    return Judged(
        ended.value,
        ended.missing,
        ended.requests,
        ended.input_tokens,
        ended.output_tokens,
        ended.cost,
        ended.cost_at_most,
        ended.seconds,
        is_lasting=ended.is_lasting,
    )


class EndRecord(TypedDict, total=False):
    """The end of a call as cassettes and journals keep it."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    cost_at_most: float | None
    payload: str
    mode: str
    logprobs: list[TokenRecord]
    missing: MissingRecord


def to_record(judged: Judged) -> EndRecord:
    """Return a lasting end of a call as JSON, without the time it took."""
    record = EndRecord(
        requests=judged.requests,
        input_tokens=judged.input_tokens,
        output_tokens=judged.output_tokens,
        cost=judged.cost,
        cost_at_most=judged.cost_at_most,
    )
    if judged.answer is not None:
        record["payload"] = judged.answer.payload
        record["mode"] = judged.answer.mode
        if judged.answer.logprobs:
            record["logprobs"] = list(judged.answer.logprobs)
    if judged.missing is not None:
        record["missing"] = judged.missing.to_record()
    return record


def from_record(record: Mapping[str, object]) -> Judged:
    """Return the end of a call from what a cassette or journal kept; what is not well formed is missing."""

    def count(name: str) -> int:
        value = record.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0

    def money(name: str) -> float | None:
        value = record.get(name)
        return (
            float(value)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
            else None
        )

    payload, missing = record.get("payload"), record.get("missing")
    answer = None
    reason = None
    if isinstance(payload, str):
        logprobs = record.get("logprobs")
        tokens = tuple(map(token_of, logprobs)) if isinstance(logprobs, list) else ()
        answer = RawAnswer(payload, str(record.get("mode", "")), logprobs=tokens)
    elif isinstance(missing, Mapping) and missing.get("kind") in list(MissingKind):
        reason = Missing.from_record(missing)
    else:
        reason = Missing(MissingKind.FAILED, "the kept answer is damaged")
    used = count("requests"), count("input_tokens"), count("output_tokens")
    return Judged(answer, reason, *used, money("cost"), money("cost_at_most"), replayed=True)
