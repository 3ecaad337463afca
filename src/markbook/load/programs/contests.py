"""APPS and TACO, and DeepMind's CodeContests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.load.benchmark import Probe, RowError, text_field
from markbook.load.programs.callables import SOLUTION, callable_by_tests
from markbook.load.programs.parts import (
    function_test,
    name_of,
    number_of,
    pair_lists,
    parse_json_field,
    program_sample,
    program_tests,
    seconds_of,
)
from markbook.types import ProblemType, Sample

_PYTHON3 = 3
"""The number of Python 3 among CodeContests' languages."""
_PARTS = ("public_tests", "private_tests", "generated_tests")


class Apps:
    """Reads rows of APPS and TACO: question, and input_output, which is JSON with inputs, outputs and perhaps fn_name."""

    keys = ("problem_id", "question", "input_output", "solutions")
    repeats_are_samples = True

    def sniff(self, probe: Probe) -> int:
        """Return 85 for a question with inputs and outputs."""
        return 85 if {"question", "input_output"} <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        input_output = parse_json_field(record.get("input_output"), "input_output")
        if not isinstance(input_output, Mapping):
            raise RowError("'input_output' is no object")
        pairs = pair_lists(input_output, "inputs", "outputs")
        name = name_of(record, "problem_id", "task_id", "id", "url") if _has_id(record) else at
        right = _solutions(record)
        meta = {key: str(record[key]) for key in ("difficulty", "source") if record.get(key)}
        call = input_output.get("fn_name")
        if call is None:
            return program_sample(
                name,
                text_field(record, "question"),
                program_tests(pairs, "apps"),
                at,
                right=right,
                seconds=seconds_of(record.get("time_limit")),
                meta=meta,
            )
        if not isinstance(call, str) or not call.isidentifier():
            raise RowError("'fn_name' is no name")
        return _function(name, record, call, pairs, at, right, meta)


def _has_id(record: Mapping[str, object]) -> bool:
    return any(record.get(key) not in (None, "") for key in ("problem_id", "task_id", "id", "url"))


def _function(
    name: str, record: Mapping[str, object], call: str, pairs: list[tuple[Any, Any]], at: str, right: tuple[str, ...],
    known: Mapping[str, object],
) -> Sample:  # fmt: skip
    """Return a row whose tests call a function, a method of `Solution` where the starter code says so."""
    if not pairs:
        raise RowError("there is no test")
    is_method = "class Solution" in str(record.get("starter_code") or "")
    tests = []
    for number, (arguments, outputs) in enumerate(pairs, start=1):
        if not isinstance(arguments, list):
            raise RowError(f"the input of test {number} is no list of arguments")
        # the data set wraps what is returned in a list of one
        expected = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
        tests.append(function_test(f"Solution().{call}" if is_method else call, arguments, expected))
    entry_point = SOLUTION if is_method else call
    return Sample(
        id=name,
        input=text_field(record, "question"),
        references=tuple(callable_by_tests(text, entry_point, call) for text in right),
        tests=tuple(tests),
        entry_point=entry_point,
        method=call,
        source=at,
        problem_type=ProblemType.CLASS if is_method else ProblemType.FUNCTION,
        meta=dict(known),
    )


def _solutions(record: Mapping[str, object]) -> tuple[str, ...]:
    solutions = parse_json_field(record.get("solutions"), "solutions")
    return tuple(text for text in solutions if isinstance(text, str))[:1] if isinstance(solutions, list) else ()


class CodeContests:
    """Reads rows of CodeContests: name, description, and tests as objects of two lists, input and output."""

    keys = ("name", "description", *_PARTS, "solutions", "time_limit")
    repeats_are_samples = True

    def sniff(self, probe: Probe) -> int:
        """Return 85 for a description with public, private or generated tests."""
        return 85 if "description" in probe.record and probe.record.keys() & set(_PARTS) else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        pairs = [pair for part in _PARTS for pair in pair_lists(record.get(part), "input", "output")]
        memory = number_of(record.get("memory_limit_bytes"))
        labels = {"difficulty": record.get("difficulty"), "source": record.get("source")}
        return program_sample(
            name_of(record, "name", "task_id"),
            text_field(record, "description"),
            program_tests(pairs),
            at,
            right=_python(record.get("solutions")),
            seconds=seconds_of(record.get("time_limit")),
            memory_bytes=int(memory) if memory and memory > 0 else None,
            meta={key: value for key, value in labels.items() if isinstance(value, str | int)},
        )


def _python(value: object) -> tuple[str, ...]:
    """Return the first of a row's right programs that is in Python 3."""
    if not isinstance(value, Mapping):
        return ()
    languages, texts = value.get("language") or (), value.get("solution") or ()
    if not isinstance(languages, list) or not isinstance(texts, list):
        return ()
    programs = (
        text for kind, text in zip(languages, texts, strict=False) if kind == _PYTHON3 or str(kind).upper() == "PYTHON3"
    )
    return tuple(text for text in programs if isinstance(text, str))[:1]
