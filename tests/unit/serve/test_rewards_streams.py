"""Rewards of programs that read and write, in every language, and judged by programs."""

import pytest
from support.exam_kit import write_rows
from test_rewards import marked, order, until, with_pool

from markbook.languages import versions
from markbook.serve.items import BenchmarkShelf

SUM = {"tests": [{"stdin": "2 3\n", "stdout": "5\n"}, {"stdin": "4 4\n", "stdout": "8"}]}
SUMS = {
    "bash": ("read a b; echo $((a + b))\n", "echo 5\n"),
    "cpp": (
        "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n",
        "#include <iostream>\nint main() { std::cout << 5; }\n",
    ),
}


@pytest.mark.parametrize("language", SUMS)
def test_programs_that_read_and_write_are_marked_in_every_language(tmp_path, language):
    if versions()[language] is None:
        pytest.skip(f"no {language} here")
    path = write_rows(tmp_path / "sums.jsonl", [{"task_id": "sum", "problem": "", **SUM}])
    answers = [{"id": str(number), "code": code, "language": language} for number, code in enumerate(SUMS[language])]
    items = [{**one, **more} for more in (SUM, {"task_id": "sum"}) for one in answers]

    found = marked(items, benchmark=path)

    assert [(one.reward, one.error, one.separated) for one in found] == [(1, None, 1), (0, None, 1)] * 2


@pytest.mark.parametrize("language", ["python", "bash"])
def test_under_the_partial_policy_each_test_of_a_program_that_reads_and_writes_counts(language):
    reads = {"bash": "read a; echo $(( a < 3 ? a : 0 ))\n", "python": "a = int(input())\nprint(a if a < 3 else 0)\n"}
    one = {
        "code": reads[language],
        "language": language,
        "tests": [{"stdin": f"{n}\n", "stdout": f"{n}\n"} for n in (0, 3, 1, 2)],
    }

    found = {policy: marked([one], error_policy=policy)[0] for policy in ("zero", "partial")}

    assert {policy: (reward.reward, reward.passed, reward.total) for policy, reward in found.items()} == {
        "zero": (0.0, 0, 1),
        "partial": (0.75, 3, 4),
    }


def test_large_inputs_are_taken_where_nothing_parses_them():
    text = "1 " * (3 << 20)
    (found,) = marked([{"code": "print(len(input().split()))", "tests": [{"stdin": text, "stdout": f"{3 << 20}"}]}])

    assert found.reward == 1


def test_a_problem_package_is_a_benchmark_of_the_folder(tmp_path):
    package = tmp_path / "shelf" / "sumpack"
    files = {
        "problem.yaml": "name: Sum\nlimits: {time_limit: 5}\n",
        "data/secret/1.in": "2 3\n",
        "data/secret/1.ans": "5\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    shelf = BenchmarkShelf(tmp_path / "shelf")
    assert shelf.names == ["sumpack"]
    (task,) = shelf.load("sumpack")

    found = marked([{"code": f"print({value})", "task_id": task} for value in ("2 + 3", "4")], benchmark=package)

    assert [one.reward for one in found] == [1, 0]


def test_tasks_that_only_their_judge_tells_apart_have_verdicts_of_their_own(tmp_path):
    row = {"problem": "", "tests": [{"stdin": "", "stdout": "1"}]}
    judge = {"language": "python", "convention": "function"}
    rows = [
        {"task_id": said, **row, "checker": {**judge, "source": f"def check(*texts):\n    return {said}\n"}}
        for said in ("True", "False")
    ]
    path = write_rows(tmp_path / "judged.jsonl", rows)

    found = marked([{"code": "print(1)", "task_id": said} for said in ("True", "False")], benchmark=path)

    assert [one.reward for one in found] == [1, 0]


def test_answers_that_are_marked_in_groups_are_so_however_many_wait(tmp_path):
    files = {
        "problem.yaml": "name: Echo\ntype: scoring\nlimits: {time_limit: 5}\n",
        "data/secret/testdata.yaml": "range: 0 4\non_reject: continue\n",
        **{f"data/secret/{number}.{ending}": f"{number}\n" for number in range(4) for ending in ("in", "ans")},
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    codes = [f"a = int(input())\nprint(a if a < 3 else {wrong})\n" for wrong in range(8)]

    found = marked([{"code": code, "task_id": tmp_path.name} for code in codes], benchmark=tmp_path)

    assert [one.reward for one in found] == [0.75] * 3 + [1.0] + [0.75] * 4


def test_a_program_that_reads_and_writes_ends_when_nobody_waits_for_it():
    reads = {**SUM, "language": "bash", "entry_point": ""}

    async def body(pool):
        (ticket,) = pool.offer("a", [order("sleep 60\n", **reads, timeout=50)], 8.0)
        await until(lambda: pool.lanes[0]._markers and pool.lanes[0]._markers[("bash",)]._is_tried)
        found = await ticket.future
        (after,) = pool.offer("a", [order(SUMS["bash"][0], **reads)], 30)
        return found, (await after.future).passed, pool.lanes[0].replaced["stopped"]

    found, passed, stopped = with_pool(body)

    assert (found.error_type, passed, stopped) == ("TimeoutError", 2, 1)


def test_under_the_partial_policy_each_test_of_a_benchmarks_task_counts_too(tmp_path):
    """A task with points of its own keeps them."""
    tests = [{"stdin": f"{n}\n", "stdout": f"{n}\n"} for n in (0, 3, 1, 2)]
    rows = [
        {"task_id": "plain", "question": "Echo.", "tests": tests},
        {
            "task_id": "points",
            "question": "Echo.",
            "tests": [{**test, "points": 4 - n} for n, test in enumerate(tests)],
        },
    ]
    path = write_rows(tmp_path / "b.jsonl", rows)
    code = "a = int(input())\nprint(a if a < 3 else 0)\n"

    items = [{"task_id": name, "code": code} for name in ("plain", "points")]
    found = {policy: marked(items, benchmark=path, error_policy=policy) for policy in ("zero", "partial")}

    assert {policy: [(one.reward, one.passed, one.total) for one in rewards] for policy, rewards in found.items()} == {
        "zero": [(0.0, 0, 1), (0.7, 3, 4)],
        "partial": [(0.75, 3, 4), (0.7, 3, 4)],
    }
