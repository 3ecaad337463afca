"""What becomes of the tests of an attempt: of those that ran, and of those that were not reached."""

from __future__ import annotations

import os
from functools import partial

from ..child import CONFUSED_EXIT, OUTPUT_EXIT
from ..marking import CUT, SWALLOWED, Result, mark
from . import expressions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from ..exchange.policy import Policy
    from .separation import Plan
    from .tasks import CompiledTests

Parts = list[list[int]]
"""The parts of a test that went well, each with how often."""
Counts = list[Parts]
"""For each test the parts that went well, each with how often."""
NOT_RUN: Result = {"p": False, "k": "a", "t": "", "m": "not run"}


_NOT_UNDERSTOOD: Result = {
    "p": False,
    "k": "o",
    "t": "ProcessExited",
    "m": "what the solution gave cannot be handed over",
}


def is_confused(end: dict[str, Any]) -> bool:
    """Whether a process ended because it did not understand what the test gave it."""
    status = end.get("status", 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == CONFUSED_EXIT


def leave_to_beside(task: CompiledTests, policies: list[Policy | None], results: list[Result]) -> None:
    """Have the tests decided beside the candidate that are left when something could not cross, or not be understood there.

    A value that holds itself by a class of its own is such a thing, and an array that took another shape.
    """
    # results come in the order of the tests that are not broken
    for index in sorted(task.sound)[len(results) :]:
        results.append(dict(_NOT_UNDERSTOOD))
        policy = policies[index]
        if policy is not None:
            policy.copied = True


def difference(done: Parts, wanted: Parts, repeated: Container[int]) -> str:
    """Return how the parts that went well differ from those of a right answer: in `parts`, in `counts`, or not at all.

    Args:
        done: the numbers of the parts, each with how often.
        wanted: the same of a right answer.
        repeated: parts that go well as often as the answer has it.
    """
    if done == wanted:
        return ""
    first, other = ({part[0]: part[1] for part in side} for side in (done, wanted))
    if first.keys() != other.keys():
        return "parts"
    return "counts" if all(number in repeated for number in first if first[number] != other[number]) else "parts"


def note_written(task: CompiledTests, policies: list[Policy | None]) -> set[int]:
    """Note which tests may expect what the solution has changed, in them or before; return those that go beside with them."""
    lending: list[int] = []
    needed: set[int] = set()
    was_changed = was_written = was_told = False
    for index, policy in enumerate(policies):
        if policy is not None:
            reads_again = partial(_any_reads_again, task, [*lending, index])
            was_changed = policy.note_written(was_changed=was_changed, reads_again=reads_again)
            policy.written = was_written = policy.written or was_written
            needed.update(lending if was_written else ())
            policy.answered, was_told = policy.answered or was_told, was_told or policy.told > 0
            if policy.refused:  # which a test is that has lent something
                lending.append(index)
    return needed & task.sound


def note_copied(task: CompiledTests, policies: list[Policy | None]) -> None:
    """Note which tests may have read what had changed over there since this side took its copy, in a test before them."""
    was_copied = False
    for index, policy in enumerate(policies):
        if policy is not None:
            policy.copied = policy.copied or (was_copied and task.reads_more(index))
            was_copied = was_copied or policy.copied


def _any_reads_again(task: CompiledTests, which: list[int]) -> bool:
    return any(map(task.reads_again, which))


def is_doubtful(plan: Plan, index: int, policy: Policy, record: dict[str, Any], done: Counts) -> bool:
    """Whether a test that ran apart is to be decided beside the candidate.

    It is if something was answered here, by a plain type for a class with an answer of its own too, or each side saw
    another copy of a container; if it passed, but the solution changed what the test expects, perhaps, or other parts
    of it were executed than by the right answer; if it failed, and something could not be done from here, or nobody
    knows a right answer. What ended a call with a StopIteration has failed: beside the test it would end its loops.
    """
    result = record["tests"][index]
    if (result["v"] == "flagged" and policy.is_witness) or (policy.stopped and not result["p"]):
        return False
    if policy.copied or policy.answered or policy.based or (plan["sure"] and policy.judged):
        return True
    if result["p"]:
        if policy.written:
            return True
        expected_parts = plan.get("done")
        parts_expected = expected_parts[index] if expected_parts is not None else None
        return (
            parts_expected != done[index]
            if parts_expected is not None
            else [CUT, 1] in done[index] or swallows(done[index])
        )
    return policy.refused or not plan["sure"]


def swallows(done: list[list[int]]) -> bool:
    """Whether a verdict of the test's own went through the solution and was not heard of again."""
    return [SWALLOWED, 1] in done


def settle_result(apart: Result, other: Result, *, is_useful: bool, left_out: bool, swallowed: bool) -> Result:
    """Return what became of a test that was decided beside the candidate in the end.

    Args:
        apart: what became of it apart.
        other: what became of it there.
        is_useful: whether a right answer passes it apart: a pass there that nothing proves is none if it failed apart.
        left_out: whether it passed apart, and not by the parts by which a right answer does: unless it is proved beside
            the candidate, it passed by what was not executed.
        swallowed: whether a verdict went through the solution and was not heard of again: so it may be there, too.
    """
    if swallowed and other["p"]:
        other = {**other, "v": "unchecked"}
    if other["v"] != "unchecked" or not is_useful:
        return other
    if not apart["p"]:
        return apart
    text = "parts of the test that the right answer executes were not executed"
    forged: Result = {**other, "p": False, "v": "flagged", "k": "a", "t": "ForgedVerdict", "m": text}
    return forged if left_out else other


def timed_out() -> Result:
    """Return the result of a test that the limit ended."""
    return {"p": False, "k": "t", "t": "TimeoutError", "m": "the time limit was reached"}


def make_crash_result(end: dict[str, Any]) -> Result:
    """Return the result of a test during which the process ended."""
    if end.get("hit") in ("cpu", "wall"):
        return timed_out()
    if end.get("hit") == "file":
        return {"p": False, "k": "o", "t": "FileLimitError", "m": "the solution wrote more than it may"}
    status = end.get("status", 0)
    if os.WIFSIGNALED(status):
        message = f"the process was ended by signal {os.WTERMSIG(status)}"
    elif os.WEXITSTATUS(status) == OUTPUT_EXIT:
        return {"p": False, "k": "o", "t": "OutputLimitError", "m": "the solution printed more than it may"}
    else:
        message = f"the process ended with status {os.WEXITSTATUS(status)} before its tests did"
    return {"p": False, "k": "o", "t": "ProcessExited", "m": message}


def settle(
    task: CompiledTests,
    record: dict[str, Any],
    results: list[Result],
    verdict: str = "in_process",
    which: set[int] | None = None,
) -> dict[str, Any]:
    """Give every test a result, of all or `which` were to run: those not reached failed by what ended the attempt."""
    error = record["error"]
    if error is None and record.pop("gone", False):
        results.append(error := make_crash_result(record))
        if not os.WIFSIGNALED(record["status"]) and os.WEXITSTATUS(record["status"]) == OUTPUT_EXIT:
            record["hit"] = "output"
        # nothing had run before: what ended the process is then the error of the whole attempt
        record["error"] = error if len(results) == 1 else None
    all_results: list[Result] = []
    for index, (fault, test) in enumerate(zip(task.faults, task.compiled, strict=True)):
        if fault:
            all_results.append({"p": False, "k": "f", "t": "", "m": fault})
        elif which is not None and index not in which:
            all_results.append(dict(NOT_RUN))
        elif results:
            all_results.append(results.pop(0))
        else:
            all_results.append(dict(error) if error else {"p": False, "k": "a", "t": "", "m": "not run"})
        # a test that has no results of its parts, such as one that was not run, has its own for each of them
        if test[3] and not all_results[-1].get("parts"):
            all_results[-1] = {**all_results[-1], "parts": [all_results[-1]] * test[3]}
    return {**record, "tests": [{**result, "v": verdict} for result in all_results]}


def inspect(task: CompiledTests, code: str, results: list[Result]) -> None:
    """Fail the tests whose demands on the text of the solution itself are not met."""
    tree: Any = None
    for index, test in enumerate(task.tests):
        names, pattern = test.get("inspection") or [], task.patterns[index]
        if not names and pattern is None:
            continue
        if names and tree is None:
            tree = expressions.parse(code)
        reason = expressions.inspect(code, tree, names, pattern)
        if reason and results[index]["p"]:
            results[index] = {**results[index], "p": False, "k": "a", "t": "InspectionError", "m": reason}


def lacks_parts(required: list[frozenset[int]], done: Parts) -> bool:
    """Whether of a group of parts none was executed: by what they claim, nothing could have failed."""
    return not all(group.intersection(number for number, _ in done) for group in required)


def without_parts(task: CompiledTests, results: list[Result], done: Counts) -> None:
    """Say of passes that lack parts that nothing shows that they would have failed by them."""
    for index, result in enumerate(results):
        if result["p"] and lacks_parts(task.required[index], done[index]):
            result["v"] = "unchecked"


def without_claims(task: CompiledTests, results: list[Result]) -> None:
    """Say of passes of tests that claim nothing that nothing wrong could have shown in them."""
    for index, result in enumerate(results):
        if result["p"] and task.silent[index]:
            results[index] = {**result, "v": "unchecked"}


def beside_forged(results: list[Result]) -> None:
    """Say of the passes of a solution that forged another test that nothing shows that they are honest.

    It may have learned there what they expect.
    """
    if any(result.get("v") == "flagged" for result in results):
        results[:] = [{**result, "v": "unchecked"} if result["p"] else result for result in results]


def text_tests(task: CompiledTests, text: str) -> list[Result]:
    """Run the tests of an answer that is not a program but a text, those excepted that would execute it."""
    namespace: dict[str, Any] = {"text": text, "candidate_solution": text, "__name__": "test"}
    results = [dict(NOT_RUN) for _ in task.compiled]
    for index, test in enumerate(task.compiled):
        if task.faults[index]:
            results[index] = {"p": False, "k": "f", "t": "", "m": task.faults[index]}
        elif not task.beside[index]:
            results[index] = mark(test, namespace)
    return [{**result, "v": "separated"} for result in results]
