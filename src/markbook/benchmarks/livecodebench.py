"""LiveCodeBench: its own rows, and those of SandboxFusion that hold its packing.

Its private tests are base64 of zlib of a pickle of a JSON text. Unpickling runs whatever a file says, so nothing here does: the
few instructions that a pickled text is made of are read, and anything else is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markbook.benchmarks.benchmark import BenchmarkProbe
from markbook.benchmarks.problems import (
    RowError,
    function_test,
    parse_json_field,
    program_sample,
    program_tests,
    read_name,
    text_field,
)
from markbook.types import ProblemType, Sample

MAX_UNPACKED = 64 << 20
"""Bytes that private tests may unpack to."""
SECONDS = 6.0
"""What its own runner allows for one test."""
_ALL_OF = (
    "string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics", "itertools",
    "functools", "operator", "io", "sys", "json", "builtins", "typing",
)  # fmt: skip
PRELUDE = (
    *(f"from {name} import *" for name in _ALL_OF),
    *(name for name in _ALL_OF if name not in ("builtins", "typing")),
    "import sys; sys.setrecursionlimit(50000)",
)
"""What its own runner puts before every answer."""
_TEXTS = frozenset(("BINUNICODE", "BINUNICODE8", "SHORT_BINUNICODE", "UNICODE"))
_WRAPPED = ["EMPTY_DICT", "text", "text", "SETITEM"]
_HARMLESS = frozenset(("PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"))


class LiveCodeBench:
    """Reads rows with question_content, public_test_cases and private_test_cases, or with content and a packed test."""

    keys = ("question_id", "question_content", "public_test_cases", "private_test_cases", "metadata", "starter_code")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 90 for its own names, 80 for a packed test beside a content."""
        record = probe.record
        if {"question_content", "public_test_cases"} <= record.keys():
            return 90
        test = record.get("test")
        # base64 of zlib's usual first bytes, 78 9C, begins with `eJ`.
        return 80 if "content" in record and isinstance(test, str) and test.startswith("eJ") else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        if "question_content" in record:
            cases = [*_cases(record.get("public_test_cases")), *_cases(record.get("private_test_cases"))]
            metadata = parse_json_field(record.get("metadata"), "metadata")
            meta = {key: str(record[key]) for key in ("difficulty", "platform") if record.get(key)}
            name, statement = read_name(record, "question_id", "task_id"), text_field(record, "question_content")
        else:
            cases, metadata = _read_dumped_cases(unpacked_text(text_field(record, "test")))
            labels = parse_json_field(record.get("labels"), "labels")
            labels = labels if isinstance(labels, Mapping) else {}
            meta = {key: str(value) for key, value in labels.items() if key in ("difficulty", "category")}
            name, statement = read_name(record, "id", "task_id"), text_field(record, "content")
        # The data set says by `func_name` that its tests call a method; without it they are programs that read and
        # write.
        call = metadata.get("func_name") if isinstance(metadata, Mapping) else None
        if call is None:
            pairs = [(case.get("input"), case.get("output")) for case in cases]
            tests = program_tests(pairs, "livecodebench")
            return replace(program_sample(name, statement, tests, at, seconds=SECONDS, meta=meta), preloaded=PRELUDE)
        return _function(name, statement, str(call), cases, at, meta)


def _function(
    name: str, statement: str, call: str, cases: list[Mapping[str, object]], at: str, known: Mapping[str, object]
) -> Sample:
    """Return a row whose tests call a method of `Solution`: each line of an input is an argument as JSON."""
    # The name is put into the text of a test program.
    if not call.isidentifier():
        raise RowError("'func_name' is not a name")
    if not cases:
        raise RowError("there is no test")
    tests = []
    for number, case in enumerate(cases, start=1):
        test_input, test_output = case.get("input"), case.get("output")
        try:
            arguments = (
                test_input
                if isinstance(test_input, list)
                # `split` and not `splitlines`, which also breaks at separators that may stand within a JSON text.
                else [json.loads(line) for line in str(test_input).split("\n")]
            )
            expected = json.loads(test_output) if isinstance(test_output, str) else test_output
        except (ValueError, RecursionError):
            raise RowError(f"test {number} is not JSON") from None
        tests.append(function_test(f"Solution().{call}", arguments, expected))
    return Sample(
        id=name,
        input=statement,
        tests=tuple(tests),
        entry_point="Solution",
        source=at,
        problem_type=ProblemType.CLASS,
        meta=dict(known),
        preloaded=PRELUDE,
        method=call,
    )


def _cases(value: object) -> list[Mapping[str, object]]:
    """Return test cases that stand as JSON, or packed."""
    if isinstance(value, str) and value.strip() and value.lstrip()[:1] not in "[{":
        value = unpacked_text(value)
    cases = parse_json_field(value, "test cases")
    if cases is None:
        return []
    if not isinstance(cases, list) or not all(isinstance(case, Mapping) for case in cases):
        raise RowError("the test cases are not a list of objects")
    return cases


def _read_dumped_cases(text: str) -> tuple[list[Mapping[str, object]], object]:
    """Return the cases of SandboxFusion's form, and what says which function they call."""
    content = parse_json_field(text, "test")
    if isinstance(content, Mapping) and "input_output" in content:
        content = parse_json_field(content["input_output"], "input_output")
    if isinstance(content, list):
        return _cases(content), None
    if not isinstance(content, Mapping):
        raise RowError("the packed test is not an object")
    inputs, outputs = content.get("inputs"), content.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise RowError("the packed test has no inputs and outputs of one number")
    cases: list[Mapping[str, Any]] = [
        {"input": case_input, "output": case_output} for case_input, case_output in zip(inputs, outputs, strict=True)
    ]
    return cases, {"func_name": content.get("fn_name")}


def unpacked_text(packed: str) -> str:
    """Return the text in base64 of zlib of a pickle of a text, or of the text itself. Nothing of it is executed.

    Raises:
        RowError: it is none, unpacks to too much, or the pickle holds more than a text.
    """
    try:
        squeezed = base64.b64decode(packed, validate=True)
        unpacker = zlib.decompressobj()
        # One byte more than allowed is enough to know that there is more: a small text can unpack to terabytes.
        data = unpacker.decompress(squeezed, MAX_UNPACKED + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise RowError(f"the private tests cannot be unpacked: {error}") from None
    if len(data) > MAX_UNPACKED:
        raise RowError(f"the private tests unpack to more than {MAX_UNPACKED >> 20} MiB: refused")
    # Without the end of the stream its checksum was never compared.
    if not unpacker.eof:
        raise RowError("the private tests are cut off")
    # JSON itself, as some dumps have it without the pickle around it; a pickle begins with another byte.
    if data[:1] in (b"[", b"{", b'"'):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise RowError("the private tests are not UTF-8") from None
    return _pickled_text(data)


def _pickled_text(data: bytes) -> str:
    """Return the one text of a pickle by its instructions, which are read and never followed.

    A dictionary with the one key `input_output`, as SandboxFusion wraps it, is as good as the text in it.
    """
    import pickletools  # late: every exam looks whether a benchmark is of this format, few are

    steps: list[str] = []
    texts: list[str] = []
    end = -1
    try:
        for instruction, argument, offset in pickletools.genops(data):
            end = offset or 0
            if instruction.name in _TEXTS:
                texts.append(str(argument))
                steps.append("text")
            elif instruction.name not in _HARMLESS:
                steps.append(instruction.name)
            # A damaged pickle can have millions of instructions; after more than the longest form that is taken, all
            # are refused.
            if len(steps) > len(_WRAPPED):
                break
    except Exception as error:  # noqa: BLE001 - the reader of instructions raises what it likes for damaged ones
        raise RowError(f"the private tests are not a pickle: {error}") from None
    if steps == ["text"] or (steps == _WRAPPED and texts[0] == "input_output"):
        # Reading stops at the first STOP, so nothing has looked at bytes behind it.
        if end != len(data) - 1:
            raise RowError("there is more behind the pickle of the private tests: refused")
        return texts[-1]
    odd = next((step for step in steps if step not in _WRAPPED), "several values")
    raise RowError(f"the private tests are a pickle of more than a text ({odd}): refused")
