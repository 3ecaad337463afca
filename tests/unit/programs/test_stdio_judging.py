"""Checkers' conventions and groups with points, as pure functions of what became of runs."""

import math

import pytest

from markbook.programs.checkers import (
    Checked,
    Graded,
    Group,
    grade,
    icpc,
    interactive,
    python_function,
    testlib as by_testlib,
    with_flags,
)

AC, WA, TLE, JE = Checked("AC"), Checked("WA"), Checked("TLE"), Checked("JE")


@pytest.mark.parametrize(
    ("status", "said", "result", "points"),
    [
        (0, b"ok", "AC", None), (1, b"wrong", "WA", None), (2, b"format", "WA", None), (3, b"fail", "JE", None),
        (4, b"dirt", "WA", None), (8, b"eof", "WA", None), (7, b"points 0.5 half", "AC", 0.5), (7, b"0 none", "WA", 0.0),
        (5, b"12", "AC", 12.0), (7, b"many", "JE", None), (7, b"points nan", "JE", None), (7, b"points 1e5", "JE", None),
        (6, b"", "JE", None), (255, b"", "JE", None), (-11, b"", "JE", None), (42, b"", "JE", None),
    ],
)  # fmt: skip
def test_a_checker_of_testlib_speaks_by_its_exit_status(status, said, result, points):
    found = by_testlib(status, said)

    assert (found.result, found.points) == (result, points)


@pytest.mark.parametrize(
    ("status", "files", "passes", "wanted"),
    [
        (42, {}, 0, Checked("AC")),
        (43, {"judgemessage.txt": b"bad\nmore"}, 0, Checked("WA", "bad")),
        (42, {"score.txt": b" 12.5\n"}, 0, Checked("AC", points=12.5)),
        (42, {"score_multiplier.txt": b"0.25"}, 0, Checked("AC", multiplier=0.25)),
        (42, {"nextpass.in": b"2"}, 1, Checked("AC", next_input=b"2")),
    ],
)
def test_an_output_validator_speaks_by_its_exit_status_and_its_files(status, files, passes, wanted):
    assert icpc(status, files, passes_left=passes) == wanted


@pytest.mark.parametrize(
    ("status", "files"),
    [(0, {}), (1, {}), (41, {}), (-9, {}), (42, {"score.txt": b"lots"}), (42, {"score.txt": b"nan"}), (42, {"score.txt": b"\xff"}),
     (42, {"score_multiplier.txt": b"1.5"}), (42, {"nextpass.in": b""})],
)  # fmt: skip
def test_what_is_no_verdict_is_the_judges_fault(status, files):
    assert icpc(status, files).result == "JE"


def test_what_a_checker_says_is_bounded_and_has_no_control_characters():
    found = by_testlib(1, b"\x1b[31m" + b"x" * 10_000_000)

    assert len(found.message) == 300
    assert found.message.isprintable()
    assert len(icpc(1, {"judgemessage.txt": b"\xff" * 100_000}).message) <= 300


@pytest.mark.parametrize(
    ("returned", "result", "multiplier"),
    [(True, "AC", None), (False, "WA", None), (0.5, "AC", 0.5), (0.0, "WA", 0.0), ((False, "why"), "WA", None), (2, "JE", None),
     (None, "JE", None), ("yes", "JE", None), (math.nan, "JE", None)],
)  # fmt: skip
def test_a_checker_that_is_a_function_speaks_by_what_it_returns(returned, result, multiplier):
    found = python_function(returned)

    assert (found.result, found.multiplier) == (result, multiplier)


@pytest.mark.parametrize(
    ("validator", "program", "first", "result"),
    [
        (AC, "AC", True, "AC"), (WA, "AC", True, "WA"), (WA, "RTE", True, "WA"), (WA, "RTE", False, "RTE"),
        (AC, "RTE", True, "RTE"), (AC, "TLE", True, "TLE"), (WA, "TLE", False, "TLE"), (JE, "RTE", True, "JE"),
        (WA, "TLE", True, "WA"), (JE, "AC", False, "JE"), (JE, "OLE", False, "OLE"),
    ],
)  # fmt: skip
def test_who_broke_an_interactive_run_is_told_apart(validator, program, first, result):
    assert interactive(validator, program, validator_first=first).result == result


def echo(second, first=AC):
    """Return what two subtasks of 50 points come to, as a scored package of the older versions has them."""
    inner = [
        with_flags(Group(f"secret/{name}", (f"{name}1", f"{name}2"), accept_score=50, low=0, high=50), "min")
        for name in "ab"
    ]
    sample = with_flags(Group("sample", ("s",), accept_score=0, low=0, high=0), "first_error")
    secret = with_flags(
        Group("secret", groups=tuple(inner), on_reject="continue", high=100), "first_error accept_if_any_accepted"
    )
    whole = with_flags(Group(groups=(sample, secret), on_reject="continue", low=0, high=100), "ignore_sample")
    return grade(whole, {"s": AC, "a1": first, "a2": AC, "b1": AC, "b2": second})


def test_subtasks_of_the_older_versions():
    assert echo(AC) == Graded("AC", 100.0)
    assert echo(WA) == Graded("AC", 50.0)
    assert echo(TLE, first=WA) == Graded("WA", 0.0)


def test_the_flags_of_the_default_grader():
    tests = ("1", "2", "3")
    found = {"1": AC, "2": TLE, "3": Checked("RTE")}

    def graded(flags, **more):
        return grade(with_flags(Group(tests=tests, on_reject="continue", **more), flags), found)

    assert graded("") == Graded("RTE", 1.0)
    assert graded("first_error") == Graded("TLE", 1.0)
    assert graded("always_accept max", accept_score=7) == Graded("AC", 7.0)
    assert graded("avg", accept_score=6) == Graded("RTE", 2.0)
    assert graded("sum", reject_score=-1) == Graded("RTE", -1.0)
    assert grade(Group(tests=tests), {"1": AC, "2": TLE}) == Graded("TLE", 1.0)
    assert graded("", high=0.5).result == "JE"
    with pytest.raises(ValueError, match="no flag 'nonsense'"):
        with_flags(Group(), "nonsense")


def test_groups_of_2025_09():
    one = Group("secret/1", ("a", "b"), aggregation="min", most=40)
    two = Group("secret/2", ("c", "d"), aggregation="sum", most=60, require_pass=("secret/1",))
    secret = Group("secret", groups=(one, two), aggregation="sum", most=100)
    whole = Group(groups=(Group("sample", ("s",), aggregation="pass-fail"), secret), aggregation="sum", most=100)

    def graded(**changed):
        return grade(whole, {**dict.fromkeys("sabcd", AC), **changed})

    assert graded() == Graded("AC", 100.0)
    assert graded(d=WA) == Graded("WA", 70.0)
    assert graded(b=TLE) == Graded("TLE", 0.0)  # and the second group requires the first
    assert graded(b=Checked("AC", multiplier=0.5)) == Graded("AC", 80.0)
    assert graded(c=Checked("AC", points=90)).result == "JE"
    assert graded(a=JE).result == "JE"
    assert graded(s=WA) == Graded("AC", 100.0)
