"""What requests to the reward server hold: each field's type and bounds, the sentence for one that is wrong, and the OpenAPI of all.

The models are the one declaration of the fields. `check` holds an object against its model and turns pydantic's first error
into the sentence that a caller reads; `component_schemas` derives from the same models what `/openapi.json` says of them.
What depends on more than one field, on a benchmark or on a toolchain of this machine is checked by whoever uses it: `items`,
`marking`, `run_code`. The parts of a list are checked one by one, so that a sentence names the item and the test, and so that
an item that nobody can mark does not refuse its batch: for those fields a model has the type only (`SkipValidation`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    ValidationInfo,
)
from pydantic.json_schema import models_json_schema
from pydantic_core import ErrorDetails, PydanticCustomError

from markbook.errors import UsageError, suggest
from markbook.option import DAY
from markbook.serve.records import UnmarkableError

MAX_CODE = 1 << 20
"""Characters of one program."""
_MOST_NAME = 200
_MOST_POINTS = 1e9


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said of a field that is missing or of a wrong type, where that is more than the type."""

    text: str
    hint: str = ""


def _number(rule: str, most: float, is_good: Callable[[float, float], bool]) -> BeforeValidator:
    """Return a check that a value is a good number: given `most`, or what the context sets as the most of its field."""

    def check(value: object, info: ValidationInfo) -> object:
        bound = (info.context or {}).get(info.field_name, most)
        # to Python a bool is an int
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_good(value, bound):
            kind = ", which is text" if isinstance(value, str) else ""
            words = f"is {str(value)[:40].encode(errors='backslashreplace').decode()}{kind}, and has to be {rule.format(most=bound)}"
            raise PydanticCustomError("value", "{words}", {"words": words})
        return value

    return BeforeValidator(check)


def _above_zero(most: float) -> BeforeValidator:
    return _number("a number above 0 and at most {most:g}", most, lambda value, bound: 0 < value <= bound)


def _check_id(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value)) > _MOST_NAME:
        raise PydanticCustomError("value", "is neither a short string nor a whole number")
    return value if isinstance(value, int) else _check_writable(value)


def _check_writable(text: str) -> str:
    """Refuse half a character: what is executed and answered has to be written as UTF-8, which pydantic does not look at."""
    if place := find_half(text):
        raise PydanticCustomError("value", "{words}", {"words": place, "hint": _HALF_HINT})
    return text


def find_half(text: str) -> str:
    """Return where a text has half a character, in words; empty where it has none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"holds half a character, at {error.start}"
    return ""


_HALF_HINT = "a lone surrogate"


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, tuple) else value


_WRITABLE = AfterValidator(_check_writable)
Text = Annotated[str, _WRITABLE]
Code = Annotated[str, Field(max_length=MAX_CODE), _WRITABLE]
Name = Annotated[str, Field(max_length=_MOST_NAME), _WRITABLE]
Language = Annotated[str, Field(max_length=80), _WRITABLE]
Id = Annotated[str | int, BeforeValidator(_check_id)]
Seconds = Annotated[float, _above_zero(600.0)]


class _Request(BaseModel):
    # strict, so that a text is never taken for a number
    model_config = ConfigDict(extra="forbid", strict=True)


# `POST /v1/mark`: a batch of items, each with its own tests or a benchmark's.


class PythonTest(_Request):
    """A test of a program in Python; `ctx` and `keyword` are a benchmark's own words for `setup` and `pattern`."""

    setup: Text | None = None
    assertion: Text | None = None
    inspection: Annotated[
        list[Text] | None, BeforeValidator(_as_list), Sentence("'inspection' is neither a string nor a list of strings")
    ] = None
    pattern: Text | None = None
    program: Text | None = None
    ctx: Text | None = None
    keyword: Text | None = None


class ProgramTest(_Request):
    """A test in another language: what stands before the answer, and what stands behind it."""

    setup: Text | None = None
    program: Text | None = None


class StreamTest(_Request):
    """A test that feeds a program and compares what it prints."""

    stdin: Text | None = None
    stdout: Text
    checker: Text | None = None
    points: (
        Annotated[
            float,
            _number("a number from 0 to less than {most:g}", _MOST_POINTS, lambda value, bound: 0 <= value < bound),
        ]
        | None
    ) = None


class MarkItem(_Request):
    """A program to mark, complete (`code`) or behind a prompt (`completion`), and by what."""

    id: Id | None = None
    code: Code | None = None
    completion: Code | None = None
    language: Language | None = None
    timeout: Seconds | None = None
    deadline: Annotated[float, _above_zero(DAY)] | None = None
    memory_mb: (
        Annotated[float, _number("a number from 64 to {most:g}", 8192, lambda value, bound: 64 <= value <= bound)]
        | None
    ) = None
    tests: SkipValidation[str | list[str | PythonTest | ProgramTest | StreamTest] | None] = None
    entry_point: Name | None = None
    canonical: Code | None = None
    prompt: Code | None = None
    kind: Annotated[str, Field(max_length=20), _WRITABLE] | None = None
    benchmark: Name | None = None
    task_id: Annotated[Text | None, Sentence("'task_id' is missing or no string")] = None


NOT_A_LIST = Sentence("'items' is not a list", 'send {"items": [{"id": .., "code": .., "tests": ..}]}')


class MarkRequest(_Request):
    """Items to mark; `waited` says for how many seconds their caller has waited for room already."""

    items: Annotated[SkipValidation[list[MarkItem]], NOT_A_LIST]
    detail: bool = False
    deadline: Seconds = 600.0
    waited: Annotated[float, _number("a number from 0 to {most:g}", DAY, lambda value, bound: 0 <= value <= bound)] = (
        0.0
    )
    error_policy: Literal["zero", "partial"] = "zero"


# `POST /get_reward`, as OpenRLHF asks.


class RewardRequest(_Request):
    """Queries, the prompts with which they begin, and for each label an item without its code, or its JSON."""

    query: list[Any]
    labels: list[Any]
    prompts: list[Any] | None = None


# `POST /v1/score`: texts by metrics.


References = Annotated[
    list[Text] | None, BeforeValidator(_as_list), Sentence("its references are neither a string nor a list of strings")
]


class ScoreItem(_Request):
    """A text, and what it is measured against."""

    id: Id
    """The item's number where its caller gives it none."""
    candidate: Annotated[Text | None, Sentence("'candidate' is missing, or neither a string nor null")]
    reference: References = None
    references: References = None

    @property
    def against(self) -> list[str]:
        """What it is measured against."""
        return self.references or self.reference or []


class ScoreRequest(_Request):
    """Texts to measure, and the metrics to measure them by."""

    metrics: Annotated[
        list[str],
        BeforeValidator(_as_list),
        Field(min_length=1),
        Sentence("'metrics' is not a name or list of names of metrics"),
    ]
    items: Annotated[list[SkipValidation[ScoreItem]], Field(min_length=1), Sentence("'items' is not a list, or empty")]


# `POST /run_code`, as SandboxFusion has it: fields that this server does not know are passed over, as it does.


class RunCodeRequest(_Request):
    """A program to run once."""

    model_config = ConfigDict(extra="ignore", strict=True)

    code: Annotated[str, Sentence("'code' is missing or no string")]
    language: Annotated[Language, Sentence("'language' is missing or no string")]
    stdin: Annotated[str | None, Sentence("'stdin' is neither a string nor null")] = None
    compile_timeout: Seconds = 10.0
    run_timeout: Seconds = 10.0
    memory: Annotated[
        float, _number("from 16 to 65536, or -1", 65536, lambda value, bound: value == -1 or 16 <= value <= bound)
    ] = Field(default=-1, alias="memory_limit_MB")
    files: dict[str, SkipValidation[str | None]] | None = None
    fetch_files: SkipValidation[list[str] | None] = None


_Model = TypeVar("_Model", bound=BaseModel)


def check(
    model: type[_Model], value: Mapping[str, object], at: str = "", bounds: Mapping[str, float] | None = None
) -> _Model:
    """Return an object as its model has it; `bounds` are, by field, the most that this server's settings let it be.

    Raises:
        UnmarkableError: a text holds half a character.
        UsageError: a field is unknown, missing or wrong.
    """
    try:
        return model.model_validate(dict(value), context=bounds)
    except ValidationError as error:
        details = error.errors(include_url=False)
        # a misspelt name explains the missing one as well, so it is said first
        unknown = (detail for detail in details if detail["type"] in ("extra_forbidden", "invalid_key"))
        message, hint = _describe(next(unknown, details[0]), model)
        raise (UnmarkableError if hint == _HALF_HINT else UsageError)(message, at=at, hint=hint) from None


def _describe(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """Return what is said of a field, and what can be done about it."""
    if not detail["loc"]:
        return "a field's name holds half a character", _HALF_HINT
    key, kind, value = str(detail["loc"][0]), detail["type"], detail["input"]
    context = detail.get("ctx", {})
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    if kind in ("extra_forbidden", "invalid_key"):
        return f"unknown field {key[:40]!r}", suggest(key[:40], list(fields))
    if kind == "value":
        return f"{key!r} {detail['msg']}", context.get("hint", "")
    if kind == "string_too_long":
        return f"{key!r} has {len(value)} characters", f"at most {context['max_length']}"
    if kind == "string_unicode":  # found on the way to a text's length
        return f"{key!r} {find_half(value)}", _HALF_HINT
    for note in fields[key].metadata:
        if isinstance(note, Sentence):
            return note.text, note.hint
    if kind == "literal_error":
        return f"{key!r} is {str(value)[:40]!r}, and has to be {context['expected']}", ""
    return f"{key!r} {_WORDS.get(kind, detail['msg'])}", ""


_WORDS = {
    "string_type": "is not a string",
    "bool_type": "is neither true nor false",
    "list_type": "is not a list",
    "dict_type": "is not an object",
    "missing": "is missing",
}


def component_schemas() -> dict[str, Any]:
    """Return the schemas of what requests hold, by the names under which OpenAPI's components have them."""
    models = [(model, "validation") for model in (MarkRequest, RewardRequest, ScoreRequest, RunCodeRequest)]
    _, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]  # a mode is a literal
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas
