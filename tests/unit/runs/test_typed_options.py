"""The keyword arguments of `exam`, `run_task` and `review`: a typo is a type error before it runs, and named when it does."""

import dataclasses
import inspect
import subprocess
import sys
import typing

import pytest

import markbook as api
from markbook.errors import UsageError
from markbook.runs.exam.exam_options import ExamOptions, ExamSettings
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.review_options import ReviewOptions, ReviewSettings
from markbook.runs.tasks.task_options import TaskOptions, TaskSettings

_NOT_OF_REVIEW = {"judges", "judging", "config_file", "calibrate", "rescored", "profile", "seed"}
FUNCTIONS = [
    (api.exam, ExamOptions, ExamSettings, {"benchmark", "solutions"}),
    (api.run_task, TaskOptions, TaskSettings, {"tasks"}),
    (api.review, ReviewOptions, ReviewSettings, _NOT_OF_REVIEW),
]


@pytest.mark.parametrize(("function", "record", "settings", "renamed"), FUNCTIONS)
def test_every_field_is_an_argument_of_the_same_type(function, record, settings, renamed):
    fields, held = (
        typing.get_type_hints(record, localns={"ReviewConfig": ReviewConfig}),
        typing.get_type_hints(settings),
    )
    named = set(inspect.signature(function).parameters)

    assert {name: fields[name] for name in held} == held
    assert set(held) | (named & set(fields)) | renamed == {field.name for field in dataclasses.fields(record)}
    assert not set(held) & named


CALLS = """\
import markbook

markbook.exam("b", "s", timeout=3.0, workers=2, samples=4)
markbook.run_task("t", predictions="p", limit=3, seed=1)
markbook.review("p", "r", policy="bounds", workers=2, name="x")
{wrong}
"""
WRONG = {
    'markbook.exam("b", "s", timout=3.0)': 'Unexpected keyword argument "timout" for "exam"; did you mean "timeout"?',
    'markbook.exam("b", "s", timeout="3")': 'Argument "timeout" to "exam" has incompatible type "str"',
    'markbook.run_task("t", limt=3)': 'Unexpected keyword argument "limt" for "run_task"; did you mean "limit"?',
    'markbook.review("p", "r", polcy="bounds")': 'Unexpected keyword argument "polcy" for "review"; did you mean "policy"?',
}


def test_mypy_refuses_a_typo_and_takes_what_is_right(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "calls.py"
    script.write_text(CALLS.format(wrong="\n".join(WRONG)))

    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    ).stdout

    errors = [line for line in told.splitlines() if ": error:" in line]
    assert len(errors) == len(WRONG), told
    for line, (call, says) in zip(errors, WRONG.items(), strict=True):
        assert says in line, call


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: api.exam("b", "s", timout=3), r"exam\(\) has no option 'timout' \(did you mean 'timeout'"),
        (lambda: api.run_task("t", limt=3), r"run_task\(\) has no option 'limt' \(did you mean 'limit'"),
        (lambda: api.review("p", "r", polcy="x"), r"review\(\) has no option 'polcy' \(did you mean 'policy'"),
    ],
)
def test_a_typo_is_a_type_error_with_the_nearest_name(call, says):
    with pytest.raises(TypeError, match=says) as told:
        call()

    assert isinstance(told.value, UsageError)  # and one of ours, for who catches those
