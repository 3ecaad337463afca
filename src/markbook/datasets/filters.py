"""What happens between a raw reply and the text that is marked."""

from __future__ import annotations

import inspect
import re
import string
import unicodedata
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from markbook.config import ContextMode, Filter, Pipeline
from markbook.config.tree import Function
from markbook.datasets.rows import Row
from markbook.datasets.user_code import Find, ForeignError, call_user_function, filter_replies, nothing
from markbook.errors import ConfigError, suggest
from markbook.testcode.extraction import compiles, extract, extract_answer
from markbook.text.child import Helper, TextAnswer
from markbook.types import Missing, names_python

# What `!function` names may stand for: a fixed table, never something to import.
#
# The names are those of the documented single-turn suite; a module in front of them (`utils.`) says nothing. Its
# prompts are the ready tasks' own, so that there is one place to read and to change them.

_COMPLETION = "python_code_completion"
_REPAIR = "python_code_repair"
_TRANSLATION = "python_code_translation"
_DOCSTRING = "python_docstring_generation"
_FUNCTION = "python_function_generation"

_ENDINGS: tuple[tuple[str, ContextMode], ...] = (("", "full"), ("_minimal_context", "minimal"), ("_no_context", "none"))

PROMPTS: Mapping[str, tuple[str, ContextMode]] = {
    "doc_to_text" + part + ending: (task, mode)
    for part, task in (
        ("", _COMPLETION),
        ("_completion", _COMPLETION),
        ("_repair", _REPAIR),
        ("_translation", _TRANSLATION),
        ("_docstring", _DOCSTRING),
        ("_function", _FUNCTION),
    )
    for ending, mode in _ENDINGS
}
"""Prompt functions: the ready task whose prompt they are, and the context mode."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a target function answers with."""

    reference: str
    """The field with the right answer."""
    optional: bool = False
    """Whether rows may lack it: then there is nothing to compare a text with."""
    tests: str = ""
    """The field with test statements."""


TARGETS: Mapping[str, Target] = {
    "doc_to_target": Target("expected_completion"),
    "doc_to_target_repair": Target("fixed_code"),
    "doc_to_target_translation": Target("target_code"),
    "doc_to_target_docstring": Target("expected_docstring"),
    "doc_to_target_function": Target("expected_function", optional=True, tests="test_cases"),
}

SELECTIONS: Mapping[str, Mapping[str, str]] = {
    "process_docs_" + category: {"category": category}
    for category in (
        "code_completion",
        "code_repair",
        "code_translation",
        "docstring_generation",
        "function_generation",
    )
}
"""Row selections: fields and the values they must have."""

FILTERS: Mapping[str, str] = dict.fromkeys(
    (
        "build_predictions",
        "build_predictions_with_debug",
        "build_repair_predictions",
        "build_function_predictions",
        "store_context_info",
    ),
    "code",
)
"""Reply filters: all of them look for the code in a reply."""


@dataclass(frozen=True, slots=True)
class Documented:
    """A metric of ours behind a documented name."""

    metric: str
    key: str
    """Its documented key in results."""
    options: Mapping[str, object] = field(default_factory=dict)
    documented: tuple[str, Mapping[str, object]] | None = None
    """Metric and options under the profile `documented`, where they differ."""


_HF = {"convention": "hf"}

METRICS: Mapping[str, tuple[Documented, ...]] = {
    "bleu_score": (Documented("bleu", "bleu", documented=("bleu", _HF)),),
    "rouge_score": tuple(Documented(name, name, {"stemmer": True}) for name in ("rouge1", "rouge2", "rougeL")),
    "meteor_score": (Documented("meteor", "meteor"),),
    "code_bleu": (Documented("codebleu", "code_bleu", documented=("bleu", _HF)),),
    "pass_at_k": (Documented("pass_at_k", "pass_at_k"),),
    "edit_distance": (Documented("edit_distance", "edit_distance"),),
    "context_adherence_score": (Documented("context_adherence", "context_adherence_score"),),
    "style_compliance_score": (Documented("style_compliance", "style_compliance_score"),),
    "security_compliance_score": (Documented("security_compliance", "security_compliance_score"),),
    "performance_awareness_score": (Documented("performance_awareness", "performance_awareness_score"),),
}
"""Metric functions by their documented names."""


def last(name: str) -> str:
    """Return a function's own name, without the module in front of it."""
    return name.rpartition(".")[2]


Left = str | list[str]
"""What filters leave of one row's replies: a list, or a text alone, which lm-evaluation-harness tells from a list of one."""
Step = Callable[[Left, Row], Left]
"""From one row's replies, and the row, to what is left of them, in order."""

_BODIES = ("def _():\n    ", "class _:\n    def _(self):\n        ")
"""What a completion without its head stands behind: it is code though it does not parse alone."""


def take_first() -> Step:
    """Keep the first reply."""
    return lambda texts, _row: texts if isinstance(texts, str) or not texts else texts[0]


def take_first_k(k: int) -> Step:
    """Keep the first k replies."""
    return lambda texts, _row: texts if isinstance(texts, str) else texts[:k]


def majority_vote() -> Step:
    """Keep the most frequent reply; among equals the one that came first."""
    return lambda texts, _row: [text for text, _count in Counter(as_list(texts)).most_common(1)]


# The names and defaults are those of lm-evaluation-harness; `#### ` stands before the result in GSM8K's solutions.
def regex(regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: str = "[invalid]") -> Step:
    """Keep what a pattern finds: of all its matches the one at `group_select`, of its groups the first with text."""
    patterns = Patterns(regex_pattern)
    return _each(lambda text: patterns.find(group_select, regex_pattern, text, fallback))


def multi_choice_regex(
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str = "[invalid]",
    ignore_case: bool = False,  # noqa: FBT001, FBT002 - an option of the task file
    ignore_punctuation: bool = False,  # noqa: FBT001, FBT002 - as above
    regexes_to_ignore: Sequence[str] = (),
) -> Step:
    """Keep the letter of the choice that a reply names: by a pattern, else by a choice's text, else after a colon.

    The row's choices are in its field `choices`. What is found by text or after a colon is given as `(A)`.
    """
    patterns = Patterns(regex_pattern, *regexes_to_ignore)

    def plain(text: str) -> str:
        if regexes_to_ignore:
            text = patterns.ask("removal", patterns=list(regexes_to_ignore), texts=[text])["texts"][0]
        text = text.lower() if ignore_case else text
        if ignore_punctuation:
            text = "".join(sign for sign in text if not unicodedata.category(sign).startswith("P"))
        return text

    def step(texts: Left, row: Row) -> Left:
        choices = row.get("choices")
        if not isinstance(choices, list) or len(choices) > len(string.ascii_uppercase):
            raise ForeignError("multi_choice_regex needs a list `choices` of at most 26 texts in each row")
        letters = string.ascii_uppercase[: len(choices)]
        by_text = {plain(str(choice).strip()): f"({letter})" for choice, letter in zip(choices, letters, strict=True)}
        # The longest first: else "Guilty" would be what is found in "Guilty of Romance".
        listed = "|".join(map(re.escape, sorted(by_text, key=len, reverse=True)))
        after = rf":[\s]*({'|'.join(letters)})"

        def match_one(text: str) -> str:
            named = patterns.find(group_select, regex_pattern, text)
            if not named:
                # An empty choice is found in every reply, and answered by none.
                named = patterns.find(group_select, listed, plain(text))
                named = by_text.get(named, named) if named else ""
            if not named and (letter := patterns.find(group_select, after, text)):
                named = f"({letter})"
            return named or fallback

        return _each(match_one)(texts, row)

    return step


class Patterns:
    """Patterns of a task file, tried on replies where one that runs away can be given up."""

    def __init__(self, *patterns: str) -> None:
        # Compiled where it can be given up, too: a short pattern can take long to compile.
        with Helper() as helper:
            tried = helper.ask("removal", patterns=patterns, texts=[""])
        if trouble := tried.detail if isinstance(tried, Missing) else "":
            raise ValueError(f"a pattern cannot be used: {trouble}")
        self._helper: Helper | None = None

    def find(self, index: int, pattern: str, text: str, fallback: str = "") -> str:
        """Return what a pattern finds there, of several groups the first with text; the fallback if there are not so many."""
        match = self.ask("match", pattern=pattern, text=text, index=index)["match"]
        if isinstance(match, list):
            match = next((group for group in match if group), fallback)
        return fallback if match is None else match.strip()

    def ask(self, kind: str, **question: object) -> TextAnswer:
        """Return the answer to a question about a reply.

        Raises:
            ForeignError: there is none.
        """
        if self._helper is None:
            self._helper = Helper()
            # A pipeline has no end of its own: the process ends with it.
            weakref.finalize(self, self._helper.__exit__, None, None, None)
        reply = self._helper.ask(kind, **question)
        if isinstance(reply, Missing):
            raise ForeignError(reply.detail, reply.kind)
        return reply


def format_span() -> Step:
    """Keep the named entities of a reply, one `label: text` after the other with ` $ ` between.

    Labels are `per`, `loc`, `org` and `date`, under their usual other names too; `none` is not an entity, and several of one
    label stand with commas between.
    """
    return _each(lambda text: _spans(text.lower()))


_LABELS = {
    "person": "PER", "location": "LOC", "organization": "ORG", "counties": "LOC", "places": "LOC", "people": "PER",
    "persons": "PER", "company": "ORG", "country": "LOC", "continent": "LOC", "time": "DATE", "date": "DATE",
    "per": "PER", "loc": "LOC", "org": "ORG",
}  # fmt: skip
_LABEL = re.compile(rf"\b({'|'.join(_LABELS)})\s*:")
_ENTITIES = re.compile(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)")


def _spans(text: str) -> str:
    text = _LABEL.sub(lambda match: f"{_LABELS[match[1]]}:", text).replace("$$", "$").rstrip("$")
    # A dollar sign separates the entities, so the ends of lines become one.
    label_groups = _ENTITIES.findall(text.replace("\n", "$").strip())
    named = [(label.lower(), part.strip()) for label, several in label_groups for part in several.split(",")]
    return " $ ".join(f"{label}: {part}" for label, part in named if part.lower() != "none")


def remove_whitespace() -> Step:
    """Drop white space at both ends, as the filter of this name in lm-evaluation-harness does since 0.4.10."""
    return _each(str.strip)


def lowercase() -> Step:
    """Turn to lower case."""
    return _each(str.lower)


def uppercase() -> Step:
    """Turn to upper case."""
    return _each(str.upper)


def replace_by(mapping_dict: Mapping[str, object], default_value: str = "") -> Step:
    """Replace whole replies by a table."""
    table = {str(key): str(value) for key, value in mapping_dict.items()}
    return _each(lambda text: table.get(text, str(default_value)))


def code(language: str = "") -> Step:
    """Find the code in each reply, by the ladder that the exam uses; a bare function body is code here.

    In another language than Python it is the first fenced block, else the reply.
    """
    if names_python(language):
        return _each(find_code)
    return _each(lambda reply: extract_answer(reply, "", "")[0])


def find_code(reply: str) -> str:
    """Return the code in a reply, without the empty lines around it where it was cut out of something."""
    text, step = extract(reply, lambda text: compiles(text) or any(compiles(head + text) for head in _BODIES))
    return text if step in ("as_is", "none") else text.strip("\r\n")


def _each(change: Callable[[str], str]) -> Step:
    return lambda texts, _row: change(texts) if isinstance(texts, str) else [change(text) for text in texts]


def as_list(texts: Left) -> list[str]:
    """Return what filters left as a list."""
    return [texts] if isinstance(texts, str) else texts


_KNOWN: Mapping[str, Callable[..., Step]] = {
    "code": code,
    "format_span": format_span,
    "lowercase": lowercase,
    "majority_vote": majority_vote,
    "map": replace_by,
    "multi_choice_regex": multi_choice_regex,
    "regex": regex,
    "remove_whitespace": remove_whitespace,
    "take_first": take_first,
    "take_first_k": take_first_k,
    "uppercase": uppercase,
}


def build(pipeline: Pipeline, find: Find = nothing) -> Step:
    """Return a pipeline's filters as one step; it raises `ForeignError` where a function of the user's own fails.

    `find` finds functions of a Python file beside the task, where the user allowed to run it.

    Raises:
        ConfigError: an unknown filter, or options it does not take, at their place.
    """
    steps = [_step(filter_spec, find) for filter_spec in pipeline.filters]

    def run(texts: Left, row: Row) -> Left:
        filtered_texts = texts
        for step in steps:
            filtered_texts = step(filtered_texts, row)
        return filtered_texts

    return run


def _step(filter_: Filter, find: Find) -> Step:
    name = filter_.name
    if isinstance(name, Function):
        own = find(name)
        if own is None:
            return registered_filter(name)
        if isinstance(own, type):
            # Of a class, as the harness has filters, the method `apply` of an instance.
            try:
                own = call_user_function(name, partial(own, **filter_.options)).apply
            except (ForeignError, AttributeError) as error:
                raise ConfigError(f"the filter class {error}", at=filter_.at) from error
        return partial(filter_replies, name, own)
    if name not in _KNOWN:
        raise ConfigError(f"unknown filter {name!r}", at=filter_.at, hint=suggest(name, list(_KNOWN)))
    known_options = list(inspect.signature(_KNOWN[name]).parameters)
    for option in (option for option in filter_.options if option not in known_options):
        hint = suggest(option, known_options) if known_options else "it takes none"
        raise ConfigError(
            f"filter {name!r} has no option {option!r}", at=filter_.places.get(option, filter_.at), hint=hint
        )
    try:
        return _KNOWN[name](**filter_.options)
    # AttributeError comes from a table of `map` that is not a mapping.
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"filter {name!r} does not take these options: {error}", at=filter_.at) from error


# The others choose among replies and look at no text.
_CHANGE_TEXT = frozenset(_KNOWN) - {"majority_vote", "take_first", "take_first_k"}


def check_likelihood_filters(pipeline: Pipeline) -> None:
    """Refuse filters that change texts where a reply is a list of log-likelihoods.

    Raises:
        ConfigError: there is one, at its place.
    """
    for filter_ in pipeline.filters:
        if isinstance(filter_.name, Function) or filter_.name in _CHANGE_TEXT:
            filter_name = f"!function {filter_.name.name}" if isinstance(filter_.name, Function) else repr(filter_.name)
            raise ConfigError(
                f"filter {filter_name} changes texts, and this task's answers are log-likelihoods",
                at=filter_.at,
                hint="leave it out, or ask for texts with output_type: generate_until",
            )


def registered_filter(function: Function) -> Step:
    """Return what a registered `!function` does to replies.

    Raises:
        ConfigError: it is not registered.
    """
    name = FILTERS.get(last(function.name))
    if name is None:
        raise unregistered_error("filter", function, list(FILTERS))
    return _KNOWN[name]()


def unregistered_error(what: str, function: Function, names_known: list[str]) -> ConfigError:
    """Return the error for a `!function` that stands for nothing registered."""
    return ConfigError(
        f"!function {function.name} is not a registered {what}",
        at=function.at,
        hint=f"{suggest(last(function.name), names_known)}; --allow-code runs the Python file beside the task instead",
    )
