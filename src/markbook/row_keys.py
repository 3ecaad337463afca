"""The keys that a row of answers may have: one list for `exam`, `run`, `score`, rewards and the server; and how columns stand for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from markbook.errors import UsageError, suggest

CODE_KEYS = ("extracted_solution", "candidate_solution", "completion", "solution", "generation", "gpt_solution")
"""Where the code of an answer may stand, in order of preference; an extracted solution wins even when it is empty."""
TEXT_KEYS = (
    *("prediction", "predictions", "completion", "completions", "reply", "response", "generated_text", "generation"),
    *("output", "answer", "text", "solution"),
)
"""Where the text of an answer may stand, the first that is there counts; a list holds several answers to one row."""
RAW_KEYS = ("completion", "completions", "reply", "response", "generated_text", "generation", "gpt_solution")
"""Those under which what a model wrote stands as it was, so that two of them cannot differ; `prediction`, say, may be read off it."""
ITEM_KEYS = ("code", "completion")
"""Where an item sent to be rewarded has its answer: a program of its own, or what goes on with the prompt."""
SCORE_KEYS = ("candidate", "reference", "references", "question", "context")
"""What `score` reads of a row."""
NAME_KEYS = ("id", "sample_id", "task_id")
"""Which row of a task or problem of a benchmark an answer is to."""
MODEL_KEYS = ("model", "model_name", "model_id", "model_name_or_path")
"""Which model gave an answer."""
NUMBER_KEYS = ("sample", "sample_index", "index", "sample_id")
"""Which of several answers to one row or problem it is, from 0."""


def find_names(record: Mapping[str, object], *, first: str = "") -> list[object]:
    """Return all that a row says that it answers, what counts most first (the key `first`); nothing where it says nothing.

    Other tools number the attempts at a problem by `sample_id`: beside a `task_id` or an `id`, a whole number there
    is the attempt's and names nothing.

    >>> find_names({"sample_id": "HumanEval/0"}), find_names({"id": 7, "task_id": "HumanEval/0", "sample_id": 2})
    (['HumanEval/0'], [7, 'HumanEval/0'])
    """
    # Without a preferred key none is looked for: "" is a key too: that of row numbers where a table was turned into JSON.
    names: list[object] = []
    for key in dict.fromkeys((first, *NAME_KEYS) if first else NAME_KEYS):
        value = record.get(key)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        is_attempt = key == "sample_id" and is_number and (record.get("task_id") is not None or bool(names))
        if value is not None and not is_attempt:
            names.append(value)
    return names


def is_failure(error: object) -> bool:
    """Whether what a row says under `error` means that nobody answered: anything but null, false, 0 and what is empty, also as text."""
    return error not in ({}, []) and f"{error}".strip().lower() not in ("", "0", "0.0", "false", "nan", "none", "null")


_GRADES = ("passed", "correct", "is_correct", "all_passed")
"""Where a grader wrote whether an answer was right: an `error` beside one is what it found in the answer."""


def find_failure(record: Mapping[str, object]) -> str:
    """Return why a row has no answer, whatever text stands beside its `error`; empty where nothing failed.

    >>> find_failure({"completion": "", "error": "timeout"}), find_failure({"completion": "x", "error": "None"})
    ("nobody answered: 'error' says 'timeout'", '')
    >>> find_failure({"completion": "x", "passed": False, "error": "AssertionError"})
    ''
    """
    error = record.get("error")
    is_graded = any(record.get(key) is not None for key in _GRADES) and any(record.get(key) for key in TEXT_KEYS)
    return f"nobody answered: 'error' says {f'{error}'.strip()[:200]!r}" if is_failure(error) and not is_graded else ""


def find_model(record: Mapping[str, object]) -> object:
    """Return which model a row says that it is of; empty where it does not say it."""
    return next((record[key] for key in MODEL_KEYS if record.get(key)), "")


def is_part(text: str, longer: str) -> bool:
    """Whether an answer is a part of another, or all of it."""
    return text.strip() in longer


def find_contradiction(
    record: Mapping[str, object], keys: Iterable[str], is_part: Callable[[str, str], bool] = is_part
) -> str:
    """Return which two of these keys hold two answers, neither a part of the other; empty where none do.

    >>> find_contradiction({"reply": "B", "response": "A", "completion": None}, RAW_KEYS)
    "'reply' and 'response' hold two different answers: remove the one that is not meant"
    """
    texts_by_key = {key: texts for key in keys if (texts := _list_texts(record.get(key)))}
    for (key, texts), (other, others) in itertools.combinations(texts_by_key.items(), 2):
        pairs = ((texts, others), (others, texts))
        if not any(all(any(is_part(text, longer) for longer in second) for text in first) for first, second in pairs):
            return f"{key!r} and {other!r} hold two different answers: remove the one that is not meant"
    return ""


def _list_texts(value: object, depth: int = 3) -> list[str]:
    """Return the texts that are an answer, or lie in its lists."""
    parts = value if isinstance(value, list) and depth else ()
    return [value] if isinstance(value, str) else [text for part in parts for text in _list_texts(part, depth - 1)]


def find_number(record: Mapping[str, object]) -> tuple[str, object] | None:
    """Return the key and the value that say which of several answers a row is; None where nothing does."""
    for key in NUMBER_KEYS:
        value = record.get(key)
        if value is not None and not (key == "sample_id" and (record.get("task_id") is None or isinstance(value, str))):
            return key, value
    return None


def parse_map(text: str, keys: Sequence[str], example: str) -> dict[str, str]:
    """Return which column stands for which of these keys, from `--map KEY=COLUMN,...`.

    Raises:
        UsageError: it has another form, or names a key that there is none of, or one twice.
    """
    columns: dict[str, str] = {}
    for part in text.split(","):
        key, sign, column = (side.strip() for side in part.partition("="))
        if not (key and sign and column):
            raise UsageError(f"--map: {part!r} says of no column what it is", hint=f"write {example}")
        if key not in keys:
            raise UsageError(f"--map: a column cannot be {key!r}", hint=suggest(key, list(keys)))
        if key in columns:
            hint = "several scores are several readings, each with its --map" if key == "score" else ""
            raise UsageError(f"--map: {key!r} is named twice", hint=hint)
        columns[key] = column
    return columns
