"""What a solution may ask of the objects that a test lends it: a closed list, and what the right answer's run asked."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys

import pytest

from markbook.sandbox import run_tests
from markbook.sandbox.guest.exchange import lent
from markbook.sandbox.worker import HERE

SECRET = 41257
PERSON = """
class Person:
    def __init__(self, age):
        self.age = age
    def older(self, years):
        return Person(self.age + years)
"""
RIGHT = "def f(thing, people):\n    return 41257\n"
THIEF = f"""
def f(thing, people):
    tried = []
    def attempt(get):
        try:
            tried.append(get())
        except Exception as error:
            tried.append(repr(error))
    person = people[0]
    {{attempt}}
    for text in map(str, tried):
        if "{SECRET}" in text:
            return {SECRET}
    return 0
"""
# what a test lends, and what a solution tries with it: each reached the constants of `check` when all was allowed
LENT = {
    "operator.attrgetter('age')": [
        "type(thing)('__init__.__globals__')(person)",
        "type(thing)('__init__.__globals__.get')(person)('check')",
        "type(thing)('__code__.co_consts')(type(thing)('__init__.__globals__.get')(person)('check'))",
    ],
    "operator.methodcaller('older', 1)": ["type(thing)('__getattribute__', '__dict__')(person)"],
    "Text('a')": [
        "type(thing)('{0.__init__.__globals__}').format(person)",
        "type(thing)('{0.older.__func__.__globals__}').format(person)",
        "thing.format(person)",
        "type(thing)('{p.__init__.__globals__}').format_map({'p': person})",
    ],
    "Word.A": ["type(thing)('{0.__init__.__globals__}').format(person)", "type(thing).A.format(person)"],
    "string.Formatter()": [
        "thing.format('{0.__init__.__globals__[check].__code__.co_consts}', person)",
        "thing.vformat('{0.__init__.__globals__}', [person], {})",
        "thing.get_field('0.__init__.__globals__', [person], {})",
    ],
    "(lambda text, *a: text.format(*a))": [
        "thing('{0.__init__.__globals__[check].__code__.co_consts}', person)",
        "thing('{0.older.__func__.__globals__}', person)",
        "thing('{0.gi_frame.f_globals}', person)",
    ],
    "(lambda f, *a: f(*a))": ["thing(type(person).older, person)", "thing(type, person).__init__.__globals__"],
    "functools.partial(getattr, people[0])": ["thing('__init__').__globals__", "thing('__class__')", "thing.func"],
    "getattr": ["thing(person, '__init__').__globals__"],
    "functools.partial(operator.attrgetter, 'age')": ["thing('__init__.__globals__')(person)", "thing.func"],
    "check.__get__(1)": ["thing.__func__.__code__.co_consts", "thing.__globals__"],
    "(n for n in [1])": ["thing.gi_frame.f_globals", "thing.gi_code.co_consts"],
    "str.format": ["thing('{0.__init__.__globals__}', person)"],
    "contextlib.ExitStack()": ["thing.enter_context(person)", "thing.callback(print)", "thing._exit_callbacks"],
    "types.SimpleNamespace(a=1)": ["thing.__class__.__init__", "type(thing)(x=1)"],
    "logging.getLogger('a')": ["thing.manager.loggerDict", "thing.findCaller()", "thing.handlers"],
    "string.Template('$a')": ["type(thing)('${a}').substitute(a=person)", "thing.pattern"],
    "json.JSONEncoder()": ["thing.default.__globals__", "thing.iterencode([person])"],
}  # fmt: skip
TEXTS = "class Text(str): pass\nclass Word(str, enum.Enum):\n    A = 'a'\n"


def check(thing):
    imports = "import contextlib, enum, functools, json, operator, string, types\nlogging = __import__('logging')\n"
    imports = imports if "logging" in thing else imports.partition("logging = ")[0]
    body = f"def check(f):\n    people = [Person(3)]\n    assert f({thing}, people) == {SECRET}\n"
    return imports + PERSON + TEXTS + body + "check(f)\n"


def thief(expressions):
    lines = [f"attempt(lambda: {expression})" for expression in expressions]
    return THIEF.replace("{attempt}", "\n    ".join(lines))


@pytest.mark.parametrize("canonical", ["", RIGHT], ids=["alone", "known"])
@pytest.mark.parametrize("thing", list(LENT))
def test_nothing_lent_leads_to_what_the_test_expects(thing, canonical):
    outcome = run_tests(thief(LENT[thing]), check(thing), entry_point="f", canonical=canonical)

    (test,) = outcome.tests
    assert not (test.passed and test.verdict.value == "separated"), test


@pytest.mark.parametrize("thing", list(LENT))
def test_a_wrong_answer_that_asks_for_more_stays_wrong(thing):
    wrong = "def f(thing, people):\n    return 1\n"

    outcome = run_tests(wrong, check(thing), entry_point="f", canonical=RIGHT)

    assert [test.passed for test in outcome.tests] == [False]


GLOBALS = "'{0.__init__.__globals__[check].__code__.co_consts}'"
PIECES = "['{0._', '_init_', '_._', '_globals_', '_[check]._', '_code_', '_.co_consts}']"
OWN = f"""
class Text(str): pass
class Items(list): pass
class Words(dict): pass
class Pair(tuple): pass
class Octets(bytearray): pass
class Error(Exception): pass
class Reader:
    def read(self): return {GLOBALS}
class Asking:
    def __hash__(self):
        try:
            return len(str(ask()))
        except Exception:
            return 1
def throw(error): raise error
text, items, words, pair = Text({GLOBALS}), Items([{GLOBALS}]), Words({{{GLOBALS}: 1}}), Pair((1, [{GLOBALS}]))
Named = type({GLOBALS}, (Exception,), {{}})
octets, error = Octets({GLOBALS}.encode()), Error({GLOBALS})
import array, collections
"""
# what brings a text past the rule: what a test lends, and what a solution tries, in turn, with what `OWN` has
SMUGGLED = {
    "a text that crossed before": ("lambda t, p: t.format(p)", ["thing(text, person)"] * 2),
    "a list that crossed before": ("lambda t, p: t[0].format(p)", ["thing(items, person)"] * 2),
    "a key that crossed before": ("lambda t, p: list(t)[0].format(p)", ["thing(words, person)"] * 2),
    "a part that crossed before": ("lambda t, p: t[1][0].format(p)", ["thing(pair, person)"] * 2),
    "bytes that crossed before": ("lambda t, p: bytes(t).decode().format(p)", ["thing(octets, person)"] * 2),
    "an error that crossed before": ("lambda e, p: e.args[0].format(p)", ["thing(error, person)"] * 2),
    "an answer": ("lambda get, p: get().format(p)", [f"thing(lambda: {GLOBALS}, person)"]),
    "an answer of an object": ("lambda stream, p: stream.read().format(p)", ["thing(Reader(), person)"]),
    "what is iterated": ("lambda texts, p: next(texts).format(p)", [f"thing(iter([{GLOBALS}]), person)"]),
    "what is raised": ("attempt", [f"thing(lambda: throw(ValueError({GLOBALS})), person)"]),
    "what is raised again": ("attempt", ["thing(lambda: throw(error), person)"] * 2),
    "what a callback prints": ("hear", [f"thing(lambda: print({GLOBALS}), person)"]),
    "what a callback fills": ("fill", [f"thing(lambda texts: texts.append({GLOBALS}), person)"]),
    "bytes": ("lambda t, p: t.decode().format(p)", [f"thing({GLOBALS}.encode(), person)"]),
    "wide bytes": ("lambda t, p: t.decode('utf-16').format(p)", [f"thing({GLOBALS}.encode('utf-16'), person)"]),
    "a view of bytes": ("lambda t, p: bytes(t).decode().format(p)", [f"thing(memoryview({GLOBALS}.encode()), person)"]),
    "an array": ("lambda t, p: bytes(t).decode().format(p)", [f"thing(array.array('B', {GLOBALS}.encode()), person)"]),
    "pieces": ("lambda t, p: ''.join(t).format(p)", [f"thing({PIECES}, person)"]),
    "pieces between spaces": ("lambda t, p: t.replace(' ', '').format(p)", [f"thing(' '.join({PIECES}), person)"]),
    "the name of an error's class": ("name_error", ["thing(lambda: throw(Named(1)), person)"] * 2),
    "pieces of a name": (
        "lambda a, b, p: getattr(p, a + a + b + a + a).__globals__['check'].__code__.co_consts",
        ["thing('_', 'init', person)"],
    ),
    "pieces in a stream": (
        "(out, lambda p: out.getvalue().format(p))",
        [f"[thing[0].write(piece) for piece in {PIECES}]", "thing[1](person)"],
    ),
    "what a request forgets": ("lambda f, **k: f()", ["thing(people[1], k={Asking()})"]),
    "a generator is sent": ("answers(people[0])", ["next(thing)", f"thing.send({GLOBALS})"]),
    "a generator is sent what crossed": ("answers(people[0])", ["next(thing)"] + ["thing.send(text)"] * 2),
    "a class from pieces": ("trace", ["CHAIN"]),
    "a class of a metaclass": ("Kinds", ["thing('X', (), [['_', '_eq_', '_']], bool)()"]),
    "a method that is a function of Python's": ("Got()", ["thing(people[1])"]),
}  # fmt: skip
HELPERS = """
out = io.StringIO()
def attempt(get, p):
    try:
        get()
    except Exception as error:
        return str(error.args[0]).format(p)
def name_error(get, p):
    try:
        get()
    except Exception as error:
        return type(error).__name__.format(p)
def hear(get, p):
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        get()
    return heard.getvalue().format(p)
def fill(get, p):
    texts = []
    get(texts)
    return texts[0].format(p)
def answers(p):
    text = yield
    while True:
        text = yield text.format(p)
def trace(function):
    def inner(*arguments):
        return function(*arguments)
    return inner
class Kinds(type):
    def __new__(kind, name, bases, names, value):
        return type.__new__(kind, name, bases, {''.join(name): value for name in names})
    def __init__(cls, *arguments): pass
class Got:
    __call__ = operator.methodcaller('__call__')
"""
CHAIN = """
def chain(thing):
    names = thing(map)(str.join, ["_", "_"], [["", "", "eq", "", ""], ["", "", "module", "", ""]])
    bodies = thing(map)(dict, [thing(zip)(names, [bool, "solution"])])
    return next(thing(map)(type, ["X"], [()], bodies))()
"""
"""Makes a class in the examiner, by functions that are called by a test's own, whose objects are equal to everything."""


def smuggler(tries):
    lines = "".join(f"    attempt(lambda: {line.replace('CHAIN', 'chain(thing)')})\n" for line in tries)
    ends = f"        if '{SECRET}' in str(result):\n            return {SECRET}\n    return tried[-1]\n"
    body = "    ask = lambda: person.age\n" + lines + "    for result in tried:\n" + ends
    head = THIEF.partition("    {attempt}")[0].replace(
        "def f(thing, people):\n", "def f(thing, people):\n    global ask\n"
    )
    return OWN + CHAIN + head + body


@pytest.mark.parametrize("canonical", ["", RIGHT], ids=["alone", "known"])
@pytest.mark.parametrize("name", list(SMUGGLED))
def test_nothing_gets_past_the_rule_in_another_form(name, canonical):
    thing, tries = SMUGGLED[name]
    reveal = "functools.partial(operator.attrgetter('__code__.co_consts'), check)"
    imports = "import contextlib, functools, io, operator\n"
    body = f"def check(f):\n    people = [Person(3), {reveal}]\n    assert f({thing}, people) == {SECRET}\ncheck(f)\n"

    outcome = run_tests(smuggler(tries), imports + PERSON + HELPERS + body, entry_point="f", canonical=canonical)

    (test,) = outcome.tests
    assert not (test.passed and test.verdict.value == "separated"), test


HONEST = {
    "a callback": ("assert f([3, 1], lambda n: -n) == [3, 1]", "def f(items, key):\n    return sorted(items, key=key)"),
    "a comparator": (
        "def less(a, b): return b - a\nassert f([1, 3], less) == [3, 1]",
        "import functools\ndef f(items, less):\n    return sorted(items, key=functools.cmp_to_key(less))",
    ),
    "an object with methods": (
        "class Clock:\n    def __init__(self): self.time = 5\n    def read(self): return self.time\nassert f(Clock()) == 10",
        "def f(clock):\n    return clock.read() + clock.time",
    ),
    "a class with its constructor": (
        "class Node:\n    def __init__(self, value): self.value = value\nassert f(Node).value == 4",
        "def f(Node):\n    return Node(4)",
    ),
    "a dataclass": (
        "from collections import namedtuple\nPoint = namedtuple('Point', 'x y')\nassert f(Point) == (1, 2)",
        "def f(Point):\n    return Point(1, 2)",
    ),
    "an enum": (
        "import enum\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = 2\nassert f(Color) == 'BLUE'",
        "def f(Color):\n    return Color(2).name",
    ),
    "a stream": (
        "import io\nassert f(io.StringIO('a\\nb')) == 2",
        "def f(stream):\n    return len(stream.readlines())",
    ),
    "an iterator": ("assert f(iter([1, 2])) == 3", "def f(items):\n    return sum(items)"),
    "a generator": ("def g():\n    yield 1\n    yield 2\nassert f(g()) == 3", "def f(items):\n    return sum(items)"),
    "a match": ("import re\nassert f(re.match('(a)b', 'ab')) == 'a'", "def f(match):\n    return match.group(1)"),
    "a linked list": (
        (
            "class Node:\n    def __init__(self, value, next=None): self.value, self.next = value, next\n"
            "head = f(Node(1, Node(2)))\nassert (head.value, head.next.value) == (2, 1)"
        ),
        "def f(head):\n    last = None\n    while head:\n        head.next, last, head = last, head, head.next\n    return last",
    ),
    "a function of Python's for a callback": (
        "def each(function, items): return [function(item) for item in items]\nassert f(each) == [3, 4]",
        "def f(each):\n    return each(len, ['abc', 'abcd'])",
    ),
    "an object of its own with special methods": (
        "def total(items): return sum(items) + len(items)\nassert f(total) == 5",
        (
            "class Pair:\n    def __len__(self): return 2\n    def __iter__(self): return iter([1, 2])\n"
            "def f(total):\n    return total(Pair())"
        ),
    ),
    "an answer with special methods": (
        "def total(get): return len(get())\nassert f(total) == 2",
        "class Pair:\n    def __len__(self): return 2\ndef f(total):\n    return total(Pair)",
    ),
    "seeded draws": (
        "import random\nassert f(random.Random(1)) in (1, 2, 3)",
        "def f(draws):\n    return draws.choice([1, 2, 3])",
    ),
}


READ_ALONE = frozenset(("a callback", "a match"))
"""Where it is certain that nothing of the test's is changed or runs, or its text shows that it reads nothing again."""


@pytest.mark.parametrize("canonical", [False, True], ids=["alone", "known"])
@pytest.mark.parametrize("name", list(HONEST))
def test_what_solutions_usually_ask_for_is_answered_apart(name, canonical):
    test, answer = HONEST[name]

    outcome = run_tests(answer, test, entry_point="f", canonical=answer if canonical else "")

    (result,) = outcome.tests
    assert result.passed
    is_named = name == "a function of Python's for a callback"  # which would run on the test's side
    assert (result.verdict == "separated") == ((canonical and not is_named) or name in READ_ALONE), result
    assert result.verdict != "flagged"


def test_no_reviewed_operation_reads_attributes_by_text():
    names = {name for reviewed in lent._REVIEWED.values() for name in reviewed}

    assert not names & {"format", "format_map", "translate", "expand"}
    assert not {"__mod__", "__rmod__"} & lent._REVIEWED[str]
    assert not names & {"__getattribute__", "__getattr__", "__dict__", "__class__", "__reduce__", "func", "__globals__"}


PRISTINE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from guest.examination import pristine
print(sorted({"datetime", "hashlib", "random"} & set(sys.modules)), flush=True)
pristine._load(["random", "datetime"])
import random
state = random.getstate()
if os.fork() == 0:
    print(random.getstate() == state, flush=True)
    os._exit(0)
os.wait()
"""


def test_what_few_tests_need_is_not_in_every_examiner_and_nothing_is_seeded_in_each():
    run = [sys.executable, "-c", PRISTINE, str(HERE)]

    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout

    assert printed.splitlines() == ["[]", "True"]


class Date(dt.date):
    """Says that it is the standard library's."""


Date.__module__, Date.__name__ = "datetime", "date"


@pytest.mark.parametrize(
    ("cls", "name", "may"),
    [
        (dt.date, "year", True),
        (dt.date, "strftime", False),  # a template
        (dt.timezone, "utcoffset", True),
        (random.Random, "choice", True),
        (random.Random, "getstate", False),
        (random.Random.__base__, "getrandbits", True),
        (Date, "year", False),
    ],
)
def test_classes_of_modules_that_are_imported_late_are_known_by_what_they_are(cls, name, may):
    assert lent._is_allowed(cls, name) is may
