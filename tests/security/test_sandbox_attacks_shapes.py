"""Attacks in `attacks/` against every shape of test: nothing wrong is passed, nobody's neighbour loses a mark.

`python tests/security/attacks/harness.py LEVEL RULE` prints what becomes of each. They are not run below the level asked for:
what the sandbox stands between is real.
"""

import re
from dataclasses import replace

import pytest
from attacks.harness import HERE, LIMITS, RULES, Program, programs, run
from attacks.shapes import SHAPES

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.worker import Worker
from markbook.types import Isolation, Limits

LEVELS = [Isolation.A, Isolation.B]
SHARE = 700
"""`make test` runs of every program one in so many of its cases: a level, a shape, with its right answer or without."""

CONTROLS = 2
"""After an attack on its neighbours `make test` marks so many honest answers, others each time."""
ATTEMPTS = 3
"""Of the attempts of an attack that hopes for luck `make test` makes one in so many."""
BRIEF = Limits(seconds=0.15, wall_seconds=1.5, memory_bytes=LIMITS.memory_bytes)
"""What an attack may use in `make test`: most that reach a limit reach any."""


def drawn(rule, level, part):
    """Return the programs of a rule with the cases that are run at a level; those without any are left out."""
    for program in programs(rule):
        cases = [(at, *case) for at in LEVELS for case in program.cases()]
        chosen = part.of(cases, SHARE, f"{program.name} {{}}".format)
        if only := frozenset((shape, known) for at, shape, known in chosen if at == level):
            if part.is_whole:
                yield replace(program, only=only)
            else:
                yield replace(program, only=only, attempts=-(-program.attempts // ATTEMPTS), limits=BRIEF)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("level", LEVELS)
def test_no_attack_passes_or_harms(level, rule, part):
    chosen = list(drawn(rule, level, part))
    try:
        found = run(level, chosen) if part.is_whole else run(level, chosen, CONTROLS)
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))

    assert found.attempts >= len(chosen) > 0
    assert found.forged == []
    assert (found.disturbed, found.aborted, found.changed) == ([], [], [])


def test_a_worker_is_not_replaced_by_a_weaker_one(monkeypatch):
    greet = Worker.greet

    def weaker(worker):
        hello = greet(worker)
        return {**hello, "layers": [{**layer, "ok": layer["name"] != "landlock"} for layer in hello["layers"]]}

    try:
        box = Sandbox(workers=1, isolation="auto", at_most=Isolation.B)
        box.start()
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))
    with box:
        monkeypatch.setattr(
            Worker, "greet", weaker
        )  # as where a solution has closed the folder that landlock is to open

        with pytest.raises(EnvironmentUnfitError):
            box._worker_pool.replace(box._worker_pool.workers[0])


def test_the_right_answers_pass_and_the_wrong_ones_fail_by_themselves(part):
    wrong = Program("nothing", "wall", "", ())
    jobs = [
        Job(
            (shape.name, known, right),
            shape.right if right else wrong.code(shape, ""),
            shape.sample(canonical=known),
            LIMITS,
        )
        for shape in part.of(SHAPES.values(), 4, key=lambda shape: shape.name)
        for known in (True, False)
        for right in (True, False)
        if right or known or not shape.proof  # else Python itself passes it, and nobody knows better
    ]

    with Sandbox(workers=1, isolation="weak", dedupe=False) as box:
        passed = {job.key: all(result.passed for result in outcome.tests) for job, outcome in box.run(jobs)}

    assert {key for key, right in passed.items() if right != key[2]} == set()


def test_there_are_many_attacks_and_each_says_what_it_tries():
    every = [path for folder in (*RULES, "programs") for path in (HERE / folder).glob("*.py")]
    first = {path: path.read_text(encoding="utf-8").splitlines()[0] for path in every}

    assert len(every) >= 215
    assert [path.name for path, line in first.items() if not re.match(r"# [A-Z].*\.$", line)] == []
