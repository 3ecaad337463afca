"""Benchmarks in other languages: HumanEval-X, MultiPL-E, and rows of our own that name a `language`."""

from __future__ import annotations

from collections.abc import Mapping

from markbook.benchmarks.benchmark import BenchmarkProbe
from markbook.benchmarks.codeeval import refuse_misspelt
from markbook.benchmarks.problems import RowError, text_field
from markbook.testcode.extraction import with_imports
from markbook.types import ProblemType, Sample, Test

_GO_PACKAGES = (
    "bytes", "crypto/md5", "fmt", "math", "math/rand", "regexp", "sort", "strconv", "strings", "time",
)  # fmt: skip
"""What the benchmark's own runner imports where an answer in Go uses it and its tests do not import it."""
# The prefixes of the task ids, in the data set's own spelling.
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
            # The imports leave the beginning; `with_imports` puts back those that are used, since Go does not compile
            # an unused one.
            begin = prompt.replace(text_field(record, "import", required=False) or "\0", "").lstrip("\n")
            solution = with_imports(begin + body, setup, _GO_PACKAGES)
        return Sample(
            id=text_field(record, "task_id"),
            # In Rust the prompt lacks the declaration, so a model is shown both.
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
