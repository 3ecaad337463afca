"""What somebody tried who had not written the walls: it did not succeed, and is not to."""

import pytest
from support.verdict_kit import labels, run
from test_sandbox_circular import CANONICAL, FORGED

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.scheduler import Scheduler
from markbook.types import Limits, Sample, Test

SECRET = 41257
# every request by its name and on the wire, of whatever the test lent, with whatever arguments; one that is answered with
# the secret is a success
ASKS = f"""
import sys
NAMES = ("func", "obj", "re", "mro", "fget", "format", "maps", "gi_frame", "f_globals", "__globals__", "__init__", "__dict__",
         "__class__", "__self__", "__wrapped__", "__closure__", "_asdict", "_exit_callbacks", "get_field", "default")
SPECIAL = ("__call__", "__getitem__", "__get__", "__format__", "__add__", "__mod__", "__eq__", "__iter__", "__next__",
           "__enter__", "__exit__", "__missing__", "__dir__", "__getattribute__", "__init__", "__subclasses__")
GIVEN = ([], ["check"], [0], [["b", 0]], [["b", 1]], ["f_globals", ["b", 1]], [["b", 1], "f_globals"],
         [["L", [["b", 0], ["b", 1]]]], ["{{0.age}}", ["b", 1]], ["\\u005f\\u005fglobals\\u005f\\u005f"])
def f(thing, people):
    frame = sys._getframe()
    while "peer" not in frame.f_locals:
        frame = frame.f_back
    peer = frame.f_locals["peer"]
    transfer = type(peer).request.__globals__["Transfer"]
    replies, receive = [""], peer._receive
    def hear():
        frame = receive()
        replies.append(peer.arrived.text)
        return frame
    peer._receive = hear
    def tell(operation, *forms):
        try:
            peer._ask_peer(["q", operation, list(forms), [], False], transfer(peer), None)
        except Exception:
            pass
        return "{SECRET}" in replies[-1]
    for number in range(6):
        one = ["b", number]
        asked = [("g", one, name) for name in NAMES] + [("c", one, *given) for given in GIVEN]
        asked += [("d", one, name, *given) for name in SPECIAL for given in GIVEN]
        asked += [(operation, one, *given) for operation in ("n", "send", "throw", "await", "copy", "class") for given in GIVEN[:3]]
        if any([tell(*each) for each in asked]):
            return {SECRET}
    return 0
"""
LENT = (
    "operator.attrgetter('age')", "functools.partial(getattr, people[0])", "functools.cmp_to_key(lambda a, b: 1)",
    "string.Formatter()", "json.JSONEncoder(default=len)", "collections.ChainMap({'a': people[0]})", "contextlib.ExitStack()",
    "types.MappingProxyType({'a': people})", "random.Random(1)", "io.StringIO('a')", "re.match('a', 'a').re", "check",
    "people[0].older", "(n for n in people)",
)  # fmt: skip
BEGIN = (
    "import collections, contextlib, functools, io, itertools, json, operator, random, re, string, types\n"
    "class Person:\n    def __init__(self, age): self.age = age\n    def older(self, years): return Person(self.age + years)\n"
)


def is_told(box, thing, monkeypatch):
    """Return whether the solution, apart from the test, was told what it expects; a refused request sends it beside later."""
    seen, settle = [], Scheduler._settle

    def watch(self, worker, record):
        seen.extend(test["p"] for test in record.get("later", {}).get("record", record).get("tests", ()))
        return settle(self, worker, record)

    monkeypatch.setattr(Scheduler, "_settle", watch)
    body = f"def check(f):\n    people = [Person(3)]\n    assert f({thing}, people) == {SECRET}\ncheck(f)\n"
    run(box, ASKS, Test(program=BEGIN + body), canonical="", kind="program")
    return any(seen)


def test_who_is_told_is_found_out(box, monkeypatch):
    assert is_told(box, f"(lambda *given: {SECRET})", monkeypatch)


@pytest.mark.parametrize("thing", LENT)
def test_no_request_on_the_wire_is_answered_with_what_the_test_expects(box, thing, monkeypatch):
    assert not is_told(box, thing, monkeypatch)


CIRCULAR = {
    "dict": "want = {3: Point(3, 9)}\nassert f(3) == want[3]\n",
    "walrus": "if (want := Point(3, 9)) is not None:\n    assert f(3) == want\n",
    "partial": "import functools\nthree = functools.partial(Point, 3)\nassert f(3) == three(9)\n",
    "class": "class Wanted:\n    want = Point(3, 9)\nassert f(3) == Wanted.want\n",
    "item": "assert f(3) in [Point(3, 9)]\n",
    "denied": "assert not f(3) != Point(3, 9)\n",
    "cases": "for n, want in zip([3, 2], [Point(3, 9), Point(2, 4)]):\n    assert f(n) == want\n",
}


@pytest.mark.parametrize("test", CIRCULAR)
def test_where_what_is_expected_is_made_is_seen(box, test):
    for code in FORGED.values():
        ((passed, label),) = labels(box, code, Test(program=CIRCULAR[test]), canonical=CANONICAL, kind="program")

        assert (passed, label) != (True, "separated"), code


HOSTILE = {
    "nested": (
        "class Again:\n    def __init__(self, of): self.of = of\n    def __iter__(self): return self\n"
        "    def __next__(self): self.of.extend(Again(self.of)); raise StopIteration\n"
        "def f(thing):\n    thing.extend(Again(thing))\n"
    ),
    "memory": "def f(thing): return len(thing * (1 << 40))\n",
    "frames": (
        "import sys\ndef f(thing):\n    frame = sys._getframe()\n    while 'peer' not in frame.f_locals: frame = frame.f_back\n"
        '    frame.f_locals[\'peer\'].link.send(b\'["q","g",[["b",-1]],[[1,2]],false]\')\n'
    ),
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_hostile_requests_fail_and_the_next_answer_is_as_it_would_be(box, code):
    test = Test(program="class Many(list): pass\nassert f(Many([1])) == 1\n")
    right = "def f(thing): return 1\n"
    first = run(box, code, test, canonical=right, kind="program")
    sample = Sample("x", tests=(test,), entry_point="f", references=(right,))
    ((_, second),) = box.run([Job("k", right, sample, Limits(seconds=2.0))])

    assert not first.tests[0].passed
    assert not first.flags
    assert second.tests[0].passed


FRAMES = """
import sys
def walked(name):
    frame = sys._getframe()
    while name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]
"""


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit", "ValueError"])
@pytest.mark.parametrize("known", [False, True])
def test_an_error_in_place_of_the_opening_is_a_failed_attempt(error, known):
    code = FRAMES + f'import time\nwalked(\'link\').send(b\'["x",["e","{error}",[]]]\')\ntime.sleep(9)\n'
    sample = Sample(
        "s", tests=(Test(program="assert f(1) == 1\n"),), entry_point="f",
        references=("def f(x): return x\n",) if known else (),
    )  # fmt: skip
    with Sandbox(workers=1, isolation="weak") as box:
        before = box.pids
        ((_, outcome),) = box.run([Job("k", code, sample, Limits(seconds=2.0))])
        assert box.pids == before

    assert (outcome.passed, outcome.flags) == (0, ())


@pytest.mark.parametrize(
    "said", ["1 / 0", "{'out': {1: 2}}", "{1: 2}", "5", "exit()", "(_ for _ in ()).throw(KeyboardInterrupt)"]
)
def test_what_an_attempt_says_of_itself_ends_no_examiner(said):
    code = FRAMES + f"def f(x):\n    walked('peer').operations['said'] = lambda: {said}\n    return 0\n"
    sample = Sample(
        "s", tests=(Test(program="assert f(1) == 1\n"),), entry_point="f", references=("def f(x): return x\n",)
    )
    with Sandbox(workers=1, isolation="weak", explain=True) as box:
        before = box.pids
        ((_, outcome),) = box.run([Job("k", code, sample, Limits(seconds=2.0))])
        assert box.pids == before

    assert (outcome.passed, outcome.tests[0].verdict.value) == (0, "separated")
    assert [(one.got, one.expected) for one in outcome.why.failures] == [("0", "1")]


def test_a_step_of_a_tests_coroutine_is_a_short_one():
    code = (
        FRAMES
        + "def f(t):\n    peer = walked('peer')\n    return peer.request('step', peer.request('await', t), 1e9)\n"
    )
    program = "import asyncio\nasync def wait():\n    await asyncio.sleep(1000)\nassert f(wait()) == 1\n"
    sample = Sample("s", tests=(Test(program=program),), entry_point="f", references=("def f(t): return 1\n",))
    with Sandbox(workers=1, isolation="weak") as box:
        ((_, outcome),) = box.run([Job("k", code, sample, Limits(seconds=1.0))])

    assert (outcome.passed, outcome.flags) == (0, ())


def test_the_explaining_run_asks_no_object_again_where_the_rest_is_right():
    code = (
        "class O:\n    asked = 0\n    def __repr__(self):\n        O.asked += 1\n        print(O.asked)\n        return 'O'\n"
        "def f(x): return [x, O()]\n"
    )
    sample = Sample(
        "s",
        tests=(Test(program="assert f(1) == [1, 5]\n"),),
        entry_point="f",
        references=("def f(x): return [x, 5]\n",),
    )
    with Sandbox(workers=1, isolation="weak", explain=True) as box:
        ((_, outcome),) = box.run([Job("k", code, sample, Limits(seconds=2.0))])

    assert outcome.why.stdout == "1\n"
