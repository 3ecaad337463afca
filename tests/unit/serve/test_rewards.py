"""Rewards from this machine's own sandboxes: the exam's verdicts, or a reason, whatever happens."""

import asyncio
import contextlib
import multiprocessing
import os
import random
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields

import pytest
from support.exam_kit import hold, problem, rows, write_rows
from support.load import PATIENCE

from markbook.errors import DataError, UsageError
from markbook.programs import ensure_marks
from markbook.programs.sandboxes import BoxSettings
from markbook.rewards import Rewarder
from markbook.serve import sandbox_thread
from markbook.serve.items import BenchmarkShelf, Defaults, read_item, read_items
from markbook.serve.pool import Pool, PoolSettings
from markbook.serve.records import Busy, Closing, Reward, make_reward
from markbook.serve.work_queue import SharedWork, WorkQueue
from markbook.types import Missing, MissingKind, Outcome, TestResult, Verdict

pytestmark = pytest.mark.usefixtures("kept_workers")

RIGHT = "def f(x):\n    return x\n"
WRONG = "def f(x):\n    return -x\n"
SEVEN = "def f(x):\n    return 7\n"
LOOP = "def f(x):\n    while True:\n        pass\n"
SLEEP = "import time\ndef f(x):\n    time.sleep(60)\n"
TESTS = ["assert f(1) == 1", "assert f(0) == 0"]


def item(code, **more):
    return {"id": "a", "code": code, "tests": TESTS, "entry_point": "f", "timeout": 5, **more}


def order(code, **more):
    return read_item(item(code, **more), "items[0]", BenchmarkShelf(), Defaults())


def with_pool(body, *, workers=1, **settings):
    """Run an async function with a started pool."""

    async def main():
        pool = Pool(PoolSettings(box=BoxSettings(workers=workers, isolation="weak"), **settings))
        await pool.start()
        try:
            return await asyncio.wait_for(body(pool), PATIENCE)
        finally:
            await pool.close()

    return asyncio.run(main())


def marked(items, **options):
    async def main():
        async with Rewarder(workers=1, isolation="weak", **options) as rewarder:
            return await rewarder.mark(items)

    return asyncio.run(main())


async def until(condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to that")


def test_what_the_problems_own_judge_could_not_judge_has_no_reward():
    found = make_reward(order(RIGHT), Outcome((TestResult(False, result="JE"), TestResult(False, result="-"))))

    assert (found.reward, found.missing.kind) == (None, MissingKind.FAILED)


@pytest.mark.parametrize(
    "tests", [["n = len(text)\nassert n == 4"], ["n = len(text)\nassert n == 4", "len(text) == 4"]]
)
def test_a_text_is_no_program_whatever_its_tests_look_like(tests):
    items = [{"id": text, "kind": "text", "code": text, "tests": tests} for text in ("four", "three", "2+22", "1/0;")]

    assert [reward.reward for reward in marked(items)] == [1.0, 0.0, 1.0, 1.0]


def test_a_reward_is_the_share_of_tests_passed_in_order():
    found = marked(
        [
            item(RIGHT, id="right"),
            item(WRONG, id="half"),
            item("def f(x):\n    raise ValueError\n", id="raises"),
            item("", id="empty"),
            item("def f(x:\n", id="syntax"),
            item(None, id="absent"),
        ]
    )
    assert [(one.id, one.reward, one.passed, one.total, one.error) for one in found] == [
        ("right", 1.0, 2, 2, None),
        ("half", 0.5, 1, 2, None),  # -0 == 0
        ("raises", 0.0, 0, 2, "Error"),
        ("empty", 0.0, 0, 2, "NoCompletionError"),
        ("syntax", 0.0, 0, 2, "SyntaxError"),
        ("absent", None, None, None, None),
    ]
    assert found[-1].missing == Missing(MissingKind.ABSENT, "nobody answered: the code is null")
    assert not found[-1].valid


@pytest.mark.parametrize("canonical", [None, "    return x\n"])
def test_what_completes_a_prompt_is_found_in_it_where_no_name_is_given(canonical):
    prompt = 'import math\n\n\ndef g(x):\n    return x\n\n\ndef f(x):\n    """Double."""\n'
    method = "class S:\n    def f(self, x):\n"
    check = "def check(candidate):\n    assert candidate(1) == 1\n"
    known = {"canonical": canonical}
    found = marked(
        [
            {"prompt": prompt, "completion": "    return g(x)\n", "tests": TESTS, **known},
            {"prompt": prompt, "code": f"```python\n{prompt}    return x\n```", "tests": TESTS, **known},
            {"prompt": prompt, "completion": "    return g(x)\n", "tests": check, **known},
            {"prompt": method, "completion": "        return x\n", "tests": ["S().f(1) == 1"]},
            {
                "prompt": 'def f(x):\n    """Double."""\n\n\ndef g(x):\n    return x\n',
                "code": "def g(x):\n    return x\n\n\ndef f(x):\n    return g(x)\n",
                "tests": check,
                **known,
            },
            {"prompt": prompt, "completion": "    return None\n", "tests": TESTS, **known},
        ]
    )
    assert [one.reward for one in found] == [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]


def test_a_draft_in_a_thought_is_not_the_answer():
    draft, answer = f"<think>\n```python\n{RIGHT}```\n", f"</think>\n```python\n{SEVEN}```\n"
    swapped = f"<think>\n```python\n{SEVEN}```\n</think>\n```python\n{RIGHT}```\n"
    found = marked([item(draft + answer), item(swapped), item(draft)])
    assert [(one.reward, one.error) for one in found] == [(0.0, None), (1.0, None), (0.0, "NoCompletionError")]


def test_every_reward_is_what_the_exam_gives(tmp_path):
    problems = [problem("t/1"), problem("t/2", tests=[{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 3"}])]
    codes = [RIGHT, WRONG, LOOP, "import sys\nsys.exit(0)\n", "f = 3\n", f"Sure:\n```python\n{RIGHT}```\n"]
    codes.append(f"<think>\n```python\n{SEVEN}```\n</think>\n```python\n{RIGHT}```\n")
    answers = [
        {"task_id": one["task_id"], "model": f"m{number}", "candidate_solution": code}
        for number, code in enumerate(codes)
        for one in problems
    ]
    run = hold(tmp_path, problems, answers, timeout=0.3)
    wanted = {
        (row["model"], row["task_id"]): (row["score_zero"] / 100, row["tests_passed"], row["total_tests"])
        for number in range(len(codes))
        for row in rows(run, f"m{number}")
    }
    items = [
        {"id": f"{one['model']} {one['task_id']}", "code": one["candidate_solution"], "task_id": one["task_id"]}
        for one in answers
    ]
    found = marked(items, benchmark=tmp_path / "in" / "benchmark.jsonl", timeout=0.3)
    assert {tuple(one.id.split()): (one.reward, one.passed, one.total) for one in found} == wanted


def test_what_is_not_marked_in_time_is_no_zero_and_its_worker_ends():
    async def body(pool):
        (ticket,) = pool.offer("a", [order(SLEEP, timeout=50)], 0.5)
        await until(lambda: pool.running == 1)
        found = await ticket.future
        (after,) = pool.offer("a", [order(RIGHT)], 30)
        return found, await after.future, pool.lanes[0].replaced["stopped"]

    found, after, stopped = with_pool(body)
    assert found == Missing(MissingKind.TIMEOUT, "not marked within its deadline of 0.5 s")
    assert after.passed == 2
    assert stopped == 1


def test_an_item_has_a_deadline_of_its_own():
    found = marked([item(SLEEP, id="slow", timeout=50, deadline=0.3), item(RIGHT, id="right")])
    assert [(one.id, one.reward, one.missing and one.missing.kind) for one in found] == [
        ("slow", None, MissingKind.TIMEOUT),
        ("right", 1.0, None),
    ]


SPIN = "def f(x):\n    while True:\n        pass\n"


@pytest.mark.parametrize("code", [SLEEP, SPIN], ids=["sleeps", "computes"])
def test_what_takes_its_whole_deadline_by_itself_is_out_of_time(code):
    (found,) = marked([item(code, timeout=50, deadline=3)])

    assert (found.reward, found.error, found.missing) == (0.0, "TimeoutError", None)
    assert found.message == "TimeoutError: it was still running at its deadline of 3 s"


def test_what_mostly_waited_for_its_turn_until_its_deadline_is_no_zero():
    async def body(pool):
        (first,) = pool.offer("a", [order(SLEEP, timeout=50)], 6)
        behind = pool.offer("a", [order(f"{SLEEP}# {n}\n", timeout=50, deadline=n) for n in (4, 9)], 60)
        return [await ticket.future for ticket in (first, *behind)]

    first, waited, ran_less = with_pool(body)

    assert [first.error_type, first.limit] == ["TimeoutError", "wall"]
    assert waited == Missing(MissingKind.TIMEOUT, "not marked within its deadline of 4 s")
    assert ran_less == Missing(MissingKind.TIMEOUT, "not marked within its deadline of 9 s")  # 6 s behind the first


def test_of_items_that_a_worker_has_together_only_the_one_that_runs_is_out_of_time():
    async def body(pool):
        calm = pool.offer("a", [order(f"{RIGHT}# {n}\n") for n in range(17)], 60)
        await asyncio.gather(*(ticket.future for ticket in calm))
        mixed = [order(f"{SLEEP}# {' ' * 100_000}\n", timeout=50)]
        mixed += [order(f"{RIGHT}# then {n}\n") for n in range(40)]
        tickets = pool.offer("a", mixed, 3)
        return [make_reward(ticket.order, await ticket.future) for ticket in tickets]

    slow, *others = with_pool(body)

    assert (slow.reward, slow.error) == (0.0, "TimeoutError")
    assert {one.reward for one in others} <= {None, 1.0}


def test_what_nobody_waits_for_is_not_run_and_ended_if_it_runs():
    async def body(pool):
        tickets = pool.offer("a", [order(SLEEP, timeout=50), order(RIGHT)], 60)
        await until(lambda: pool.running == 1)
        pool.cancel(tickets)
        assert pool.waiting == 0
        (other,) = pool.offer("a", [order(WRONG)], 30)
        outcome = await other.future
        return outcome, pool.counts

    outcome, counts = with_pool(body)
    assert outcome.passed == 1
    assert (counts["cancelled"], counts["measured"]) == (2, 1)


def test_what_runs_beside_one_that_is_given_up_is_marked_all_the_same():
    async def body(pool):
        tickets = pool.offer("a", [order(SLEEP, timeout=50)] + [order(f"{RIGHT}# {n}\n") for n in range(15)], 60)
        await until(lambda: pool.running > 1)  # several at once, since plenty waits
        pool.cancel(tickets[:1])
        found = [(await ticket.future).passed for ticket in tickets[1:]]
        return found, pool.lanes[0].replaced, pool.counts["unavailable"]

    found, replaced, lost = with_pool(body)
    assert (found, lost) == ([2] * 15, 0)
    assert replaced == {"age": 0, "memory": 0, "fault": 0, "stopped": 1}


def test_a_lane_takes_several_only_where_plenty_is_left_for_the_others():
    desk = WorkQueue(100)
    works = [SharedWork(f"{n}", "task", "client", order(RIGHT)) for n in range(16)]
    desk.put(works)
    taken = [[work.key for work in desk.take(lane, 4)] for lane in (0, 1, 0, 1, 0)]
    assert taken == [["0", "1", "2", "3"], ["4", "5", "6", "7"], ["8", "9"], ["10"], ["11"]]


def test_a_full_pool_takes_all_or_nothing_and_says_when():
    async def body(pool):
        (running,) = pool.offer("a", [order(SLEEP, timeout=50)], 60)
        await until(lambda: pool.running == 1)
        codes = [f"{RIGHT}# {number}\n" for number in range(5)]
        with pytest.raises(Busy, match="4 items do not fit: 0 wait already, and there is room for 3") as refused:
            pool.offer("a", [order(code) for code in codes[:4]], 60)
        held = pool.offer("a", [order(code) for code in codes[:3]], 60)
        with pytest.raises(Busy):  # one client never has all the room
            pool.offer("a", [order(codes[4])], 60)
        other = pool.offer("b", [order(codes[4])], 60)
        pool.cancel([running])
        found = [(await ticket.future).passed for ticket in [*held, *other]]
        return refused.value.seconds, found, pool.counts["refused"]

    assert with_pool(body, queue=4) == (1, [2, 2, 2, 2], 5)


@pytest.mark.parametrize("with_others", [False, True], ids=["alone", "beside another client"])
def test_the_tasks_of_a_client_have_their_turns(with_others):
    async def body(pool):
        (running,) = pool.offer("a", [order(SLEEP, timeout=50)], 60)
        await until(lambda: pool.running == 1)
        ended = []
        orders = [order(f"{RIGHT}# {number}\n") for number in range(60)]
        tickets = pool.offer("a", [*orders, order(RIGHT, tests=["assert f(2) == 2"])], 60)
        if with_others:
            orders = [order(f"{RIGHT}# {number}\n", tests=["assert f(3) == 3"]) for number in range(60)]
            tickets += pool.offer("b", orders, 60)
        for number, ticket in enumerate(tickets):
            ticket.future.add_done_callback(lambda _, number=number: ended.append(number))
        pool.cancel([running])
        await asyncio.gather(*(ticket.future for ticket in tickets))
        return ended

    # a worker keeps to a task for 16 attempts while others of the same client wait; those of a turn end in any order
    assert with_pool(body).index(60) < 16 + sandbox_thread._AHEAD


def test_clients_have_their_turns():
    async def body(pool):
        (running,) = pool.offer("greedy", [order(SLEEP, timeout=50)], 60)
        await until(lambda: pool.running == 1)
        ended = []
        many = pool.offer("greedy", [order(f"{RIGHT}# {number}\n") for number in range(20)], 60)
        few = pool.offer("modest", [order(f"{RIGHT}# modest {number}\n") for number in range(2)], 60)
        for name, tickets in (("greedy", many), ("modest", few)):
            for ticket in tickets:
                ticket.future.add_done_callback(lambda _, name=name: ended.append(name))
        pool.cancel([running])
        await asyncio.gather(*(ticket.future for ticket in [*many, *few]))
        return ended

    assert with_pool(body)[:4].count("modest") == 2


def test_equal_items_run_once_and_are_remembered():
    async def body(pool):
        tickets = pool.offer("a", [order(RIGHT)] * 3, 60)
        found = [await ticket.future for ticket in tickets]
        (again,) = pool.offer("b", [order(RIGHT)], 60)
        return found, await again.future, pool.counts

    found, again, counts = with_pool(body)
    assert found == [again] * 3
    assert (counts["measured"], counts["cached"]) == (3, 1)


def test_a_killed_worker_costs_no_verdict():
    async def body(pool):
        slow = order("import time\ndef f(x):\n    time.sleep(0.4)\n    return x\n", timeout=20)
        (ticket,) = pool.offer("a", [slow], 60)
        await until(lambda: pool.running == 1 and pool.lanes[0].box.pids)
        os.kill(pool.lanes[0].box.pids[0], signal.SIGKILL)
        return (await ticket.future).passed, pool.lanes[0].replaced["fault"]

    assert with_pool(body) == (2, 1)


def test_a_worker_that_is_killed_again_and_again_gives_no_number():
    async def body(pool):
        (ticket,) = pool.offer("a", [order(SLEEP, timeout=50)], 60)
        while not ticket.future.done():
            for pid in pool.lanes[0].box.pids:
                with contextlib.suppress(ProcessLookupError):  # it has not come up again
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.3)
        from markbook.serve.records import make_reward

        return make_reward(ticket.order, ticket.future.result())

    found = with_pool(body)
    assert (found.reward, found.missing.kind) == (None, MissingKind.UNAVAILABLE)


def test_workers_that_are_killed_at_random_lose_nothing_and_forge_nothing():
    chance = random.Random(0)
    codes = [(f"{RIGHT}# {number}\n", 2) for number in range(20)] + [
        (f"{WRONG}# {number}\n", 1) for number in range(20)
    ]

    async def body(pool):
        tickets = pool.offer("a", [order(code) for code, _ in codes], 60)
        while not all(ticket.future.done() for ticket in tickets):
            for lane in pool.lanes:
                for pid in lane.box.pids if chance.random() < 0.3 else ():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.2)
        return [ticket.future.result() for ticket in tickets]

    for found, (_, passed) in zip(with_pool(body, workers=2), codes, strict=True):
        assert isinstance(found, Missing) or "crash" in found.flags or found.passed == passed


def test_workers_are_replaced_by_age_and_by_memory():
    async def body(pool):
        tickets = pool.offer("a", [order(f"{RIGHT}# {number}\n") for number in range(5)], 60)
        return [(await ticket.future).passed for ticket in tickets], pool.lanes[0].replaced["age"]

    assert with_pool(body, most_jobs=2) == ([2] * 5, 2)


def test_a_pool_that_ends_answers_everybody():
    async def main():
        pool = Pool(PoolSettings(box=BoxSettings(workers=1, isolation="weak")))
        await pool.start()
        tickets = pool.offer("a", [order(RIGHT), order(SLEEP, timeout=50), order(WRONG)], 60)
        await until(tickets[0].future.done)
        pids = pool.lanes[0].box.pids
        closing = asyncio.create_task(pool.close(0.1))
        await asyncio.sleep(0)
        with pytest.raises(Closing):
            pool.offer("a", [order(RIGHT)], 60)
        await closing
        return [ticket.future.result() for ticket in tickets], pids

    (first, *rest), pids = asyncio.run(main())
    assert first.passed == 2
    assert [one.kind for one in rest] == [MissingKind.UNAVAILABLE] * 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_leaving_a_stream_early_stops_the_rest():
    async def main():
        async with Rewarder(workers=1, isolation="weak") as rewarder:
            async for pair in rewarder.stream([item(RIGHT), item(SLEEP, timeout=50)]):
                reward = pair[1]
                break
            pool = rewarder._source._pool
            await until(lambda: not pool._works)
            return reward.reward

    assert asyncio.run(main()) == 1.0


def processes(workers=None):
    """Make an engine of this machine's processes."""
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def test_an_engine_marks_as_this_machine_does():
    items = [item(RIGHT, id="r"), item(WRONG, id="h"), item("def f(x:\n", id="s")]
    pool = PoolSettings(engine="test_rewards:processes", box=BoxSettings(workers=1, isolation="weak"))

    async def main():
        pools = Pool(pool)
        await pools.start()
        try:
            tickets = pools.offer("a", [read_item(one, "items[0]", BenchmarkShelf(), Defaults()) for one in items], 60)
            return [make_reward(ticket.order, await ticket.future) for ticket in tickets], pools.level
        finally:
            await pools.close()

    found, level = asyncio.run(main())
    assert found == marked(items)
    assert level == found[0].isolation


def test_an_engine_that_is_not_there_is_said():
    async def main():
        await Pool(PoolSettings(engine="nowhere")).start()

    with pytest.raises(UsageError, match="nowhere"):
        asyncio.run(main())


TWICE = "twice() { echo $(( 2 * $1 )); }\n"
IN_BASH = {"language": "bash", "tests": ["set -e\n[[ $(twice 2) = 4 ]]\n", "set -e\n[[ $(twice 1) = 2 ]]\n"]}


def test_programs_in_other_languages_are_marked_by_what_stands_behind_them():
    found = marked(
        [
            {"id": "right", "code": f"Sure:\n```bash\n{TWICE}```\n", **IN_BASH},
            {"id": "wrong", "code": "twice() { echo 4; }\n", **IN_BASH},
            {"id": "forged", "code": "exit 0\n", **IN_BASH},
            {"id": "python", **item(RIGHT)},
        ]
    )
    # programs stand or fall together, as in an exam
    assert [(one.reward, one.error) for one in found] == [(1, None), (0, None), (0, "Error"), (1, None)]


def test_a_task_in_another_language_has_the_exams_verdict(tmp_path):
    problems = [{"task_id": "a", "language": "bash", "tests": "set -e\n[[ $(twice 2) = 4 ]]\n"}]
    codes = [TWICE, "twice() { echo 3; }\n", "exit 0\n", "if\n", ""]
    answers = [{"task_id": "a", "model": f"m{number}", "candidate_solution": code} for number, code in enumerate(codes)]
    run = hold(tmp_path, problems, answers)
    wanted = [
        (row["score_zero"] / 100, row["tests_passed"], row["total_tests"])
        for number in range(len(codes))
        for row in rows(run, f"m{number}")
    ]
    items = [{"id": one["model"], "code": one["candidate_solution"], "task_id": "a"} for one in answers]
    found = marked(items, benchmark=tmp_path / "in" / "benchmark.jsonl", timeout=5.0)
    assert [(one.reward, one.passed, one.total) for one in found] == wanted
    assert [one[0] for one in wanted] == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_programs_that_read_and_write_are_marked_by_their_output():
    tests = [{"stdin": "2 3\n", "stdout": "5.0\n"}, {"stdin": "0.1 0.2\n", "stdout": "0.3", "checker": "float:1e-9"}]
    adds = "print(sum(map(float, input().split())))\n"
    found = marked(
        [
            {"id": "right", "code": adds, "tests": tests},
            {"id": "wrong", "code": adds.replace("float", "int"), "tests": tests},
            {"id": "late", "code": "while True: pass\n", "tests": tests, "timeout": 0.5},
        ]
    )
    assert [(one.reward, one.error) for one in found] == [(1, None), (0, None), (0, "TimeoutError")]


def test_a_program_in_another_language_that_nobody_waits_for_ends():
    async def body(pool):
        (ticket,) = pool.offer("a", [order("sleep 60\n", **IN_BASH, timeout=50)], 8.0)
        await until(lambda: pool.lanes[0]._markers and pool.lanes[0]._markers[("bash",)]._is_tried)
        found = await ticket.future
        (after,) = pool.offer("a", [order(TWICE, **IN_BASH)], 30)
        return found, (await after.future).passed, pool.lanes[0].replaced["stopped"]

    found, passed, stopped = with_pool(body)
    assert (found.error_type, passed, stopped) == ("TimeoutError", 2, 1)


def test_a_lost_worker_of_another_language_is_no_zero():
    async def body(pool):
        (first,) = pool.offer("a", [order(TWICE, **IN_BASH)], 30)
        await first.future
        (ticket,) = pool.offer("a", [order("sleep 50\n", **IN_BASH | {"tests": "set -e\n"}, timeout=50)], 30)
        worker_pool = pool.lanes[0]._markers[("bash",)]._box._worker_pool
        for _ in range(2):
            await until(lambda: worker_pool.workers and worker_pool.workers[0].jobs)
            worker = worker_pool.workers[0]
            os.kill(worker.pid, signal.SIGKILL)
            await until(lambda: ticket.future.done() or (worker_pool.workers and worker_pool.workers[0] is not worker))  # noqa: B023
        return make_reward(ticket.order, await ticket.future)

    found = with_pool(body)
    assert (found.reward, found.missing.kind) == (None, MissingKind.UNAVAILABLE)


BAD = [
    (7, "items[0]: it is not an object"),
    ({}, "it has no tests"),
    ({"code": "x"}, "it has no tests"),
    ({"tests": TESTS}, "neither 'code' nor 'completion'"),
    ({"code": "x", "completion": "x", "tests": TESTS}, "'code' and 'completion'"),
    ({"code": 3, "tests": TESTS}, "'code' is not a string"),
    ({"code": "x", "tests": ["import sys\nsys.exit(0)\n"]}, "it calls and asserts nothing"),
    ({"code": "x" * (2 << 20), "tests": TESTS}, "'code' has 2097152 characters (at most 1048576)"),
    ({"code": "x", "tests": 3}, "'tests' is neither a list nor a string"),
    ({"code": "x", "tests": [3]}, "items[0].tests[0]: it is neither a string nor an object"),
    ({"code": "x", "tests": [{}]}, "items[0].tests[0]: it is empty"),
    ({"code": "x", "tests": [{"assert": "x"}]}, "unknown field 'assert' (did you mean 'assertion'?)"),
    ({"code": "x", "tests": [{"assertion": "f("}]}, "the assertion does not parse"),
    ({"code": "x", "tests": ["def f(:"]}, "the program does not parse"),
    ({"code": "x", "tests": [{"pattern": "("}]}, "the keyword is not a regular expression"),
    ({"code": "x", "tests": [{"inspection": 3}]}, "'inspection' is neither"),
    ({"code": "x", "tests": [{"program": "pass", "setup": "pass"}]}, "has a 'program' beside"),
    ({"code": "x", "tests": ["1"] * 1001}, "1001 tests are too many (at most 1000)"),
    ({"code": "x", "tests": TESTS, "timeout": 0}, "'timeout' is 0, and has to be a number above 0 and at most 600"),
    ({"code": "x", "tests": TESTS, "timeout": float("nan")}, "'timeout' is nan"),
    ({"code": "x", "tests": TESTS, "timeout": True}, "'timeout' is True"),
    ({"code": "x", "tests": TESTS, "timeout": 1e9}, "'timeout' is 1000000000.0"),
    ({"code": "x", "tests": TESTS, "memory_mb": 1}, "'memory_mb' is 1, and has to be a number from 64 to 8192"),
    ({"code": "x", "tests": TESTS, "deadline": -1}, "'deadline' is -1"),
    ({"code": "x", "tests": TESTS, "language": "cobol"}, "unsupported language 'cobol' (known: bash"),
    ({"code": "x", "tests": [{"assertion": "1"}], "language": "bash"}, "unknown field 'assertion'"),
    ({"code": "x", "tests": [{"setup": "1"}], "language": "bash"}, "it has no 'program'"),
    ({"code": "x", "tests": TESTS, "language": "bash", "kind": "function"}, "'kind' is for answers in Python"),
    ({"code": "x", "tests": [{"stdin": "1"}]}, "unknown field 'stdin'"),
    ({"code": "x", "tests": [{"stdout": "1", "checker": "x"}]}, "unknown comparison 'x'"),
    ({"code": "x", "tests": [{"stdout": "1", "points": -1}]}, "'points' is -1"),
    (
        {"code": "x", "tests": [{"stdout": "1", "points": 1e308}]},
        "'points' is 1e+308, and has to be a number from 0 to less than 1e+09",
    ),
    ({"code": "x", "tests": []}, "'tests' is empty"),
    ({"code": "x", "tests": ["f(1) == 1", ""]}, "'tests[1]' is empty"),
    ({"code": "x", "tests": TESTS, "prompt": 'print "x"\ndef f(x):\n'}, "'prompt' is not Python"),
    ({"code": "x", "tests": TESTS, "prompt": "x = (1,\ndef f(x):"}, "'prompt' is not Python"),
    ({"code": "x", "tests": TESTS, "prompt": f"x={'[' * 3000}{']' * 3000}\ndef f(x):\n"}, "'prompt' is not Python"),
    ({"code": "x", "tests": TESTS, "prompt": "\0def f(x):\n"}, "'prompt' is not Python"),
    ({"code": "x", "tests": [{"stdout": "1"}, "x == 1"]}, "some of its tests have 'stdin' and others have not"),
    ({"code": "x", "tests": [{"stdout": "1"}], "kind": "class"}, "'kind' is 'class' (its tests are of 'stdin')"),
    (
        {"code": "x", "benchmark": "b", "task_id": "t/1", "language": "bash"},
        "'t/1' is answered in Python, not in 'bash'",
    ),
    ({"code": "x", "tests": TESTS, "id": [1]}, "'id' is neither"),
    ({"code": "x", "tests": TESTS, "kind": "module"}, "'kind' is 'module' (one of function, class, text)"),
    ({"code": "x", "tests": TESTS, "prompt": "Write f."}, "'prompt' is not Python, and begins no definition"),
    ({"code": "x\ud800", "tests": TESTS}, "'code' holds half a character, at 1 (a lone surrogate)"),
    ({"code": "x", "tests": ["f(1) == '\ud800'"]}, "'program' holds half a character"),
    ({"code": "x", "tests": TESTS, "id": "\ud800"}, "'id' holds half a character"),
    ({"code": "x", "tests": TESTS, "timeot": 3}, "unknown field 'timeot' (did you mean 'timeout'?)"),
    ({"code": "x", "task_id": "t/1"}, "'task_id' without 'benchmark'"),
    ({"code": "x", "benchmark": "b", "tests": TESTS, "task_id": "t/1"}, "'tests' beside 'benchmark'"),
    ({"code": "x", "benchmark": "b"}, "'task_id' is missing"),
    ({"code": "x", "benchmark": "b", "task_id": "t/2"}, "'b' has no task 't/2' (did you mean 't/1'?)"),
    ({"code": "x", "benchmark": "../b", "task_id": "t/1"}, "there is no benchmark '../b' here"),
    ({"code": "x", "benchmark": "/etc/passwd", "task_id": "t/1"}, "there is no benchmark '/etc/passwd' here"),
    ({"code": "x", "benchmark": "b.jsonl/../b.jsonl", "task_id": "t/1"}, "there is no benchmark"),
    ({"code": "x", "benchmark": "", "task_id": "t/1"}, "'task_id' without 'benchmark'"),
    ({"code": "x", "benchmark": "cobol.jsonl", "task_id": "a"}, "unsupported language 'cobol'"),
]


OF_THE_ITEM = (
    "does not parse",
    "not a regular expression",
    "has no task",
    "unknown comparison",
    "calls and asserts nothing",
    "half a character",
    "'prompt' is not Python",
    "there is no benchmark",
    "' is empty",
)
"""What nobody can mark, however well it is written: the others of its batch are none the worse."""


@pytest.mark.parametrize(("value", "words"), [case for case in BAD if any(one in case[1] for one in OF_THE_ITEM)])
def test_an_item_that_nobody_can_mark_is_undefined_by_itself(tmp_path, value, words):
    write_rows(tmp_path / "b.jsonl", [problem("t/1")])
    good = {"code": "x", "tests": TESTS}

    first, second = read_items([value, good], BenchmarkShelf(tmp_path), Defaults(), 10)

    assert (first.missing.kind, words in first.missing.detail) == (MissingKind.UNDEFINED, True), first.missing.detail
    assert second.missing is None


@pytest.mark.parametrize(("value", "words"), [case for case in BAD if not any(one in case[1] for one in OF_THE_ITEM)])
def test_a_bad_item_is_refused_with_a_sentence(tmp_path, value, words):
    write_rows(tmp_path / "b.jsonl", [problem("t/1")])
    write_rows(tmp_path / "cobol.jsonl", [{"task_id": "a", "language": "cobol", "tests": "1"}])
    with pytest.raises(UsageError) as refused:
        read_items([value], BenchmarkShelf(tmp_path), Defaults(), 10)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        ("def f(x):", "\n    return x\n"),
        ('def f(x):\n    """Return', ' it."""\n    return x\n'),
        ("def f(x):\n    # as it is", "\n    return x\n"),
        ("def f(x):\n    if x:\n", "        return x\n    return 0\n"),
        ("def f(x):\n    return (", "x)\n"),
        ("def f(x):\n    return x +", " 0\n"),
        ("def f(x", "):\n    return x\n"),
        ("def f(x):\n    try:\n        pass\n    finally:\n        y = [\n", "x]\n    return x\n"),
    ],
)
def test_a_prompt_may_end_anywhere(prompt, completion):
    (found,) = marked([{"prompt": prompt, "completion": completion, "tests": TESTS}])

    assert (found.reward, found.message) == (1.0, "")


def test_what_is_wrong_with_a_benchmark_does_not_say_where_it_lies(tmp_path):
    (tmp_path / "quiz.jsonl").write_text('{"task_id": 3}\n', encoding="utf-8")
    with pytest.raises(DataError) as refused:
        BenchmarkShelf(tmp_path).load("quiz")
    assert str(refused.value).startswith(
        "quiz: No valid benchmark problems found; the first of 1 rejected rows, quiz:1"
    )
    assert str(tmp_path) not in str(refused.value)


def test_a_batch_is_bounded():
    for values, words in (("x", "not a list"), ([], "empty"), ([{}] * 11, "11 items are too many at once")):
        with pytest.raises(UsageError, match=words):
            read_items(values, BenchmarkShelf(), Defaults(), 10)


def test_a_record_that_is_neither_a_number_nor_a_reason_is_refused():
    good = {"id": "a", "reward": 0.5, "reason": None}
    assert Reward.from_record(good).reward == 0.5
    for wrong in ({"reward": None}, {"reason": "timeout"}, {"reward": 2}, {"reward": True}, {"reward": "1"}):
        with pytest.raises(ValueError, match="a reward is a number or has a reason"):
            Reward.from_record({**good, **wrong})


def test_a_reward_survives_its_record():
    one = Reward("a", 0.5, None, 1, 2, None, "", 1.0, 0, "A")
    two = Reward("b", None, Missing(MissingKind.TIMEOUT, "late"), message="late")
    result = TestResult(passed=False, verdict=Verdict.UNCHECKED, error_type="E", error_message="m", own_operator=True)
    full = Reward("c", 0.5, None, 1, 2, "Error", "E: m", 0.25, 3, "A", (result,))
    # A field that is new has to be set here, else its loss on the way would not be seen.
    unset = [field.name for field in fields(Reward) if getattr(full, field.name) in (None, "", 0, ())]

    assert unset == ["missing"]
    assert Reward.from_record(full.to_record(detail=True)) == full
    assert [Reward.from_record(reward.to_record(detail=True)) for reward in (one, two)] == [one, two]


def test_a_benchmark_that_is_there_is_had_while_another_is_read(tmp_path):
    write_rows(tmp_path / "quiz.jsonl", [problem("t/1")])
    shelf = BenchmarkShelf(tmp_path)
    shelf.load("quiz")
    had = threading.Event()

    with shelf._lock:  # as a thread holds it that reads a large one
        threading.Thread(target=lambda: shelf.load("quiz") and had.set(), daemon=True).start()
        assert had.wait(10)


def test_a_whole_name_goes_before_a_short_one_and_a_short_one_of_several_is_nobodys(tmp_path):
    for name in ("quiz.jsonl", "v1.0.jsonl", "v1.1.jsonl"):
        write_rows(tmp_path / name, [problem(name)])
    (tmp_path / "quiz").mkdir()
    write_rows(tmp_path / "quiz" / "a.jsonl", [problem("inside")])
    shelf = BenchmarkShelf(tmp_path)

    assert [list(shelf.load(name)) for name in ("quiz", "quiz.jsonl", "v1.1.jsonl")] == [
        ["inside"], ["quiz.jsonl"], ["v1.1.jsonl"],
    ]  # fmt: skip
    assert shelf.names == ["quiz", "quiz.jsonl", "v1.0.jsonl", "v1.1.jsonl"]
    with pytest.raises(UsageError, match="there is no benchmark 'v1' here"):
        shelf.load("v1")


def test_a_task_of_one_language_is_not_marked_as_another(tmp_path):
    row = {"task_id": "s/1", "language": "bash", "tests": "[ $(f 1) = 1 ]", "canonical_solution": "f() { echo $1; }"}
    write_rows(tmp_path / "shell.jsonl", [row])
    shelf = BenchmarkShelf(tmp_path)
    asked = {"code": "f() { echo $1; }", "benchmark": "shell", "task_id": "s/1"}

    assert read_item({**asked, "language": "bash"}, "items[0]", shelf, Defaults()).sample.language == "bash"
    with pytest.raises(UsageError, match="'s/1' is answered in 'bash', not in 'python'"):
        read_item({**asked, "language": "python"}, "items[0]", shelf, Defaults())


def test_null_is_what_a_table_has_instead_of_nothing(tmp_path):
    write_rows(tmp_path / "quiz.jsonl", [problem("t/1")])
    shelf = BenchmarkShelf(tmp_path)
    row = {"task_id": "t/1", "code": None, "completion": "    return x\n", "tests": None, "timeout": None}

    order = read_item(row, "items[0]", shelf, Defaults(timeout=7.0, benchmark="quiz"))

    assert (order.sample.id, order.missing, order.limits.seconds) == ("t/1", None, 7.0)
    absent = read_item({**row, "completion": None}, "items[0]", shelf, Defaults(benchmark="quiz"))
    assert absent.missing.kind is MissingKind.ABSENT


def test_nothing_waits_for_the_deadlines_of_what_is_answered():
    async def body(pool):
        tickets = pool.offer("", [order(RIGHT, deadline=50 + number) for number in range(3)], 59.0)
        for ticket in tickets:
            await ticket.future
        await asyncio.sleep(0)
        return [handle for handle in asyncio.get_running_loop()._scheduled if not handle.cancelled()]

    left = with_pool(body)

    assert not [handle for handle in left if "_expire" in repr(handle)]


def test_a_rewarder_that_cannot_start_leaves_nothing_behind(monkeypatch):
    rewarder = Rewarder(workers=2, isolation="weak")
    monkeypatch.setattr("markbook.serve.pool.ensure_marks", fail_second := FailSecond())

    async def main():
        async with rewarder:
            pass

    with pytest.raises(OSError, match="no more"):
        asyncio.run(main())
    assert fail_second.boxes
    assert not any(box.pids for box in fail_second.boxes)


class FailSecond:
    """Starts the first worker, and has no room for a second."""

    def __init__(self):
        self.boxes = []

    def __call__(self, box):
        if self.boxes:
            raise OSError("no more")
        self.boxes.append(box)
        ensure_marks(box)


LOGGED = "LOG = ['a', 'b']\ndef size():\n    return len(LOG)\ndef f(n):\n    '''n squared'''\n"
COUNTS, HANDS_OUT = (
    "SEEN = []\ndef f(n):\n    SEEN.append(n)\n    return n * n\n",
    "ALL = []\ndef f(n):\n    ALL.append(n)\n    return ALL\n",
)
STALE = {
    "a list of the prompt": (
        {"prompt": LOGGED, "completion": "    LOG.append('x')\n    return n * n\n"},
        "size() == 2",
        "size() == 3",
    ),
    "a list of the answer's": ({"code": COUNTS}, "len(SEEN) == 0", "len(SEEN) == 1"),
}


@pytest.mark.parametrize("name", STALE)
def test_a_test_sees_what_the_answer_changed_in_the_tests_before(name):
    answer, *tests = STALE[name]

    results = marked([{**answer, "entry_point": "f", "tests": ["f(3) == 9", test]} for test in tests])

    assert [result.reward for result in results] == [0.5, 1]
    assert [result.separated for result in results] == [0, 0]


def test_what_a_test_keeps_of_an_answer_changes_with_it():
    tests = ["r = f(1)\nassert r == [1]", "assert len(f(2)) == 2"]
    items = [
        {"code": HANDS_OUT, "entry_point": "f", "tests": [*tests, f"assert r == {value}"]} for value in ([1], [1, 2])
    ]

    assert [result.reward for result in marked(items)] == [pytest.approx(2 / 3), 1]
