"""Hostile programs get the verdict that stands in their header, at every level of isolation that this machine has.

Each runs against two tests of one problem: one that is kept apart from it, and one that says it must run beside it.
Levels C and D leave the machine's files open, so only the honest programs run there.
"""

import itertools
import os
from pathlib import Path

import pytest
from support.paths import TESTS

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.guest import child, marking, wire
from markbook.sandbox.guest.examination.separation import may_change_tests
from markbook.sandbox.guest.exchange import peer
from markbook.types import Isolation, Limits, Sample, Test, Verdict

PROGRAMS = TESTS / "security" / "attacks" / "programs"
RIGHT = "def f(n):\n    return [k * k for k in range(n)]\n"
PROBLEM = Sample(
    id="squares",
    tests=(
        Test(assertion="func(4) == [0, 1, 4, 9]"),
        Test(setup="import time", assertion="func(5) == [0, 1, 4, 9, 16]"),
    ),
    entry_point="f",
    references=(RIGHT,),
)
OWN_ERRORS = {"base_exception", "error_assertion"}
EITHER_WAY = {"frame_request_call"}
"""Fails in the exchange or beside the test: who reads what it has written, and ends it, is a matter of time."""
LEVELS = [Isolation.A, Isolation.B]
LIMITS = Limits(seconds=0.6, wall_seconds=1.5, memory_bytes=1 << 30)
HONEST = Limits(seconds=0.6, wall_seconds=60.0, memory_bytes=1 << 30)
"""What an honest program may use: it is not to fail because the machine is busy."""
BRIEF = Limits(seconds=0.15, wall_seconds=1.5, memory_bytes=1 << 30)
"""What a hostile program may use in `make test`."""


def programs(*, honest_only=False):
    return {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted(PROGRAMS.glob("*.py"))
        if path.stem.startswith("honest_") or not honest_only
    }


def wanted(text):
    header = dict(line[2:].split(": ", 1) for line in text.splitlines()[1:3])
    return header["separated"], header["beside"]


def word(result):
    return "flagged" if result.verdict == Verdict.FLAGGED else "pass" if result.passed else "fail"


def run_all(level, texts, limits=LIMITS, followed=None):
    """Run every program, and behind it an honest one in the same worker, or only behind those that are named."""
    with Sandbox(workers=1, isolation="weak", at_most=level, dedupe=False) as box:
        if box.level != level:
            pytest.skip(f"this machine reaches level {box.level} at most")
        jobs = []
        for name, text in texts.items():
            jobs.append(Job(name, text, PROBLEM, HONEST if name.startswith("honest_") else limits))
            if followed is None or name in followed:
                jobs.append(Job(f"after {name}", RIGHT, PROBLEM, HONEST))
        outcomes = {job.key: outcome for job, outcome in box.run(jobs)}
        pids = [worker.pid for worker in box._worker_pool.workers]
    return outcomes, pids


@pytest.mark.parametrize("level", LEVELS)
def test_every_program_gets_the_verdict_in_its_header(level, part):
    """`make test` runs each program at one of the levels."""
    drawn = part.of(itertools.product(LEVELS, programs()), len(LEVELS), stratum=lambda case: case[1])
    texts = {name: text for name, text in programs().items() if (level, name) in drawn}

    followed = part.of(texts, 4)
    outcomes, pids = run_all(level, texts, LIMITS if part.is_whole else BRIEF, followed)

    got = {name: tuple(map(word, outcomes[name].tests)) for name in texts}
    assert got == {name: wanted(text) for name, text in texts.items()}
    passed = {name: outcome.tests for name, outcome in outcomes.items() if outcome.passed}
    # unchecked where a program that passes could have reached the test in its process
    labels = {
        name: Verdict.UNCHECKED if tests[1].passed and may_change_tests(texts.get(name, RIGHT)) else Verdict.IN_PROCESS
        for name, tests in passed.items()
    }
    assert {name: [test.verdict for test in tests] for name, tests in passed.items()} == {
        name: [Verdict.SEPARATED, label] for name, label in labels.items()
    }
    assert Verdict.IN_PROCESS in labels.values()
    failed = [outcome for outcome in outcomes.values() if not outcome.passed]
    assert {result.verdict for outcome in failed for result in outcome.tests} == set(Verdict) - {Verdict.UNCHECKED}
    # where a comparison used up the time, or an error of the program's own class crossed, it was decided beside the test
    beside = [name for name in texts if outcomes[name].tests[0].verdict == Verdict.IN_PROCESS]
    assert {name for name in beside if not outcomes[name].limit} - EITHER_WAY == OWN_ERRORS & texts.keys()
    disturbed = [name for name in followed if outcomes[f"after {name}"].passed != 2]
    assert disturbed == []
    assert not Path("/var/tmp/markbook-attack").exists()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("level", [Isolation.C, Isolation.D])
def test_honest_programs_pass_at_the_weak_levels_too(level):
    texts = programs(honest_only=True)

    try:
        outcomes, _ = run_all(level, texts, followed=())
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))

    assert {name: tuple(map(word, outcomes[name].tests)) for name in texts} == dict.fromkeys(texts, ("pass", "pass"))


def test_no_hostile_program_is_expected_to_pass():
    hostile = {name: wanted(text) for name, text in programs().items() if not name.startswith("honest_")}

    assert len(hostile) >= 80
    assert len(programs(honest_only=True)) >= 10
    assert [name for name, verdicts in hostile.items() if "pass" in verdicts] == []


TARGETS = {
    "beside/frames_forged.py": (child._beside.__code__.co_varnames, ("nonce", "index")),
    "beside/parts_by_gc.py": (dir(marking.Parts(0, {})), ("results", "failed", "done")),
    "beside/send_rewritten.py": (dir(wire), ("PipePair",)),
    "parts/forge.py": (dir(marking), ("mark", "failure", "receive_result")),
    "programs/patch_marking.py": (dir(child), ("mark",)),
    "programs/patch_wire.py": (dir(wire), ("PipePair",)),
    "programs/patch_wire_shapes.py": (dir(wire), ("PipePair",)),
    "wall/named_patched.py": (dir(child.Stage), ("get_named",)),
    "../test_sandbox_forgeries.py": (dir(wire.PipePair), ("receive",)),
    "../test_sandbox_lookalikes.py": (
        [*child._beside.__code__.co_varnames, *dir(child)],
        ("nonce", "index", "remaining", "link", "_say", "_beside"),
    ),
    "../test_sandbox_red.py": (dir(peer.Peer), ("_ask_peer", "_receive")),
}
"""By attack, where it looks for something of the sandbox's own, and by what names."""


@pytest.mark.parametrize("attack", TARGETS)
def test_what_an_attack_replaces_is_there_by_that_name(attack):
    """An attack on a name that was changed would try nothing, and be counted as withstood."""
    there, looked_for = TARGETS[attack]
    text = (PROGRAMS.parent / attack).read_text(encoding="utf-8")

    assert set(looked_for) <= set(there)
    assert [name for name in looked_for if name not in text] == []
