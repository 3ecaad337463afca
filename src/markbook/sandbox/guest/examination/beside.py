"""Tests that must run beside the candidate: only those enter its process, and a pass there is tried with a wrong test.

A candidate can forge what happens in its own process. What it cannot know is which of several runs, each in a fresh
child and in an order drawn by lot, has the wrong expectation: passing all of them says that the test decided nothing.
"""

from __future__ import annotations

import marshal
import os

from .. import wire
from ..marking import received
from . import inspection
from .canary import Canary
from .expectations import INPUT, OPERATOR, SURE
from .wrong import below, shuffled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..marking import Compiled, Result
    from .tasks import Job, Task

    Run = Callable[[list[Compiled], set[int]], dict[str, Any]]
    """Runs these tests, of all that are given those with these numbers."""

_WRONG_RUNS, _MOST, _BRIEF = 3, 6, 2
"""Runs with something wrong in a round: so many for several tests, where there are many claims, and where they take
long."""
_ASKED = 2
"""Operators of a test that a right answer is tried with, before anything else of the test."""
_LEAST, _ROUNDS, _DOUBTED = 3, 8, 16
"""Rounds where they take long, as a rule, and where a wrong run has passed that a right answer may pass as well. Each
claim is wrong once in a round: who tosses a coin for each run is right by it in 8 rounds once in 65,536 attempts."""
_CPU, _SLEEP = 4.0, 1.0
"""Seconds of processor time in all, and of sleep in one run, after which a pass that was tried in the least rounds is
tried no more. Less sleep than that may be the wait for a processor that others use."""
_SLOWER = 2
"""So many times as long as a right answer another may take and count as proved by those few rounds."""
_TRYING = 10.0
"""Seconds of processor time after which nothing more is tried with a right answer."""
_OFTEN = 3
"""What passes more than one wrong run of so many could be a coin."""
_TRIED, _INSISTED = 12, 32
"""So many wrong things are tried with a right answer, to see which of them it fails; so many where it fails none: what
is wrong is another thing each time, and with another argument a right answer may be right again."""

Count = list[list[int]]
"""The parts of a test that went well, each with how often."""
Claims = dict[int, list[list[int]]]
"""For each test what of each of its claims may be made wrong."""
Useful = list[list[int] | None]
"""For each test what of it is worth making wrong; None where no right answer was there to try it with."""


def canaries(task: Task) -> list[Canary]:
    """Return what of each test can be made wrong, looked for once."""
    if task.canaries is None:
        entry = {task.name, "candidate", *task.aliases} - {""}
        task.canaries = [Canary(test, entry) for test in task.tests]
    return task.canaries


class Right:
    """What a right answer has shown of the tests; by itself that none is known."""

    def __init__(
        self, useful: Useful, counts: Sequence[Count | None] = (), cpu: float = 0.0, slept: float = 0.0
    ) -> None:
        """Note it.

        Args:
            useful: for each test what of it is worth making wrong.
            counts: for each test how often its parts were executed, None where that is not known.
            cpu: seconds of processor time of a run.
            slept: seconds of sleep of a run.
        """
        self.useful, self.counts = useful, counts
        self._cpu, self._slept = cpu, slept

    def is_slow(self, runs: int) -> bool:
        """Whether about so long as another one took for so many runs it would have taken too."""
        return runs * self._cpu * _SLOWER > _CPU or self._slept > 0


def slept(record: dict[str, Any]) -> float:
    """Return how many seconds a run slept; none if that may be but the wait for a processor."""
    rest: float = record.get("wall", 0.0) - 20 * record.get("cpu", 0.0)
    return rest if rest > _SLEEP else 0.0


class _Trial:
    """The runs of one solution with which its passes are tried."""

    def __init__(self, task: Task, run: Run, which: set[int], right: Right) -> None:
        self._task, self._run, self._which, self._right = task, run, which, right
        self._found = canaries(task)
        self._runs, self._spent, self._slept = 0, 0.0, 0.0
        self._said: dict[int, dict[int, list[bool]]] = {index: {} for index in which}
        self.record: dict[str, Any] = {}
        """Of the true runs."""

    def _again(self, compiled: list[Compiled]) -> dict[str, Any]:
        again = self._run(compiled, self._which)
        self._runs += 1
        self._spent += again.get("cpu", 0.0)
        self._slept += slept(again)
        return again

    def run_true(self) -> None:
        """Run the tests as they are; what has failed in one such run has failed."""
        again = self._again(self._task.compiled)
        if self.record:
            _agree(self.record, again, self._which)
        else:
            self.record = again

    def run_wrong(self, deal: dict[int, int]) -> None:
        """Run them with something wrong in some, and note which of these pass.

        What a limit ended, or what making it wrong broke, would have failed whatever is expected: that says nothing.
        """
        tests = {index: self._found[index].wrong(place) for index, place in deal.items()}
        again = self._again([tests.get(index) or test for index, test in enumerate(self._task.compiled)])
        for index, place in deal.items():
            result = again["tests"][index]
            passes = result.get("p") is True
            if tests[index] is not None and (passes or (_is_verdict(result) and not again.get("hit"))):
                self._said[index].setdefault(place, []).append(passes)

    def wants(self, deal: dict[int, int]) -> bool:
        """Whether there is anything to prove: a pass among these, and no limit hit, as it would be again."""
        if not self.record:
            return True
        return not self.record.get("hit") and any(self.record["tests"][index]["p"] for index in deal)

    def is_enough(self, rounds: int) -> bool:
        """Whether nothing is left to be said after so many rounds, however short they were."""
        passed = {index for index in self._which if not self.record or self.record["tests"][index]["p"]}
        return not passed or (rounds >= _ROUNDS and not any(map(self._is_doubted, passed)))

    def _is_doubted(self, index: int) -> bool:
        return any(map(any, self._said[index].values())) and self._proof(index) == "proved"

    def _heard(self, index: int) -> int:
        """Return how many wrong runs of a test have said something."""
        return sum(map(len, self._said[index].values()))

    def _proof(self, index: int) -> str:
        return _proof(self._found[index], self._said[index], known=self._right.useful[index] is not None)

    def is_long(self) -> bool:
        """Whether the runs have taken so long that few are to do."""
        return self._spent > _CPU or self._slept > 0

    def is_to_end(self, rounds: int) -> bool:
        """Whether the runs have taken so long that after so many rounds no more is to be tried.

        Where a right answer would not have taken as long, no more rounds than one say anything: nothing is proved.
        """
        return self.is_long() and rounds >= (_LEAST if self._right.is_slow(self._runs) else 1)

    def label(self, *, cut: bool) -> dict[str, Any]:
        """Return the record with each pass labelled; `cut` if there were fewer rounds than there are."""
        done = self.record.get("done", {})
        short = cut and not self._right.is_slow(self._runs)
        for index in self._which:
            wanted = self._right.counts[index] if self._right.counts and done else None
            proof = self._proof(index)
            if wanted is not None and done.get(index) != wanted:
                proof = "forged"
            elif proof == "proved" and (self._task.draws[index] or short or self._heard(index) < _LEAST):
                proof = "open"
            self.record["tests"][index] = _labelled(self.record["tests"][index], proof)
        return self.record


def proved(task: Task, run: Run, which: set[int], right: Right) -> dict[str, Any]:
    """Return the record of the true run, each pass in it labelled by what the wrong runs said of it.

    One that failed needs no proof. A pass is `flagged` if it passes too where no right answer does, or if other parts
    of the test were executed than by a right answer; it is `unchecked` if there is nothing to make wrong, if a right
    answer may have passed that as well, if the test draws numbers, which in a candidate's process are the
    candidate's, or if it took so much longer than a right answer that few runs were made. One that passes only
    sometimes has failed: a coin can be tossed for every run.

    Args:
        task: the tests.
        run: runs some of them.
        which: those that are to be proved.
        right: what a right answer has shown of all of them.
    """
    found = canaries(task)
    trial = _Trial(task, run, which, right)
    claims = {index: _claims(found[index], right.useful[index]) for index in which}
    for number in range(_DOUBTED):
        if trial.is_enough(number):
            break
        deals = _deals(claims, _BRIEF if trial.is_long() else _MOST)
        for deal in shuffled([None, *deals]):
            if deal is None:
                trial.run_true()
                if trial.record["error"] is not None:
                    return trial.record
            elif trial.wants(deal):
                if trial.is_to_end(number):
                    return trial.label(cut=True)
                trial.run_wrong(deal)
        if not deals:
            break
    return trial.label(cut=False)


def _proof(canary: Canary, said: dict[int, list[bool]], *, known: bool) -> str:
    """Return whether the wrong runs prove a pass: `proved`, `forged`, or `open`.

    Where one literal is expected no right answer passes with another. Elsewhere one may by chance: there only what
    passes often says something. By an operator a right answer passes always or never: where one is known to have
    failed, what passes every time was not decided by the test, and what passes by it at all may have tossed a coin.
    """
    claims: dict[tuple[int, int], list[bool]] = {}
    for place, passes in said.items():
        rank = canary.ranks[place]
        if rank == SURE and any(passes):
            return "forged"
        key = (OPERATOR, place) if rank == OPERATOR else (rank, canary.claims[place])
        claims[key] = claims.get(key, []) + passes
    if known and any(rank == OPERATOR and all(passes) for (rank, _), passes in claims.items()):
        return "forged"
    through = [passes for (rank, _), passes in claims.items() if all(passes) or _is_often(passes, rank)]
    return "open" if not claims or through else "proved"


def _is_often(passes: list[bool], rank: int) -> bool:
    """Whether so many wrong runs passed that one which tosses a coin for each could have passed the true ones."""
    if rank == INPUT:  # with another argument a right answer passes half of them
        return False
    return sum(passes) > 1 and _OFTEN * sum(passes) > len(passes) if rank != OPERATOR else any(passes)


def _agree(record: dict[str, Any], again: dict[str, Any], which: set[int]) -> None:
    """Let what failed in a second true run have failed."""
    for index in which:
        if record["tests"][index]["p"] and not again["tests"][index]["p"]:
            record["tests"][index] = again["tests"][index]


def _labelled(result: Result, proof: str) -> Result:
    if not result["p"] or proof == "proved":
        return result
    if proof == "forged":
        return {
            **result, "p": False, "v": "flagged", "k": "a", "t": "ForgedVerdict",
            "m": "the test passes with a wrong expectation too",
        }  # fmt: skip
    return {**result, "v": "unchecked"}


def unchecked(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of tests that ran beside the candidate, and of which none was tried with anything wrong."""
    record["tests"] = [_labelled(result, "open") for result in record["tests"]]
    return record


def _claims(canary: Canary, useful: list[int] | None) -> list[list[int]]:
    """Return what of each claim of a test may be made wrong: of what there is, that which says most.

    An operator that an answer may answer itself is a claim of its own. So is where an expectation comes from, if no
    right answer passes with another, or one has been seen to fail: a solution may have taken it from there.
    """
    found: dict[int, list[int]] = {}
    operators = []
    for place, rank in enumerate(canary.ranks):
        if useful is not None and place not in useful:
            continue
        if rank == OPERATOR:
            operators.append([place])
        else:
            claim = canary.claims[place]
            found.setdefault(claim if useful is not None or rank == SURE else abs(claim), []).append(place)
    best = [min(canary.ranks[place] for place in places) for places in found.values()]
    chosen = zip(best, found.values(), strict=True)
    return [[place for place in places if canary.ranks[place] == rank] for rank, places in chosen] + operators


def _deals(claims: Claims, most: int) -> list[dict[int, int]]:
    """Return for each wrong run of a round, `most` of them, which tests are wrong in it, and by what.

    Only few at once: a solution that knows the answer to one of them would recognise the run by it.
    """
    able = {index: shuffled(found) for index, found in claims.items() if found}
    if not able:
        return []
    alone = len(able) == 1
    runs = min(max(*map(len, able.values()), 1 if alone else min(_WRONG_RUNS, len(able))), most)
    deals: list[dict[int, int]] = [{} for _ in range(runs)]
    for number, (index, found) in enumerate(able.items()):
        more = runs if alone else len(found)  # the only one is wrong in every run
        for turn in range(min(more, runs)):
            places = found[turn % len(found)]
            deals[(number + turn) % runs][index] = places[below(len(places))]
    return deals


def tried(task: Task, run: Run, which: set[int], there: set[int], seconds: float) -> Useful:
    """Return what of these tests a right answer fails once it is wrong, found by making it wrong.

    Args:
        task: the tests.
        run: runs a right answer.
        which: the tests that it passes.
        there: all that run beside the candidate.
        seconds: processor time after which no more is tried.
    """
    found = canaries(task)
    useful: list[list[int]] = [[] for _ in found]
    spent = 0.0
    queues = {index: _order(found[index]) for index in which if found[index].ranks}
    for turn in range(_INSISTED):
        for index, places in queues.items():
            if not places and not useful[index]:
                places.extend(_order(found[index]))
        deal = {
            index: places.pop() for index, places in queues.items() if places and (turn < _TRIED or not useful[index])
        }
        tests = {index: found[index].wrong(place) for index, place in deal.items()}
        if not any(tests.values()) or spent > min(seconds, _TRYING):
            break
        again = run([tests.get(index) or test for index, test in enumerate(task.compiled)], there)
        spent += again["cpu"]
        for index, place in deal.items():
            if tests[index] is not None and not again["tests"][index]["p"] and _is_verdict(again["tests"][index]):
                useful[index].append(place)
    return [sorted(places) if index in which else None for index, places in enumerate(useful)]


def _order(canary: Canary) -> list[int]:
    """Return what can be made wrong in the order in which it is to be tried, the first last.

    Some operators, then what says most of each claim, then all the rest; drawn by lot among equals.
    """
    claims = _claims(canary, None)
    operators = shuffled([places[0] for places in claims if canary.ranks[places[0]] == OPERATOR])
    best = shuffled([places[below(len(places))] for places in claims if canary.ranks[places[0]] != OPERATOR])
    first = operators[:_ASKED] + best
    rest = [place for place in shuffled(list(range(len(canary.ranks)))) if place not in first]
    return [*reversed(first + sorted(rest, key=lambda place: canary.ranks[place]))]


def _is_verdict(result: Result) -> bool:
    """Whether a test failed by what it found, not by what making it wrong broke."""
    return result.get("t") not in ("SyntaxError", "NameError", "TimeoutError", "ProcessExited")


class Conversation:
    """One child that runs tests beside the candidate: what is said to it, and what it says."""

    def __init__(self, link: wire.Link, buffer: memoryview, record: dict[str, Any]) -> None:
        self._link = link
        self._frames = wire.Stream(link, buffer)
        self._nonce = os.urandom(8).hex()
        self._record = record
        self.results: list[Result] = []
        self.done: dict[int, Any] = {}
        """How often each part of the tests went well, as that process says."""

    def hold(self, task: Task, job: Job, code: Any, compiled: list[Compiled], wanted: list[int]) -> None:
        """Have the solution loaded, and only then hand the tests over and take their results.

        Raises:
            Gone: it is not there any more, or says something else.
        """
        text = job["code"]
        seed = task.speaks_of_random or "random" in text
        self._link.send(marshal.dumps((True, code, seed, job["limits"][6], task.asked_beside())))
        opening = self._next()
        if opening.get("error") is not None:
            self._record["error"] = {**received(opening["error"]), "p": False}
            return
        entry, more = self._entry(task, text, opening.get("names"))
        self._link.send(marshal.dumps((self._nonce, text, *task.handed_over(compiled, wanted, entry, more))))
        for place, index in enumerate(wanted, 1):
            frame = self._next()
            if [frame.get(name) for name in ("nonce", "i", "left")] != [self._nonce, index, len(wanted) - place]:
                raise wire.Gone("not a frame of ours")
            self.results.append(received(frame.get("r"), compiled[index][3]))
            self.done[index] = frame.get("done")

    def _next(self) -> dict[str, Any]:
        frame = self._frames.next()
        if frame is None:
            raise wire.Gone("closed")
        return frame

    def _entry(self, task: Task, text: str, names: Any) -> tuple[str, list[str]]:
        """Return what the tested object is called, and what else it is to be called."""
        if type(names) is not list:
            raise wire.Gone("no names")
        if task.name and task.name not in names and task.aliases:
            found = inspection.defined_names(text, kind=task.kind)
            if len(found) == 1:
                self._record["flags"] = ["name_mismatch"]
                return found[0], [task.name]
        return task.name, []
