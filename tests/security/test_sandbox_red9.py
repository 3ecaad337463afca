"""What a seventh red team found: what the kernel counts by user, limits that forget what the tests compute, labels by chance."""

import pytest

from markbook.sandbox import Job, Sandbox, scheduler
from markbook.types import Isolation, Sample, Test

LEVELS = [Isolation.A, Isolation.B]
CALLS = """
import array, ctypes, errno, platform, socket
LIBC = ctypes.CDLL(None, use_errno=True)
def call(numbers, *arguments):
    ctypes.set_errno(0)
    number = numbers[platform.machine() == "aarch64"]
    if number < 0:
        return "EPERM"
    result = LIBC.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result
"""
USED_UP = {
    "descriptors on their way": """
def f():
    near, far = socket.socketpair()
    try:
        near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [far.fileno()] * 250))])
    except PermissionError:
        return call((307, 269), near.fileno(), 0, 0, 0)
""",
    "watches": "def f(): return {call((253, -1)), call((294, 26), 0)} == {'EPERM'} and 'EPERM'\n",
    "asynchronous reads": "def f(): return call((206, 0), 4096, ctypes.byref(ctypes.c_long()))\n",
}
"""What the kernel counts for all processes of a user or of the machine, and an attempt could leave nothing of."""


@pytest.mark.parametrize("level", LEVELS)
def test_no_attempt_uses_up_what_those_of_other_workers_need(level):
    sample = Sample(id="red9", tests=(Test(assertion="f() == 'EPERM'"),), entry_point="f")
    with Sandbox(workers=1, isolation="weak", at_most=level) as box:
        if box.level != level:
            pytest.skip(f"this machine reaches level {box.level} at most")
        outcomes = {
            job.key: outcome for job, outcome in box.run([Job(k, CALLS + code, sample) for k, code in USED_UP.items()])
        }

    assert {name: outcome.tests[0].passed for name, outcome in outcomes.items()} == dict.fromkeys(USED_UP, True), (
        outcomes
    )


COMPUTES = """
def check(f):
    assert sum(i % 7 for i in range(8_000_000)) > 0
    assert f(3) == 9
check(f)
"""
"""A test that computes much longer than the solution."""


def test_the_adaptive_limit_allows_for_what_the_tests_compute(monkeypatch):
    monkeypatch.setattr(scheduler, "ADAPTIVE_LEAST", 0.1)
    sample = Sample(
        id="red9", tests=(Test(program=COMPUTES),), entry_point="f", references=("def f(n): return n * n\n",)
    )

    with Sandbox(workers=1, isolation="weak", adaptive=True) as box:
        ((_, outcome),) = box.run([Job("k", "def f(n): return n ** 2\n", sample)])

    assert (outcome.tests[0].passed, outcome.limit) == (True, "")


EXPECTS = "{module}\ndef check(f):\n    assert f(3) == 9\n    assert f(4) == 16\ncheck(f)\n"
OWN_EQUAL = "class Value:\n    def __init__(self, n): self.n = n\n    def __eq__(self, other): return {equal}\ndef f(n): return Value(n * n)\n"
LABELS = {"equal to everything": ("True", "flagged"), "equal by a part": ("self.n % 12 == other % 12", "unchecked")}


@pytest.mark.parametrize("module", ["", "import time"], ids=["apart", "beside"])
@pytest.mark.parametrize("name", LABELS)
def test_without_a_reference_the_label_of_an_own_equal_is_the_same_in_every_run(name, module):
    equal, label = LABELS[name]
    sample = Sample(id="red9", tests=(Test(program=EXPECTS.format(module=module)),), entry_point="f")

    with Sandbox(workers=1, isolation="weak", dedupe=False) as box:
        outcomes = [
            outcome for _, outcome in box.run([Job(str(i), OWN_EQUAL.format(equal=equal), sample) for i in range(6)])
        ]

    assert {str(result.verdict) for outcome in outcomes for result in outcome.tests} == {label}
