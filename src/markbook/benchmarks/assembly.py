"""From an answer's row to the program that is run: which field, which code in it, and whether the prompt goes first."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markbook.benchmarks.problems import RowError
from markbook.row_keys import CODE_KEYS, DOUBTFUL_KEYS, RAW_KEYS, WRITTEN_KEYS, find_contradiction, is_part
from markbook.testcode.extraction import (
    PARSE_CAP,
    compiles,
    defines,
    extract,
    extract_answer,
    with_imports,
    without_thoughts,
)
from markbook.testcode.programs import parse
from markbook.types import Sample

_WRITTEN = ("solution", *RAW_KEYS)
"""Where a row has what a model wrote, as it was."""

# Answers that define a function where its tests call a method of `Solution`, or the other way round.

SOLUTION = "Solution"
"""The class whose methods contest sites ask for."""


def callable_by_tests(text: str, entry_point: str, method: str) -> str:
    """Return an answer in which tests find what they call, as the benchmarks' own runners do: by what the answer defines.

    `entry_point` is the name that the tests use, `Solution` or the function's; `method` is the function's, empty
    where an answer is to define just what the tests use.
    """
    # An answer that defines what the tests call is never touched: an adapter could only break it.
    if not method or defines(text, entry_point):
        return text
    if entry_point != SOLUTION:
        return f"{text}\n\n\n{method} = {SOLUTION}().{method}\n" if defines(text, SOLUTION) else text
    if not defines(text, method):
        return text
    # `staticmethod`, because the tests call the method of an object and the function has no `self`.
    return f"{text}\n\n\nclass {SOLUTION}:\n    {method} = staticmethod({method})\n"


Extract = Literal["auto", "always", "off"]
Form = Literal["whole", "completion"]


_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z_]\w*")
_IMPORTED = re.compile(r"\bimport\b(.*)")
_STAR = re.compile(r"from (\w+) import \*")
_DEEP = 64
"""An indentation that is deeper than the definition before it, wherever that stands."""


def find_text(record: Mapping[str, object]) -> tuple[str, str | None]:
    """Return the key under which a row has its answer, and the answer: None where it says null, whatever other keys hold.

    Raises:
        RowError: the row has none of the known keys, or its value is not a string.
    """
    # The first key in the order of CODE_KEYS, even where it is null: null is an answer that is missing, not another key's
    # turn.
    key = next((key for key in CODE_KEYS if key in record), None)
    if key is None:
        raise RowError("neither candidate_solution nor another known key (" + ", ".join(CODE_KEYS) + ")")
    text = record[key]
    if text is not None and not isinstance(text, str):
        raise RowError(f"{key!r} is not a string")
    return key, text


def find_rival(record: Mapping[str, object], key: str, sample: Sample) -> str:
    """Return which two keys of a row hold two different programs, its answer standing under this key; empty where none do.

    The code that was taken out of a reply stands beside it, often with other spaces or without its comments.
    """

    def is_same(text: str, longer: str) -> bool:
        if is_part(text, longer):
            return True
        statements = frozenset() if sample.language else _list_statements(text, sample, "auto")
        if not statements:
            return _SPACE.sub("", text) in _SPACE.sub("", longer)
        return extract(longer, lambda code: statements <= _list_statements(code, sample, "off"))[1] != "none"

    # beside what may be the right solution any answer counts; the code that its user extracted may differ from it
    written = dict.fromkeys((key, *_WRITTEN, *(WRITTEN_KEYS if key in DOUBTFUL_KEYS else ())))
    has_rivals = key != CODE_KEYS[0] and len(record.keys() & written.keys()) > 1
    return find_contradiction(record, written, is_same) if has_rivals else ""


def _list_statements(text: str, sample: Sample, mode: Extract) -> frozenset[str]:
    """Return the statements of an answer's program as trees, without comments and docstrings; nothing if it is none."""
    program = assemble(text, sample, mode).text
    tree = None if len(program) > PARSE_CAP else parse(program)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return frozenset(map(ast.dump, tree.body)) if tree else frozenset()


@dataclass(frozen=True, slots=True)
class AssembledProgram:
    """What is run for an answer."""

    text: str
    step: str
    """How the code was found in the reply; see `markbook.testcode.extraction`."""
    form: Form
    """Whether the answer was a whole solution, or went behind the prompt as its completion."""


def assemble(reply: str, sample: Sample, mode: Extract = "auto", *, key: str = "") -> AssembledProgram:
    """Return the program of an answer, which stood under this key: its code, behind the prompt where it only completes one."""
    reply = reply.removeprefix("\ufeff")  # a program may begin with it, and a fence stands behind it
    if not (reply if mode == "off" else without_thoughts(reply)).strip():
        return AssembledProgram("", "as_is", "whole")
    if sample.language:
        # The tests go along because some of them begin with the brace that ends the answer's definition.
        code, how, form = extract_answer(reply, sample.prompt_code, sample.tests[0].program, raw=mode != "off")
        if sample.preloaded:
            code = with_imports(code, sample.tests[0].setup, sample.preloaded)
        return AssembledProgram(code, how, form)
    prompt = sample.prompt_code
    name = sample.entry_point

    def is_code(text: str) -> bool:
        return compiles(text) if not prompt else defines(text, name) or compiles(behind(prompt, text, name))

    # Beyond the cap a reply is not parsed here: the sandbox meets it as it stands.
    text, step = reply, "as_is"
    if mode != "off" and len(reply) <= PARSE_CAP:

        def is_code_inside(text: str) -> bool:
            return text is not reply and is_code(text)  # `always`: the reply itself is never taken as it stands

        text, step = extract(reply, is_code if mode == "auto" else is_code_inside, name)
        # With `always` the reply as it stands comes last, where nothing inside it is code.
        if step == "none" and mode == "always" and is_code(text):
            step = "as_is"
    if not prompt:
        called = callable_by_tests(text, name, sample.method)
        return AssembledProgram(_with_preloaded(called, sample), step, "whole")
    is_complete = defines(text, name)
    # A row under `completion` is run behind the prompt even where it is complete: it may need the prompt's imports and
    # helpers.
    if is_complete and key != "completion":
        # handed in as a whole solution, it brings its own imports and helpers
        return AssembledProgram(text, step, "whole")
    return AssembledProgram(behind(prompt, text, name), step, "whole" if is_complete else "completion")


def behind(prompt: str, text: str, name: str) -> str:
    """Return the program that a text makes, as if it had been typed behind the prompt.

    A text that defines the name itself has the prompt's imports and helpers before it, and the definition that the
    prompt only begins is left empty. So is it where the text does not go on with it but begins it anew.
    """
    standing = _standing(prompt)
    if defines(text, name):
        # `from __future__` must be the first statement of a file: nothing may stand before it.
        if "from __future__" in text:
            return text
        # Only before a text does a prompt stand that ends with a decorator.
        return prompt + text if not standing and compiles(prompt + text) else standing + text
    # An indented text usually goes on with the prompt; where that does not compile it is tried as a body of its own.
    anew = (
        text[:1].isspace() and standing != f"{prompt}\n" and not compiles(prompt + text) and compiles(standing + text)
    )
    return standing + text if anew else prompt + text


@lru_cache(maxsize=1024)
def _standing(prompt: str) -> str:
    """Return a prompt that stands by itself: a definition that it only begins is left empty; nothing if none does."""
    # The definition that the prompt ends with may lie inside a class, so the statement is put deeper than any of them.
    begun = f"{prompt.rstrip()}\n{' ' * _DEEP}pass"
    return next((f"{text}\n" for text in (prompt, begun) if compiles(text)), "")


def begins_definition(prompt: str) -> bool:
    """Whether a prompt is Python and ends with a definition of which it has the head alone, or with its docstring."""
    tree = parse(_standing(prompt))
    part, body = (tree.body[-1] if tree and tree.body else None), list[ast.stmt]()
    while isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        body, part = part.body, part.body[-1]
    return bool(body) and all(isinstance(getattr(part, "value", part), ast.Pass | ast.Constant) for part in body)


def _with_preloaded(text: str, sample: Sample) -> str:
    """Put what the benchmark's own runner took for granted before an answer, as far as that uses it unimported."""
    # As in `behind`: nothing may stand before such a text.
    if "from __future__" in text or not sample.preloaded:
        return text
    words = set(_WORD.findall(text))
    # what stands behind the first `import` of a line, once: one search for `import.*name` takes time by the square of a line
    imported = set(_WORD.findall("\n".join(_IMPORTED.findall(text))))
    lines = []
    for name in sample.preloaded:
        package = name.partition(".")[0]
        if name.replace(".", "").isidentifier():
            # Only where a module is used with a dot: a variable may carry the same name without meaning the module.
            # Importing a package does not import its modules, so `import os.path` stands even where `os` is imported.
            if package in words and name not in imported and re.search(rf"\b{package}\.", text):
                lines.append(f"import {name}\n")
        elif (star := _STAR.fullmatch(name)) is None or _public(star[1]) & words:
            lines.append(f"{name}\n")
    return "".join(lines) + text


@lru_cache
def _public(module: str) -> frozenset[str]:
    """Return the names that a module of the standard library gives to whoever imports all of it."""
    # The names are those of a runner's prelude and never an answer's, so this import runs no foreign code.
    imported = importlib.import_module(module)
    return frozenset(
        getattr(imported, "__all__", None) or [name for name in vars(imported) if not name.startswith("_")]
    )
