"""Honest programs get in the sandbox the verdicts that Python itself gives them, and their wrong siblings theirs."""

from functools import partial
from importlib.util import find_spec

import pytest
from support import honest_kit
from support.parts import Parts

from markbook.sandbox import Sandbox
from markbook.types import Isolation

PROGRAMS = {program.name: program for program in honest_kit.read_programs()}
AT_B = set(sorted(PROGRAMS)[::5])
"""Those that run at level B too."""
WAYS = ("canonical", "alone")
"""With a right solution given, and without."""


def cases(level):
    for name, program in PROGRAMS.items():
        marks = [pytest.mark.slow] if program.slow else []
        if level == Isolation.A or name in AT_B:
            for way in WAYS:
                for which in ("right", "wrong") if program.wrong else ("right",):
                    yield pytest.param((name, which, way), marks=marks, id=f"{name}-{which}-{way}")


@pytest.fixture(scope="module")
def plain():
    """Return a function from a program and which of its texts is meant to the verdicts of a plain run."""
    known = {}

    def verdicts(program, which):
        if (program.name, which) not in known:
            code = program.code if which == "right" else program.wrong
            known[program.name, which] = honest_kit.plain_verdicts(code, program.tests)
        return known[program.name, which]

    return verdicts


@pytest.fixture(scope="module")
def marked(request):
    """Return the sandbox's verdicts of all cases of this session, by level and case."""
    return {
        level: Parts(
            {
                item.callspec.params["case"]
                for item in request.session.items
                if item.fspath == request.fspath and item.originalname == name and not missing(item)
            },
            partial(run, level),
        )
        for level, name in TESTS.items()
    }


def missing(item):
    return [name for name in PROGRAMS[item.callspec.params["case"][0]].needs if find_spec(name) is None]


def run(level, wanted):
    jobs = {way: [] for way in WAYS}
    for case in wanted:
        name, which, way = case
        program = PROGRAMS[name]
        code = program.code if which == "right" else program.wrong
        jobs[way].append(program.job(code, case, canonical=way == "canonical"))
    found = {}
    for way in WAYS:  # a sandbox each: nothing that one way shows of a problem is to help the other
        with Sandbox(isolation="weak", at_most=level) as box:
            if box.level != level:
                pytest.skip(f"this machine reaches level {box.level} at most")
            found |= {job.key: [word(test) for test in outcome.tests] for job, outcome in box.run(jobs[way])}
    return found


def word(result):
    said = "pass" if result.passed else f"{result.error_type}: {result.error_message}"
    return said, str(result.verdict)


def holds(case, plain, ours):
    """Compare; the message shows both sides of every test that differs."""
    expected = plain(PROGRAMS[case[0]], case[1])
    differ = [
        f"test {number}: here {said!r} ({how}), plainly {wanted!r}"
        for number, ((said, how), wanted) in enumerate(zip(ours, expected, strict=True), 1)
        if (said == "pass") != (wanted == "pass")
    ]
    assert not differ, "; ".join(differ)


def needed(case):
    for name in PROGRAMS[case[0]].needs:
        pytest.importorskip(name)


@pytest.mark.parametrize("case", list(cases(Isolation.A)))
def test_verdicts_are_those_of_a_plain_run(case, plain, marked):
    needed(case)

    holds(case, plain, marked[Isolation.A][case])


@pytest.mark.parametrize("case", list(cases(Isolation.B)))
def test_verdicts_are_those_of_a_plain_run_at_level_b(case, plain, marked):
    needed(case)

    holds(case, plain, marked[Isolation.B][case])


TESTS = {
    Isolation.A: test_verdicts_are_those_of_a_plain_run.__name__,
    Isolation.B: test_verdicts_are_those_of_a_plain_run_at_level_b.__name__,
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_the_programs_are_what_they_say(name, plain):
    program = PROGRAMS[name]
    needed((name,))

    assert set(plain(program, "right")) == {"pass"}
    assert set(honest_kit.plain_verdicts(program.canonical, program.tests)) == {"pass"}
    assert not program.wrong or set(plain(program, "wrong")) != {"pass"}


def test_there_are_enough_of_them():
    assert len(PROGRAMS) >= 150
    assert sum(bool(program.wrong) for program in PROGRAMS.values()) >= 50
    assert len({program.name for program in honest_kit.read_programs()}) == len(honest_kit.read_programs())
