"""Problems for programs that read and write: APPS, CodeContests, SandboxFusion and plain rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Required, TypedDict

from markbook.benchmarks.assembly import SOLUTION, callable_by_tests
from markbook.benchmarks.benchmark import BenchmarkProbe
from markbook.benchmarks.codeeval import refuse_misspelt
from markbook.benchmarks.problems import (
    MIB,
    RowError,
    check_test_limits,
    function_test,
    pair_lists,
    parse_json_field,
    program_sample,
    program_tests,
    read_name,
    read_number,
    read_seconds,
    text_field,
    text_list,
)
from markbook.types import ProblemType, Sample, Test

# APPS and TACO, and DeepMind's CodeContests.

_PYTHON3 = 3
"""The number of Python 3 among CodeContests' languages."""
_PARTS = ("public_tests", "private_tests", "generated_tests")


class Apps:
    """Reads rows of APPS and TACO: question, and input_output, which is JSON with inputs, outputs and perhaps fn_name."""

    keys = ("problem_id", "question", "input_output", "solutions")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 85 for a question with inputs and outputs."""
        return 85 if {"question", "input_output"} <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        input_output = parse_json_field(record.get("input_output"), "input_output")
        if not isinstance(input_output, Mapping):
            raise RowError("'input_output' is not an object")
        pairs = pair_lists(input_output, "inputs", "outputs")
        keys = ("problem_id", "task_id", "id", "url")
        # A row that states none of these is named by its line, since the problem itself may be sound.
        name = read_name(record, *keys) if any(record.get(key) not in (None, "") for key in keys) else at
        solutions = parse_json_field(record.get("solutions"), "solutions")
        # One right solution is enough to check the tests with.
        right = tuple(text for text in solutions if isinstance(text, str))[:1] if isinstance(solutions, list) else ()
        meta = {key: str(record[key]) for key in ("difficulty", "source") if record.get(key)}
        call = input_output.get("fn_name")
        if call is None:
            return program_sample(
                name,
                text_field(record, "question"),
                program_tests(pairs, "apps"),
                at,
                right=right,
                seconds=read_seconds(record.get("time_limit")),
                meta=meta,
            )
        # The name is put into the text of a test program, so anything but a name would be code from the data set.
        if not isinstance(call, str) or not call.isidentifier():
            raise RowError("'fn_name' is not a name")
        if not pairs:
            raise RowError("there is no test")
        is_method = "class Solution" in str(record.get("starter_code") or "")
        tests = []
        for number, (arguments, outputs) in enumerate(pairs, start=1):
            if not isinstance(arguments, list):
                raise RowError(f"the input of test {number} is not a list of arguments")
            # the data set wraps what is returned in a list of one
            expected = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
            tests.append(function_test(f"Solution().{call}" if is_method else call, arguments, expected))
        entry_point = SOLUTION if is_method else call
        return Sample(
            id=name,
            input=text_field(record, "question"),
            # The right answers are made callable as answers are, else the benchmark's own solution would fail its
            # tests.
            references=tuple(callable_by_tests(text, entry_point, call) for text in right),
            tests=tuple(tests),
            entry_point=entry_point,
            method=call,
            source=at,
            problem_type=ProblemType.CLASS if is_method else ProblemType.FUNCTION,
            meta=dict(meta),
        )


class CodeContests:
    """Reads rows of CodeContests: name, description, and tests as objects of two lists, input and output."""

    keys = ("name", "description", *_PARTS, "solutions", "time_limit")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 85 for a description with public, private or generated tests."""
        return 85 if "description" in probe.record and probe.record.keys() & set(_PARTS) else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        # The three parts together are the tests: a right program passes each of them.
        pairs = [pair for part in _PARTS for pair in pair_lists(record.get(part), "input", "output")]
        memory = read_number(record.get("memory_limit_bytes"))
        labels = {"difficulty": record.get("difficulty"), "source": record.get("source")}
        solutions = record.get("solutions")
        solutions = solutions if isinstance(solutions, Mapping) else {}
        languages, texts = solutions.get("language") or (), solutions.get("solution") or ()
        if not isinstance(languages, list) or not isinstance(texts, list):
            languages, texts = [], []
        right = [
            text
            for kind, text in zip(languages, texts, strict=False)
            if isinstance(text, str) and (kind == _PYTHON3 or str(kind).upper() == "PYTHON3")
        ]
        return program_sample(
            read_name(record, "name", "task_id"),
            text_field(record, "description"),
            program_tests(pairs),
            at,
            right=tuple(right[:1]),
            seconds=read_seconds(record.get("time_limit")),
            memory_bytes=int(memory) if memory and memory > 0 else None,
            meta={key: value for key, value in labels.items() if isinstance(value, str | int)},
        )


# Our own rows of programs that read and write, and those that SandboxFusion dumps.

MAX_PASSES = 100
MOST_MEMORY_MB = 1 << 20
_PLAIN = re.compile(r"[\w][\w.+-]{0,99}")


class StreamTestRow(TypedDict, total=False):
    """One test of a program: what it reads and what it is to print."""

    stdin: str
    stdout: Required[str]
    checker: Annotated[str, "How the output is compared: tokens, exact, lines, case, float:ABS[,REL]."]
    points: Annotated[float | None, ("minimum", 0)]


class CheckerRow(TypedDict, total=False):
    """A program of the benchmark that judges outputs."""

    convention: Literal["testlib", "icpc", "function"]
    source: Required[str]
    language: str
    files: dict[str, str]
    flags: list[str]
    interactive: bool
    passes: Annotated[int, ("minimum", 1), ("maximum", MAX_PASSES)]


class ProgramRow(TypedDict, total=False):
    """A problem that asks for a program that reads its standard input and writes its standard output."""

    task_id: Annotated[str | int | None, "Names the problem; answers name it too."]
    problem: Annotated[str | None, "What a model is asked."]
    tests: Required[Annotated[list[StreamTestRow], ("minItems", 1)]]
    time_limit: Annotated[float | str | None, "Seconds of CPU for one test."]
    memory_limit_mb: Annotated[float | None, "Memory for one test."]
    canonical_solution: Annotated[str | None, "A right program."]
    checker: Annotated[str | CheckerRow | None, "How outputs are compared, or the program that judges them."]
    language: Annotated[str | None, "What answers are written in; without it each answer says so, or is Python."]
    id: Annotated[Any, "The same as task_id."]
    topic: Any
    complexity: Any


_IN_CHECKER = dict.fromkeys(("convention", "interactive", "passes"), "the object 'checker'")
_IN_ROW = dict.fromkeys(("time_limit", "memory_limit_mb"), "the row, for all of its tests")


class StdinPrograms:
    """Reads rows with task_id, tests (objects with stdin and stdout), and what else is known of a problem."""

    keys = tuple(ProgramRow.__annotations__)
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 95 for tests of which the first has an output to compare with."""
        tests = probe.record.get("tests")
        first = tests[0] if isinstance(tests, list) and tests else None
        return 95 if isinstance(first, Mapping) and "stdout" in first else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        refuse_misspelt(record, self.keys, elsewhere=_IN_CHECKER if "checker" in record else None)
        tests = record.get("tests")
        if not isinstance(tests, list):
            raise RowError("'tests' is not a list")
        checker_of = record.get("checker")
        judge = _judge(checker_of) if isinstance(checker_of, Mapping) else None
        checker = text_field(record, "checker", required=False) if judge is None else ""
        memory = read_number(record.get("memory_limit_mb"))
        if record.get("memory_limit_mb") is not None and not (memory and 0 < memory <= MOST_MEMORY_MB):
            raise RowError(f"'memory_limit_mb' is not a number above 0 and at most {MOST_MEMORY_MB}")
        # A limit that cannot be read must not become the default in silence: answers would be marked by another limit.
        if record.get("time_limit") is not None and read_seconds(record["time_limit"]) is None:
            raise RowError("'time_limit' is not a number of seconds")
        right = text_field(record, "canonical_solution", required=False)
        meta = {key: record[key] for key in ("topic", "complexity") if record.get(key) is not None}
        sample = program_sample(
            read_name(record, "task_id", "id"),
            text_field(record, "problem", required=False),
            check_test_limits(tuple(_test(test, number, checker) for number, test in enumerate(tests, start=1))),
            at,
            right=(right,) if right else (),
            seconds=read_seconds(record.get("time_limit")),
            memory_bytes=int(memory * MIB) if memory else None,
            meta=meta,
        )
        language = text_field(record, "language", required=False)
        return replace(sample, judge=judge, language=language, canonical_language=language)


def _judge(about: Mapping[str, object]) -> Any:
    """Return the program of a row that judges outputs; RowError if it is none."""
    from markbook.programs.checkers import Judge  # late: every benchmark asks this loader whether it is its own

    refuse_misspelt(about, CheckerRow.__annotations__, of="the checker")
    about = {key: value for key, value in about.items() if value is not None}  # as tables fill what a row has not
    convention = about.get("convention", "testlib")
    if convention not in ("testlib", "icpc", "function"):
        raise RowError("the checker's 'convention' is none of testlib, icpc, function")
    source = text_field(about, "source")
    files = about.get("files") or {}
    if isinstance(files, Mapping):
        files = {name: text for name, text in files.items() if text is not None}
    # A plain name has no slash and does not begin with a dot, so the file cannot land outside the checker's folder.
    if not isinstance(files, Mapping) or not all(
        isinstance(text, str) and _PLAIN.fullmatch(name) for name, text in files.items()
    ):
        raise RowError("the checker's 'files' must map plain file names to texts")
    flags = text_list(about, "flags")
    is_interactive, passes = about.get("interactive", False), about.get("passes", 1)
    if not isinstance(is_interactive, bool) or not isinstance(passes, int) or not 1 <= passes <= MAX_PASSES:
        raise RowError(
            f"the checker's 'interactive' is not true or false, or its 'passes' is not a number from 1 to {MAX_PASSES}"
        )
    if convention == "function" and (is_interactive or passes > 1):
        raise RowError("a checker that is a function neither talks to a program nor asks for another pass")
    # A function is called by the examiner, which is Python; programs say what they are written in.
    language = "python" if convention == "function" else text_field(about, "language")
    own = {"": source, **files}
    return Judge(
        language,
        # `surrogatepass` because JSON can hold half of a surrogate pair, which plain UTF-8 refuses.
        tuple((name, text.encode("utf-8", "surrogatepass")) for name, text in own.items()),
        convention,
        tuple(flags),
        is_interactive,
        passes,
    )


def _test(value: object, number: int, checker: str) -> Test:
    if not isinstance(value, Mapping):
        raise RowError(f"test {number} is not an object")
    refuse_misspelt(value, StreamTestRow.__annotations__, of=f"test {number}", elsewhere=_IN_ROW)
    # a table has every column of every test in each of them: null is what a test does not say
    value = {key: part for key, part in value.items() if part is not None}
    for key in ("stdin", "stdout", "checker"):
        if not isinstance(value.get(key, ""), str):
            raise RowError(f"{key!r} of test {number} is not a string")
    if "stdout" not in value:
        raise RowError(f"test {number} has no 'stdout'")
    points = value.get("points")
    if points is not None and ((worth := read_number(points)) is None or worth < 0):
        raise RowError(f"'points' of test {number} is not a number of 0 or more")
    return Test(
        stdin=value.get("stdin", ""),
        stdout=value["stdout"],
        checker=value.get("checker", "") or checker,
        points=read_number(points),
    )


class SandboxFusion:
    """Reads rows with content and test, which is JSON: a list of {"input": {"stdin"}, "output": {"stdout"}}."""

    keys = ("id", "content", "test", "labels")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 85 for a test with inputs and outputs."""
        record = probe.record
        test = record.get("test")
        is_list = isinstance(test, list) or (isinstance(test, str) and test.lstrip()[:1] == "[")
        if not is_list or "content" not in record:
            return 0
        try:
            # `sniff` must not raise: other formats are still to be asked.
            return 85 if _pairs(test) else 0
        except RowError:
            return 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        labels = parse_json_field(record.get("labels"), "labels")
        labels = labels if isinstance(labels, Mapping) else {}
        meta = {"topic": labels.get("source") or labels.get("category"), "difficulty": labels.get("difficulty")}
        return program_sample(
            read_name(record, "id", "task_id"),
            text_field(record, "content"),
            program_tests(_pairs(record.get("test"))),
            at,
            seconds=read_seconds(labels.get("time_limit")),
            meta={key: value for key, value in meta.items() if isinstance(value, str)},
        )


def _pairs(value: object) -> list[tuple[Any, Any]]:
    tests = parse_json_field(value, "test")
    if not isinstance(tests, list):
        raise RowError("'test' is not a list")
    pairs = []
    for number, test in enumerate(tests, start=1):
        test_input, test_output = (test.get("input"), test.get("output")) if isinstance(test, Mapping) else (None, None)
        if not isinstance(test_input, Mapping) or not isinstance(test_output, Mapping):
            raise RowError(f"test {number} has no input and output")
        # A test without input reads nothing, which is not an error.
        stdin = test_input.get("stdin")
        pairs.append(("" if stdin is None else stdin, test_output.get("stdout", "")))
    return pairs
