"""The keys that a row of answers may have: one list for `exam`, `run`, `score`, rewards and the server; and how columns stand for them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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


_NO_ERRORS = {"", "0", "00", "false", "na", "nan", "no", "noerror", "noerrors", "none", "null", "ok", "success"}


def is_failure(error: object) -> bool:
    """Whether what a row says under `error` means that something failed: not null, false, 0, "N/A", a fraction, which is a measure, or such alone.

    >>> [is_failure(error) for error in ("No errors.", {"code": None}, 0.25, 429, {"code": 0, "message": "slow down"})]
    [False, False, False, True, True]
    """
    if isinstance(error, Mapping | list):
        return any(map(is_failure, error.values() if isinstance(error, Mapping) else error))
    is_fraction = re.fullmatch(r"-?(\d*\.\d*[1-9]\d*|\d.*e-\d+)", f"{error}".strip())
    return not is_fraction and re.sub(r"[\W_]+", "", f"{error}").lower() not in _NO_ERRORS


_GRADES = ("passed", "correct", "is_correct", "all_passed", "score", "reward")
"""Where a grader wrote how good an answer was: an `error` beside one is what it found in the answer."""


def find_failure(record: Mapping[str, object], keys: Iterable[str]) -> str:
    """Return why a row has no answer, whatever text stands beside its `error`; empty where nothing failed.

    Nor did it where a grade stands beside an answer: of the `keys` the first that the row has.

    >>> find_failure({"completion": "", "passed": False, "error": "timeout"}, ["completion"])
    "nobody answered: 'error' says 'timeout'"
    >>> find_failure({"completion": "x", "passed": False, "error": "AssertionError"}, ["completion"])
    ''
    """
    error = record.get("error")
    nothing: tuple[object, ...] = (None, "", [])
    is_answered = record.get(next((key for key in keys if key in record), "")) not in nothing
    is_graded = is_answered and any(record.get(key) not in nothing for key in _GRADES)
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
    ("answer", "completion", "generated", "generation", "gpt", "hypothesis", "llm", "model", "output", "pred", "predicted",
     "prediction", "reply", "response", "solution")
)  # fmt: skip
"""Words in the name of a column that say that a model wrote it; of plurals the singular."""
_FACTS_WORDS = frozenset(
    ("config", "correct", "cost", "error", "expected", "family", "finish", "gold", "hash", "id", "incorrect", "key", "kind", "name",
     "path", "reason", "reference", "revision", "split", "status", "time", "token", "url", "usage", "version")
)  # fmt: skip
"""Words that say that it holds a fact about an answer."""
_TOPICS = frozenset(
    ("category", "context", "date", "format", "input", "instruction", "prompt", "question", "source", "subject", "topic", "type")
)  # fmt: skip
"""Words that say the same, unless another says that a model wrote it: it may have been asked for just that."""
_NEARLY = 0.95


def _list_leaves(name: str, value: object, depth: int = 5) -> Iterator[tuple[str, str | int | float]]:
    """Yield the texts and numbers in a value, with the names that lead there; of messages only the model's."""
    if isinstance(value, Mapping) and depth and value.get("role", "assistant") in ("assistant", "model"):
        for key, part in value.items():
            yield from _list_leaves(f"{name}.{key}", part, depth - 1)
    elif isinstance(value, list) and depth:
        for part in value:
            yield from _list_leaves(name, part, depth - 1)
    elif isinstance(value, str | int | float) and f"{value}".strip():
        yield name, value


class OtherColumns:
    """What stands beside answers under one of `DOUBTFUL_KEYS`, of which a file as a whole shows whether they are right ones."""

    def __init__(self, key: str, own: frozenset[str]) -> None:
        """Begin with no row; `own` are the benchmark's columns, which a model wrote only if their names say so."""
        self._key, self._own = key, own
        self._known = {*NAME_KEYS, *MODEL_KEYS, *NUMBER_KEYS, "task", "filter"}
        self._n = self._n_right = 0
        self._counts: Counter[str] = Counter()
        self._texts: dict[str, set[str]] = {}
        self._differing: dict[str, bool] = {}

    def add(self, record: Mapping[str, object], *, is_right: bool) -> None:
        """Count a row, the answer of which is the benchmark's own or not."""
        self._n += 1
        self._n_right += is_right
        is_number = re.fullmatch(r"\W?\d[\d.,]*", f"{record.get(self._key)}".strip())
        leaves: list[tuple[str, str | int | float]] = []
        for name, value in (leaf for key, part in record.items() for leaf in _list_leaves(key, part)):
            is_known = name in self._texts or len(self._texts) < 1000
            # a number may be a model's answer only where the right one is a number
            if is_known and (isinstance(value, str) or (is_number and _find_words(name) & _MODELS_WORDS)):
                leaves.append((name, value))
        self._counts.update({name for name, _ in leaves})
        for name, value in leaves:
            if str(value) != record.get(self._key):
                self._differing[name] = self._differing.get(name, True) and isinstance(value, str)
            texts = self._texts.setdefault(name, set())
            if len(texts) < 2:
                texts.add(str(value))

    def find_rival(self) -> tuple[str, bool]:
        """Return in words which column may be the model's instead, and whether its name says so; empty where none may be."""
        if not self._n_right or self._n_right < _NEARLY * self._n:
            return "", False
        named: dict[str, bool] = {}
        others: list[str] = []
        for name, is_text in self._differing.items():
            parts, key = _find_words(name), name.partition(".")[0]
            # of several rows a text that is the same in all answers none of them
            is_answer = 2 * self._counts[name] > self._n and (self._n == 1 or len(self._texts[name]) > 1)
            is_fact = bool(parts & _FACTS_WORDS) and not parts & {"pred", "predicted"}
            if not is_answer or is_fact or name in self._known:
                continue
            if parts & _MODELS_WORDS and not (key in self._own and (parts & _TOPICS or key in DOUBTFUL_KEYS)):
                named[name] = is_text and name == key and not parts & {*_FACTS_WORDS, *_TOPICS}
            elif key not in self._own and not parts & _TOPICS:
                others.append(name)
        rivals = sorted(named, key=named.__getitem__, reverse=True) or others
        if not rivals:
            return "", False
        words = f"{self._key!r} is the right answer in {self._n_right} of {self._n} rows, and {rivals[0]!r} beside it may be the model's"
        return words, named.get(rivals[0], False) and self._n_right == self._n


def _find_words(name: str) -> set[str]:
    """Return the words in a column's name, and their singulars."""
    parts = re.findall("[a-z]+", name.lower())
    return {*parts, *(part.removesuffix("s") for part in parts)}


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
