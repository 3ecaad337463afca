"""Code that did get into an examiner reaches nothing beyond the answers of one model to one problem.

Tests run in the examiner, so a benchmark whose test program is hostile stands for a solution that has broken out.
"""

import os
import signal
import socket

import pytest

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.guest import wire
from markbook.sandbox.guest.examination.examiner import Examiner
from markbook.types import Isolation, Limits, Sample, Test

LEVELS = [Isolation.A, Isolation.B]
LIMITS = Limits(seconds=2)
SECRET = "the_expected_value_of_somebody_else"

# what all of the hostile tests have at hand: the examiner itself, and every descriptor that it has
INSIDE = """
import os, socket, struct, sys, marshal
import _socket
frame = sys._getframe()
while not hasattr(frame.f_locals.get("self"), "_control"):
    frame = frame.f_back
examiner, JOB = frame.f_locals["self"], frame.f_locals["job"]
control, channel = examiner._control, examiner._channel
def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
descriptors = [number for number in range(3, 256) if is_open(number)]
def frame_of(record):
    import json
    data = json.dumps(record).encode()
    return struct.pack("<I", len(data)) + data
FORGED = {"tests": [{"p": True, "v": "separated"}], "error": None, "cpu": 0.1, "wall": 0.1, "hit": "", "fault": ""}
"""
RUN = "getattr(collections._sys.modules['builtins'], 'exec')"
"""So that the text does not say that the test is to run beside the solution."""
LET_IN = (
    "setattr([m for n, m in list(collections._sys.modules.items()) if n.endswith('.separation')][0], '_EXECUTING', ())"
)
"""What had broken out would no longer be refused."""
HOSTILE = {
    "forges answers with other tokens and writes them to every descriptor": """
for number in descriptors:
    os.set_blocking(number, False)
    for token in ["0" * 16, None, 7, *(os.urandom(8).hex() for _ in range(20))]:
        try:
            os.write(number, frame_of({"id": token, **FORGED}))
        except OSError:
            pass
""",
    "answers for itself in forms that no answer has": """
for record in (
    {**FORGED, "cpu": "long"}, {**FORGED, "tests": [7]}, {**FORGED, "error": [1]}, {**FORGED, "flags": 3},
    {**FORGED, "tests": [{"p": False, "parts": 3}]}, {"later": 3}, {**FORGED, "plan": 3}, {**FORGED, "cpu": 10**400},
):
    control.sendall(frame_of({"id": JOB["id"], **record}))
os._exit(0)
""",
    "says again and again that it is to be asked later": """
control.sendall(frame_of({"id": JOB["id"], "later": {}}))
os._exit(0)
""",
    "confuses the zygote": """
request = struct.pack("<dddqqq", 1e300, 1e300, float("inf"), 1 << 20, 0, 1)
for data in (b"", b"nonsense", b"blur", request, request + b"antigravity,this,turtle", b"x" * 900):
    try:
        socket.send_fds(channel, [data], descriptors[:4])
    except OSError:
        pass
os._exit(0)
""",
    "keeps an attempt and its own descriptors alive": """
reader, writer = os.pipe()
ends = struct.pack("ii", reader, writer)
request = struct.pack("<dddqqq", 1e6, 1e6, 1e6, 1 << 31, 1 << 26, 64)
channel.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, ends)])
descriptors += [reader, writer]
code = compile("while True: pass", "<x>", "exec")
data = marshal.dumps((False, code, False, 9, []))
os.write(writer, struct.pack("<I", len(data)) + data)
""",
    "starts processes and signals all that there is": """
import signal
for call in (os.fork, lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: os.kill(0, signal.SIGKILL),
             lambda: os.kill(-1, signal.SIGKILL), lambda: os.setsid(), lambda: os.execv(sys.executable, ["python"]),
             lambda: os.sched_setaffinity(0, [0]), lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)):
    try:
        if call() == 0 and call is os.fork:
            while True:
                pass
        if call is os.fork:
            print("it forked")
    except OSError:
        pass
import resource
try:
    resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1 << 20, 1 << 20))
except OSError:
    pass
""",
    "leaves files, modes and modules behind": """
import builtins, json
builtins.len = lambda given: 3
json.loads = None
sys.modules["collections"] = None
for name in ("sitecustomize.py", "a" * 200):
    with open(name, "w") as file:
        file.write("x")
try:
    os.chmod(".", 0)
except OSError:
    pass
""",
    "ends with its answer given": """
import threading, time
def end():
    time.sleep(0.02)
    os._exit(7)
threading.Thread(target=end).start()
""",
}  # fmt: skip


READS = """
import gc
seen, todo, is_there = set(), [examiner, sys.modules, frame, *gc.get_objects()], False
while todo and not is_there:
    one = todo.pop()
    if id(one) not in seen:
        seen.add(id(one))
        is_there = isinstance(one, str) and one is not SECRET and SECRET[::-1] in one
        todo += gc.get_referents(one)
"""


def sample(name, program, canonical="def f(x): return x + 1"):
    return Sample(id=name, tests=(Test(program=program),), entry_point="f", references=(canonical,))


HONEST = sample("honest", f"def check(f):\n    assert f(1) == 2, '{SECRET}'\n    assert [f(2)] == [3]\ncheck(f)\n")
ANSWERS = {"right": "def f(x): return x + 1", "wrong": "def f(x): return 2"}


def hostile_sample(attack):
    body = f"{INSIDE}\nif not JOB.get('calibrate'):\n" + "\n".join(f"    {line}" for line in attack.splitlines())
    return sample(
        "hostile",
        f"import collections\ndef check(f):\n    {LET_IN}\n    {RUN}({body!r}, {{}})\n    assert f(2) == 3\ncheck(f)\n",
    )


def outcomes(level, hostile=None):
    """Return what becomes of honest answers of two models, in one worker with attempts at a hostile problem."""
    jobs = []
    for model in "mn":
        for name, code in ANSWERS.items():
            jobs.append(Job(f"{name} {model}", code, HONEST, LIMITS, model=model))
            if hostile:
                jobs.append(Job(f"hostile {name} {model}", code, hostile, LIMITS, model=model))
    with Sandbox(workers=1, isolation="weak", at_most=level, explain=True) as box:
        return {job.key: outcome for job, outcome in box.run(jobs)}


def verdicts(found):
    """Return all that is said of the honest answers, without times."""
    return {
        key: ([(test.passed, test.verdict) for test in one.tests], one.limit, one.error, one.flags, one.why)
        for key, one in found.items()
        if "hostile" not in key
    }


@pytest.fixture(scope="module", params=LEVELS)
def undisturbed(request):
    return request.param, verdicts(outcomes(request.param))


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_examiner_changes_nothing_for_other_problems_and_models(undisturbed, how):
    level, expected = undisturbed

    assert verdicts(outcomes(level, hostile_sample(HOSTILE[how]))) == expected


def test_a_hostile_examiner_has_its_own_answers_in_its_hands_and_no_test_of_another_problem(undisturbed):
    level, _ = undisturbed
    forges = "control.sendall(frame_of({'id': JOB['id'], **FORGED}))\nos._exit(0)\n"
    reads = (
        f"{READS.replace('SECRET', repr(SECRET[::-1]))}if is_there:\n    {forges.replace(chr(10), chr(10) + '    ')}\n"
    )

    forged, read = (outcomes(level, hostile_sample(attack)) for attack in (forges, reads))

    assert forged["hostile wrong m"].passed == 1  # so the attacks do run there
    assert [read[f"hostile {name} {model}"].passed for name in ANSWERS for model in "mn"] == [1, 1, 0, 0]


@pytest.mark.filterwarnings(
    "ignore:.*asyncio:DeprecationWarning"
)  # the examiner knows Python's own functions by their names
def test_an_examiner_that_is_to_be_replaced_begins_no_job_that_waits_for_it_already(monkeypatch):
    host, control = socket.socketpair()
    prompt = "import keyword\ndef words():\n    return keyword.kwlist\ndef f():\n"  # a test could reach what lasts
    task = wire.encode({"object": "text", "name": "f", "prompt": prompt, "tests": [{"pattern": "return"}]})
    job = {
        "code": "def f(): return 1\n",
        "limits": [9.0, 9.0, 9.0, 1 << 31, 1 << 26, 64, 1 << 22],
        "plan": {"tests": [None]},
    }
    for number in range(2):
        wire.write(host, {"id": str(number), "task": task, **job})

    host.shutdown(socket.SHUT_WR)

    def leave(status):
        raise SystemExit(status)

    monkeypatch.setattr(os, "_exit", leave)
    handler = signal.getsignal(signal.SIGPROF)
    try:
        with pytest.raises(SystemExit):
            Examiner(control, None, memoryview(bytearray(wire.CHUNK))).serve()
    finally:
        signal.signal(signal.SIGPROF, handler)
    with host, control:
        control.shutdown(socket.SHUT_WR)
        answers = wire.Stream(host, memoryview(bytearray(wire.CHUNK)))
        first, second = answers.next(), answers.next()

    assert first["id"] == "0"
    assert first["spent"]
    assert second is None
    exec("pass")  # what an examiner refuses for good, its own process refuses: this one is none
