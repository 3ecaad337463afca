"""The keys that a row of answers may have: one list for `exam`, `run`, `score`, rewards and the server; and how columns stand for them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from markbook.errors import UsageError, suggest

CODE_KEYS = ("extracted_solution", "candidate_solution", "completion", "solution", "generation", "gpt_solution")
"""Where the code of an answer may stand, in order of preference; an extracted solution wins even when it is empty."""
DOUBTFUL_KEYS = ("output", "answer", "text", "solution")
"""Where a row may have the right answer, or the question, as well as what a model answered."""
WRITTEN_KEYS = (
    *("prediction", "predictions", "completion", "completions", "reply", "response", "generated_text", "generation"),
    *("pred", "predicted", "predicted_answer", "prediction_text", "generated", "generated_answer", "hypothesis"),
    *(f"{who}_{what}" for who in ("model", "llm") for what in ("output", "response", "answer", "prediction")),
)
"""Where only what a model answered can stand."""
TEXT_KEYS = (*WRITTEN_KEYS, *DOUBTFUL_KEYS)
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
    is_graded = any(record.get(key) is not None for key in _GRADES) and any(
        record.get(key) for key in (*CODE_KEYS, *TEXT_KEYS)
    )
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


_MODELS_WORDS = frozenset(
    ("answer", "completion", "generated", "generation", "gpt", "hypothesis", "llm", "model", "output", "outputs", "pred", "predicted",
     "prediction", "reply", "response", "solution")
)  # fmt: skip
"""Words in the name of a column that say that a model wrote it."""
_FACTS_WORDS = frozenset(
    ("category", "config", "context", "cost", "date", "error", "family", "finish", "format", "hash", "id", "input", "instruction", "key",
     "kind", "name", "path", "prompt", "question", "reason", "revision", "source", "split", "status", "subject", "time", "tokens",
     "topic", "type", "url", "usage", "version")
)  # fmt: skip
"""Words that say that it holds a fact about an answer."""
_NEARLY = 0.95


class OtherColumns:
    """The texts beside answers under one of `DOUBTFUL_KEYS`, of which a file as a whole shows whether they are right ones."""

    def __init__(self, key: str, own: frozenset[str]) -> None:
        """Begin with no row; `own` are the benchmark's columns, which a model wrote only if their names say so."""
        self._key, self._own = key, own
        self._known = {*NAME_KEYS, *MODEL_KEYS, *NUMBER_KEYS, "task", "filter"}
        self._n = self._n_right = 0
        self._counts: Counter[str] = Counter()
        self._texts: dict[str, set[str]] = {}
        self._differing: dict[str, None] = {}

    def add(self, record: Mapping[str, object], *, is_right: bool) -> None:
        """Count a row, the answer of which is the benchmark's own or not."""
        self._n += 1
        self._n_right += is_right
        for key, value in record.items():
            if isinstance(value, str) and value.strip():
                self._counts[key] += 1
                if value != record.get(self._key):
                    self._differing[key] = None
                texts = self._texts.setdefault(key, set())
                if len(texts) < 2:
                    texts.add(value)

    def find_rival(self) -> tuple[str, bool]:
        """Return in words which column may be the model's instead, and whether its name says so; empty where none may be."""
        if not self._n_right or self._n_right < _NEARLY * self._n:
            return "", False
        columns: dict[str, set[str]] = {}
        for key in self._differing:
            parts = set(re.findall("[a-z]+", key.lower()))
            # of several rows a text that is the same in all answers none of them
            is_answer = 2 * self._counts[key] > self._n and (self._n == 1 or len(self._texts[key]) > 1)
            if is_answer and key not in self._known and not parts & _FACTS_WORDS:
                columns[key] = parts
        copied = self._own & {*DOUBTFUL_KEYS}
        named = [key for key, parts in columns.items() if parts & _MODELS_WORDS and key not in copied]
        rivals = named or [key for key in columns if key not in self._own]
        if not rivals:
            return "", False
        words = f"{self._key!r} is the right answer in {self._n_right} of {self._n} rows, and {rivals[0]!r} beside it may be the model's"
        return words, bool(named) and self._n_right == self._n


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
