"""Whatever bytes the candidate's process sends, the examiner's own things stay as they are and nothing passes by it.

The test is the candidate's process: it writes frames into a real pipe and reads none of what it is asked. Every test
that is run on the other side wants a number that stands nowhere else.
"""

import asyncio
import builtins
import collections
import contextlib
import datetime as dt
import decimal
import fractions
import functools
import inspect
import json
import math
import os
import random
import secrets
import signal
import statistics
import struct
import sys
import threading

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from markbook.sandbox.guest import wire
from markbook.sandbox.guest.examination.separation import Hall
from markbook.sandbox.guest.examination.tasks import CompiledTests
from markbook.sandbox.guest.exchange.policy import Policy
from markbook.sandbox.job import task_text
from markbook.types import Sample, Test

SECRET = secrets.randbits(60)
SECONDS = 10
"""After so long an example counts as hanging: it should take milliseconds."""
_USES = [
    f"func(3) == {SECRET}", f"len(func(3)) == {SECRET}", f"func(3) + 1 == {SECRET}", f"{SECRET} in func([1, 2])",
    f"sum(func(3)) == {SECRET}", f"str(func('a')) == '{SECRET}'", f"sorted(func(2)) == [{SECRET}]", f"func(3).x == {SECRET}",
    f"[v for v in map(func, [1, 2])] == [{SECRET}]", f"func(3)[0] == {SECRET}", f"func({{'a': [1]}})['a'] == {SECRET}",
    f"isinstance(func(1), int) and func(1) == {SECRET}", f"func(lambda v: v) == {SECRET}", f"abs(func(1) - {SECRET}) < 1e-6",
    f"func(LIMIT) == {SECRET}",
]  # fmt: skip
_PROGRAMS = [
    f"for n in range(3):\n    assert f(n) == {SECRET}\n",
    f"import math\nassert math.isclose(f(2), {SECRET})\n",
    f"import random\nn = random.randint(1, 9)\nassert f(n) == {SECRET} + n\n",
    f"import asyncio\nasync def main():\n    assert f(2) == {SECRET}\nasyncio.run(main())\n",
    f"with f(2) as value:\n    pass\nassert value == {SECRET}\n",
    f"class Mine:\n    x = 1\nmine = Mine()\nf(mine, Mine)\nassert f(mine) == {SECRET}\n",
    f"found = f(3)\nfound.tag = [1]\nassert found.tag == {SECRET}\n",
]
OWN = "[abs(-2), len('ab'), sorted([2, 1]), list(range(3)), max(1, 2), sum([1, 2]), round(2.4), isinstance(1, int)] == [2, 2, [1, 2], [0, 1, 2], 2, 3, 2, True]"
"""What a test says of Python itself, whatever the candidate has sent."""
TASK = CompiledTests(
    task_text(
        Sample(
            id="wall",
            tests=(
                Test(assertion=OWN),
                *(Test(assertion=text) for text in _USES),
                *(Test(program=text) for text in _PROGRAMS),
                Test(assertion=OWN),
            ),
            entry_point="f",
        )
    )
)
_MODULES = (
    builtins,
    collections,
    contextlib,
    decimal,
    fractions,
    functools,
    json,
    math,
    random,
    statistics,
    asyncio,
    dt,
)
_CLASSES = (
    collections.Counter, collections.OrderedDict, collections.ChainMap, collections.deque, fractions.Fraction, contextlib.suppress,
    dt.date, random.Random, asyncio.CancelledError, json.JSONDecodeError, decimal.Decimal, functools.partial, int, list, dict,
)  # fmt: skip


def fingerprint():
    """What the examiner has of its own: the same objects under the same names."""
    held = {
        name: {key: id(value) for key, value in vars(owner).items()}
        for owner in (*_MODULES, *_CLASSES)
        for name in (repr(owner),)
    }
    return {**held, "drawn": random.getstate(), "filters": sys.flags, "hooks": list(sys.meta_path)}


def examine(frames):
    """Let the candidate's process say one thing after the other; return what became of each test that is run then."""
    (reader, their_writer), (their_reader, writer) = os.pipe(), os.pipe()
    link = wire.PipePair(reader, writer)

    def speak():
        with contextlib.suppress(OSError):
            for place, sent in enumerate(frames):
                if place and not os.read(their_reader, 1 << 20):  # the next thing is said when the next is asked
                    break
                view = memoryview(sent)
                while view:
                    view = view[os.write(their_writer, view) :]
        os.close(their_writer)
        while os.read(their_reader, 1 << 20):
            pass
        os.close(their_reader)

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    hall = Hall(link, TASK, "def f(*given):\n    pass\n# random\n")
    results, gone = [], ""
    try:
        hall.enter({})
    except wire.Gone as error:
        gone = f"enter: {error}"
    except Exception as error:  # noqa: BLE001 - the examiner takes it for a candidate that is gone
        gone = f"enter: {type(error).__name__}"
    more = {"changes": False} if "changes" in inspect.signature(hall.run).parameters else {}
    for test in TASK.compiled if not gone else ():
        try:
            results.append(hall.run(test, Policy([]), **more))
        except wire.Gone:
            results.append(None)
    link.close()
    thread.join()
    return gone, results


def frame(form):
    """Return a frame with this in it."""
    data = form if isinstance(form, bytes) else json.dumps(form).encode()
    return struct.pack("<I", len(data)) + data


HONEST = frame(["v", ["D", ["f", ["h", 1, ["f", "f", None, 0, "function"]]]]])
"""What an honest solution says first: that it has an `f`."""
_NAMES = st.sampled_from(
    [
        *(name for name in dir(builtins) if not name.startswith("__")), "__builtins__", "__import__", "__markbook_part__", "__name__",
        "__build_class__", "__debug__", "abs", "len", "sorted", "max", "f", "func", "candidate_solution", "math", "random", "asyncio", "value", "Mine", "v", "n", "",
    ]
)  # fmt: skip
_KNOWN = st.sampled_from(
    [
        "int", "len", "list", "type", "object", "print", "module math", "module random", "module os", "module json", "math:sqrt",
        "collections:Counter", "functools:partial", "str.join", "str.format", "os:system", "builtins:eval", "eval", "exec", "open",
        "contextlib:suppress", "collections.abc:Mapping", "fractions:Fraction", "NotImplemented", "StopIteration", "SystemExit", "x:y", ":",
    ]
)  # fmt: skip
_SPECIAL = st.sampled_from(
    ["__eq__", "__ne__", "__len__", "__iter__", "__call__", "__getitem__", "__hash__", "__bool__", "__class__", "__del__", "__new__",
     "__init_subclass__", "__instancecheck__", "__getattribute__", "__enter__", "__exit__", "__add__", "__radd__", "__await__", "__set__",
     "__get__", "!__len__", "mro", "append", "x", "\0", "__dict__", "__setattr__", "__array__"]
)  # fmt: skip
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 30), st.floats(), st.text(max_size=5), _NAMES, _KNOWN, st.just(1 << 62), st.just(10**30),
)  # fmt: skip
_CLASS = st.builds(
    lambda name, bases, base, methods, own, claim, special: ["c", name, bases, base, methods, own, claim, special],
    _NAMES, st.lists(st.just(["h", 12]), max_size=2), st.one_of(_KNOWN, st.sampled_from(["", "int", "str", "list", "dict", "set", "tuple"])),
    st.lists(_SPECIAL, max_size=5), st.lists(_SPECIAL, max_size=3), st.sampled_from(["", "function", "module", "generator", "coroutine", "x"]),
    st.lists(_SPECIAL, max_size=3),
)  # fmt: skip


def _tagged(inner):
    several = st.lists(inner, max_size=4)
    number = st.integers(-2, 14)
    return st.one_of(
        st.builds(lambda tag, items: [tag, items], st.sampled_from("LTSFDNOQRZBYCIE"), several),
        st.builds(lambda tag, items: [tag, *items], st.sampled_from("LDBYCREQIvrnhbe"), several),
        st.builds(lambda items, last: ["E", last, items], several, inner),
        st.builds(lambda name: ["n", name], _KNOWN),
        st.builds(lambda name, items: ["e", name, items], st.one_of(_KNOWN, st.sampled_from(["KeyError", "GeneratorExit", "KeyboardInterrupt"])), several),
        st.builds(lambda token: ["b", token], number),
        st.builds(lambda token: ["h", token], number),
        st.builds(lambda token, kind: ["h", token, kind], number, _CLASS),
        st.builds(lambda token, name, flags: ["h", token, ["f", name, None, flags, "function"]], number, _NAMES, st.integers(-1, 700)),
        st.builds(lambda token, at, kind, held: ["h", token, ["i", ["h", at, kind], held]], number, number, _CLASS, several),
        st.builds(lambda kind, parts: ["v", kind, *parts], st.sampled_from(["Decimal", "Fraction", "array", "date", "datetime", "timedelta", "os"]), several),
    )  # fmt: skip


_FORMS = st.recursive(_SCALARS, _tagged, max_leaves=8)
_CALLED = st.sampled_from(
    ["abs", "len", "sorted", "list", "range", "max", "sum", "round", "isinstance", "int", "__builtins__"]
)
"""What the tests call of Python's own."""
_FUNCTION = ["h", 1, ["f", "f", None, 0, "function"]]
_VALID = st.one_of(
    st.none(), st.integers(-3, 30), st.just(_FUNCTION), st.just(["L", []]), st.just(["n", "max"]), st.just(["n", "int"]),
    st.lists(st.tuples(_NAMES, st.sampled_from([["n", "max"], 1, ["h", 1]])), max_size=4).map(lambda pairs: ["D", [part for pair in pairs for part in pair]]),
)  # fmt: skip
_OPENINGS = st.one_of(
    st.lists(st.tuples(st.one_of(_CALLED, _NAMES), _VALID), max_size=8).map(
        lambda pairs: ["v", ["D", ["f", _FUNCTION, *(part for pair in pairs for part in pair)]]]
    ),
    st.builds(
        lambda pairs: ["v", ["D", [part for pair in pairs for part in pair]]],
        st.lists(st.tuples(st.one_of(_NAMES, _FORMS), st.one_of(_FORMS, st.just(["D", ["len", ["n", "max"], "__import__", ["n", "int"]]]))), max_size=6),
    ),
    st.builds(lambda more: ["v", ["D", ["f", ["h", 1, ["f", "f", None, 0, "function"]], *more]]], st.lists(_FORMS, max_size=4)),
    st.just(["v", ["D", ["f", ["h", 1, ["f", "f", None, 0, "function"]]]]]),
    _FORMS,
)  # fmt: skip
_REPLIES = st.one_of(
    st.builds(lambda kind, value: [kind, value], st.sampled_from("vx"), _FORMS),
    st.builds(lambda kind, value, more: [kind, value, *more], st.sampled_from("vx"), _FORMS, st.lists(_FORMS, max_size=4)),
    st.builds(
        lambda value, number, items: ["v", value, [[number, items]], [[number, items]], "text"], _FORMS, st.integers(-1, 5), st.lists(_FORMS, max_size=3)
    ),
    st.builds(
        lambda operation, given, named, loud: ["q", operation, given, named, loud],
        st.sampled_from(["c", "g", "s", "x", "d", "class", "copy", "import", "await", "n", "send", "throw", "close", "names", "seed", "y"]),
        st.lists(st.one_of(_FORMS, st.builds(lambda token: ["b", token], st.integers(0, 4))), max_size=3),
        st.lists(st.tuples(_NAMES, _FORMS).map(list), max_size=2), st.booleans(),
    ),
    st.just(["v", None]),
    _FORMS,
)  # fmt: skip


class Hangs(BaseException):
    """No error that the examiner might take for one of the candidate's."""


@contextlib.contextmanager
def in_time():
    def late(_number, _frame):
        raise Hangs

    kept = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, kept)


def check(frames):
    """Let them be said and see that all is as it was."""
    before = fingerprint()

    with in_time():
        gone, results = examine(frames)

    assert fingerprint() == before
    assert gone or len(results) == len(TASK.compiled)
    ends = [place for place, result in enumerate(results) if result is None]
    assert ends == list(range(len(results) - len(ends), len(results)))  # once gone, gone for good
    own = [results[place] for place in (0, -1) if results and results[place] is not None]
    assert all(result["p"] for result in own), own  # a test of Python itself passes, or is not run at all
    passed = [place for place, result in enumerate(results[1:-1], 1) if result is not None and result["p"]]
    assert passed == []


def test_every_test_that_is_run_here_compiles():
    assert set(TASK.faults) == {""}


BOUNDED = settings(
    derandomize=True,
    max_examples=250,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@BOUNDED
@example(["v", ["D", ["f", _FUNCTION, "abs", ["n", "max"]]]], [])
@example(["v", ["D", ["f", _FUNCTION, "__builtins__", ["D", ["len", _FUNCTION]]]]], [])
@example(["v", ["D", ["f", _FUNCTION, "__markbook_part__", ["n", "print"], "candidate_solution", 1]]], [["v", 1]] * 40)
@given(_OPENINGS, st.lists(_REPLIES, max_size=8))
def test_no_frames_change_what_is_the_examiners(opening, replies):
    check(list(map(frame, [opening, *replies])))


@BOUNDED
@given(st.lists(_REPLIES, min_size=1, max_size=4))
def test_no_answers_to_an_honest_beginning_change_what_is_the_examiners(replies):
    check([HONEST, *map(frame, replies * 12)])


@BOUNDED
@given(st.one_of(st.binary(max_size=60), st.lists(st.binary(max_size=20).map(frame), max_size=4).map(b"".join)))
def test_no_bytes_change_what_is_the_examiners(sent):
    check([sent])
    check([HONEST, sent])


@pytest.mark.parametrize(
    "value",
    [
        b'["v",' + b"[" * 100_000 + b"]" * 100_000 + b"]",
        b'["v",["T",[' * 2_000 + b"]]]" * 2_000,
        b'["v",["L",[["L",[]]]]]',
        b'["v",["I","0x' + b"f" * 3_000_000 + b'"]]',
        b'["v",["I","' + b"9" * 9_000 + b'"]]',
        b'["v",["L",[' + b'["L",[]],' * 5_000 + b"1]]]",
        b'["v",["v","Decimal","1e999999999"]]',
        b'["v",["v","Fraction","1","0"]]',
        b'["v",["v","array","Q","00"]]',
        b'["v",["v","datetime",99999,1,1,1,1,1,1,1,1]]',
        b'["v","' + b"\\ud800" * 1_000 + b'"]',
        b'["v",NaN,Infinity]',
    ],
    ids=lambda value: value[:24].decode(),
)
def test_large_and_odd_values_end_the_attempt_at_most(value):
    check([HONEST, *[frame(value)] * 30])
