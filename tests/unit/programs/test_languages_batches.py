"""Programs that are built together: each gets its own files, and none holds up the others."""

from functools import partial

import pytest
from test_languages import LIMITS, here, marked

from markbook.languages import language
from markbook.programs import marker as batches, marker as programs
from markbook.programs.marker import ProgramMarker
from markbook.sandbox import Job
from markbook.types import ErrorKind, Sample, Test

DEEP = {
    "java": "class D { int f() { return " + "(" * 20000 + "1" + ")" * 20000 + "; } }\n",
    "typescript": "const a = " + "(" * 20000 + "1" + ")" * 20000 + ";\n",
}

SAID = {"java": "the compiler refused it", "typescript": "call stack"}


@pytest.mark.parametrize("name", ["java", "typescript"])
def test_programs_that_are_built_together_keep_apart(name):
    right, wrong, tests = language(name).self_test
    answers = {
        f"{kind} {n}": f"{text}// {n}\n" for n in range(2) for kind, text in (("right", right), ("wrong", wrong))
    }

    found = marked(name, tests, {**answers, "broken": "(((\n"})

    assert {key: one.passed for key, one in found.items()} == {
        "right 0": 1, "wrong 0": 0, "right 1": 1, "wrong 1": 0, "broken": 0,
    }  # fmt: skip
    assert found["broken"].error is ErrorKind.SYNTAX


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"E\0\0\0\2no", ["no"]),
        (b"F\0\0\0\1\0\0\0\1a\0\0\0\2xyE\0\0\0\0", [{"a": b"xy"}, ""]),
        (b"F\0\0\0\1\0\0\0\4../a\0\0\0\0", [None]),
        (b"F\0\0\0\1\0\0\0\xff" + b"a" * 255 + b"\0\0\0\0", [None]),
        (b"E\0\0\0\2noE\0\0\0\x09cut", ["no"]),
        (b"E\xff\xff\xff\xff", []),
        (b"other", []),
    ],
)
def test_what_a_batch_prints_is_read_as_far_as_it_is_whole(data, found):
    assert list(batches._read(data)) == found


def _only_built(make_run, *about, built, **how):
    return make_run(*about, built=built, **how)


@pytest.mark.parametrize("name", DEEP)
def test_what_the_compiler_cannot_follow_is_no_reason_to_build_the_others_alone(name, monkeypatch):
    here(name)
    right, _, tests = language(name).self_test
    sample = Sample("one", tests=(Test(program=tests),), language=name)
    answers = {"deep": DEEP[name] + right, **{str(number): f"{right}// {number}\n" for number in range(3)}}
    marker = ProgramMarker([name], workers=1, isolation="weak")
    try:
        marker.start()
        monkeypatch.setattr(programs, "make_run", partial(_only_built, programs.make_run))
        jobs = [Job(key, text, sample, LIMITS) for key, text in answers.items()]
        found = {job.key: out for job, out in marker.run(jobs)}
    finally:
        marker.close()

    assert {key: one.passed for key, one in found.items()} == {"deep": 0, "0": 1, "1": 1, "2": 1}
    assert found["deep"].error_type == "CompileError"
    assert SAID[name] in found["deep"].error_message
