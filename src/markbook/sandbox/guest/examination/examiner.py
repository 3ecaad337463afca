"""The process that holds the tests: it asks the zygote for a child per attempt and decides every verdict.

Theory of operation. A worker is two processes behind the same walls: the zygote, which holds nothing and forks a child per
attempt, and the examiner, which holds the tests of one problem and never runs a line of a solution. `pristine` forks
another examiner for the next problem or model. The host sends a job (a solution, its limits and the plan of the problem) and
gets one record back. What a test calls is a stand-in here, whose use is a request to the child (`exchange`); what comes back
is plain values and further stand-ins. An attempt goes through these stages:

- *Calibration.* The reference (canonical solution) runs first, apart. What its run needed of the child (which operators, which methods,
  what it asked of the test's objects) becomes the policy of each test; a test that it fails apart and passes beside is
  planned beside.
- *Apart.* An attempt runs by that policy. Where its own classes judge, or make what is expected, the test is run again with
  something wrong, which a right answer fails (`mutated_expectations`).
- *Beside.* What could not be decided apart goes to a child whole. That child can forge what it says, so a pass is believed only
  as far as it fails the runs with something wrong; the label says so. The host hands such attempts over again when no attempt
  at the problem is left to run apart.
- *Why.* A failing attempt runs once more to be explained, its separated tests here.

Why it is safe: how an attempt ended is reported by the zygote, never by the child; the verdict is computed here; each answer
begins with the token of its question. The child is a peer that may say anything: a malformed frame ends the attempt as failed.
An examiner that has run out of time or grown is replaced (`spent`), since what it holds can no longer be relied on.
"""

from __future__ import annotations

import _socket
import marshal
import mmap
import os
import resource
import signal
import struct
import time
import warnings
from _blake2 import blake2b
from functools import partial

from .. import awaiting, wire, zygote
from ..child import compile_solution
from ..exchange import names
from ..exchange.policy import Policy
from ..marking import Compiled, Result, Sticky, failure
from . import explaining, expressions, in_process_tests, stdin
from .results import (
    NOT_RUN,
    Counts,
    beside_forged,
    difference,
    inspect,
    is_confused,
    is_doubtful,
    leave_to_beside,
    note_copied,
    note_written,
    settle,
    settle_result,
    swallows,
    text_tests,
    timed_out,
    without_claims,
    without_parts,
)
from .separation import REFUSED, Hall, Plan, heed_refusals, may_change_tests
from .tasks import CompiledTests

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .mutation_canary import Useful
    from .tasks import ExaminerJob


class ExaminedAttempt:
    """One running child as the examiner sees it."""

    def __init__(self, channel: _socket.socket, job: ExaminerJob, *, beside: bool = False) -> None:
        self._channel = channel
        if beside:
            # tests are to enter this child, and the counters that it sees are to tell it nothing of earlier ones
            channel.send(zygote.BLUR)
        limits = job["limits"]
        modules = ",".join(dict.fromkeys([*job.get("preload", ()), *(job.get("imports", ()) if beside else ())]))
        request = zygote.JOB.pack(*limits[:3], *map(int, limits[3:6])) + modules.encode("ascii")
        (their_reader, writer), (reader, their_writer) = os.pipe(), os.pipe()
        descriptors = zygote.ENDS.pack(their_reader, their_writer)
        channel.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        os.close(their_reader)
        os.close(their_writer)
        self.link = wire.PipePair(reader, writer, int(limits[3]))

    def end(self) -> dict[str, Any]:
        """Have the child killed if it still runs; return how it ended."""
        try:
            self._channel.send(zygote.STOP)
            status, seconds, wall, hit = zygote.END.unpack(self._channel.recv(zygote.END.size))
        except (OSError, struct.error):
            os._exit(3)  # the zygote is gone, and this worker with it
        self.link.close()  # not before: a child that hears of it would wake up only to be killed
        return {"status": status, "cpu": seconds, "wall": wall, "hit": hit.rstrip(b"\0").decode("ascii")}


_SHORT = 20_000
"""Characters of a solution that is compiled by the examiner."""
_GROWN = 512 << 20
"""Bytes by which an examiner may grow before another takes its place."""
_LAST_RESORT = 1.0
"""Seconds of processor time beyond the limit after which the kernel ends an examiner that hears nothing."""


class Deadline(Sticky):
    """The examiner's own processor time for an attempt is used up."""


class Examiner:
    """Serves the controller: a job in, an outcome out."""

    def __init__(self, control: _socket.socket, channel: _socket.socket, buffer: memoryview) -> None:
        """Take where jobs come from, the zygote's channel, and what is read into, of `wire.CHUNK` bytes."""
        self._control = control
        self._jobs = wire.Stream(control, buffer)
        self._buffer = buffer
        self._channel = channel
        self._task: CompiledTests | None = None
        self._begun = 0
        """The most memory held before the first job."""
        self._expired = False
        self._has_changed = False
        """Whether a solution may have changed something here that lasts."""
        self._last: tuple[str, Any, dict[str, Any] | None] = ("", None, None)
        """The solution compiled last: it is often wanted again at once."""

    def serve(self) -> NoReturn:
        """Answer jobs until the controller goes away."""
        signal.signal(signal.SIGPROF, self._deadline)
        self._begun = _most_held()
        while self.answer():
            pass
        while self._jobs.next() is not None:
            pass  # sent before the host knew: another examiner is to have it
        os._exit(0)

    def answer(self) -> bool:
        """Answer the next job; False if it is the last one that is to be answered here."""
        job: ExaminerJob | None = self._jobs.next()  # type: ignore[assignment]  # what the host writes
        if job is None:
            return False
        if "stdin" in job:
            _arm(stdin.JUDGE_SECONDS)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                code = self._compile_solution(job["code"])[0] or job["code"]
            # an interpreter would say it, to standard error
            warned = "".join(str(warning.message) for warning in caught)
            phase = stdin.execute(self._channel, job, code)
            phase["err"] = phase["err"] or warned
            _disarm()
            wire.write(self._control, {"id": job["id"], "phases": [phase]})
            return True
        if self._task is None:
            self._task = CompiledTests(job["task"], job.get("compiled", ""))  # which come with the first job
        task = self._task
        record = self.examine(task, job)
        if "plan" in record:
            record["compiled"] = task.compiled_text()
        if job.get("explain") and not record.get("spent") and not all(test["p"] for test in record.get("tests", ())):
            self._explain(task, job, record)
        if (
            task.leaves_traces
            or self._has_changed
            or self._has_grown()
            or not _has_room()
            or any(result.get("k") == "m" for result in record.get("tests", ()))
        ):
            record["spent"] = True  # the next attempt is to find another examiner
        wire.write(self._control, {"id": job["id"], **record})
        return not record.get("spent")

    def _has_grown(self) -> bool:
        return _most_held() - self._begun > _GROWN

    def _deadline(self, _number: int, _frame: object) -> None:
        self._expired = True  # a bare except in a test may swallow what is raised, but not this
        raise Deadline

    def examine(self, task: CompiledTests, job: ExaminerJob) -> dict[str, Any]:
        """Return the record of an attempt."""
        fault = next((fault for fault in task.faults if fault), "")
        seconds = float(job["limits"][0])
        self._expired = False
        later, plan = job.get("later") or {}, job.get("plan") or {}
        task.rebound = frozenset((*plan.get("rebound", ()), *later.get("rebound", ())))
        _arm(seconds if task.kind != stdin.KIND else stdin.JUDGE_SECONDS * (1 + len(task.tests)))
        try:
            record = self._calibrate(task, job) if job.get("calibrate") else self._verdict(task, job)
            if "later" not in record:
                inspect(task, job["code"], record["tests"])
                if task.kind != stdin.KIND:
                    self._label_passes(task, job, record)
                    without_claims(task, record["tests"])
                beside_forged(record["tests"])
        except Deadline:
            policies = (job.get("plan") or {}).get("tests", ())
            apart = task.kind == stdin.KIND or any(policy is not None for policy in policies)
            ended = {**timed_out(), "v": "separated" if apart else "in_process"}
            # wherever it was, it was not at a place to go on from: in the middle of a message to the zygote, say
            record = {"tests": [ended] * len(task.tests), "error": timed_out(), "hit": "cpu", "spent": True}
        finally:
            _disarm()
        # only this side has a use for these
        record.pop("operands", None)
        record.pop("done", None)
        record.pop("here", None)
        return {**record, "fault": fault}

    def _explain(self, task: CompiledTests, job: ExaminerJob, record: dict[str, Any]) -> None:
        """Put to the record of a failing attempt why it failed."""
        if task.kind == stdin.KIND:
            return  # what was printed is at hand there
        code, _ = self._compile_solution(job["code"])
        self._expired = False
        _arm(float(job["limits"][0]) + explaining.OURS)
        try:
            why = explaining.explain(task, job, code, record, partial(ExaminedAttempt, self._channel))
            if why is not None:
                record["why"] = why
        except RecursionError:
            return  # a test too deep to be compiled again
        except Deadline:
            record["spent"] = True  # wherever it was, it was not at a place to go on from
        finally:
            _disarm()

    def _label_passes(self, task: CompiledTests, job: ExaminerJob, record: dict[str, Any]) -> None:
        """Label passes that may rest on what the solution has put in the place of the prompt's objects, or of a module's parts.

        Such tests have had the solution's objects, as right answers may change them.
        """
        tests = record["tests"]
        passes = {index for index, result in enumerate(tests) if result["p"] and result["v"] != "flagged"}
        may_change = any(tests[index]["v"] == "in_process" for index in passes) and may_change_tests(job["code"])
        is_replaced = bool(passes) and bool(task.list_replaced(job["code"]))
        for index in passes:
            if is_replaced or task.open[index] or (may_change and tests[index]["v"] == "in_process"):
                tests[index] = {**tests[index], "v": "unchecked"}

    def _read_text(self, task: CompiledTests, job: ExaminerJob) -> dict[str, Any]:
        """Run the tests of a text here, and those that would execute it in a child of its own, behind the tests before them."""
        there, tests = {index for index, is_beside in enumerate(task.beside) if is_beside}, []
        try:
            with heed_refusals():
                tests = text_tests(task, job["code"])
        except wire.Gone:
            there |= task.sound
        if not there:
            return {"tests": tests, "error": None}
        program = f"text = candidate_solution = {job['code']!r}\n"
        record = in_process_tests.mark_unchecked(self._in_process(task, {**job, "code": program}, task.sound))
        for index in set(range(len(tests))) - there:
            record["tests"][index] = tests[index]
        return record

    def _verdict(self, task: CompiledTests, job: ExaminerJob) -> dict[str, Any]:
        plan: Plan | None = job.get("plan")
        if task.kind == stdin.KIND:
            return stdin.examine(self._channel, task, job, self._compile_solution(job["code"]))
        if task.kind == "text":
            return self._read_text(task, job)
        if plan is None:
            return in_process_tests.mark_unchecked(self._in_process(task, job, task.sound))
        policies = [None if policy is None else Policy(policy) for policy in plan["tests"]]
        right = in_process_tests.Right(
            plan.get("canary", [None] * len(policies)), plan.get("done", ()), *plan.get("took", ())
        )
        if not any(policies):
            return in_process_tests.prove_passes(task, self._runs(task, job), task.sound, right, job["code"])
        if "later" in job:
            return self._decided_beside(task, job, plan, right, job["later"])
        record, done = self._prove(task, job, plan, policies)
        if not plan["sure"]:
            record = self._proved_apart(task, job, plan, policies, record, done)
        there = {index for index in task.sound if policies[index] is None} | note_written(task, policies)
        # what a test computes may fail for want of memory that the candidate has filled: if it swallows that, it passes
        has_grown = self._has_grown()
        for index, policy in enumerate(policies):
            if policy is None or index not in task.sound:
                continue
            if has_grown or is_doubtful(plan, index, policy, record, done):
                there.add(index)
        is_answered = is_endless = False
        if record["error"] is not None or record.get("hit"):
            # what failed has failed, but for what may have no end only as it was answered here; what passed is not proved by it
            failed = {index for index, result in enumerate(record["tests"]) if not result["p"]}
            is_answered = any(policy and policy.answered for policy in policies)
            is_stale = any(policy and (policy.copied or policy.takes_values) for policy in policies)
            is_endless = is_answered or (is_stale and record.get("hit") in ("cpu", "wall"))
            there = (there | failed if is_endless else there - failed) & task.sound
        if not there:
            return record
        # what failed where something was denied may be right: it is what it is beside the candidate
        is_sure = [
            bool(
                plan["sure"]
                and policy
                and not (policy.copied or has_grown)
                and (result["p"] or not (policy.denied or is_answered))
            )
            for policy, result in zip(policies, record["tests"], strict=True)
        ]
        record.pop("done", None)
        if is_endless:  # that it had no end is what is looked at again
            record = {**record, "error": None, "hit": ""}
        later = {
            "record": record,
            "done": done,
            "there": sorted(there),
            "known": is_sure,
            "rebound": sorted(task.rebound),
        }
        return {"later": later} if job.get("defers") else self._decided_beside(task, job, plan, right, later)

    def _decided_beside(
        self, task: CompiledTests, job: ExaminerJob, plan: Plan, right: in_process_tests.Right, later: dict[str, Any]
    ) -> dict[str, Any]:
        """Decide beside the candidate what has run apart and is not decided by that, or could not run there.

        Args:
            task: the tests.
            job: the attempt.
            plan: how they run.
            right: what a right answer has shown of them.
            later: the record of the tests apart, how often the parts of each went well, which are to be decided, and of
                which it is known that a right answer passes them apart.
        """
        done = later["done"]
        record = {**later["record"], "done": dict(enumerate(done))}
        which, run = set(later["there"]), self._runs(task, job)
        other = in_process_tests.prove_passes(task, run, set(which), right, job["code"])
        failed = [index for index in which if not other["tests"][index]["p"]]
        if failed and (earlier := task.sound.intersection(range(max(failed))) - which):
            # they may stand on what the tests before them have set up, whose own verdicts stay as they are
            other = in_process_tests.prove_passes(task, run, set(which), right, job["code"], beside=earlier)
        for index in later["there"]:
            counts_expected = (plan.get("done") or {index: None})[index]
            swallowed = swallows(done[index]) and not swallows(counts_expected or [])
            how = difference(done[index], counts_expected, task.repeated[index]) if counts_expected is not None else ""
            record["tests"][index] = settle_result(
                record["tests"][index], other["tests"][index], is_useful=later["known"][index] and how != "counts",
                left_out=how == "parts" or swallowed, swallowed=swallowed,
            )  # fmt: skip
            record["done"][index] = other.get("done", {}).get(index)
        hit = record["hit"] or other["hit"]
        return {**record, "hit": hit, "cpu": record["cpu"] + other["cpu"], "wall": record["wall"] + other["wall"]}

    def _prove(
        self, task: CompiledTests, job: ExaminerJob, plan: Plan, policies: list[Policy | None]
    ) -> tuple[dict[str, Any], Counts]:
        """Run the tests apart, and those in which the candidate's own classes may judge with wrong expectations too.

        The two runs come in an order that nobody can foresee, each with a process of its own.
        """
        judging = {index for index in plan.get("judged", ()) if policies[index] is not None}
        if not judging:
            return self._run_separated(task, job, plan["pins"], policies)
        all_counts: list[Counts] = []

        def run(compiled: list[Compiled], which: set[int]) -> dict[str, Any]:
            # a mutated test gets policies of its own: those of the true one say afterwards what the verdict rests on
            if compiled is not task.compiled:
                return self._runs_apart(task, job, plan)(compiled, which)
            record, done = self._run_separated(task, job, plan["pins"], policies)
            all_counts.append(done)
            return {**record, "operands": _list_operands(policies)}

        return in_process_tests.prove_passes(
            task, run, judging, in_process_tests.Right(plan["canary"], (), *plan["took"]), job["code"], apart=True
        ), all_counts[0]

    def _proved_apart(
        self, task: CompiledTests, job: ExaminerJob, plan: Plan, policies: list[Policy | None], record: dict[str, Any],
        done: Counts,
    ) -> dict[str, Any]:  # fmt: skip
        """Label the passes in which objects of the candidate's were given something to judge; no right answer is known."""
        tests = record["tests"]
        judged = {
            index
            for index, policy in enumerate(policies)
            if policy and (policy.judged or task.makers[index]) and tests[index]["p"]
        }
        if not judged:
            return record
        again = self._runs_apart(task, job, plan)
        first = {"error": None, "tests": list(tests), "done": record["done"]}

        def run(compiled: list[Compiled], which: set[int]) -> dict[str, Any]:
            return first if compiled is task.compiled else again(compiled, which)

        proved_record = in_process_tests.prove_passes(
            task, run, judged, in_process_tests.Right([None] * len(tests)), job["code"], apart=True
        )
        return {**record, "tests": proved_record["tests"]}

    def _runs_apart(self, task: CompiledTests, job: ExaminerJob, plan: Plan) -> in_process_tests.Run:
        """Return what runs tests apart from the candidate of a job as the plan has them."""

        def run(compiled: list[Compiled], which: set[int]) -> dict[str, Any]:
            # with those before them, on whose state they may stand
            plans = [allowed if index <= max(which) else None for index, allowed in enumerate(plan["tests"])]
            policies = [None if allowed is None else Policy(allowed) for allowed in plans]
            record, _ = self._run_separated(task, job, plan["pins"], policies, compiled)
            return {**record, "operands": _list_operands(policies)}

        return run

    def _compile_solution(self, text: str) -> tuple[Any, dict[str, Any] | None]:
        """Return what a child is to execute, or the record of an attempt whose solution is not Python.

        Compiling here, where the compiler's pages are at hand, costs a third of compiling in a fresh child. A long
        text is compiled there all the same: what it may do to a compiler is to happen under the attempt's limits.
        """
        if len(text) > _SHORT:
            return text, None
        if self._last[0] != text:
            began = time.process_time()
            try:
                self._last = (text, compile_solution(text), None)
            except Exception as error:
                spent = time.process_time() - began
                record = {"error": {**failure(error), "k": "s"}, "status": 0, "cpu": spent, "wall": spent, "hit": ""}
                self._last = (text, None, record)
        return self._last[1:]

    def _calibrate(self, task: CompiledTests, job: ExaminerJob) -> dict[str, Any]:
        """Run a right answer separated, and where that fails a test, also beside it: the plan says what to do where."""
        needed = [text or bool(fault) for text, fault in zip(task.beside, task.faults, strict=True)]
        if not job["code"]:
            plan = {"tests": [None if there else [] for there in needed], "pins": {}, "sure": False}
            return {"tests": [{"p": False}] * len(task.tests), "error": None, "plan": plan}
        policies = [None if there else Policy(None) for there in needed]
        pins: dict[str, str] = {}
        done: list[Any] = []
        apart = None
        if any(policies):
            apart, done = self._run_separated(task, job, pins, policies)
        if apart is not None and all(
            policy and test["p"] and policy.is_witness for policy, test in zip(policies, apart["tests"], strict=True)
        ):
            together = apart  # it is known to be right, and right it is found: nothing that the other way could add
        else:
            together = self._in_process(task, job, task.sound)
        plans: list[Any] = []
        for index, (policy, result) in enumerate(zip(policies, together["tests"], strict=True)):
            # a test stays apart only if the right answer fares there as it does beside it
            agrees = policy is not None and apart is not None and result["p"] == apart["tests"][index]["p"]
            plans.append(sorted(policy.allowed) if agrees and policy is not None and policy.is_witness else None)
        plans, useful = self._beside(task, job, together, plans)
        own = {index for index, policy in enumerate(policies) if plans[index] is not None and policy and policy.own}
        own |= {index for index, makers in enumerate(task.makers) if makers and plans[index] is not None}
        # a test that the reference fails has no right value that could be made wrong
        own = {index for index in own if together["tests"][index]["p"]}
        beside_it = together.get("done", {})
        done = [
            (beside_it.get(index) if plans[index] is None else done[index]) if result["p"] else None
            for index, result in enumerate(together["tests"])
        ]
        plan = {
            "tests": plans, "pins": pins, "sure": True, "canary": useful, "judged": sorted(own), "done": done,
            "rebound": sorted(task.rebound), "took": [in_process_tests.spent(together), in_process_tests.count_slept(together)],
        }  # fmt: skip
        if own:
            tried = in_process_tests.try_mutations(
                task, self._runs_apart(task, job, plan), own, own, float(job["limits"][0])
            )
            plan["canary"] = [tried[index] if index in own else places for index, places in enumerate(useful)]
        # what the tests compute here is limited like what the solution computes, so limits are to allow for both
        cpu = max(in_process_tests.spent(record) for record in (together, apart or together))
        return {**together, "cpu": cpu, "plan": plan}

    def _beside(
        self, task: CompiledTests, job: ExaminerJob, together: dict[str, Any], plans: list[Any]
    ) -> tuple[list[Any], Useful]:
        """Return the plans, and for the tests that run beside the candidate what of them is worth making wrong.

        Such tests run without those that are kept apart, whose expectations are not to enter the candidate's process.
        Where one needs what another has set up, every test of the task runs there.
        """
        run, right = self._runs(task, job), {i for i in task.sound if together["tests"][i]["p"]}
        there = {index for index in task.sound if plans[index] is None}
        if there and there != task.sound:
            alone = run(task.compiled, there)["tests"]
            if not all(alone[index]["p"] for index in there & right):
                plans, there = [None] * len(plans), task.sound
        if not there & right or together["error"] is not None:
            return plans, [None] * len(plans)
        return plans, in_process_tests.try_mutations(task, run, there & right, there, float(job["limits"][0]))

    def _run_separated(
        self, task: CompiledTests, job: ExaminerJob, pins: dict[str, str], policies: list[Policy | None],
        compiled: list[Compiled] | None = None,
    ) -> tuple[dict[str, Any], Counts]:  # fmt: skip
        """Run the tests here that have a policy; learn the pins if the policies learn.

        Returns:
            The record, and for each test how often each of its parts went well.
        """
        code, refused = self._compile_solution(job["code"])
        if refused is not None:
            return settle(task, dict(refused), [], verdict="separated"), [[] for _ in policies]
        compiled = compiled or task.compiled
        self._expired = False
        began = time.process_time()
        seconds = float(job["limits"][0])
        _arm(seconds)  # each run has all the time that there is: a test that computes does so in every one
        attempt = ExaminedAttempt(self._channel, job)
        learns = any(policy is not None and policy.learning for policy in policies)
        hall = Hall(attempt.link, task, job["code"], learns=learns)
        if learns or any(policy is not None and policy.is_changing for policy in policies):
            hall.peer.frames = blake2b()
        results: list[Result] = []
        done: Counts = [[] for _ in policies]
        record: dict[str, Any] = {"error": None}
        try:
            attempt.link.send(
                marshal.dumps((False, code, expressions.speaks_of_random(job["code"]), job["limits"][6], task.asks))
            )
            record["error"] = hall.enter(pins)
            for index, policy in enumerate(policies) if record["error"] is None else ():
                if task.faults[index]:
                    continue
                result = dict(NOT_RUN)
                if policy is not None:
                    result = hall.run(compiled[index], policy)
                    done[index] = sorted(map(list, hall.done.items()))
                if self._expired:  # though the test may have swallowed what said so
                    raise Deadline
                results.append(result)
        except (wire.Gone, Deadline) as gone:  # between the two it is only who is first
            signal.setitimer(signal.ITIMER_PROF, 0)
            record["gone"] = str(gone) or "gone"
        if hall.flags:
            record["flags"] = hall.flags
        record.update(attempt.end())
        if record.get("gone") and (record["gone"] == REFUSED or hall.peer.is_confused or is_confused(record)):
            del record["gone"]
            leave_to_beside(task, policies, results)
        if self._expired:
            record["hit"] = "cpu"
        record["here"] = time.process_time() - began
        _arm(seconds)  # for what is done between two runs
        if learns:
            pins.update(hall.pins)
        if hall.has_changed or any(policy is not None and policy.has_changed for policy in policies):
            # what the tests have made themselves goes with their variables
            self._has_changed |= hall.peer.has_named or bool(task.before)
        note_copied(task, policies)
        record = {**settle(task, record, results, verdict="separated"), "done": dict(enumerate(done))}
        without_parts(task, record["tests"], done)
        return record, done

    def _in_process(
        self, task: CompiledTests, job: ExaminerJob, which: set[int], compiled: list[Compiled] | None = None
    ) -> dict[str, Any]:
        """Run these tests beside the candidate, as they are compiled here or as their task has them."""
        code, refused = self._compile_solution(job["code"])
        if refused is not None:
            return settle(task, dict(refused), [])
        _arm(float(job["limits"][0]))  # what it takes to make tests wrong is none of the solution's time
        attempt = ExaminedAttempt(self._channel, job, beside=True)
        record: dict[str, Any] = {"error": None}
        talk = in_process_tests.Conversation(attempt.link, self._buffer, record)
        try:
            talk.hold(task, job, code, compiled or task.compiled, sorted(which))
        except wire.Gone:
            record["gone"] = True
        record.update(attempt.end())
        return {**settle(task, record, talk.results, which=which), "done": talk.done}

    def _runs(self, task: CompiledTests, job: ExaminerJob) -> in_process_tests.Run:
        """Return what runs tests beside the candidate of a job."""
        return lambda compiled, which: self._in_process(task, job, which, compiled)


def _list_operands(policies: list[Policy | None]) -> dict[int, list[str]]:
    """Return for each test what operators of the solution's own were given in it."""
    return {index: policy.operands for index, policy in enumerate(policies) if policy is not None}


def _most_held() -> int:
    """Return the most bytes of memory that this process ever held."""
    # Linux counts it in units of 1,024 bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _has_room() -> bool:
    """Whether half of the address space is free: a few microseconds to find out."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    try:
        mmap.mmap(-1, limit // 2, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0).close()
    except (OSError, MemoryError):
        return False
    return True


def _arm(seconds: float) -> None:
    """Have the examiner interrupted once it has used so much processor time from now on."""
    # and then again and again, since a bare except of a test may swallow the first one
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.05)
    # one long operation of the interpreter's own hears no signal handler: the kernel ends this process then
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds + _LAST_RESORT)


def _disarm() -> None:
    """Let the examiner go on for as long as it likes, and forget what the last attempt has changed here."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    names.restore()
    awaiting.reset()
