"""Tests that must run beside the candidate: only those enter its process, and a pass there is tried with a wrong test.

A candidate can forge what happens in its own process. What it cannot know is which of several runs, each in a fresh
child and in an order drawn by lot, has the wrong expectation: passing all of them says that the test decided nothing.
"""

from __future__ import annotations

import marshal
import os

from . import inspection, wire
from .canary import Canary
from .expectations import SURE
from .marking import received
from .wrong import below, shuffled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .marking import Compiled, Result
    from .tasks import Task

    Run = Callable[[list[Compiled], set[int]], dict[str, Any]]
    """Runs these tests, of all that are given those with these numbers."""

_WRONG_RUNS = 3
"""At most so many runs with something wrong; each test is wrong in one of them, a test that is alone in two."""
_ALONE = 2
_TRIED = 12
"""So many wrong things are tried with a right answer, to see which of them it fails."""

Useful = list[list[int] | None]
"""For each test what of it is worth making wrong; None where no right answer was there to try it with."""


def canaries(task: Task) -> list[Canary]:
    """Return what of each test can be made wrong, looked for once."""
    if task.canaries is None:
        entry = {task.name, "candidate", *task.aliases} - {""}
        task.canaries = [Canary(test, entry) for test in task.tests]
    return task.canaries


def proved(task: Task, run: Run, which: set[int], useful: Useful) -> dict[str, Any]:
    """Return the record of the true run, each pass in it labelled by what the wrong runs said of it.

    One that failed needs no proof. A pass is `flagged` if it passes too where no right answer does; it is `unchecked`
    if there is nothing to make wrong, or if a right answer may have passed that as well.
    """
    found = canaries(task)
    sites = {index: _choice(found[index], useful[index]) for index in which}
    deals = _deals(sites)
    record: dict[str, Any] | None = None
    said: dict[int, set[str]] = {index: set() for index in which}
    for deal in shuffled([None, *deals]):
        if deal is None:
            record = run(task.compiled, which)
            if record["error"] is not None:
                return record
            continue
        if record is not None and (record.get("hit") or not any(record["tests"][index]["p"] for index in deal)):
            continue  # they failed as they are: nothing to prove; or a limit was hit, as it would be again
        tests = {index: found[index].wrong(place) for index, place in deal.items()}
        again = run([tests.get(index) or test for index, test in enumerate(task.compiled)], which)
        for index, place in deal.items():
            if tests[index] is not None:
                passed = again["tests"][index].get("p") is True
                said[index].add("failed" if not passed else "forged" if found[index].ranks[place] == SURE else "open")
    assert record is not None
    for index in which:
        record["tests"][index] = _labelled(record["tests"][index], said[index])
    return record


def _labelled(result: Result, said: set[str]) -> Result:
    if not result["p"] or said == {"failed"}:
        return result
    if "forged" in said:
        return {
            **result, "p": False, "v": "flagged", "k": "a", "t": "ForgedVerdict",
            "m": "the test passes with a wrong expectation too",
        }  # fmt: skip
    return {**result, "v": "unchecked"}


def unchecked(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of tests that ran beside the candidate, and of which none was tried with anything wrong."""
    record["tests"] = [_labelled(result, set()) for result in record["tests"]]
    return record


def _choice(canary: Canary, useful: list[int] | None) -> list[int]:
    """Return what of a test may be made wrong: of what there is, that which says most."""
    places = range(len(canary.ranks)) if useful is None else useful
    best = min((canary.ranks[place] for place in places), default=0)
    return [place for place in places if canary.ranks[place] == best]


def _deals(sites: dict[int, list[int]]) -> list[dict[int, int]]:
    """Return for each wrong run which tests are wrong in it, and by what.

    Only few at once: a solution that knows the answer to one of them would recognise the run by it.
    """
    able = shuffled([index for index, places in sites.items() if places])
    if len(able) == 1:
        return [{able[0]: place} for place in shuffled(sites[able[0]])[:_ALONE]]
    deals: list[dict[int, int]] = [{} for _ in range(min(_WRONG_RUNS, len(able)))]
    for number, index in enumerate(able):
        deals[number % len(deals)][index] = sites[index][below(len(sites[index]))]
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
    """Return what can be made wrong, in an order drawn by lot, what says most last, to be taken first."""
    places = shuffled(list(range(len(canary.ranks))))
    return sorted(places, key=lambda place: -canary.ranks[place])


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
