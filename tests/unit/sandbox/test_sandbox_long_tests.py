"""To read a test takes time in proportion to its length."""

import cProfile

import pytest

from markbook.sandbox import job
from markbook.sandbox.guest.examination.tasks import CompiledTests
from markbook.types import ProblemType, Sample, Test

PROMPT = "TABLE = {i: i * i for i in range(200)}\nclass Point:\n    LIMIT = 1\ndef f(n):\n"
LINES = {
    "one name": "    r = candidate({0})\n    assert r == TABLE[{0}]\n",
    "many names": "    r{0} = candidate({0})\n    r = r{0}\n    assert r == TABLE[{0}]\n",
    "a chain": "    a{0} = candidate(a{1})\n    assert a{0} == TABLE[{0}]\n",
    "constants": "    r = Point({0})\n    assert r.run() == r.value + {0}\n",
    "objects": "    r = candidate(Point({0}))\n    assert r == Point({0}) or r in [Point({1})]\n",
}


def count_calls(do, *arguments):
    """Return how many functions of Python's are called: as many on a busy machine as on a quiet one."""
    profile = cProfile.Profile(builtins=False)
    profile.runcall(do, *arguments)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("entry", ["f", "Point"])
@pytest.mark.parametrize("kind", LINES)
def test_ten_times_as_many_assertions_take_about_ten_times_as_much_work(kind, entry):
    def read(count):
        lines = "".join(LINES[kind].format(number, number - 1) for number in range(1, count))
        program = f"import re\ndef check(candidate):\n    a0 = 1\n{lines}\ncheck({entry})\n"
        sample = Sample(
            "x", tests=(Test(program=program),), entry_point=entry, references=(PROMPT + "    return n * n\n",),
            problem_type=ProblemType.CLASS if entry == "Point" else ProblemType.FUNCTION, prompt_code=PROMPT,
        )  # fmt: skip
        CompiledTests(job.task_text(sample))

    assert count_calls(read, 200) < 15 * count_calls(read, 20)
