"""What `!function` names may stand for: a fixed table, never something to import.

The names are those of the documented single-turn suite; a module in front of them (`utils.`) says nothing. Its
prompts are the ready tasks' own, so that there is one place to read and to change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markbook.config import ContextMode

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
