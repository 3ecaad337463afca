"""MBPP: the full file, and the sanitized one whose tests were mended by its authors."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from markbook.load.benchmark import Probe, RowError, text_field, text_list
from markbook.text import python
from markbook.types import ProblemType, Sample, Test

PREFIX = "Mbpp/"


class Mbpp:
    """Reads rows with text, code, task_id, test_setup_code and test_list."""

    prompt_key = "text"
    sureness = 50
    repeats_are_samples = True
    keys: tuple[str, ...] = ("task_id", "text", "code", "test_list", "test_setup_code")

    def sniff(self, probe: Probe) -> int:
        """Return how sure it is of a row with a list of tests and a task under its own name."""
        return self.sureness if {"test_list", self.prompt_key} <= probe.record.keys() else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        asserts = text_list(record, "test_list")
        if not asserts:
            raise RowError("'test_list' is missing or empty")
        code = text_field(record, "code").replace("\r\n", "\n")
        setup = "\n".join(
            part
            for part in (*text_list(record, "test_imports"), text_field(record, "test_setup_code", required=False))
            if part
        )
        return Sample(
            id=mbpp_id(record.get("task_id")),
            input=text_field(record, self.prompt_key),
            references=(code,),
            tests=(Test(setup=setup, program="\n".join(asserts) + "\n"),),
            entry_point=_entry_point(code, asserts),
            source=at,
            problem_type=ProblemType.FUNCTION,
            preloaded=_list_imports(setup),
        )


class MbppSanitized(Mbpp):
    """Reads rows with prompt, code, task_id, test_imports and test_list."""

    prompt_key = "prompt"
    sureness = 60
    keys = ("task_id", "prompt", "code", "test_list", "test_imports")


def mbpp_id(value: object) -> str:
    """Return `Mbpp/<n>` for a number or any spelling of it; RowError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise RowError("'task_id' is neither a number nor a string")
    number = str(value).strip().rpartition("/")[2]
    if not number.isdecimal():
        raise RowError(f"the task id {str(value)[:40]!r} is no number")
    return f"{PREFIX}{int(number)}"


def _list_imports(setup: str) -> tuple[str, ...]:
    """Return the modules that the tests' set-up imports: the benchmark runs it in one namespace with the answer."""
    tree = python.parse(setup)
    nodes = tree.body if tree else []
    return tuple(name.name for node in nodes if isinstance(node, ast.Import) for name in node.names if not name.asname)


def _entry_point(code: str, asserts: list[str]) -> str:
    """Return the function of the reference that the tests call, the last one defined if they call several."""
    tree, tests = python.parse(code), python.parse("\n".join(asserts))
    if tree is None or tests is None:
        return ""
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    called = {node.id for node in ast.walk(tests) if isinstance(node, ast.Name)}
    return next((name for name in reversed(defined) if name in called), "")
