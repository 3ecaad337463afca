"""Asking a judge and reading what it replies: ratings in text or JSON, or the probabilities of tokens."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

from markbook.files import jsonl
from markbook.judge.rubrics import HIGHEST, LOWEST, Call, Rubric
from markbook.measurements import MissingRecord
from markbook.model.asker import Asker, QuestionEnd
from markbook.model.budget import Account, Budget, Price, Weight
from markbook.model.cassette import Cassette
from markbook.model.chat import whole_text
from markbook.model.http import RequestFault
from markbook.option import Patience
from markbook.types import Missing, MissingKind

# What of a judge's reply counts: one JSON object, whole, with numbers from 1 to 5. Everything else is a violation.

REPLY_CAP = 200_000
"""The longest reply that is looked at, in characters."""
REASON_CAP = 2_000
QUOTES_CAP = 5
_WHOLE_BLOCK = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)


class Violation(ValueError):
    """The reply is not the structure that was asked for; the judge is asked again."""


@dataclass(frozen=True, slots=True)
class CriterionMark:
    """A judge's word on one criterion."""

    score: float
    """On the rubric's scale, as the judge gave it."""
    reason: str = ""
    quotes: tuple[str, ...] = ()
    grade: str = ""
    """The grade that the score stands for; empty where it is a mark."""


def parse_object(payload: str) -> dict[str, object]:
    """Return the object that a reply is; a Markdown code block counts only if it is the whole reply.

    A score is never dug out of prose, nor out of JSON that prose quotes: that JSON may be the judged text's own.

    Raises:
        Violation: the reply is anything but one object, or has a key twice, NaN or an infinity.
    """
    text = payload.strip()
    if not text:
        raise Violation("the reply is empty")
    # Before the parser sees it: a judged text may have talked the judge into a reply of a million brackets.
    if len(text) > REPLY_CAP:
        raise Violation(f"the reply is longer than {REPLY_CAP} characters")
    # `fullmatch`: a block with prose before or behind it is refused, because the prose could quote the judged text's
    # JSON.
    if block := _WHOLE_BLOCK.fullmatch(text):
        text = block.group(1)
    try:
        # The strict parser of our files: it refuses a key that stands twice, where the standard one takes the last.
        record = jsonl.parse_json(text)
    except (ValueError, RecursionError) as error:
        raise Violation(f"the reply is not a JSON object: {error}") from error
    if not isinstance(record, dict):
        raise Violation("the reply is JSON and no object")
    return record


def parse_marks(payload: str, rubric: Rubric) -> dict[str, CriterionMark]:
    """Return one mark a criterion of the rubric.

    Raises:
        Violation: as `parse_object`; also a criterion that is missing, no number, or outside the scale.
    """
    record, marks = parse_object(payload), {}
    for criterion in rubric.criteria:
        name, grades = criterion.name, dict(criterion.grades)
        if name not in record:
            raise Violation(f"the reply has no {name}")
        value, reason, quotes = record[name], record.get(f"{name}_reason"), record.get(f"{name}_quotes")
        if not grades:
            score, grade = mark_number(value, name, rubric.scale_for(criterion)), ""
        elif isinstance(value, str) and value in grades:
            score, grade = grades[value], value
        else:
            raise Violation(f"{name} is {_short(value)}, not one of {', '.join(grades)}")
        # A reason or a quote that is malformed costs nothing: only the mark itself must be right.
        listed = quotes[:QUOTES_CAP] if isinstance(quotes, list) else []
        marks[name] = CriterionMark(
            score,
            whole_text(reason[:REASON_CAP]) if isinstance(reason, str) else "",
            tuple(whole_text(quote[:REASON_CAP]) for quote in listed if isinstance(quote, str)),
            grade,
        )
    return marks


def mark_number(value: object, name: str, scale: tuple[int, int] = (LOWEST, HIGHEST)) -> float:
    """Return a mark on a scale.

    Raises:
        Violation: it is not a number (a string of digits is none either) or outside the scale.
    """
    low, high = scale
    # True would pass as 1.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Violation(f"{name} is {_short(value)}, not a number from {low} to {high}")
    # NaN compares as false; a huge integer would overflow as a float.
    if not low <= value <= high:
        raise Violation(f"{name} is {_short(value)}, outside {low} to {high}")
    return float(value)


def quotes_found(quotes: Sequence[str], texts: Sequence[str]) -> int:
    """Return how many quotes stand in one of the judged texts, white space and case aside."""
    # Judges quote with other quotation marks, line breaks and dots than the text has; the words must be there.
    bodies = [_plain(text) for text in texts]
    return sum(any(words in body for body in bodies) for quote in quotes if (words := _plain(quote)))


def _plain(text: str) -> str:
    # Case and white space, and the marks at both ends that a judge puts around a quotation.
    return " ".join(text.split()).casefold().strip(" .…\"'“”")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


# Weighing a mark by the probabilities of the tokens that could have stood in its place.
#
# A judge that says 4 may have been as close to 3 as to 5; where a server gives log probabilities, the mark is the mean of
# the scale's marks under them, as in G-Eval (arXiv 2303.16634), and the probability mass that they hold is kept beside it.

_DIGITS = tuple("0123456789")
_CERTAIN = 0.01
"""Log probabilities end at 0; rounding may lift one a little above it, and anything more is none."""


class TokenRecord(TypedDict):
    """One token, and the log probabilities of the digits that could have stood in its place."""

    token: str
    digits: dict[str, float]


def read_token(record: object) -> TokenRecord:
    """Return a token as it was kept; what is not well formed is a token that spells nothing."""
    token = record if isinstance(record, Mapping) else {}
    digits = token.get("digits")
    entries = digits.items() if isinstance(digits, Mapping) else ()
    numbers = [(str(name), value) for name, value in entries if isinstance(value, int | float)]
    # `abs` of NaN is not below anything, so NaN falls out here as well.
    likely = {name: float(value) for name, value in numbers if abs(value) < 1e300}
    return TokenRecord(token=str(token.get("token", "")), digits=likely)


def reduce_logprobs(tokens: Iterable[Mapping[str, object]]) -> tuple[TokenRecord, ...]:
    """Return each token with the log probabilities of the digits among its alternatives, all that is needed."""
    reduced = []
    for token in tokens:
        digits: dict[str, float] = {}
        listed = token.get("top_logprobs")
        for alternative in listed if isinstance(listed, list) else ():
            if not isinstance(alternative, Mapping):
                continue
            name, value = str(alternative.get("token", "")).strip(), alternative.get("logprob")
            if name in _DIGITS and isinstance(value, int | float) and -1e300 < value < _CERTAIN:
                # Two spellings of one digit (with and without a space) add up.
                first = digits.get(name, -math.inf)
                other = min(0.0, float(value))
                high = max(first, other)
                digits[name] = high + math.log(math.exp(first - high) + math.exp(other - high))
        reduced.append(TokenRecord(token=str(token.get("token", "")), digits=digits))
    return tuple(reduced)


def weigh(
    payload: str, tokens: Sequence[TokenRecord], name: str, scale: tuple[int, int] = (1, 5)
) -> tuple[float, float] | None:
    """Return the expected mark of a criterion and the probability mass it rests on.

    None if the tokens do not spell the payload, or the mark's own token holds no probability for its digit or for
    any, or the key `name` stands twice; marks of more than one digit are not weighed.
    """
    allowed = {str(mark) for mark in range(scale[0], scale[1] + 1)}
    # A mark of two digits may be several tokens, whose alternatives do not belong to one another.
    if not allowed <= set(_DIGITS):
        return None
    text = "".join(token["token"] for token in tokens)
    # Servers that leave tokens out, or give those of another reply, cannot say which token is the mark.
    if text.strip() != payload.strip():
        return None
    # A quote inside a JSON string is escaped, so a judged text that cites the key cannot match.
    places = list(re.finditer(rf'"{re.escape(name)}"\s*:\s*([0-9])(?![\d.eE])', text))
    # Another object in the reply may hold the key too: then nothing says which digit is the mark.
    # The parsed value is the one that counts as the mark: a digit elsewhere must not be weighed in its stead.
    if len(places) != 1 or parse_object(payload).get(name) != int(places[0].group(1)):
        return None
    (match,) = places
    position = 0
    for token in tokens:
        spelled = token["token"]
        if position <= match.start(1) < position + len(spelled):
            digits = token["digits"]
            # A token that also holds a quotation mark or a comma has alternatives that are more than a digit.
            if spelled.strip() != match.group(1) or match.group(1) not in digits or match.group(1) not in allowed:
                return None
            weights = {digit: math.exp(min(0.0, digits[digit])) for digit in digits if digit in allowed}
            mass = math.fsum(weights.values())
            if mass == 0.0:
                return None  # servers say -9999 for what they rule out
            mean = math.fsum(int(digit) * weight for digit, weight in weights.items()) / mass
            marks = [int(digit) for digit in weights]
            # Rounding may carry the mean beyond the highest mark by its last digit.
            return min(float(max(marks)), max(float(min(marks)), mean)), min(1.0, mass)
        position += len(spelled)
    return None


# One structured question to a judge: how it is put to pydantic-ai, and what of the response is its reply.

MODES = ("tool", "native", "prompted")
"""How the structure is asked for, from the most to the least reliable; `auto` starts at the first."""
TOOL = "final_result"


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What came back, before anything of it is believed."""

    payload: str
    mode: str = ""
    logprobs: tuple[TokenRecord, ...] = ()
    """Per token as `reduce_logprobs` keeps it; empty where the server gives none."""


async def send(client: Any, call: Call, mode: str) -> Any:
    """Send a call once and return the response."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    system, prompt = call.add_fence()
    message = ModelRequest.user_text_prompt(prompt, instructions=system)
    # The client's own retries would multiply with ours.
    settings: Any = {**call.settings, "max_retries": 0}
    schema = dict(call.schema)
    if not schema:
        parameters = ModelRequestParameters()
    elif mode == "tool":
        tool = ToolDefinition(name=TOOL, description="Give your marks.", parameters_json_schema=schema, kind="output")
        parameters = ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    else:
        definition = OutputObjectDefinition(json_schema=schema, name="marks")
        parameters = ModelRequestParameters(
            output_mode="native" if mode == "native" else "prompted", output_object=definition
        )
    return await model_request(client, [message], model_settings=settings, model_request_parameters=parameters)


def read(response: Any, mode: str) -> RawAnswer:
    """Return what a response replies.

    Raises:
        Violation: a refusal, nothing, or two results that contradict one another.
    """
    from pydantic_ai.messages import TextPart, ToolCallPart

    # Checked before the text: a filtered reply may hold the beginning of one.
    if response.finish_reason == "content_filter":
        raise Violation("it refused")
    calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    # Servers repeat a tool call now and then; only results that differ in meaning leave open which one is the answer.
    results = [part.args if isinstance(part.args, str) else json.dumps(part.args or {}) for part in calls]
    # Compared as JSON with sorted keys, so that spaces and the order of keys make no difference.
    meanings = set()
    for result in results:
        try:
            meanings.add(json.dumps(json.loads(result), sort_keys=True))
        except (ValueError, RecursionError):
            meanings.add(result)
    if len(meanings) > 1:
        raise Violation(f"the reply gives {len(results)} results and not all alike: two results are none")
    payload = results[0] if results else "".join(texts)
    if not payload.strip():
        raise Violation("the reply is empty")
    logprobs = (response.provider_details or {}).get("logprobs")
    return RawAnswer(
        payload=whole_text(payload), mode=mode, logprobs=reduce_logprobs(logprobs) if isinstance(logprobs, list) else ()
    )


# Asking a judge: from a cassette or from the model, each answer checked before it counts.


Judged = QuestionEnd[RawAnswer]
"""The end of one call: an answer whose structure was found good, or the reason why there is none."""
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

        The client, a model of pydantic-ai, may be None where the cassette is whole; `spent` is what is gone already of the
        patience's `max_cost`, in US dollars.
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
                return Judged(missing=Missing(MissingKind.UNAVAILABLE, detail), cost=None, cost_at_most=None)
        judged = await self._asker.ask(_Asked(self._client, call, check, self.ways))
        # That a server was down must not be recorded: it would be replayed for ever.
        if self._cassette is not None and judged.is_lasting:
            self._cassette.record(call.key, to_record(judged))
        return judged

    def _replay(self, recorded: Mapping[str, object], check: Check) -> Judged:
        judged = from_record(recorded)
        # What a replay saves is told to the user beside what was spent.
        self.account.replayed += 1
        self.account.saved += judged.cost or 0.0
        if judged.value is not None:
            # A cassette is a file like any other: what somebody wrote into it counts by the same rules as a reply.
            try:
                check(judged.value.payload)
            except Violation as error:
                missing = Missing(MissingKind.FAILED, f"the cassette's reply does not count: {error}")
                return Judged(missing=missing, is_lasting=True, cost=None, cost_at_most=None, replayed=True)
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
            # Asked again behind the door: whoever waited there may find that the first question has found the way.
            async with self._door:
                if self._is_first:
                    with self._learning():
                        yield self.mode
                    return
        with self._learning():
            yield self.mode

    @contextmanager
    def _learning(self) -> Iterator[None]:
        try:
            yield
        except RequestFault as fault:
            # A server that does not know the first way leaves the question open, so the next question goes alone again.
            self._is_first &= fault.unsupported and self.mode != MODES[-1]
            raise
        self._is_first = False
        self._is_known = True

    def move_from(self, mode: str) -> bool:
        """Go on to the next way of asking after a mode; False if another request did, or there is none.

        Once a server has answered, what it refuses is the question and not the way.
        """
        # Another request that was under way may have moved on already; moving again would skip a way.
        if self._is_known or mode != self.mode or mode == MODES[-1]:
            return False
        self.mode = MODES[MODES.index(mode) + 1]
        return True


class _Asked:
    """A call on its way to a judge."""

    def __init__(self, client: Any, call: Call, check: Check, ways: Ways) -> None:
        self._client, self._call, self._check, self._ways = client, call, check, ways
        self._mode = ways.mode
        # In bytes and not characters: a letter of another script is several bytes, and about as many tokens more.
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
            fault.is_retryable, fault.wait = True, 0.0  # somebody else has found the way meanwhile
        return False


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
        requests=judged.requests, input_tokens=judged.input_tokens, output_tokens=judged.output_tokens,
        cost=judged.cost, cost_at_most=judged.cost_at_most,
    )  # fmt: skip
    if judged.value is not None:
        record["payload"] = judged.value.payload
        record["mode"] = judged.value.mode
        if judged.value.logprobs:
            record["logprobs"] = list(judged.value.logprobs)
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
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
            return None
        return float(value)

    payload, missing = record.get("payload"), record.get("missing")
    answer = None
    reason = None
    if isinstance(payload, str):
        logprobs = record.get("logprobs")
        tokens = tuple(map(read_token, logprobs)) if isinstance(logprobs, list) else ()
        answer = RawAnswer(payload, str(record.get("mode", "")), logprobs=tokens)
    elif isinstance(missing, Mapping) and missing.get("kind") in list(MissingKind):
        reason = Missing.from_record(missing)
    else:
        reason = Missing(MissingKind.FAILED, "the kept answer is damaged")
    # A replayed end took requests and tokens when it was recorded; they are kept for the account.
    return Judged(
        answer, reason, is_lasting=True, requests=count("requests"), input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"), cost=money("cost"), cost_at_most=money("cost_at_most"), replayed=True,
    )  # fmt: skip
