"""HumanEval and its kin: EvalPlus, BigCodeBench, MBPP, and in other languages HumanEval-X, MultiPL-E and rows of our own that name a `language`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markbook.benchmarks.assembly import behind
from markbook.benchmarks.benchmark import BenchmarkProbe
from markbook.benchmarks.codeeval import refuse_misspelt
from markbook.benchmarks.problems import RowError, parse_json_field, text_field, text_list
from markbook.testcode import programs
from markbook.testcode.extraction import with_imports
from markbook.types import BASE_TESTS, ProblemType, Sample, Test

# MBPP: the full file, and the sanitized one whose tests were mended by its authors.

PREFIX = "Mbpp/"
_LONGEST_NUMBER = 18
"""Digits of a task's number: Python refuses to read thousands of them, and by another error than of a row."""


class Mbpp:
    """Reads rows with text, code, task_id, test_setup_code and test_list."""

    prompt_key = "text"
    sureness = 50
    repeats_are_samples = True
    keys: tuple[str, ...] = ("task_id", "text", "code", "test_list", "test_setup_code")

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return how sure it is of a row with a list of tests and a task under its own name."""
        return self.sureness if {"test_list", self.prompt_key} <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        asserts = text_list(record, "test_list")
        if not asserts:
            raise RowError("'test_list' is missing or empty")
        # Some rows have carriage returns in their code.
        code = text_field(record, "code").replace("\r\n", "\n")
        setup = "\n".join(
            part
            for part in (*text_list(record, "test_imports"), text_field(record, "test_setup_code", required=False))
            if part
        )
        # the function of the reference that the tests call, the last one defined if they call several
        tree, tests = programs.parse(code), programs.parse("\n".join(asserts))
        entry_point = ""
        if tree is not None and tests is not None:
            defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            called = {node.id for node in ast.walk(tests) if isinstance(node, ast.Name)}
            entry_point = next((name for name in reversed(defined) if name in called), "")
        return Sample(
            id=mbpp_id(record.get("task_id")),
            input=text_field(record, self.prompt_key),
            references=(code,),
            tests=(Test(setup=setup, program="\n".join(asserts) + "\n"),),
            entry_point=entry_point,
            source=at,
            problem_type=ProblemType.FUNCTION,
            # the benchmark runs its tests' set-up in one namespace with the answer, which may use what that imports
            preloaded=tuple(
                name.name
                for node in getattr(programs.parse(setup), "body", ())
                if isinstance(node, ast.Import)
                for name in node.names
                if not name.asname
            ),
        )


class MbppSanitized(Mbpp):
    """Reads rows with prompt, code, task_id, test_imports and test_list."""

    prompt_key = "prompt"
    sureness = 60
    keys = ("task_id", "prompt", "code", "test_list", "test_imports")


def mbpp_id(value: object) -> str:
    """Return `Mbpp/<n>` for a number or any spelling of it; RowError for anything else."""
    # True is an integer for Python, and would become Mbpp/1.
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise RowError("'task_id' is neither a number nor a string")
    # `Mbpp/2`, `2` and ` 2 ` are one task: EvalPlus writes the first, the original files the second.
    number = str(value).strip().rpartition("/")[2]
    if not number.isdecimal() or len(number) > _LONGEST_NUMBER:
        raise RowError(f"the task id {str(value)[:40]!r} is not a number")
    return f"{PREFIX}{int(number)}"


# HumanEval, BigCodeBench, and EvalPlus' HumanEval+ and MBPP+ (inputs with a reference solution instead of written tests).


class HumanEval:
    """Reads rows with task_id, prompt, entry_point, canonical_solution and test (which defines `check`)."""

    keys = ("task_id", "prompt", "entry_point", "canonical_solution", "test")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 70 for a prompt with an entry point and a test, which rows of EvalPlus may have as well."""
        # It is less than what `EvalPlus` returns, so that a row with inputs is read by that one.
        return 70 if {"prompt", "entry_point", "test"} <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        prompt, name = text_field(record, "prompt"), _humaneval_entry_point(record)
        # `check` is called here because the data set only defines it.
        test = f"{text_field(record, 'test')}\n\ncheck({name})\n"
        return _begun_function(record, prompt, _canonical(prompt, record), [Test(program=test)], at)


class BigCodeBench:
    """Reads rows with task_id, complete_prompt, entry_point, canonical_solution and test (a test case of unittest).

    SandboxFusion dumps them with id, content, and the entry point among the labels.
    """

    keys = ("task_id", "complete_prompt", "instruct_prompt", "entry_point", "canonical_solution", "test")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 75 for a prompt to complete with an entry point and a test."""
        record = probe.record
        is_dump = {"content", "test"} <= record.keys() and "entry_point" in str(record.get("labels"))
        return 75 if is_dump or {"complete_prompt", "entry_point", "test"} <= record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        if "content" in record:
            labels = parse_json_field(record.get("labels"), "labels")
            name = labels.get("entry_point") if isinstance(labels, Mapping) else None
            own = {"task_id": record.get("id"), "complete_prompt": record["content"], "entry_point": name}
            record = {**record, **own}
        prompt, test = text_field(record, "complete_prompt"), text_field(record, "test")
        return _begun_function(record, prompt, _canonical(prompt, record), [Test(program=test)], at)


class EvalPlus:
    """Reads rows with prompt, entry_point, canonical_solution, base_input and plus_input.

    The right answer to each input is what the canonical solution gives. It is computed by the examiner, which the
    candidate cannot reach. An input on which the canonical solution itself fails is not a test. The inputs of the original
    benchmark are a test of their own, the added ones another: an answer is right if it passes both.
    """

    keys = ("task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 80 for a solution with inputs."""
        return 80 if {"entry_point", "canonical_solution", "base_input"} <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        prompt, name = text_field(record, "prompt"), _humaneval_entry_point(record)
        base, plus = _inputs(record, "base_input"), _inputs(record, "plus_input")
        if not base and not plus:
            raise RowError("there is no input to test with")
        # The data set gives it for problems with floating-point results; 0 is "not stated".
        tolerance = record.get("atol") or 0
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
            raise RowError("'atol' is not a number")
        (canonical,) = _canonical(prompt, record) or ("",)
        # Any root is right where the problem asks for one; the prompt of that problem defines `poly` to check it with.
        any_root = name == "find_zero" and "def poly(" in canonical
        check, limit = (_ROOT_CHECK, float(tolerance) or 1e-4) if any_root else (_CHECK, float(tolerance))
        # Two programs, as the benchmark itself runs two: what is too slow for the added inputs still passes the original ones.
        tests = []
        for inputs, others in ((base, plus), (plus, base)):
            asserts = [check.format(i=number, name=name, tolerance=limit) for number in range(len(inputs))]
            head = _HARNESS.format(
                reference=_reference(canonical), name=name, inputs=inputs, unordered=_has_no_order(canonical, name),
                others=others if "re." in canonical else [],
            )  # fmt: skip
            tests += [Test(program=head + "\n".join(asserts) + "\n")] if inputs else []
        sample = _begun_function(record, prompt, (canonical,), tests, at)
        return replace(sample, meta={BASE_TESTS: 1}) if base else sample


def _begun_function(
    record: Mapping[str, object], prompt: str, references: tuple[str, ...], tests: Sequence[Test], at: str
) -> Sample:
    """Return the problem of a row whose prompt is the beginning of the function asked for."""
    return Sample(
        id=text_field(record, "task_id"),
        input=prompt,
        references=references,
        tests=tuple(tests),
        entry_point=_humaneval_entry_point(record),
        source=at,
        problem_type=ProblemType.FUNCTION,
        prompt_code=prompt,
    )


def _humaneval_entry_point(record: Mapping[str, object]) -> str:
    name = text_field(record, "entry_point")
    if not name.isidentifier():
        raise RowError(f"the entry point {name[:40]!r} is not a name")
    return name


def _canonical(prompt: str, record: Mapping[str, object]) -> tuple[str, ...]:
    body = text_field(record, "canonical_solution", required=False)
    return (behind(prompt, body, _humaneval_entry_point(record)),) if body else ()


def _inputs(record: Mapping[str, object], key: str) -> list[list[Any]]:
    value = record.get(key) or []
    if not isinstance(value, list) or not all(isinstance(arguments, list) for arguments in value):
        raise RowError(f"{key!r} is not a list of argument lists")
    return value


# `_matches` is bound before it is computed: a name that a test binds only behind its functions could be the solution's.
_HARNESS = '''\
import copy as _copy
import math as _math
import re as _re

{reference}
_expected = _reference[{name!r}]
_matches = False


def _tuples(value):
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def _answer(arguments):
    """The right answer, and the arguments in the form that the reference takes (JSON has no tuples)."""
    forms = (arguments, [_tuples(part) for part in arguments],
             [[_tuples(row) for row in part] if isinstance(part, list) else part for part in arguments])
    for form in forms:
        try:
            return True, _expected(*_copy.deepcopy(form)), form
        except MemoryError:
            raise  # what the candidate has filled says nothing of the right answer
        except Exception:
            continue
    return False, None, arguments


def _same(got, right, tolerance):
    if _matches:
        return (right is not None) == (got if isinstance(got, bool) else got is not None)
    if {unordered} and isinstance(right, (list, tuple)) and isinstance(got, (list, tuple, set, frozenset)):
        got, right = sorted(map(repr, got)), sorted(map(repr, right))
    if got == right:
        return True
    if isinstance(right, float) and isinstance(got, (int, float)):
        return _math.isclose(got, right, rel_tol=1e-7, abs_tol=tolerance or 1e-6)
    if isinstance(right, (list, tuple)) and isinstance(got, (list, tuple)) and len(got) == len(right):
        return any(isinstance(part, float) for part in right) and all(map(_same, got, right, [tolerance] * len(got)))
    return False


_inputs = {inputs!r}
_answers = [_answer(arguments) for arguments in _inputs]
# a match object says only that there is a match, and a candidate may as well say so by True
_matches = any(isinstance(answer[1], _re.Match) for answer in [*_answers, *map(_answer, {others!r})])
'''

_ROOT_CHECK = "assert abs(_reference['poly'](*_copy.deepcopy(_inputs[{i}]), {name}(*_copy.deepcopy(_inputs[{i}])))) <= {tolerance}"
_CHECK = (
    "assert not _answers[{i}][0] or _same({name}(*_copy.deepcopy(_answers[{i}][2])), _answers[{i}][1], {tolerance})"
)


def _reference(canonical: str) -> str:
    """Write the statements that define `_reference`, the names of the canonical solution with their objects.

    It becomes the body of a function: a test with `exec` in it could only run in the candidate's own process.
    """
    tree = programs.parse(canonical)
    if tree is None or any(
        isinstance(node, ast.Global)
        or (isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names))
        for node in ast.walk(tree)
    ):  # neither may stand in a function's body
        return f"_reference = {{}}\nexec({canonical!r}, _reference)"
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = list(dict.fromkeys(node.name for node in tree.body if isinstance(node, defined)))
    names_dict = ast.Dict([ast.Constant(name) for name in names], [ast.Name(name) for name in names])
    module = ast.parse("def _make_reference():\n    pass\n_reference = _make_reference()")
    module.body[0].body = [*tree.body, ast.Return(names_dict)]  # type: ignore[attr-defined]  # the function above
    return ast.unparse(ast.fix_missing_locations(module))


def _has_no_order(canonical: str, name: str) -> bool:
    """Whether the reference returns the elements of a set as a list or tuple, so that no order is the right one."""
    tree = programs.parse(canonical)
    functions = [
        node for node in (tree.body if tree else []) if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    returned = [node.value for function in functions for node in ast.walk(function) if isinstance(node, ast.Return)]
    return any(
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in {"list", "tuple"}
        and len(value.args) == 1
        and _is_set(value.args[0])
        for value in returned
    )


def _is_set(value: ast.expr) -> bool:
    # `set(a) & set(b)` is a set as soon as one side is, and its order as a list depends on hashes.
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Sub):
        return _is_set(value.left) or _is_set(value.right)
    return isinstance(value, ast.Set | ast.SetComp) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"set", "frozenset"}
    )


# Benchmarks in other languages: HumanEval-X, MultiPL-E, and rows of our own that name a `language`.

_GO_PACKAGES = (
    "bytes", "crypto/md5", "fmt", "math", "math/rand", "regexp", "sort", "strconv", "strings", "time",
)  # fmt: skip
"""What the benchmark's own runner imports where an answer in Go uses it and its tests do not import it."""
_OF_X = {"CPP": "cpp", "Go": "go", "Java": "java", "JavaScript": "javascript", "Python": "python", "Rust": "rust"}


class HumanEvalX:
    """Reads rows with task_id (`CPP/0`), prompt, declaration, canonical_solution and test."""

    keys = ("task_id", "prompt", "declaration", "canonical_solution", "test")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 90 for a task id with a language and a declaration."""
        record = probe.record
        return 90 if {"declaration", "test", "prompt"} <= record.keys() and _prefix(record) in _OF_X else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        language = _OF_X.get(_prefix(record))
        if language is None:
            raise RowError(f"the task id names none of the languages {', '.join(_OF_X)}")
        declaration, test = text_field(record, "declaration"), text_field(record, "test")
        prompt = text_field(record, "prompt")
        body = text_field(record, "canonical_solution", required=False)
        begin = prompt if language in ("cpp", "java", "javascript", "python") else declaration
        setup = ""
        solution = begin + body
        if language == "go":
            setup = text_field(record, "test_setup")
            begin = prompt.replace(text_field(record, "import", required=False) or "\0", "").lstrip("\n")
            solution = with_imports(begin + body, setup, _GO_PACKAGES)
        return Sample(
            id=text_field(record, "task_id"),
            input=prompt if language != "rust" else prompt + declaration,
            references=(solution,) if body else (),
            tests=(Test(setup=setup, program=test),),
            source=at,
            problem_type=ProblemType.FUNCTION,
            prompt_code=begin,
            preloaded=_GO_PACKAGES if language == "go" else (),
            language=language,
        )


def _prefix(record: Mapping[str, object]) -> str:
    return str(record.get("task_id", "")).partition("/")[0]


class MultiPLE:
    """Reads rows with name, language, prompt, tests and stop_tokens."""

    keys = ("name", "language", "prompt", "tests", "stop_tokens")
    repeats_are_samples = True

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 96 for all of these: rows of our own have some of them too."""
        return 96 if set(self.keys) <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        prompt = text_field(record, "prompt")
        return Sample(
            id=text_field(record, "name"),
            input=prompt,
            tests=(Test(program=text_field(record, "tests")),),
            source=at,
            problem_type=ProblemType.FUNCTION,
            prompt_code=prompt,
            language=text_field(record, "language"),
        )


class LanguagePrograms:
    """Reads rows of our own: task_id, language and tests (a text or a list of texts), which stand behind the answer.

    `prompt`, `prompt_code` (what an answer may go on with), `setup` (what stands before it) and `canonical_solution`
    are optional; what else a row says can be grouped by.
    """

    keys = ("task_id", "language", "tests")
    repeats_are_samples = True
    _OWN = (*keys, "prompt", "prompt_code", "setup", "canonical_solution", "topic", "complexity")

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 92 for all of these, where the tests are texts."""
        record = probe.record
        tests = record.get("tests")
        are_texts = isinstance(tests, str) or (isinstance(tests, list) and all(isinstance(test, str) for test in tests))
        return 92 if set(self.keys) <= record.keys() and are_texts else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        refuse_misspelt(record, self._OWN)
        tests = record.get("tests")
        texts = [tests] if isinstance(tests, str) else tests
        if (
            not isinstance(texts, list)
            or not texts
            or not all(isinstance(test, str) and test.strip() for test in texts)
        ):
            raise RowError("'tests' is neither a text nor a list of texts")
        setup = text_field(record, "setup", required=False)
        canonical = text_field(record, "canonical_solution", required=False)
        return Sample(
            id=text_field(record, "task_id"),
            input=text_field(record, "prompt", required=False),
            references=(canonical,) if canonical else (),
            tests=tuple(Test(setup=setup, program=text) for text in texts),
            source=at,
            problem_type=ProblemType.FUNCTION,
            prompt_code=text_field(record, "prompt_code", required=False),
            language=text_field(record, "language"),
            meta={key: value for key, value in record.items() if key in ("topic", "complexity")},
        )
