"""Tests that must run beside the candidate: only those enter its process, and a pass there is tried with mutants of the test.

A candidate can forge what happens in its own process. It cannot know which of several runs, each in a fresh child and in an
order drawn by lot, is the mutated one. A candidate that passes all of them was not judged by the test. The theory is in
`mutated_expectations`.
"""

from __future__ import annotations

import marshal
import os
from collections import Counter

from .. import wire
from ..marking import SWALLOWED, receive_result
from . import expressions
from .mutated_values import below, new_seed, shuffle_items
from .mutation_canary import Canary, deals, list_claims, order, partition_claims, proof, scarce
from .mutation_operators import OPERATOR, SURE
from .programs import portable
from .results import difference, lacks_parts

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set as AbstractSet
    from typing import Any

    from ..marking import Compiled, Result
    from .mutation_canary import Useful, Variant
    from .tasks import CompiledTests, ExaminerJob

    Run = Callable[[list[Compiled], set[int]], dict[str, Any]]
    """Runs these tests, of all that are given those with these numbers."""

_MOST, _BRIEF = 8, 2
"""Runs with something wrong in a round: so many where there are many claims, and where they take long."""
_LEAST, _ROUNDS, _DOUBTED = 3, 8, 16
"""Rounds where they take long, as a rule, and where a wrong run has passed that a right answer may pass as well. Each
claim is wrong once in a round: who tosses a coin for each run is right by it in 8 rounds once in 65,536 attempts."""
_CPU, _SLEEP = 4.0, 1.0
"""Seconds of processor time in all, and of sleep in one run, after which a pass that was tried in the least rounds is
tried no more. Less sleep than that may be the wait for a processor that others use."""
_SLOWER = 2
"""So many times as long as a right answer another may take and count as proved by those few rounds."""
_TRYING, _LONG = 10.0, 2.0
"""Seconds of processor time after which nothing more is tried with a right answer, and where it fails something."""
_TRIED, _INSISTED = 12, 32
"""So many wrong things are tried with a right answer, to see which of them it fails; so many where it fails few: with
another argument a right answer may be right again."""

Count = list[list[int]]
"""The parts of a test that went well, each with how often."""


@expressions.pause_clock
def canaries(task: CompiledTests) -> list[Canary]:
    """Return what of each test can be made wrong, looked for once."""
    if task.canaries is None:
        entry = {task.name, "candidate", *task.aliases} - {""}
        task.canaries = [Canary(test, entry, makers) for test, makers in zip(task.tests, task.makers, strict=True)]
        expected = [value for canary in task.canaries for value in canary.expected]
        for canary in task.canaries:
            # a wrong value is taken from what any test of the task expects, so that it looks at home
            canary.expected = expected
    return task.canaries


class Right:
    """What a right answer has shown of the tests; by itself that none is known."""

    def __init__(
        self, useful: Useful, counts: Sequence[Count | None] = (), cpu: float = 0.0, slept: float = 0.0
    ) -> None:
        """Note it.

        Args:
            useful: for each test what of it is worth making wrong, and by which seeds.
            counts: for each test how often its parts were executed, None where that is not known.
            cpu: seconds of processor time of a run.
            slept: seconds of sleep of a run.
        """
        self.useful, self.counts = useful, counts
        self._cpu, self._slept = cpu, slept

    def is_slow(self, runs: int) -> bool:
        """Whether about so long as another one took for so many runs it would have taken too."""
        return runs * self._cpu * _SLOWER > _CPU or self._slept > 0


def spent(record: dict[str, Any]) -> float:
    """Return how many seconds of processor time a run took, here and in the solution's process."""
    return record.get("cpu", 0.0) + record.get("here", 0.0)  # type: ignore[no-any-return]  # numbers of ours


def count_slept(record: dict[str, Any]) -> float:
    """Return how many seconds a run slept; none if that may be but the wait for a processor."""
    # what sleeps uses less than a twentieth of its time, as with the limits on wall time
    rest: float = record.get("wall", 0.0) - 20 * record.get("cpu", 0.0)
    return rest if rest > _SLEEP else 0.0


def _count_parts(done: Count) -> Counter[int | None]:
    counts: Counter[int | None] = Counter()
    for number, count in done:
        counts[number] = count
    return counts


class _Trial:
    """The runs of one solution with which its passes are tried."""

    def __init__(
        self, task: CompiledTests, run: Run, which: set[int], right: Right, beside: AbstractSet[int], *, apart: bool,
        is_lenient: bool,
    ) -> None:  # fmt: skip
        self._task, self._run, self._which, self._right, self._apart = task, run, which, right, apart
        self._is_lenient = is_lenient
        self._found = canaries(task)
        self._all = which | beside
        self._saying: dict[str, list[int]] = {}
        """The tests that say the same, by what they say."""
        for index in self._all:
            for statement in {*self._found[index].says} - {""}:
                self._saying.setdefault(statement, []).append(index)
        self._runs, self._spent, self._slept = 0, 0.0, 0.0
        self._said: dict[int, dict[int, list[tuple[bool, Count]]]] = {index: {} for index in which}
        """For each thing that was made wrong in a test whether it passed, and how often its parts went well."""
        self._operands: dict[int, list[list[str]]] = {index: [] for index in which}
        """For each test what operators of the solution's were given in the wrong runs that failed."""
        self._taken_in: dict[int, Counter[int]] = {}
        """For each test that passed with a likely wrong value what was made wrong: a liar's, or an answer's that has an `==` of
        its own."""
        self.record: dict[str, Any] = {}
        """Of the true runs."""

    def _again(self, compiled: list[Compiled]) -> dict[str, Any]:
        again = self._run(compiled, self._all)
        self._runs += 1
        self._spent += spent(again)
        self._slept += count_slept(again)
        return again

    def run_true(self) -> None:
        """Run the tests as they are; what has failed in one such run has failed."""
        if self._apart:
            again = self._again(self._task.compiled)
        else:
            again = self._again(self._show_tests())
            for index in self._all:
                again["tests"][index] = self._found[index].restore_messages(again["tests"][index])
        if self.record:
            for index in self._which:
                if self.record["tests"][index]["p"] and not again["tests"][index]["p"]:
                    self.record["tests"][index] = again["tests"][index]
        else:
            self.record = again

    def _show_tests(self) -> list[Compiled]:
        """Return the tests as a solution beside them may read them, in true runs and in wrong ones."""
        return [
            (index in self._all and self._found[index].as_shown()) or test
            for index, test in enumerate(self._task.compiled)
        ]

    def run_wrong(self, deal: dict[int, Variant], turn: int) -> None:
        """Run them with something wrong in some, and note which of these pass.

        What a limit ended, or what making it wrong broke, would have failed whatever is expected: that says nothing.
        """
        tests: dict[int, Compiled | None] = {}
        judged: set[int] = set()
        for index, (site_index, seed) in deal.items():
            if index not in tests:
                drawn = new_seed(turn) if seed is None else seed
                tests[index] = self._found[index].wrong(site_index, drawn, alike=below(2) == 1)
                judged.add(index)
                # wrong in the other tests too, where they say the same: they are not to contradict it
                for other in self._saying.get(self._found[index].last_statement, ()):
                    if other not in tests and (variant := self._found[other].following(self._found[index])):
                        tests[other] = variant
        compiled = self._task.compiled if self._apart else self._show_tests()
        again = self._again([tests.get(index) or test for index, test in enumerate(compiled)])
        for index, (site_index, _) in deal.items():
            result = again["tests"][index]
            passes = result.get("p") is True
            if tests[index] is None or index not in judged:
                # nothing could be made wrong there, or it only followed another test
                continue
            if passes and self._found[index].is_likely:
                self._taken_in.setdefault(index, Counter())[site_index] += 1
            elif passes or (_is_verdict(result) and not again.get("hit")):
                self._said[index].setdefault(site_index, []).append((passes, again.get("done", {}).get(index) or []))
                if not passes:
                    self._operands[index].append(again.get("operands", {}).get(index, []))

    def _outcomes(self, index: int) -> dict[int, list[bool]]:
        """Return for each thing that was made wrong in a test whether the solution passed.

        Apart it passed too where the part that was made wrong went well as often as in the true run, and the test
        failed by what else it says: an object that is equal to everything is told by its `==` what is expected.
        """
        canary, true = self._found[index], _count_parts(self.record.get("done", {}).get(index, []))
        outcomes = {}
        for site_index, said in self._said[index].items():
            part = canary.parts[site_index]
            is_seen = part is not None and self._apart and canary.ranks[site_index] in (SURE, OPERATOR)
            wanted = true[part] if is_seen else 0
            outcomes[site_index] = [passes or 0 < wanted <= _count_parts(done)[part] for passes, done in said]
        # so that it is not for chance how many values were likely ones
        for site_index, times in self._taken_in.get(index, {}).items() if self._is_lenient else ():
            outcomes[site_index] = outcomes.get(site_index, []) + [True] * times
        return outcomes

    def _is_tried(self, index: int) -> bool:
        """Whether every operator of the solution's own was given something else in a wrong run that failed.

        A run that failed by something else says nothing of an object that is equal to everything.
        """
        true: list[str] = self.record.get("operands", {}).get(index, [])
        return all(
            any(at < len(wrong) and wrong[at] != operand for wrong in self._operands[index])
            for at, operand in enumerate(true)
        )

    def wants(self, deal: dict[int, Variant]) -> bool:
        """Whether there is anything to prove: a pass among these, and no limit hit, as it would be again."""
        if not self.record:
            return True
        return not self.record.get("hit") and any(self.record["tests"][index]["p"] for index in deal)

    def is_enough(self, rounds: int) -> bool:
        """Whether nothing is left to be said after so many rounds, however short they were."""
        passed = {index for index in self._which if self.record["tests"][index]["p"]}
        return not passed or (rounds >= _ROUNDS and not any(map(self._is_doubted, passed)))

    def _is_doubted(self, index: int) -> bool:
        return any(map(any, self._outcomes(index).values())) and self._proof(index) == "proved"

    def _proof(self, index: int) -> str:
        has_useful, canary = self._right.useful[index] is not None, self._found[index]
        done = self.record.get("done", {}).get(index)
        executed = {number for number, _ in done} if done is not None else None
        undone = [
            site_index
            for site_index, part in enumerate(canary.parts)
            if executed is not None and part is not None and part not in executed
        ]
        unheard = [at for at, part in enumerate(canary.parts) if part in self._task.unheard[index]]
        return proof(
            canary, self._outcomes(index), is_useful=has_useful, apart=self._apart, undone=undone, unheard=unheard,
            is_lenient=self._is_lenient,
        )  # fmt: skip

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
            counts_expected = self._right.counts[index] if self._right.counts and done else None
            label, other = self._proof(index), ""
            if counts_expected is not None:  # here nobody hears of what is swallowed
                counts_expected = [part for part in counts_expected if part[0] != SWALLOWED]
                other = difference(done.get(index) or [], counts_expected, self._task.repeated[index])
            if other == "parts":
                label = "other parts"
            elif label == "proved":
                telling = sum(map(len, self._said[index].values()))  # wrong runs that have said something
                if (
                    not self._is_tried(index)
                    or other
                    or index in self._taken_in
                    or self._task.draws[index]
                    or (index in done and lacks_parts(self._task.required[index], done[index]))
                    or short
                    or telling < _LEAST
                ):
                    label = "open"
            self.record["tests"][index] = _label_result(self.record["tests"][index], label)
        return self.record


def prove_passes(
    task: CompiledTests, run: Run, which: set[int], right: Right, code: str = "", *, apart: bool = False,
    beside: AbstractSet[int] = frozenset(),
) -> dict[str, Any]:  # fmt: skip
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
        code: the solution.
        apart: whether they run where the solution cannot read their code.
        beside: others that are run each time, whose verdicts are known.
    """
    all_canaries = canaries(task)
    is_lenient = "__eq__" in code
    trial = _Trial(task, run, which, right, beside, apart=apart, is_lenient=is_lenient)
    claims = {index: list_claims(all_canaries[index], right.useful[index], is_lenient=is_lenient) for index in which}
    hidden, visible = partition_claims(claims, all_canaries)
    # by which way the first round is wrong is drawn, too
    first = below(_ROUNDS)
    for number in range(_DOUBTED):
        if number and trial.is_enough(number):
            break
        most = _BRIEF if trial.is_long() else _MOST
        dealt = deals(hidden, most, number) + deals(visible, most // 2, number)
        # None is the true run: it may stand anywhere among the wrong ones
        for deal in shuffle_items([None, *dealt]):
            if deal is None:
                trial.run_true()
                if trial.record["error"] is not None:
                    return trial.record
            elif trial.wants(deal):
                if trial.is_to_end(number):
                    return trial.label(cut=True)
                trial.run_wrong(deal, first + number)
        if not dealt:
            break
    return trial.label(cut=False)


_FORGED = {
    "forged": "the test passes with a wrong expectation too",
    "other parts": "other parts of the test were executed than by the right answer",
}


def _label_result(result: Result, proof: str) -> Result:
    if not result["p"] or proof == "proved":
        return result
    if proof in _FORGED:
        return {**result, "p": False, "v": "flagged", "k": "a", "t": "ForgedVerdict", "m": _FORGED[proof]}
    return {**result, "v": "unchecked"}


def mark_unchecked(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of tests that ran beside the candidate, and of which none was tried with anything wrong."""
    record["tests"] = [_label_result(result, "open") for result in record["tests"]]
    return record


def try_mutations(task: CompiledTests, run: Run, which: set[int], there: set[int], seconds: float) -> Useful:
    """Return what of these tests a right answer fails once it is wrong, found by making it wrong.

    Args:
        task: the tests.
        run: runs a right answer.
        which: the tests that it passes.
        there: all that run beside the candidate.
        seconds: processor time after which no more is tried.
    """
    all_canaries = canaries(task)
    useful: list[list[list[int]]] = [[] for _ in all_canaries]
    used, tries = 0.0, Counter[tuple[int, int]]()
    queues = {index: order(all_canaries[index]) for index in which if all_canaries[index].ranks}
    for turn in range(_INSISTED):
        for index, places in queues.items():
            if useful[index] and (turn >= _TRIED or used > _LONG):
                places.clear()
            if not places and (used <= _LONG or not useful[index]):
                places.extend(scarce(all_canaries[index], useful[index]))
        deal = {  # of what is made wrong by steps each step comes once, of the rest each way
            index: (site := places.pop(), new_seed(tries[index, site] if all_canaries[index].shown[site] else turn))
            for index, places in queues.items()
            if places
        }
        tries.update((index, site) for index, (site, _) in deal.items())
        tests = {index: all_canaries[index].wrong(*variant) for index, variant in deal.items()}
        if not any(tests.values()) or used > min(seconds, _TRYING):
            break
        again = run([tests.get(index) or test for index, test in enumerate(task.compiled)], there)
        used += spent(again)
        for index, variant in deal.items():
            if tests[index] is not None and not again["tests"][index]["p"] and _is_verdict(again["tests"][index]):
                useful[index].append([*variant])
    return [sorted(variants) if index in which else None for index, variants in enumerate(useful)]


def _is_verdict(result: Result) -> bool:
    """Whether a test failed by what it found, not by what making it wrong broke."""
    return result.get("t") not in ("SyntaxError", "NameError", "TimeoutError", "ProcessExited")


class Conversation:
    """One child that runs tests beside the candidate: what is said to it, and what it says."""

    def __init__(self, link: wire.PipePair, buffer: memoryview, record: dict[str, Any]) -> None:
        self._link = link
        self._frames = wire.Stream(link, buffer)
        self._nonce = os.urandom(8).hex()
        self._record = record
        self.results: list[Result] = []
        self.done: dict[int, Count] = {}
        """How often each part of the tests went well, as that process says."""

    def hold(
        self, task: CompiledTests, job: ExaminerJob, code: Any, compiled: list[Compiled], wanted: list[int]
    ) -> None:
        """Have the solution loaded, and only then hand over one test after the other and take its result.

        Raises:
            Gone: it is not there any more, or says something else.
        """
        text = job["code"]
        seed = task.speaks_of_random or expressions.speaks_of_random(text)
        self._link.send(marshal.dumps((True, code, seed, job["limits"][6], task.asked_beside())))
        opening = self._next()
        if opening.get("error") is not None:
            self._record["error"] = {**receive_result(opening["error"]), "p": False}
            return
        entry, more = self._entry(task, text, opening.get("names"))
        begin: tuple[Any, ...] = (self._nonce, text, *task.handed_over(text, entry, more), len(wanted))
        for position, index in enumerate(wanted, 1):
            self._link.send(portable((*begin, index, compiled[index])))
            # what goes with the first test is there from then on
            begin = ()
            frame = self._next()
            # the nonce came with the tests: what the solution wrote while it was loaded cannot have it
            if [frame.get(name) for name in ("nonce", "i", "left")] != [self._nonce, index, len(wanted) - position]:
                raise wire.Gone("not a frame of ours")
            done = frame.get("done")  # how often which parts went well, as the candidate's process says it
            if type(done) is not list or not all(
                type(part) is list and [*map(type, part)] == [int, int] for part in done
            ):
                raise wire.Gone("no parts of a test")
            self.results.append(receive_result(frame.get("r"), compiled[index][3]))
            self.done[index] = done

    def _next(self) -> dict[str, Any]:
        frame = self._frames.next()
        if frame is None:
            raise wire.Gone("closed")
        return frame

    def _entry(self, task: CompiledTests, text: str, names: Any) -> tuple[str, list[str]]:
        """Return what the tested object is called, and what else it is to be called."""
        if type(names) is not list:
            raise wire.Gone("no names")
        if task.name and task.name not in names and task.aliases:
            names_defined = expressions.defined_names(text, kind=task.kind)
            if len(names_defined) == 1:
                self._record["flags"] = ["name_mismatch"]
                return names_defined[0], [task.name]
        return task.name, []
