"""Tests that must run beside the candidate: only those enter its process, and a pass there is tried with a wrong test.

A candidate can forge what happens in its own process. What it cannot know is which of several runs, each in a fresh
child and in an order drawn by lot, has the wrong expectation: passing all of them says that the test decided nothing.
"""

from __future__ import annotations

import marshal
import os

from . import inspection, wire
from .canary import Canary
from .expectations import OPERATOR, SURE
from .marking import received
from .wrong import below, shuffled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .marking import Compiled, Result
    from .tasks import Task

    Run = Callable[[list[Compiled], set[int]], dict[str, Any]]
    """Runs these tests, of all that are given those with these numbers."""

_WRONG_RUNS, _ALONE, _MOST = 3, 2, 6
"""Runs with something wrong in a round: so many for several tests, for one, and where there are many claims."""
_ASKED = 2
"""Operators of a test that a right answer is tried with, before anything else of the test."""
_ROUNDS = 5
_CPU, _SLEEP = 0.2, 1.0
"""Seconds of processor time after which a pass that was tried twice is tried no more, and of sleep after which one that
was tried once is not."""
_TRIED = 12
"""So many wrong things are tried with a right answer, to see which of them it fails."""

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


def proved(
    task: Task, run: Run, which: set[int], useful: Useful, counts: Sequence[Count | None] = ()
) -> dict[str, Any]:
    """Return the record of the true run, each pass in it labelled by what the wrong runs said of it.

    One that failed needs no proof. A pass is `flagged` if it passes too where no right answer does, or if other parts
    of the test were executed than by a right answer; it is `unchecked` if there is nothing to make wrong, if a right
    answer may have passed that as well, or if the test draws numbers, which in a candidate's process are the
    candidate's. One that passes only sometimes has failed: a coin can be tossed for every run.

    Args:
        task: the tests.
        run: runs some of them.
        which: those that are to be proved.
        useful: for each test what of it is worth making wrong.
        counts: for each test how often a right answer executed its parts, None where that is not known.
    """
    found = canaries(task)
    claims = {index: _claims(found[index], useful[index]) for index in which}
    record: dict[str, Any] | None = None
    said: dict[int, dict[int, list[bool]]] = {index: {} for index in which}
    spent, sleeps = 0.0, False
    for number, deal in _schedule(claims):
        if deal is None:
            again = run(task.compiled, which)
            spent += again.get("cpu", 0.0)
            sleeps = again.get("wall", 0.0) - 20 * again.get("cpu", 0.0) > _SLEEP
            if record is None:
                record = again
            else:
                _agree(record, again, which)
            if record["error"] is not None:
                return record
            continue
        if record is not None and (record.get("hit") or not any(record["tests"][index]["p"] for index in deal)):
            continue  # they failed as they are: nothing to prove; or a limit was hit, as it would be again
        if number and (sleeps or (number > 1 and spent > _CPU)):
            break
        tests = {index: found[index].wrong(place) for index, place in deal.items()}
        again = run([tests.get(index) or test for index, test in enumerate(task.compiled)], which)
        spent += again.get("cpu", 0.0)
        for index, place in deal.items():
            if tests[index] is not None:
                said[index].setdefault(place, []).append(again["tests"][index].get("p") is True)
    assert record is not None
    done = record.get("done", {})
    for index in which:
        wanted = counts[index] if counts and done else None
        proof = _proof(found[index], said[index], known=useful[index] is not None)
        if wanted is not None and done.get(index) != wanted:
            proof = "forged"
        elif task.draws[index] and proof == "proved":
            proof = "open"
        record["tests"][index] = _labelled(record["tests"][index], proof)
    return record


def _proof(canary: Canary, said: dict[int, list[bool]], *, known: bool) -> str:
    """Return whether the wrong runs prove a pass: `proved`, `forged`, or `open`.

    Where one literal is expected no right answer passes with another. Elsewhere one may by chance: there only what
    passes every time says something, and with what a right answer has failed it says that the test decided nothing.
    """
    claims: dict[tuple[int, int], list[bool]] = {}
    for place, passes in said.items():
        rank = canary.ranks[place]
        if rank == SURE and any(passes):
            return "forged"
        key = (OPERATOR, place) if rank == OPERATOR else (rank, canary.claims[place])
        claims[key] = claims.get(key, []) + passes
    through = [key for key, passes in claims.items() if all(passes)]
    if known and any(rank == OPERATOR for rank, _ in through):
        return "forged"
    return "open" if through or not claims else "proved"


def _schedule(claims: Claims) -> Iterator[tuple[int, dict[int, int] | None]]:
    """Yield the runs in rounds, each with one true run (None) and the wrong ones in an order drawn by lot."""
    for number in range(_ROUNDS):
        deals = _deals(claims)
        for deal in shuffled([None, *deals]):
            yield number, deal
        if not deals:
            return


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

    An operator that an answer may answer itself is a claim of its own.
    """
    found: dict[int, list[int]] = {}
    operators = []
    for place, rank in enumerate(canary.ranks):
        if useful is not None and place not in useful:
            continue
        if rank == OPERATOR:
            operators.append([place])
        else:
            found.setdefault(canary.claims[place], []).append(place)
    best = [min(canary.ranks[place] for place in places) for places in found.values()]
    chosen = zip(best, found.values(), strict=True)
    return [[place for place in places if canary.ranks[place] == rank] for rank, places in chosen] + operators


def _deals(claims: Claims) -> list[dict[int, int]]:
    """Return for each wrong run which tests are wrong in it, and by what: as many claims as there are runs for.

    Only few at once: a solution that knows the answer to one of them would recognise the run by it.
    """
    able = {index: shuffled(found) for index, found in claims.items() if found}
    if not able:
        return []
    most = max(map(len, able.values()))
    alone = len(able) == 1
    runs = max(min(most, _MOST), _ALONE if alone else min(_WRONG_RUNS, len(able)))
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
    for _ in range(_TRIED):
        deal = {index: places.pop() for index, places in queues.items() if places}
        tests = {index: found[index].wrong(place) for index, place in deal.items()}
        if not any(tests.values()) or spent > seconds:
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

    def hold(self, task: Task, job: dict[str, Any], code: Any, compiled: list[Compiled], wanted: list[int]) -> None:
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
