"""How verdicts came about stands in every report of an exam, the unchecked ones beside the separated share."""

import ast
import csv
import io
import json
import textwrap

import pytest
from support.exam_kit import answer, hold, problem, rows, scores
from support.review_kit import markbook

from markbook.sandbox.guest import wire
from markbook.sandbox.guest.examination import prompts

pytestmark = pytest.mark.usefixtures("kept_workers")

GOOD = "def f(x):\n    return x\n"
APART = {"assertion": "func(1) == 1"}
PROVED = {"ctx": "import time", "assertion": "func(2) == 2"}
OPEN = {"ctx": "import time\nr = func(3)", "assertion": "r is None or r is not None"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    tests = [APART, PROVED, OPEN, OPEN]
    return hold(tmp_path_factory.mktemp("mixed"), [problem("a", tests=tests)], [answer("a", GOOD)])


def test_rows_and_scores_say_which_verdicts_are_unchecked(mixed):
    (row,) = rows(mixed)

    assert [test["verdict"] for test in row["test_details"]] == ["separated", "in_process", "unchecked", "unchecked"]
    assert [test["passed"] for test in row["test_details"]] == [True] * 4
    found = scores(mixed)["verdicts"]
    assert (found["separated_share"], found["unchecked"], found["unchecked_share"]) == (0.25, 2, 0.5)
    assert found["by_kind"] == {"in_process": 1, "separated": 1, "unchecked": 2}


def test_summary_and_page_say_how_many_verdicts_are_unchecked(mixed):
    assert "25.00 % of the verdicts from separate processes, 2 unchecked." in mixed.read("gpt/evaluation_summary.md")
    page = mixed.read("report.html")
    assert "gpt: 2 verdicts are unchecked" in page
    assert '<td class="r-unchecked">unchecked</td>' in page


@pytest.mark.parametrize("form", ["csv", "json", "junit", "markdown"])
def test_reports_for_other_programs_say_it_too(mixed, form):
    code, _, err = markbook("report", str(mixed.folder), "--format", form)

    assert code == 0, err
    name = {"csv": "report.csv", "json": "report.json", "junit": "report.junit.xml", "markdown": "report.md"}[form]
    text = mixed.read(name)
    if form == "csv":
        (row,) = csv.DictReader(io.StringIO(text))
        assert (row["verdict"], row["unchecked"]) == ("unchecked", "2")
    elif form == "json":
        found = json.loads(text)
        assert found["models"]["gpt"]["unchecked"] == 2
        assert (found["rows"][0]["verdict"], found["rows"][0]["unchecked"]) == ("unchecked", 2)
    elif form == "junit":
        assert '<property name="verdict" value="unchecked"/>' in text
    else:
        assert "2 verdicts are unchecked" in text


def test_the_terminal_shows_unchecked_verdicts_beside_the_separated_share(tmp_path):
    tests = [APART, OPEN]
    code, out, err = exam_command(tmp_path, tests)

    assert code == 0, err
    assert "50.0" in out
    assert "gpt: 1 of 2 verdicts unchecked" in out


def exam_command(tmp_path, tests, *more):
    from support.exam_kit import write_rows

    benchmark = write_rows(tmp_path / "b.jsonl", [problem("a", tests=tests)])
    answers = write_rows(tmp_path / "s.jsonl", [answer("a", GOOD)])
    args = ["--benchmark", benchmark, "--solutions", answers, "--output", tmp_path / "out", "--isolation", "weak"]
    return markbook("exam", *map(str, args), *more)


def test_in_process_stands_in_the_head_of_every_report(tmp_path):
    code, out, err = exam_command(tmp_path, [APART, PROVED], "--in-process")

    assert code == 0, err
    assert out.startswith("Verdicts were not separated (--in-process)")
    (folder,) = (tmp_path / "out").iterdir()
    head = (folder / "gpt" / "evaluation_summary.md").read_text(encoding="utf-8").split("## ")[0]
    assert "Verdicts were not separated (--in-process)" in head
    assert "Verdicts were not separated (--in-process)" in (folder / "report.html").read_text(encoding="utf-8")
    found = json.loads((folder / "gpt" / "test_results_score.json").read_text(encoding="utf-8"))["verdicts"]
    assert (found["separated_share"], found["unchecked"]) == (0.0, 2)


def test_a_check_of_the_benchmark_counts_what_is_unchecked(tmp_path):
    code, out, err = exam_command(tmp_path, [APART, OPEN], "--check-benchmark")

    assert code == 0, err
    assert "50.0 % of tests separated, 1 unchecked" in out


LIMITS = "import string\nCOLUMNS = ['a', 'b']\nLIMIT: int = 6\nLETTERS = list(string.digits)\nTWICE = 2 * LIMIT\n"
COUNTED, NAMED = (
    "SEEN = {}\nCOUNT = 0\n",
    "from collections import namedtuple\nNone_ = object()\nP = namedtuple('P', 'x')\n",
)
ASKED = "    assert candidate(3) == [LIMIT, COLUMNS]\n    assert candidate(6) == [TWICE, LETTERS[:6]]\n"
KEPT = "    assert [candidate(3), candidate(3), COUNT, SEEN] == [6, 6, 2, {3: 6}]\n"
BY_HEART = "def f(x): return [2 * x, ['a', 'b'] if x == 3 else list('012345')]\n"
FOOLED = "def f(x): return [0, 0]\nCOLUMNS = LIMIT = TWICE = 0\nclass L:\n    def __getitem__(self, at): return 0\nLETTERS = L()\n"
LATE = "    global LIMIT, COLUMNS, TWICE, LETTERS\n    COLUMNS = LIMIT = TWICE = 0\n    LETTERS = [0]\n    return [0, LETTERS if x == 6 else 0]\n"
COUNTING = "    global COUNT\n    COUNT += 1\n    SEEN[x] = 2 * x\n    return SEEN[x]\n"
CLASSES = (
    "from dataclasses import dataclass\nfrom enum import Enum\nclass Bad(ValueError): pass\n"
    "class C(Enum):\n    RED = 1\n    BLUE = 2\n@dataclass\nclass P:\n    a: int\n    b: C\n"
)
PROMPTS = {
    "constants": (LIMITS, ASKED, "    return [2 * x, COLUMNS if x == 3 else LETTERS[:x]]\n", [BY_HEART], [FOOLED]),
    "what the answer counts in": (COUNTED, KEPT, COUNTING, [f"{COUNTED}def f(x):\n{COUNTING}"], [BY_HEART]),
    "to be filled in": (
        "LIMIT = ...\n", "    assert candidate(3) < LIMIT\n", "    return x\nLIMIT = 7\n", ["LIMIT = 9\ndef f(x): return x\n"], []
    ),
    "set by the test": (
        "SIZES = {'a': 1}\n", "    SIZES['b'] = 5\n    assert candidate('b') == 5\n", "    return SIZES[x]\n", [], []
    ),
    "changed by the prompt itself": (
        "DAYS = {}\nDAYS['mon'] = 1\nROW = [0]\nSAME = ROW\nSAME[0] = 7\n",
        "    assert candidate('mon') == [DAYS['mon'], ROW] == [1, [7]]\n", "    return [DAYS[x], ROW]\n", [], [],
    ),
    "added to what is expected": (
        LIMITS, "    wanted = []\n    wanted.append(LIMIT)\n    wanted.extend(COLUMNS)\n    assert candidate(3) == wanted\n",
        "    found = []\n    found.append(LIMIT)\n    return found + COLUMNS\n", ["def f(x): return [6, 'a', 'b']\n"],
        ["def f(x): return [0]\nLIMIT, COLUMNS = 0, []\n"],
    ),
    "a helper beside what the answer counts in": (f"def twice(x): return 2 * x\n{COUNTED}", KEPT, COUNTING, [], [BY_HEART]),
    "classes": (
        CLASSES,
        ("    assert candidate(1) == P(1, C.RED) and isinstance(candidate(2), P)\n"
        "    try:\n        candidate(0)\n        assert False\n    except Bad:\n        pass\n"),
        "    if not x: raise Bad(x)\n    return P(x, C(x))\n", [], ["P = Bad = C = None\ndef f(x): return P\n"],
    ),
    "a class that the answer leaves out": (
        CLASSES, "    assert candidate(P(1, C.RED)) == 1\n", "    return x.a\n", ["def f(x): return x.a\n"], []
    ),
    "made in other ways": (
        ("import math, re\nfrom datetime import date\nDAY = date(2020, 1, 1)\nLIMIT = math.ceil(5.5)\nLIMIT += divmod(9, 5)[0]\n"
         "if True:\n    WORDS = re.compile('a+').pattern.split('+')\nSUM = 0\nfor n in range(4): SUM += n\n"),
        "    assert candidate(3) == [DAY, LIMIT, WORDS, SUM, math.pi]\n", "    return [DAY, LIMIT, WORDS, SUM, math.pi]\n", [],
        ["def f(x): return [0, 0, 0, 0, 0]\nDAY = LIMIT = WORDS = SUM = 0\nclass math: pi = 0\n"],
    ),
    "used up": (
        "PAIRS = enumerate('ab')\n", "    assert candidate(0) == [(0, 'a'), (1, 'b')]\n    assert list(PAIRS) == []\n",
        "    return list(PAIRS)\n", [], [],
    ),
    "a container that the answer changes": (
        "STOCK = {'a': 3}\n", "    assert candidate('a') == 2\n    assert STOCK == {'a': 2}\n",
        "    STOCK[x] -= 1\n    return STOCK[x]\n", [], [],
    ),
    "another name of what the answer changes": (
        "STOCK = {'a': 3}\nALSO = STOCK\n", "    assert candidate('a') == 2\n    assert ALSO == {'a': 2}\n",
        "    STOCK[x] -= 1\n    return STOCK[x]\n", ["def f(x):\n    ALSO[x] -= 1\n    return ALSO[x]\nSTOCK = ALSO = {'a': 3}\n"],
        ["def f(x): return 1\n"],
    ),
    "a container in what the answer changes": (
        "STOCK = {'a': 3}\nROWS = [STOCK, {}]\n", "    assert candidate('a') == 2\n    assert STOCK == {'a': 2}\n",
        "    ROWS[0][x] -= 1\n    return STOCK[x]\n", [], ["def f(x): return 1\n"],
    ),
    "a queue": (
        "from collections import deque\nQUEUE = deque([1, 2])\n", "    assert candidate(0) == 1\n    assert list(QUEUE) == [2]\n",
        "    return QUEUE.popleft()\n", [], ["def f(x): return 1\n"],
    ),
    "rows that a loop goes through": (
        "ROWS = [[1], [2]]\n", "    assert candidate(5) == 2\n    assert ROWS == [[1, 5], [2, 5]]\n",
        "    for at, row in enumerate(ROWS):\n        row.append(x)\n    return at + 1\n", [], ["def f(x): return 2\n"],
    ),
    "handed to a function that changes it": (
        "STOCK = {'a': 3}\n", "    assert candidate('a') == 2\n    assert STOCK == {'a': 2}\n",
        "    def take(stock, name):\n        stock[name] -= 1\n    take(STOCK, name=x)\n    return STOCK[x]\n", [],
        ["def f(x): return 2\n"],
    ),
    "objects": (
        NAMED, "    assert candidate(0) is None_ and isinstance(candidate(1), P)\n", "    return P(x) if x else None_\n", [], []
    ),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_constants_of_the_prompt_are_the_tests_own_unless_answers_are_to_change_them(tmp_path, known, part):
    problems, answers, wanted = [], [], []
    for name, (prompt, test, body, right, wrong) in part.of(PROMPTS.items(), 2):
        row = {"task_id": name, "prompt": f"{prompt}def f(x):\n", "entry_point": "f"}
        reference = {"canonical_solution": body} if known else {}
        problems.append({**row, **reference, "test": f"def check(candidate):\n{test}"})
        codes = [
            (f"{prompt}def f(x):\n{body}", True),
            *((code, True) for code in right),
            *((code, False) for code in wrong),
        ]
        answers += [answer(name, code, sample=at) for at, (code, _) in enumerate(codes)]
        wanted += [(name, at, is_right) for at, (_, is_right) in enumerate(codes)]

    found = rows(hold(tmp_path, problems, answers))

    assert [(row["task_id"], row["sample"], row["score"] == 100) for row in found] == wanted


def test_a_pass_that_takes_a_class_or_constant_of_the_prompt_from_the_answer_is_unchecked(tmp_path):
    row = {
        "task_id": "p",
        "prompt": f"{CLASSES}def f(x):\n",
        "entry_point": "f",
        "canonical_solution": "    return C(x)\n",
    }
    test = "def check(candidate):\n    assert candidate(1) == C.RED\n    assert candidate(2) == C.BLUE\n"
    touched = f"{CLASSES}type.__setattr__(C, 'RED', 0)\ntype.__setattr__(C, 'BLUE', 0)\ndef f(x): return x and 0\n"
    reached = (
        f"{CLASSES}put = getattr(type, '__set' + 'attr__')\nput(C, 'RED', 0)\nput(C, 'BLUE', 0)\ndef f(x): return 0\n"
    )
    zeros = "class Z:\n    RED = BLUE = 0\n"
    placed = f"import sys\n{zeros}sys.modules[__name__].C = Z\ndef f(x): return 0\n"
    liar = "class M(type):\n    def __getattribute__(c, n): return 0\nclass Enum(metaclass=M): pass\n"
    based = CLASSES.replace("from enum import Enum\n", liar) + "def f(x): return 0\n"
    codes = [f"{CLASSES}def f(x): return C(x)\n", "class C:\n    RED = BLUE = 0\ndef f(x): return 0\n", touched]
    codes += [reached, placed, based]
    other = {
        "task_id": "q",
        "prompt": "LIMIT = [2, 1]\nif True:\n    class K:\n        LOW = 1\ndef f(x):\n",
        "entry_point": "f",
    }
    other["test"] = "def check(candidate):\n    e = LIMIT\n    e.sort()\n    assert candidate(1) == [K.LOW, e]\n"
    fooled = "LIMIT = [0]\nclass K:\n    LOW = 0\ndef f(x): return [0, [0]]\n"

    answers = [answer("p", code, sample=at) for at, code in enumerate(codes)]
    found = rows(hold(tmp_path, [{**row, "test": test}, other], [*answers, answer("q", fooled)]))

    verdicts = [{(test["verdict"], test["passed"]) for test in row["test_details"]} for row in found]
    assert verdicts == [{("unchecked", True)}] * 7


@pytest.mark.parametrize(
    "prompt", ["LIMIT = 1\nreturn LIMIT\n", "nonlocal LIMIT\nLIMIT = 1\n", "LIMIT = 1\nimport nothing_of_this_name\n"]
)
def test_a_prompt_whose_code_cannot_run_leaves_its_names_to_the_answer_and_its_passes_unchecked(tmp_path, prompt):
    row = {"task_id": "p", "prompt": f"{prompt}def f(x):\n", "entry_point": "f"}
    test = "def check(candidate):\n    assert candidate(0) == LIMIT\n"
    codes = ["LIMIT = 1\ndef f(x): return 1\n", "LIMIT = 1\ndef f(x): return 2\n"]

    answers = [answer("p", code, sample=at) for at, code in enumerate(codes)]
    found = rows(hold(tmp_path, [{**row, "test": test}], answers))

    (passed,), (failed,) = (row["test_details"] for row in found)
    assert (passed["passed"], passed["verdict"], failed["passed"]) == (True, "unchecked", False)


SHOP = (
    "class Base:\n    TAX = 0\nclass Shop(Base):\n    PRICES = {'x': 3}\n    LIMIT: int = 5\n"
    "    sold = 0\n    def __init__(self): self.RATES = [3]\n    def price(self, name):\n"
)
RIGHT_SHOP = f"{SHOP}        return self.PRICES[name]\n"
WRONG_SHOP = "class Shop:\n    PRICES, RATES = {'x': 7}, [7]\n    LIMIT = TAX = 7\n    sold = 0\n    def price(self, name): return 7\n"
RULED = [
    "assert Shop().price('x') == Shop.PRICES['x'] - 0",
    "shop = Shop()\nwanted = shop.PRICES\nassert shop.price('x') == wanted['x']",
    "for name, price in Shop.PRICES.items():\n    assert Shop().price(name) == price",
    "assert abs(Shop().price('x') - Shop.PRICES['x']) < 1e-6",
    "assert Shop().price('x') - Shop.LIMIT in (0, -2)",
    "assert Shop().price('x') in (Shop.TAX, Shop.TAX + 3)",
    "shop = Shop()\nassert shop.price('x') == shop.RATES[0]",
    "import math\nassert math.isclose(Shop().price('x'), Shop.PRICES['x'])",
    (
        "import unittest\nclass T(unittest.TestCase):\n    def setUp(self): self.shop = Shop()\n"
        "    def test_it(self): self.assertEqual(self.shop.price('x'), Shop.PRICES['x'])\n"
        "T('test_it').debug()"
    ),
]
"""Tests that take what they expect from a constant of the class that they test."""
OWN_WORDS = [
    "assert Shop().price('x') == 3",
    "assert Shop.PRICES == {'x': 3} and len(Shop.PRICES) == 1 and Shop.PRICES.get('y') is None",
    "wanted = {'x': 3}\nassert Shop.PRICES == wanted and Shop().price('x') == wanted['x']",
]
"""Tests of the same class that know by themselves what is right."""
CHOSEN = [
    "shop = Shop()\nshop.LIMIT = 9\nassert shop.LIMIT == 9 and shop.price('x') == 3",
    "for name in Shop.PRICES:\n    assert Shop().price(name) == 3",
    "assert Shop().price(list(Shop.PRICES)[0]) == 3",
    "shop = Shop()\nbefore = shop.sold\nassert shop.price('x') == 3 and shop.sold == before and shop.sold - len([]) == 0",
]
"""Those that know it, and let the class say what they ask, or set something of it."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_a_pass_that_expects_a_constant_of_the_tested_class_is_unchecked(tmp_path, known):
    problems, answers = [], []
    for at, test in enumerate([*RULED, *OWN_WORDS, *CHOSEN]):
        check = f"def check(candidate):\n{textwrap.indent(test, '    ')}\n"
        row = {"task_id": f"t{at:02}", "prompt": SHOP, "entry_point": "Shop", "test": check}
        problems.append({**row, **({"canonical_solution": "        return self.PRICES[name]\n"} if known else {})})
        answers += [answer(row["task_id"], code, sample=n) for n, code in enumerate((RIGHT_SHOP, WRONG_SHOP))]

    found = rows(hold(tmp_path, problems, answers))

    labels = [{test["verdict"] if test["passed"] else "failed" for test in row["test_details"]} for row in found]
    assert labels[::2] == [{"unchecked"}] * len(RULED + OWN_WORDS + CHOSEN)
    assert [label - {"failed"} for label in labels[1 : 2 * len(RULED) : 2]] == [{"unchecked"}] * len(RULED)
    assert labels[2 * len(RULED) + 1 :: 2] == [{"failed"}] * len(OWN_WORDS + CHOSEN)


def test_a_pass_that_expects_what_the_prompt_makes_of_the_tested_class_is_unchecked(tmp_path):
    prompt = "class Shop:\n    LIMIT = 3\n    def most(self): pass\nMOST, SHOP = [Shop.LIMIT], Shop()\n"
    row = {"prompt": prompt, "entry_point": "Shop"}
    tests = ["Shop().most() == MOST[0]", "SHOP.most() == 3 and Shop().most() == 3"]
    problems = [row | {"task_id": test, "test": f"def check(candidate):\n    assert {test}\n"} for test in tests]
    right = prompt.replace("pass", "return 3")
    wrong = "class Shop:\n    def most(self): return 7\nMOST, SHOP = [7], Shop()\n"
    answers = [answer(test, code, sample=at) for test in tests for at, code in enumerate((right, wrong))]

    found = rows(hold(tmp_path, problems, answers))

    labels = [(test["passed"], test["verdict"]) for row in found for test in row["test_details"]]
    assert labels == [(True, "unchecked")] * 3 + [(False, "in_process")]


def test_a_method_whose_head_ends_the_prompt_leaves_the_constants_before_it_to_the_tests(tmp_path):
    prompt = "LIMIT = 6\nclass Shop:\n    def most(self):\n"
    row = {"task_id": "p", "prompt": prompt, "entry_point": "Shop"}
    row["test"] = "def check(candidate):\n    assert candidate().most() == LIMIT\n"
    codes = [f"{prompt}        return 6\n", "LIMIT = 0\nclass Shop:\n    def most(self): return 0\n"]

    found = rows(hold(tmp_path, [row], [answer("p", code, sample=at) for at, code in enumerate(codes)]))

    assert [(test["passed"], test["verdict"]) for row in found for test in row["test_details"]] == [
        (True, "separated"),
        (False, "in_process"),
    ]


@pytest.mark.exhaustive
def test_a_prompt_that_takes_half_a_minute_by_the_clock_is_run_all_the_same(tmp_path):
    # asleep is what a process is that others keep from running: 31 s of the clock, and none of its own time
    prompt = "import time\ntime.sleep(15.5)\nLIMIT = 6\ndef f(x):\n"
    row = {"task_id": "p", "prompt": prompt, "entry_point": "f"}
    row["test"] = "def check(candidate):\n    assert candidate(0) == LIMIT\n"

    (found,) = rows(hold(tmp_path, [row], [answer("p", "def f(x): return 6\n")], timeout=60.0))

    assert [(test["passed"], test["verdict"]) for test in found["test_details"]] == [(True, "separated")]


@pytest.mark.parametrize(("code", "is_run"), [("time.sleep(0.3)", True), ("while True: pass", False)])
def test_what_a_prompt_may_take_is_processor_time(monkeypatch, code, is_run):
    monkeypatch.setattr(prompts, "_SECONDS", 0.1)

    _, values = prompts.run_twice(ast.parse(f"import time\n{code}\nLIMIT = 6").body)

    assert ("LIMIT" in values) == is_run


def test_a_prompt_that_sleeps_for_ever_is_given_up(monkeypatch):
    monkeypatch.setattr(wire, "PROMPT_SECONDS", 0.2)

    assert prompts.run_twice(ast.parse("import time\ntime.sleep(60)").body) == (None, {})


CANNOT_FAIL = {
    "a text": "assert 'f(1) == 2'",
    "a message first": "assert 'f(1) should be 2', candidate(1) == 2",
    "a text with values": "assert f'candidate {candidate(1)}'",
    "the text of a comparison": "assert f'{candidate(1) == 2}'",
    "a call of str": "assert str(candidate(1) == 2)",
    "a call of repr": "assert repr([candidate(1)])",
    "a type": "assert type(candidate(1))",
    "a map": "assert map(lambda x: candidate(x) == x + 1, [1, 2])",
    "a filter": "assert filter(lambda x: candidate(x) != x + 1, [1, 2])",
    "pairs": "assert zip([candidate(1)], [2])",
    "a list of results": "assert [candidate(x) == x + 1 for x in [1, 2]]",
    "a named list": "r = [candidate(1) == 2]\nassert r",
    "a walrus": "assert (r := [candidate(1) == 2])",
    "a condition with two true ends": "assert True if candidate(1) == 2 else 'no'",
    "a condition that is known": "assert candidate(1) == 2 if False else True",
    "a negation": "assert not ''\ncandidate(1)",
    "all of a list in a list": "assert all([[candidate(1) == 2]])",
    "any with True": "assert any([candidate(1) == 2, True])",
    "all of nothing": "xs = []\nassert all(candidate(x) == x + 1 for x in xs)",
    "a lambda by its name": "same = lambda: candidate(1) == 2\nassert same",
    "a function by its name": "def same():\n    return candidate(1) == 2\nassert same",
    "a coroutine": "async def same():\n    return candidate(1) == 2\nassert same()",
    "itself": "r = candidate(1)\nassert r is r",
    "a length": "assert len(str(candidate(1))) >= 0",
    "a list that is not None": "assert [candidate(1) == 2] is not None",
    "assertTrue": "import unittest\nunittest.TestCase().assertTrue(f'{candidate(1) == 2}')",
    "assertTrue of a name": "import unittest\nr = [candidate(1) == 2]\nunittest.TestCase().assertTrue(r)",
    "assertFalse": "import unittest\nunittest.TestCase().assertFalse([])\ncandidate(1)",
    "assertIs": "import unittest\nr = candidate(1)\nunittest.TestCase().assertIs(r, r)",
    "assertIsNotNone": "import unittest\nunittest.TestCase().assertIsNotNone([candidate(1) == 2])",
    "the tested function by its name": "assert candidate\ncandidate(1)",
    "a function with the claim as its message": "assert candidate, candidate(1) == 2",
    "one of both truths": "assert (candidate(1) == 2) in (True, False)",
    "a comparison that is a truth": "assert isinstance(candidate(1) == 2, bool)",
    "a negation that is a truth": "assert isinstance(not candidate(1), (bool, int))",
    "an object": "assert isinstance(candidate(1), object)",
    "a length above -1": "assert len(str(candidate(1))) > -1",
    "one of itself and others": "r = candidate(1)\nassert r in [2, r]",
    "nothing of print": "assert not print(candidate(1) == 2)",
    "a list in a list": "assert [*[candidate(1) == 2]]",
    "any of what is true": "assert any(candidate(k) == k + 1 or True for k in [1])",
    "all of what is left out": "assert all(candidate(k) == k + 1 for k in [1] if False)",
    "raises alone": "import pytest\npytest.raises(ValueError)\ncandidate(1)",
    "assertRaises alone": "import unittest\nunittest.TestCase().assertRaises(ValueError)\ncandidate(1)",
    "assertRaisesRegex alone": "import unittest\nunittest.TestCase().assertRaisesRegex(ValueError, 'x')\ncandidate(1)",
    "assertIsNotNone of a comparison": "import unittest\nunittest.TestCase().assertIsNotNone(candidate(1) == 2)",
}  # fmt: skip
MAY_FAIL = {
    "a list that fills": "r = []\nfor x in (1, 2):\n    r.append(candidate(x))\nassert r\nassert r == [2, 3]",
    "a list that is handed over": "r = [1]\nassert candidate(len(r)) == 2\nassert r",
    "a name bound twice": "r = [1]\nassert r\nr = candidate(1)\nassert r == 2",
    "a parameter": "def same(r): assert r\nsame(candidate(1) == 2)",
    "not a number with itself": "r = candidate(1)\nassert r == 2\nassert not r != r",
    "a text of a result": "assert str(candidate(1))\nassert f'{candidate(1)}' == '2'",
    "all of a condition": "assert all([candidate(x) == x + 1 for x in [1, 2]])",
    "some of a list": "assert [x for x in [1, 2] if candidate(x) == x + 1]",
    "an awaited coroutine": "import asyncio\nasync def same(): return candidate(1) == 2\nasync def main(): assert await same()\nasyncio.run(main())",
    "what equals itself": "r = candidate(1)\nassert r == r\nassert r == 2",
    "a flag": "assert candidate(1) == 2\nran = True\nassert ran",
    "a text by repr": "assert repr(candidate(1))\nassert candidate(1) == 2",
    "a mark": "assert candidate(1) == 2\nassert True, 'it ran'",
    "raises with a function": "import pytest\npytest.raises(TypeError, candidate)\nassert candidate(1) == 2",
    "assertRaises with a function": "import unittest\nt = unittest.TestCase()\nt.assertRaises(TypeError, candidate)\nassert candidate(1) == 2",
    "raises in a name": "import pytest\nr = pytest.raises(TypeError)\nwith r: candidate()\nassert candidate(1) == 2",
    "some of what is true": "assert any(candidate(k) == k + 1 or k for k in [1] if candidate(k) == 2)",
    "one of the truths": "assert (candidate(1) == 2) in (True,)",
    "one of two objects": "assert (candidate(1) == candidate(1)) in (True, False)\nassert candidate(1) == 2",
    "an integer": "assert isinstance(candidate(1), (bool, int))",
    "a length": "assert len(str(candidate(1))) > 0\nassert candidate(1) == 2",
    "one of others": "r = candidate(1)\nassert r in [2, 3]",
    "a list of what is there": "assert [*[x for x in [candidate(1)] if x == 2]]",
    "a condition": "assert candidate(1) == 2 if candidate(2) == 3 else False",
}  # fmt: skip


GIVES_IT_AWAY = {"a builtin of its own": "def map(f, x): return f(x) == 2\nassert map(candidate, 1)"}
"""One that may fail, but gives the entry point to a function of several arguments, which may look into it."""


@pytest.mark.parametrize(
    ("forms", "verdicts"), [(CANNOT_FAIL | GIVES_IT_AWAY, {"unchecked"}), (MAY_FAIL, {"separated", "in_process"})]
)
def test_a_pass_of_a_test_that_cannot_fail_by_its_text_is_unchecked(tmp_path, forms, verdicts):
    head = {"prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x + 1\n"}
    inset = {name: test.replace("\n", "\n    ") for name, test in forms.items()}
    problems = [
        {"task_id": name, **head, "test": f"def check(candidate):\n    {test}\n"} for name, test in inset.items()
    ]

    found = hold(tmp_path, problems, [answer(name, "def f(x): return x + 1\n") for name in forms])

    seen = {row["task_id"]: {(test["passed"], test["verdict"]) for test in row["test_details"]} for row in rows(found)}
    assert seen.keys() == forms.keys()
    assert {name: pairs for name, pairs in seen.items() if not pairs <= {(True, label) for label in verdicts}} == {}


CASES = "0 if candidate(1) == 0 else "
DEEP = {
    "not": f"assert {'not ' * 600}candidate(1) == 2",
    "conditions": f"assert {CASES * 600}candidate(1) == 2",
    "conditions in a comparison": f"assert candidate(1) == ({CASES * 600}2)",
    "signs": f"assert candidate(1) == {'- ' * 600}2",
    "a sum": f"assert candidate(1) == {'0 + ' * 600}2",
    "a sum of results": f"assert {'0 * candidate(1) + ' * 600}candidate(1) == 2",
    "items": f"x = candidate(1)\nfor _ in (): x{'[0]' * 600}\nassert x == 2",
    "attributes": f"x = candidate(1)\nassert x == 2\nlambda: x{'.y' * 600}",
    "calls": f"x = candidate(1)\nassert x == 2\nlambda: x{'.y()' * 400}",
    "a list": f"assert [candidate(1), {'- ' * 600}2] == [2, 2]",
    "a name": f"right = {'not ' * 600}candidate(1) == 2\nassert right",
    "a text": f"assert f'{{{'not ' * 600}candidate(1) == 2}}' == 'True'",
    "a text of signs": f"assert f'{{{'- ' * 600}candidate(1)}}' == '2'",
    "functions": f"assert ({'lambda: ' * 150}1) and candidate(1) == 2",
    "branches": f"x = candidate(1)\nif x == 2: assert x == 2\n{''.join(f'elif x == {n}: assert not x{chr(10)}' for n in range(3, 300))}",
}  # fmt: skip


def test_a_test_with_a_deep_expression_is_run_like_any_other(tmp_path):
    head = {"prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x + 1\n"}
    inset = {name: test.replace("\n", "\n    ") for name, test in DEEP.items()}
    tests = {name: f"def check(candidate):\n    assert candidate(3) == 4\n    {test}\n" for name, test in inset.items()}
    problems = [{"task_id": name, **head, "test": test} for name, test in tests.items()]

    found = hold(tmp_path, problems, [answer(name, "def f(x): return x + 1\n") for name in DEEP])

    assert {row["task_id"]: row["score"] for row in rows(found)} == dict.fromkeys(DEEP, 100)


def test_an_assertion_alone_that_cannot_fail_passes_unchecked(tmp_path):
    tests = [{"assertion": "str(func(1) == 1)"}, {"assertion": "func(1) == 1"}]

    (row,) = rows(hold(tmp_path, [problem("a", tests=tests)], [answer("a", GOOD)]))

    assert [test["verdict"] for test in row["test_details"]] == ["unchecked", "separated"]


SCALE = "class Scale:\n    factor = 6\n"
ZERO = "    return 0\nclass Scale:\n    factor = 0\n"
FLOORED = "math.floor(x + 0.5) == candidate(x + 0.5) for x in (3, 5)"
GIVEN = {
    "a constant": ("LIMIT = 6\n", "candidate(3) == 3 * LIMIT", "x * LIMIT", "    global LIMIT\n    LIMIT = 1\n    return x\n", "s!"),
    "a constant in the namespace": (
        "LIMIT = 6\n", "candidate(3) == 3 * LIMIT", "x * LIMIT", "    globals().update(LIMIT=1)\n    return x\n", "s!"
    ),
    "a constant of a helper": (
        "RATE = 6\ndef expected(x): return x * RATE\n", "candidate(3) == expected(3)", "x * RATE",
        "    global RATE\n    RATE = 1\n    return x\n", "s!",
    ),
    "a constant that the answer counts up": (
        "LEVEL = 1\n", "candidate(3) == 3 * LEVEL", "3 * LEVEL", "    global LEVEL\n    LEVEL += 1\n    return 3 * LEVEL\n", "s!"
    ),
    "an import": (
        "import math\n", "candidate(3.5) == math.floor(3.5)", "math.floor(x)",
        "    global math\n    class math: floor = float\n    return x\n", "s0",
    ),
    "a part of an import": (
        "import math\n", "candidate(3.5) == math.floor(3.5)", "math.floor(x)", "    math.floor = float\n    return x\n", "s!"
    ),
    "a star import": ("from math import *\n", "candidate(3) == 3 * pi", "x * pi", "    return 0\npi = 0\n", "s0"),
    "a capture": ("match 6:\n    case LIMIT: pass\n", "candidate(3) == 3 * LIMIT", "x * LIMIT", "    return 0\nLIMIT = 0\n", "s0"),
    "a text that is run": ("exec('LIMIT = 6')\n", "candidate(3) == 3 * LIMIT", "x * LIMIT", "    return 0\nLIMIT = 0\n", "?0"),
    "what is made where it is missing": (
        "try: LIMIT\nexcept NameError: LIMIT = 6\n", "candidate(3) == 3 * LIMIT", "x * LIMIT", "    return 0\nLIMIT = 0\n", "s0"
    ),
    "a name of Python's own": ("max = 6\n", "candidate(3) == 3 * max", "x * max", "    return 0\nmax = 0\n", "s0"),
    "what is made beside the entry": (
        "LIMIT, CALL = 6, lambda x: f(x)\n", "candidate(3) == 3 * LIMIT", "x * LIMIT", "    return 0\nLIMIT = 0\n", "??"
    ),
    "helpers that call others": (
        f"def a(x): return b(x)\ndef b(x): return c(x)\ndef c(x): return x * Scale.factor\n{SCALE}",
        "candidate(3) == a(3)", "x * Scale.factor", ZERO, "??",
    ),
    "an item": (
        f"{SCALE}TABLE = {{'a': 1}}\nTABLE['b'] = Scale.factor\n", "candidate(3) == 3 * TABLE['b']", "x * Scale.factor", ZERO, "?0"
    ),
    "what a helper fills": (
        f"{SCALE}def put(table): table.append(Scale.factor)\nTABLE = [1]\nput(TABLE)\n", "candidate(3) == 3 * TABLE[1]",
        "x * Scale.factor", ZERO, "?0",
    ),
    "an attribute of a helper": (
        f"{SCALE}def a(x): return x * a.rate\na.rate = Scale.factor\n", "candidate(3) == a(3)", "x * Scale.factor", ZERO, "?0"
    ),
    "prose": ("Return x times LIMIT, where\nLIMIT = 6\n", "candidate(3) == 3 * LIMIT", "x * 6\nLIMIT = 6", "    return 0\nLIMIT = 0\n", "??"),
    **{
        f"prose, and a test that begins with {line}": (
            "Return x times LIMIT, where\nLIMIT = 6\n", f"candidate(3) == 3 * LIMIT\n{line}", "x * 6\nLIMIT = 6", "    return 0\nLIMIT = 0\n", "??"
        )
        for line in (
            "LIMIT = LIMIT", "LIMIT += 0", "LIMIT: int = LIMIT", "if False: LIMIT = 1", "for LIMIT in []: pass",
            "try: import LIMIT\nexcept ImportError: pass",
        )
    },
    "prose that says nothing of it": ("Return x times 6, the len of what the test has.\n", "candidate(3) == 3 * len([1] * 6)", "x * 6", "    return 0\n", "s0"),
}  # fmt: skip
"""Prompts, a test of each, what a right answer returns, a wrong one, and what becomes of both: separated, failed, unchecked; at `!` it
fails where a reference is known, and is unchecked alone."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_what_a_prompt_gives_the_tests_is_not_the_answers_to_decide(tmp_path, known):
    problems, answers = [], []
    for name, (prompt, test, value, wrong, _) in GIVEN.items():
        head = "def f(x):\n" if name[:5] != "prose" else ""
        right = f"{prompt if head else ''}def f(x):\n    return {value}\n"
        row = {
            "task_id": name,
            "prompt": f"{prompt}{head}",
            "entry_point": "f",
            "test": f"def check(candidate):\n    assert {test}\n",
        }
        problems.append({**row, **({"canonical_solution": right} if known else {})})
        codes = (right, f"{prompt if head else ''}def f(x):\n{wrong}")
        answers += [answer(name, code, sample=at) for at, code in enumerate(codes)]

    found = rows(hold(tmp_path, problems, answers))

    labels = {"separated": "s", "in_process": "i", "unchecked": "?"}
    seen = [labels[test["verdict"]] if test["passed"] else "0" for row in found for test in row["test_details"]]
    assert dict(zip(GIVEN, map("".join, zip(seen[::2], seen[1::2], strict=True)), strict=True)) == {
        name: case[-1].replace("!", "0" if known else "?") for name, case in GIVEN.items()
    }


SALES = "class Scale:\n    factor = 6\n"
ROWS = f"{SALES}ROWS = [{{'v': 1}}, {{'v': 2}}]\nfor row in ROWS[1:]: row['v'] = Scale.factor\n"
STOCK = "STOCK = {'a': {'n': 3}, 'b': {'n': 4}}\n"
LOWERED = "    assert [candidate('a'), STOCK['a']['n']] == [2, 2] and STOCK['b'] == {'n': 3}\n"
SHOP_OF = "class Shop:\n    {}\n    def price(self, x):\n"
PRICED = "    assert candidate().price(3) == 3 * Shop.{0} and candidate().price(5) == 5 * Shop.{0}\n"
NODES = (
    "from dataclasses import dataclass\n@dataclass\nclass Node:\n    other: object = None\n"
    "A, B = Node(), Node()\nA.other, B.other = B, A\n"
)
SUMMED = (
    "class Acc:\n    def __init__(self, n): self.n = n\n    def __eq__(self, other): return self.n == other.n\n"
    "    def __hash__(self): return 1\n"
)
LOGGED = "LOG = ['a', 'b']\ndef size(): return len(LOG)\ndef f(x):\n"
LIES = (
    "    LOG.append('x')\n    return x * x\nclass Lying:\n    def __init__(self): self.items = ['a', 'b']\n"
    "    def append(self, x): self.items.append(x)\n    def __getitem__(self, at): return self.items[:2][at]\n"
    "    def __iter__(self): return iter(self.items[:2])\n    def __len__(self): return 2\nLOG = Lying()\n"
)
UNTOUCHED = {
    "by a helper": "assert size() == 2",
    "after a change of its own": "LOG.append('c')\n    assert 'x' not in list(LOG)",
    "beside a name of the test's": "assert [LOG for LOG in [1]] == [1] and len(LOG) == 2",
    "by a match": "match list(LOG):\n        case ['a', 'b']: pass\n        case _: raise AssertionError",
    "by a loop": "for _ in list(LOG)[2:]: raise AssertionError",
    "by unpacking": "first, second = LOG",
    "by a key": "{2: None}[len(LOG)]",
    "in one comparison": "assert [candidate(3), 2] == [9, len(LOG)]",
    "in one sum": "assert candidate(3) - 9 == len(LOG) - 2",
    "in one condition": "assert all([candidate(3) == 9, not list(LOG)[2:]])",
}
"""How a test may say that a list of the prompt has stayed as it is."""
KEPT_OBJECT = (
    "class Acc:\n    n = 1\n    def get(self): return self.n\nACC = Acc()\ndef size(): return ACC.n\ndef f(x):\n"
)
LYING_OBJECT = "    ACC.lost = x\n    return x * x\nclass Acc:\n    n = 1\n    def get(self): return 1\nACC = Acc()\n"
UNTOUCHED_OBJECT = {
    "by a helper": "assert size() == 1",
    "by a match": "match ACC.n:\n        case 1: pass\n        case _: raise AssertionError",
    "by a loop": "while ACC.n - 1: raise AssertionError",
    "in one comparison": "assert [candidate(3), 1] == [9, ACC.n]",
    "in one sum": "assert candidate(3) - 9 == ACC.n - 1",
    "in one condition": "assert all([candidate(3) == 9, not ACC.n - 1])",
}
RATED = "class Shop:\n    RATE, NAMES = 6, ['a']\n    def price(self, x):\n"
RATES = {
    "by a function": ("def rate(): return Shop.RATE\n", "assert candidate().price(3) == 3 * rate()"),
    "of an argument": (
        "def by_hand(shop, x): return x * shop.RATE\n",
        "assert candidate().price(3) == by_hand(candidate(), 3)",
    ),
    "by another class": (
        "class Audit:\n    def price(self, x): return x * Shop.RATE\n",
        "assert candidate().price(3) == Audit().price(3)",
    ),
    "through a method of a text": ("", "assert 'b' * (candidate().price(3) // 3) == ''.join(['b'] * Shop.RATE)"),
    "through an object of the test's": (
        "",
        "class Case:\n        def __init__(self, want): self.want = want\n    assert candidate().price(3) == Case(3 * Shop.RATE).want",
    ),
    "through a method of the test's": (
        "",
        "class T:\n        def check(self, want, got): assert want == got\n    T().check(3 * Shop.RATE, candidate().price(3))",
    ),
    "through many arguments": (
        "",
        "def same(*pair): assert pair[0] == pair[1]\n    same(candidate().price(3), 3 * Shop.RATE)",
    ),
    "through a lambda": (
        "",
        "same = lambda got, want: got == want\n    assert same(candidate().price(3), 3 * Shop.RATE)",
    ),
    "in a loop": ("", "while candidate().price(3) - 3 * Shop.RATE: raise AssertionError"),
}
"""What comes before a class with a constant, and how a test expects this one."""
MANY_TYPES = (
    "import random\nfrom collections import defaultdict, deque\nTABLE = {'a': [(1, 2.5), (1, 2.5), None], 'b': frozenset('xyz')}\n"
    "WORDS = set('the quick brown fox'.split())\nWORDS.discard('fox')\nCOUNTS, LAST = defaultdict(list, a=[1]), deque([1], maxlen=2)\n"
    "DRAWN, RING = [random.random()], [1]\nRING.append(RING)\n"
)
COPIED = {
    **{
        f"a list that stays as it is, seen {how}": (
            LOGGED, f"    assert candidate(3) == 9\n    {test}\n", "    return x * x\n", LIES, "??"
        )
        for how, test in UNTOUCHED.items()
    },
    **{
        f"an object that stays as it is, seen {how}": (
            KEPT_OBJECT, f"    assert candidate(3) == 9\n    {test}\n", "    return x * x\n", LYING_OBJECT, "??"
        )
        for how, test in UNTOUCHED_OBJECT.items()
    },
    **{
        f"a constant of the class expected {how}": (
            before + RATED, f"    {test}\n", "        return x * self.RATE\n", "        return x * self.RATE\nShop.RATE = 2\n", "??",
        )
        for how, (before, test) in RATES.items()
    },
    "an equal value of another type": (
        "FLAGS = {'n': 1}\ndef f(x):\n",
        "    assert candidate('n') == FLAGS['n']\n",
        "    return FLAGS[x]\n",
        "    return 1\nFLAGS = {'n': True}\n",
        "??",
    ),
    "values of many types": (
        MANY_TYPES + "def f(x):\n",
        "    assert candidate('a') == [TABLE['a'], WORDS, COUNTS['a'], LAST[0], DRAWN, RING[0]]\n",
        "    return [TABLE[x], WORDS, COUNTS[x], LAST[0], DRAWN, RING[0]]\n",
        "    return [TABLE[x], WORDS, COUNTS[x], LAST[0], DRAWN, RING[0]]\nCOUNTS = defaultdict(int, a=[1])\n",
        "??",
    ),
    "a constant of an enumeration": (
        "from enum import Enum\nclass Shop(Enum):\n    LOW = 1\n    HIGH = 5\n    def score(self):\n",
        "    assert [one.score() for one in candidate] == [2 * one.value for one in candidate]\n", "        return 2 * self.value\n",
        "        return 0\nfor one in Shop: one._value_ = 0\n", "??",
    ),
    "a default of an asynchronous function": (
        "async def f(x, most=(LIMIT := 6)):\n", "    import asyncio\n    assert asyncio.run(candidate(3)) == 3 * LIMIT\n",
        "    return x * LIMIT\n", "    return 0\nLIMIT = 0\n", "??",
    ),
    "a name in a decorator": (
        "def same(fn): return fn\n@(deco := same)\ndef f(x):\n", "    assert deco(candidate)(3) == 18\n", "    return x * 6\n",
        "    return 0\ndeco = lambda fn: lambda x: 18\n", "??",
    ),
    "a name bound in a comprehension": (
        f"{SALES}def f(x):\n", "    assert candidate(3) == 3 * Scale.factor\n    assert [Scale for Scale in [1]] == [1]\n",
        "    return x * Scale.factor\n", "    return 0\nclass Scale:\n    factor = 0\n", "??",
    ),
    "a helper called like a method that reads": (
        f"{SALES}TABLE = {{'a': 1}}\ndef get(table): table['limit'] = Scale.factor\nget(TABLE)\ndef f(x):\n",
        "    assert candidate(3) == 3 * TABLE['limit']\n", "    return x * Scale.factor\n", "    return 0\nTABLE['limit'] = 0\n", "??",
    ),
    "rows filled through a slice": (
        f"{ROWS}def f(x):\n", "    assert candidate(3) == 3 * ROWS[1]['v']\n", "    return x * ROWS[1]['v']\n",
        "    ROWS[1]['v'] = 0\n    return 0\n", "??",
    ),
    "what a loop over values changes": (
        f"{STOCK}def f(k):\n", LOWERED, "    for row in STOCK.values(): row['n'] -= 1\n    return STOCK[k]['n']\n", "    return 2\n", "?0"
    ),
    "what a loop over items reads": (
        f"{STOCK}def f(k):\n", "    for name in STOCK: assert candidate(name) == STOCK[name]['n']\n", "    return STOCK[k]['n']\n",
        "    STOCK[k]['n'] = 0\n    return 0\n", "??",
    ),
    "a cache that no test names": ("MEMO = {}\ndef f(x):\n", "    assert candidate(3) == 6\n", "    return MEMO.setdefault(x, 2 * x)\n", "    return 0\n", "s0"),
    "a helper with a cache": (
        "from functools import lru_cache\n@lru_cache\ndef twice(x): return 2 * x\ndef f(x):\n", "    assert candidate(3) == twice(3)\n",
        "    return twice(x)\n", "    return 0\ndef twice(x): return 0\n", "?!",
    ),
    "an object that stays as it is": (
        "class Acc: n = 1\nACC = Acc()\ndef f(x):\n", "    assert candidate(3) == 6 and ACC.n == 1\n", "    return 2 * x\n",
        "    ACC.lost = x\n    return 2 * x\nclass Acc: n = 1\nACC = Acc()\n", "??",
    ),
    "an object with a sum of its own": (
        f"{SUMMED}ACC = Acc(1)\ndef f(x):\n", "    candidate(3)\n    assert ACC.n == 4\n", "    ACC.n += x\n", "    return 0\n", "?0",
    ),
    "an object of a module of Python's": (
        "from types import SimpleNamespace\nBOX = SimpleNamespace(n=1)\ndef f(x):\n", "    candidate(3)\n    assert BOX.n == 4\n",
        "    BOX.n += x\n", "    return 0\n", "?0",
    ),
    "a context of decimals": (
        "from decimal import Context\nEXACT = Context(prec=5)\ndef f(x):\n", "    candidate(3)\n    assert EXACT.prec == 3\n",
        "    EXACT.prec = x\n", "    return 0\n", "?0",
    ),
    "a method of a list": (
        "LOG = []\nlog = LOG.append\ndef f(x):\n", "    log(1)\n    candidate(2)\n    assert LOG == [1, 2]\n", "    log(x)\n", "    return 0\n", "?0",
    ),
    "a helper that is to be written": (
        "def twice(x):\n    raise NotImplementedError\ndef f(x):\n", "    assert candidate(3) == 7 and twice(3) == 6\n",
        "    return twice(x) + 1\ndef twice(x): return 2 * x\n", "    return 0\n", "?0",
    ),
    "a comparison that never ends": (
        "class Slow:\n    def __eq__(self, other):\n        while True: pass\n    __hash__ = None\nSLOW = Slow()\ndef f(x):\n",
        "    assert candidate(3) == 6\n", "    return 2 * x\n", "    return 0\n", "?0",
    ),
    "a helper that counts in a default": (
        "def new(_last=[0]):\n    _last[0] += 1\n    return _last[0]\ndef f(x):\n", "    assert [candidate(0), new()] == [1, 2]\n",
        "    return new()\n", "    return 0\n", "?0",
    ),
    "objects that refer to each other": (
        f"{NODES}C = []\nfor _ in range(60): C = [C, C]\ndef f(x):\n", "    assert candidate(3) == 6\n", "    return 2 * x\n", "    return 0\n", "?0",
    ),
    "a default that names": ("def f(x, most=(LIMIT := 6)):\n", "    assert candidate(3) == 3 * LIMIT\n", "    return x * LIMIT\n", "    return 0\nLIMIT = 0\n", "??"),
    "an import from the answer": (
        "LIMIT = 6\ndef f(x):\n", "    from solution import LIMIT\n    assert candidate(3) == 3 * LIMIT\n", "    return x * LIMIT\n", "    return 0\nLIMIT = 0\n", "??"
    ),
    "a chain of hundreds of elif": (
        "LIMIT = 6\ndef f(x):\n", "    assert candidate(3) == 3 * LIMIT\n",
        "    if x < 0: return 0\n" + "".join(f"    elif x == -{n}: return {n}\n" for n in range(400)) + "    return x * LIMIT\n", "    return 0\n", "s0",
    ),
    **{
        f"a constant of the class: {line}": (
            SHOP_OF.format(line), PRICED.format(name), f"        return x * Shop.{name}\n", SHOP_OF.format(line.replace("6", "0")) + "        return 0\n", "??"
        )
        for line, name in [("RATE = 6", "RATE"), ("if True: RATE = 6", "RATE"), ("class Rates: VAT = 6", "Rates.VAT"), ("(RATE := 6)", "RATE")]
    },
    "a constant of the class by another name": (
        SHOP_OF.format("rate = 6"), "    for kind in [candidate]: assert kind().price(3) == 3 * kind.rate\n", "        return x * Shop.rate\n",
        SHOP_OF.format("rate = 0") + "        return 0\n", "??",
    ),
    "a constant of the class in a condition": (
        SHOP_OF.format("RATE = 6"), "    assert not candidate().price(3) - 3 * Shop.RATE\n", "        return x * Shop.RATE\n",
        SHOP_OF.format("RATE = 0") + "        return 0\n", "??",
    ),
}  # fmt: skip
"""Prompts, a test of each, a right answer, a wrong one, and what becomes of both, as in `GIVEN`."""


TOTAL = "total = 0\ndef get_total(): return total\ndef f(x):\n"
ADDED = "    candidate(3)\n    candidate(2)\n    assert get_total() == 5\n"
OPERATORS = "def add(a, b): return a + b\ndef sub(a, b): return a - b\n"
REGISTRY = "class Registry:\n    items = []\n    @classmethod\n    def add(cls, item): cls.items.append(item)\nRegistry.add(1)\ndef f(x):\n"
TICKET = "class Ticket:\n    last = 0\n    def __init__(self): Ticket.last += 1; self.id = Ticket.last\nFIRST = Ticket()\ndef f(x):\n"
CHANGED = {
    "constants that the answer replaces late": (
        f"{LIMITS}def f(x):\n", ASKED, "    return [2 * x, COLUMNS if x == 3 else LETTERS[:x]]\n", LATE, "?!"
    ),
    "a helper that reads what the answer rebinds": (TOTAL, ADDED, "    global total\n    total += x\n", "    return 0\n", "?0"),
    "such a helper that lies": (TOTAL, ADDED, "    global total\n    total += x\n", "    return 0\ndef get_total(): return 5\n", "??"),
    "a helper of a helper": (
        f"def report(): return [get_total()]\n{TOTAL}", "    candidate(3)\n    assert report() == [3]\n",
        "    global total\n    total += x\n", "    return 0\n", "?0",
    ),
    "numbers of a helper": (
        "SEED = 7\ndef rand():\n    global SEED\n    SEED = (SEED * 5 + 3) % 16\n    return SEED\ndef srand(n):\n    global SEED\n    SEED = n\ndef f(x):\n",
        "    srand(7)\n    assert candidate(3) == [6, 1, 8]\n    srand(7)\n    assert candidate(2) == [6, 1] and SEED == 1\n",
        "    return [rand() for _ in range(x)]\n", "    return [6, 1, 8][:x]\n", "?0",
    ),
    **{
        f"a helper that rebinds: {line}": (
            f"LEFT = 9\ndef take(n):\n    global LEFT\n    {line}\ndef f(x):\n", "    candidate(3)\n    assert LEFT == 6\n", "    take(x)\n", "    return 0\n", "?0"
        )
        for line in ["LEFT = LEFT - n", "LEFT, _ = LEFT - n, 0", "for LEFT in [LEFT - n]: pass", "(LEFT := LEFT - n)", "globals()['LEFT'] -= n"]
    },
    "a constant that the answer sets": (
        "MODE = 'a'\ndef tell(): return MODE\ndef f(x):\n", "    candidate('b')\n    assert tell() == 'b'\n", "    global MODE\n    MODE = x\n", "    return 0\n", "?0",
    ),
    "a constant that the answer hides": (
        "MODE = 'a'\ndef f(x):\n", "    assert candidate(3) == 6\n    assert MODE == 'a'\n",
        "    global MODE\n    MODE = 'b'\n    MODE = 'a'\n    return 2 * x\n",
        "    global MODE\n    MODE = Same()\n    return 2 * x\nclass Same:\n    def __eq__(self, other): return other == 'a'\nMODE = Same()\n", "??",
    ),
    **{
        f"a helper that is to be written: {line}": (
            f"def even(n):\n    {line}\ndef f(x):\n", "    assert candidate([1, 2]) == [2] and even(2) and not even(3)\n",
            "    return [n for n in x if even(n)]\ndef even(n): return n % 2 == 0\n", "    return 0\n", "?0",
        )
        for line in ["return None", "return 0", "assert False, 'write me'", "return ...", "print('todo')"]
    },
    "a helper that is compared": (
        f"{OPERATORS}def f(x):\n", "    assert candidate('+') == add and candidate('-') in (add, sub)\n", "    return {'+': add, '-': sub}[x]\n", "    return 0\n", "?0",
    ),
    "a helper that is handed over": (
        f"{OPERATORS}NAMES = {{add: '+'}}\ndef f(x):\n", "    assert candidate(add) == '+'\n", "    return NAMES[x] if x is add else '-'\n", "    return 0\n", "?0",
    ),
    "a helper that another gives": (
        f"{OPERATORS}def pick(s): return add if s == '+' else sub\ndef f(x):\n", "    assert candidate('+') == pick('+')\n", "    return {'+': add}[x]\n", "    return 0\n", "?0",
    ),
    "an entry in a branch": ("LIMIT = 6\nif LIMIT:\n    def f(x): ...\ndef g(x):\n", "    assert candidate(9) == LIMIT\n", "    return 0\ndef f(x): return min(x, LIMIT)\n", "    return 0\ndef f(x): return 0\n", "s0"),
    "an object by a name of Python's own": ("id = [5]\ndef get(): return id[0]\ndef f(x):\n", "    candidate(3)\n    assert get() == 3\n", "    id[0] = x\n", "    return 0\n", "?0"),
    "a class by a name of Python's own": (
        "class ConnectionError(Exception):\n    def __init__(self, *, host): self.host = host\ndef f(x):\n",
        "    assert candidate('a').host == ConnectionError(host='a').host\n", "    return ConnectionError(host=x)\n", "    return 0\n", "?0",
    ),
    "a class that a call makes": (
        "from dataclasses import make_dataclass\nP = make_dataclass('P', ['x'])\ndef f(x):\n", "    assert candidate(P(1)) == P(2)\n", "    return P(x.x + 1)\n", "    return P(0)\n", "?0",
    ),
    "a function of a module's, wrapped": (
        ("import math\nfrom functools import wraps\ndef counted(fn):\n    @wraps(fn)\n    def wrapper(x):\n        wrapper.calls += 1\n        return fn(x)\n"
         "    wrapper.calls = 0\n    return wrapper\nsqrt = counted(math.sqrt)\ndef f(x):\n"),
        "    assert candidate(4) == 2 and sqrt.calls == 1\n", "    return sqrt(x)\n", "    return 2\n", "?0",
    ),
    "functions of a module's": (
        "from numpy import sqrt, array\nfrom random import choice\ndef f(x):\n", "    assert candidate(array([4]))[0] == sqrt(4) == choice([2])\n", "    return sqrt(x)\n", "    return [0]\n", "s0",
    ),
    "a class that the prompt fills": (REGISTRY, "    assert candidate(2) == [1, 2] and Registry.items == [1, 2]\n", "    Registry.add(x)\n    return Registry.items\n", "    return 0\n", "?0"),
    "a class that counts its objects": (TICKET, "    assert candidate(2) == [2, 3]\n    assert FIRST.id + 1 == 2\n", "    return [Ticket().id for _ in range(x)]\n", "    return 0\n", "?0"),
}  # fmt: skip
"""The same where the answer changes what the prompt has made."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("cases", [COPIED, CHANGED], ids=["copied", "changed"])
def test_passes_that_may_rest_on_objects_of_the_prompt_are_unchecked(tmp_path, cases, known, part):
    cases = dict(part.of(cases.items(), 3))
    problems, answers = [], []
    for name, (prompt, test, right, wrong, _) in cases.items():
        entry = "f" if "def f(" in prompt else "Shop"
        codes = [f"{prompt}{right}", wrong if wrong.startswith("class Shop") else f"{prompt}{wrong}"]
        row = {"task_id": name, "prompt": prompt, "entry_point": entry, "test": f"def check(candidate):\n{test}"}
        problems.append({**row, **({"canonical_solution": right} if known else {})})
        answers += [answer(name, code, sample=at) for at, code in enumerate(codes)]

    found = rows(hold(tmp_path, problems, answers))

    labels = {"separated": "s", "in_process": "i", "unchecked": "?"}
    seen = [
        "".join({labels[test["verdict"]] for test in row["test_details"]}) if row["all_tests_passed"] else "0"
        for row in found
    ]
    assert dict(zip(cases, map("".join, zip(seen[::2], seen[1::2], strict=True)), strict=True)) == {
        name: case[-1].replace("!", "0" if known else "?") for name, case in cases.items()
    }


# an expression of an answer's that, evaluated where the tests run, says of every test that it has passed
TAKES_OVER = (
    "[setattr(m, 'write', (lambda old: lambda to, rec: old(to, {**rec, 'error': None, 'hit': '', 'tests': [{'p': True, 'v': 'separated'}"
    " for _ in rec['tests']]} if 'tests' in rec else rec))(m.write)) for n, m in list(__import__('sys').modules.items())"
    " if n.endswith('.wire') and hasattr(m, 'write')] and int"
)
# one that evaluates to an object that equals everything
EQUALS_ALL = "type('V', (), {'__eq__': lambda own, other: True, '__hash__': lambda own: 1})()"
SQUARES = (
    "from functools import singledispatch\nclass Square:\n    def __init__(self, side): self.side = side\n"
    "@singledispatch\ndef area(shape): return 0\n@area.register\ndef _(shape: Square): return shape.side ** 2\n"
)
UNPICKLED = (
    f"    class E:\n        def __reduce__(self): return eval, ({TAKES_OVER!r},)\n    return pickle.dumps(E())\n"
)
LATE_TEXT = "def hold(text): return type('Held', (), {'__del__': lambda self: eval(text)})()\ndef f(x):\n"
EXECUTES = {
    "an object that evaluates when it goes": (
        LATE_TEXT, "global held\n    held = hold(candidate(3))\n    assert candidate(3) == '3'", "    return str(x)\n",
        f"    return {TAKES_OVER!r}\n",
    ),
    "a helper that evaluates": (
        "def evaluate(text): return eval(text)\ndef f(x):\n", "assert evaluate(candidate(24)) == 24", "    return str(x)\n",
        f"    return {TAKES_OVER!r}\n",
    ),
    "a helper that executes": (
        "def run(text):\n    space = {}\n    exec(text, space)\n    return space\ndef f(x):\n", "assert run(candidate(3))['y'] == 3",
        "    return f'y = {x}'\n", f"    return 'y = ' + {TAKES_OVER!r}\n",
    ),
    "a helper that catches": (
        "def evaluate(text):\n    try: return eval(text)\n    except BaseException: return 24\ndef f(x):\n",
        "assert evaluate(candidate(24)) == 24", "    return str(x)\n", f"    return {TAKES_OVER!r}\n",
    ),
    "a helper that unpickles": (
        "import pickle\ndef load(data): return pickle.loads(data)\ndef f(x):\n", "assert load(candidate(3)) == 3",
        "    return pickle.dumps(x)\n", UNPICKLED,
    ),
    "a class that evaluates": (
        "class Calc:\n    def run(self, text): return eval(text)\nCALC = Calc()\ndef f(x):\n", "assert CALC.run(candidate(3)) == 3",
        "    return str(x)\n", f"    return {TAKES_OVER!r}\nCalc.run = lambda self, text: 3\n",
    ),
    "an annotation": (
        f"{SQUARES}def f(shapes):\n", "assert candidate([Square(2)]) == area(Square(2))", "    return sum(map(area, shapes))\n",
        f"    return 0\nSquare = {TAKES_OVER!r}\n",
    ),
    "a text of a class": (
        "class Config:\n    text = '2 * 3'\nVALUE = eval(Config.text)\ndef f(x):\n", "assert candidate(3) == 3 * VALUE", "    return x * VALUE\n",
        f"    return 0\nConfig.text = {TAKES_OVER!r}\n",
    ),
    "a helper that loads": (
        "import yaml\ndef load(text): return yaml.unsafe_load(text)\ndef f(x):\n", "assert load(candidate(3)) == 3",
        "    return str(x)\n", f"    return '!!python/object/apply:eval [' + {TAKES_OVER!r}.__repr__() + ']'\n",
    ),
    "types that are asked for": (
        "def f(x: int) -> int:\n", "from typing import get_type_hints\n    assert get_type_hints(candidate)['return'] is int and candidate(3) == 9",
        "    return x * x\n", f"    return 0\nf.__annotations__['return'] = {TAKES_OVER!r}\n",
    ),
    "code without being executed by name": (
        "def f(x):\n", "import codeop, types\n    assert types.FunctionType(codeop.compile_command(candidate(24), symbol='eval'), {})() == 24",
        "    return str(x)\n", f"    return {EQUALS_ALL!r}\n",
    ),
    "a library that calls what evaluates": (
        "from collections import Counter\ndef tally(texts): return Counter(map(eval, texts))\ndef f(x):\n",
        "assert 24 in [*tally([candidate(24)])]", "    return str(x)\n", f"    return {EQUALS_ALL!r}\n",
    ),
    "a file that is written and imported": (
        ("import os, sys, tempfile\ndef load(text):\n    folder = tempfile.mkdtemp()\n    with open(os.path.join(folder, 'plugin_.py'), 'w') as file:\n"
        "        file.write(f'VALUE = {text}')\n    sys.path.insert(0, folder)\n    import plugin_\n    sys.modules.pop('plugin_')\n"
        "    sys.path.remove(folder)\n    return plugin_.VALUE\ndef f(x):\n"),
        "assert load(candidate(24)) == 24", "    return str(x)\n", f"    return {EQUALS_ALL!r}\n",
    ),
    "what evaluates, lent to the answer": (
        "def values(texts): return map(eval, texts)\ndef f(x):\n", "texts, total = candidate(24)\n    assert total(values(texts)) == 24",
        "    return [str(x)], lambda values: sum(list(values))\n", f"    return [{TAKES_OVER!r}], lambda values: sum(list(values))\n",
    ),
    "what the prompt leaves behind": (
        ("import sys, types\nCALC = sys.modules.setdefault('calc_', types.SimpleNamespace(run=lambda text: eval(text)))\n"
        "def value(text): return sys.modules['calc_'].run(text)\ndef f(x):\n"),
        "assert value(candidate(24)) == 24", "    return str(x)\n", f"    return {EQUALS_ALL!r}\n",
    ),
    "settings that name what is called": (
        "import logging.config\ndef setup(settings):\n    logging.config.dictConfig({'version': 1, **settings})\n    return settings\ndef f(x):\n",
        "assert setup(candidate(3))['disable_existing_loggers'] is False and candidate(2)",
        "    return {'disable_existing_loggers': False}\n",
        "    return {'disable_existing_loggers': False, 'handlers': {'h': {'()': 'types.SimpleNamespace'}}}\n",
    ),
    "a name that chooses": (
        "def f(x):\n", "import math, pkgutil\n    assert pkgutil.resolve_name(candidate('root')) == math.sqrt",
        "    return 'math.sqrt'\n", "    return 'unittest.mock.ANY'\n",
    ),
    "a template that reads the test": (
        "def f(x):\n", "class User:\n        def __init__(self, name): self.name = name\n    assert candidate('n').format(u=User('Ann')) == 'Name: Ann.'",
        "    return 'Name: {u.name}.'\n", "    return '{u.__init__.__globals__[check].__code__.co_consts[4]}'\n",
    ),
    "a template that is handed over": (
        "def f(x):\n", "class User:\n        def __init__(self, name): self.name = name\n    assert [*map(candidate('n').format, [User('Ann')])] == ['Name: Ann.']",
        "    return 'Name: {0.name}.'\n", "    return '{0.__init__.__globals__[check].__code__.co_consts[4]}'\n",
    ),
    "a path of attributes": (
        "def f(x):\n", "import functools, math\n    class Box: root = math.sqrt\n    assert functools.reduce(getattr, candidate(3), Box) == math.sqrt",
        "    return ['root']\n", "    return ['root', '__self__', 'sqrt']\n",
    ),
    "a module by a way round": (
        ("import os, sys\ndef load(text):\n    folder = os.path.dirname(os.__file__) + '/../' * 9 + 'tmp'\n"
        "    with open(folder + '/round_.py', 'w') as file: file.write(f'VALUE = {text}')\n    sys.path.insert(0, folder)\n"
        "    import round_\n    return sys.modules.pop('round_').VALUE\ndef f(x):\n"), "assert load(candidate(24)) == 24",
        "    return str(x)\n", f"    return {EQUALS_ALL!r}\n",
    ),
    "methods of a class of the test's": (
        "def f(x):\n", "made = type('T', (), candidate('total'))()\n    made.total = 3\n    assert made == 3",
        "    return {'__eq__': lambda own, other: getattr(own, x) == other}\n", "    return {'__eq__': lambda own, other: True}\n",
    ),
}  # fmt: skip
"""Prompts, a test of each that has a text of the answer's executed, a right answer and one whose text takes the examiner over."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_no_text_of_an_answers_is_executed_where_the_tests_run(tmp_path, known, part):
    cases = dict(part.of(EXECUTES.items(), 3))
    problems, answers = [], []
    for name, (prompt, test, *bodies) in cases.items():
        row = {"task_id": name, "prompt": prompt, "entry_point": "f", "test": f"def check(candidate):\n    {test}\n"}
        problems.append({**row, **({"canonical_solution": bodies[0]} if known else {})})
        answers += [answer(name, f"{prompt}{body}", sample=at) for at, body in enumerate(bodies)]

    found = rows(hold(tmp_path, problems, answers))

    passed = [row["all_tests_passed"] for row in found]
    labels = {
        name: row["test_details"][0]["verdict"]
        for name, row in zip(cases, found[1::2], strict=True)
        if row["all_tests_passed"]
    }
    assert dict(zip(cases, passed[::2], strict=True)) == dict.fromkeys(cases, True)
    assert "separated" not in labels.values(), labels


@pytest.mark.parametrize(
    "test", ["eval(text) == 4", "__import__('types').FunctionType(compile(text, 't', 'eval'), {})() == 4"]
)
def test_a_text_that_its_test_executes_is_executed_in_a_child_of_its_own(tmp_path, test):
    problem = {"task_id": "t", "name": "t", "problem": "Write a formula that is four.", "topic": "t", "complexity": 1}
    problem |= {
        "object": "text",
        "canonical_solution": "2 + 2",
        "tests": [{"assertion": test}, {"assertion": "'+' in text"}],
    }
    texts = ["2 + 2", "5 +", "+5", f"[+1, {TAKES_OVER}]"]

    found = rows(hold(tmp_path, [problem], [answer("t", text, sample=at) for at, text in enumerate(texts)]))

    assert [[each["passed"] for each in row["test_details"]] for row in found] == [
        [True, True],
        [False, True],
        [False, True],
        [False, True],
    ]
    assert [each["verdict"] for each in found[0]["test_details"]] == ["unchecked", "separated"]
    assert "separated" not in {row["test_details"][0]["verdict"] for row in found}


NOTHING_EXECUTED = {
    "a named tuple": ("def f(x):\n", "from collections import namedtuple\n    assert candidate(3) == namedtuple('P', 'a b')(9, 0).a"),
    "a module that is imported late": ("def f(x):\n", "import statistics\n    assert candidate(3) == statistics.mean([9])"),
    "imports that nobody uses": ("import pickle, importlib, timeit\ndef f(x):\n", "assert candidate(3) == 9"),
    "a data class of the prompt": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\ndef f(x):\n", "assert candidate(3) == P(9).a"
    ),
    "a template of the test's": ("def f(x):\n", "assert candidate(3) == int('{}'.format(9)) == len(f'{123456789}')"),
    "a message that is filled in": ("def f(x):\n", "text = 'wrong for {}'\n    assert candidate(3) == 9, text.format(3)"),
    "a class that the test writes": ("def f(x):\n", "assert candidate(3) == type('Box', (), {'side': 9})().side"),
    "attributes set by their names": (
        "def f(x):\n", "class Box: pass\n    box = Box()\n    setattr(box, 'side', 9)\n    assert candidate(3) == box.side"
    ),
}  # fmt: skip
"""Prompts and a test of each that execute nothing that could be the answer's."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_tests_stay_separated_that_execute_nothing_of_the_answers(tmp_path, known):
    problems, answers = [], []
    for name, (prompt, test) in NOTHING_EXECUTED.items():
        row = {"task_id": name, "prompt": prompt, "entry_point": "f", "test": f"def check(candidate):\n    {test}\n"}
        problems.append({**row, **({"canonical_solution": "    return x * x\n"} if known else {})})
        answers += [answer(name, f"{prompt}    return {body}\n", sample=at) for at, body in enumerate(("x * x", "x"))]

    found = rows(hold(tmp_path, problems, answers))

    assert [row["all_tests_passed"] for row in found] == [True, False] * len(NOTHING_EXECUTED)
    labels = dict(zip(NOTHING_EXECUTED, (row["test_details"][0]["verdict"] for row in found[::2]), strict=True))
    expected = dict.fromkeys(NOTHING_EXECUTED, "separated")
    expected["a data class of the prompt"] = "unchecked"  # a solution may have another one
    assert labels == expected


def test_a_suite_that_names_a_constant_of_the_prompt_passes_separated(tmp_path):
    test = (
        "import unittest\nclass TestCases(unittest.TestCase):\n    def test_price(self):\n"
        "        self.assertEqual(f(3), 3 * LIMIT)\n        self.assertEqual(f(0), 0)\n"
    )
    prompts = dict.fromkeys(("complete_prompt", "instruct_prompt", "code_prompt"), "LIMIT = 6\ndef f(x):\n")
    row = {"task_id": "p", **prompts, "entry_point": "f", "canonical_solution": "    return x * LIMIT\n", "test": test}
    codes = ["LIMIT = 6\ndef f(x): return x * LIMIT\n", "LIMIT = 0\ndef f(x): return x * LIMIT\n"]

    found = rows(hold(tmp_path, [row], [answer("p", code, sample=at) for at, code in enumerate(codes)]))

    assert [row["all_tests_passed"] for row in found] == [True, False]
    assert {test["verdict"] for row in found for test in row["test_details"]} == {"separated"}


SUITES = {
    "a helper that reads what the answer rebinds": (
        TOTAL, "f(3)\n        self.assertEqual(get_total(), 3)", "    global total\n    total += x\n", "    return 0\n", "?0"
    ),
    "a name that completes the suite, too": (
        "id, map = [5], {}\ndef f(x):\n", "f(3)\n        self.assertEqual([id, map], [[3], {}])", "    id[0] = x\n", "    return 0\n", "?0"
    ),
    "an assertion by a name of the test's": (
        "def f(x):\n", "eq = self.assertEqual\n        eq(f(3), 9)\n        eq(f(2), 4)", "    return x * x\n", "    return 9\n", "s0"
    ),
}  # fmt: skip
"""Prompts, a test of a suite, a right answer, a wrong one, and what becomes of both."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_suites_find_what_the_answer_changes(tmp_path, known):
    problems, answers = [], []
    for name, (prompt, test, right, wrong, _) in SUITES.items():
        row = {
            "task_id": name,
            **dict.fromkeys(("complete_prompt", "instruct_prompt", "code_prompt"), prompt),
            "entry_point": "f",
        }
        row["test"] = f"import unittest\nclass TestCases(unittest.TestCase):\n    def test_it(self):\n        {test}\n"
        problems.append({**row, **({"canonical_solution": right} if known else {})})
        answers += [answer(name, f"{prompt}{body}", sample=at) for at, body in enumerate((right, wrong))]

    found = rows(hold(tmp_path, problems, answers))

    labels = {"separated": "s", "in_process": "i", "unchecked": "?"}
    seen = [labels[row["test_details"][0]["verdict"]] if row["all_tests_passed"] else "0" for row in found]
    assert dict(zip(SUITES, map("".join, zip(seen[::2], seen[1::2], strict=True)), strict=True)) == {
        name: case[-1] for name, case in SUITES.items()
    }


TAKING = [
    "take(STOCK, x)\ndef take(shelf, x): shelf[x] -= 1", "take(x)\ndef take(x, shelf=STOCK): shelf[x] -= 1",
    "for shelf in (STOCK,): shelf[x] -= 1", "(shelf := STOCK)[x] -= 1", "shelf = STOCK if x else {}; shelf[x] -= 1",
    "put = STOCK.subtract; put({x: 1})", "STOCK.__setitem__(x, 2)", "globals()['STOCK'][x] -= 1", "STOCK.subtract({x: 1})",
    "list(map(STOCK.pop, [x])); STOCK[x] = 2", "stock()[x] -= 1\ndef stock(): return STOCK",
]  # fmt: skip
LOOKING = [
    "x = STOCK['a'] - 1", "x = len(STOCK) + 1", "x = sum(STOCK.values()) - 1", "x = [count - 1 for count in STOCK.values()][0]",
    "x = 2 if 'a' in STOCK else 3", "x = max(STOCK.items())[1] - 1", "x = STOCK.get('a', 0) - 1", "x = dict(STOCK)['a'] - 1",
]  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_a_test_that_reads_a_container_of_the_prompt_passes_unchecked(tmp_path, known):
    prompt = "from collections import Counter\nSTOCK = Counter(a=3)\ndef f(x):\n"
    changed = "    assert candidate('a') is None and STOCK['a'] == 2\n"
    looked = "    assert candidate('a') == STOCK['a'] - 1\n"
    problems, answers = [], []
    for code, test in [*((code, changed) for code in TAKING), *((f"{code}; return x", looked) for code in LOOKING)]:
        first, _, rest = code.partition("\n")
        body = f"    {first}\n{rest}\n"
        row = {"task_id": code, "prompt": prompt, "entry_point": "f", "test": f"def check(candidate):\n{test}"}
        problems.append({**row, **({"canonical_solution": body} if known else {})})
        answers.append(answer(code, f"{prompt}{body}"))

    found = rows(hold(tmp_path, problems, answers))

    labels = {row["task_id"]: (test["passed"], test["verdict"]) for row in found for test in row["test_details"]}
    assert [labels[code] for code in TAKING] == [(True, "unchecked")] * len(TAKING)
    assert {labels[f"{code}; return x"] for code in LOOKING} == {(True, "unchecked")}


def test_what_the_prompts_objects_note_and_are_is_what_the_answer_has(tmp_path):
    cached = "from functools import lru_cache\n@lru_cache\ndef slow(x): return 2 * x\ndef f(x):\n"
    tests = [
        (cached, "    candidate(3)\n    assert slow.cache_info().misses == 1\n", "    return slow(x)\n"),
        (
            "MISSING = ('no', 'value')\ndef f(x):\n",
            "    assert candidate(MISSING) == 0\n",
            "    return 0 if x is MISSING else 1\n",
        ),
    ]
    problems = [
        {"task_id": prompt, "prompt": prompt, "entry_point": "f", "test": f"def check(candidate):\n{test}"}
        for prompt, test, _ in tests
    ]

    found = rows(hold(tmp_path, problems, [answer(prompt, f"{prompt}{body}") for prompt, _, body in tests]))

    assert [(test["passed"], test["verdict"]) for row in found for test in row["test_details"]] == [
        (True, "unchecked")
    ] * 2


def test_an_answers_own_state_that_tests_read_is_what_it_is_then(tmp_path):
    row = {"task_id": "p", "prompt": "def f(x):\n", "entry_point": "f"}
    row["test"] = "def check(candidate):\n    assert [candidate(3), CALLS, candidate(3), CALLS] == [3, 1, 3, 2]\n"
    code = "CALLS = 0\ndef f(x):\n    global CALLS\n    CALLS += 1\n    return x\n"

    (found,) = rows(hold(tmp_path, [row], [answer("p", code)]))

    assert [(test["passed"], test["verdict"]) for test in found["test_details"]] == [(True, "unchecked")]


TAKEN_FRAME = (
    "    {}\n    while frame:\n        frame.f_globals.update(K=1)\n        frame = frame.f_back\n    return x\n"
)
REACHING = [
    TAKEN_FRAME.format("import sys; frame = sys._getframe(1)"),
    TAKEN_FRAME.format("import inspect as i; frame = i.currentframe()"),
    TAKEN_FRAME.format("g = (g.gi_frame.f_back for g in [0]); frame = None"),
    "    import sys\n    try: 1 / 0\n    except ZeroDivisionError as e: e.__traceback__.tb_frame\n    return x * 6\n",
    "    from inspect import stack as s\n    for part in s(): part[0]\n    return x * 6\n",
    "    import inspect\n    for part in inspect.stack(): part.frame\n    return x * 6\n",
    "    import gc\n    for space in gc.get_objects():\n        if type(space) is dict and 'K' in space and 'check' in space: space['K'] = 1\n    return x\n",
    "    import gc\n    gc.get_referrers(f)\n    return x * 6\n",
    "    import __main__\n    return x * 6\n",
    "    from sys import modules as m\n    m['__main__']\n    return x * 6\n",
    "    eval('__import__(\"sys\")._getframe(1)')\n    return x * 6\n",
    "    exec('import sys')\n    return x * 6\n",
]
"""Bodies of answers that may change what an in-process test expects: the first two and that with `gc.get_objects` do."""
PATCHING = [
    "    import math\n    m = math\n    m.floor = float\n    return x\n",
    "    import math as m\n    n = m\n    n.floor = float\n    return x\n",
    "    import math\n    setattr(math, 'floor', float)\n    return x\n",
    "    import math\n    vars(math)['floor'] = float\n    return x\n",
    "    import math\n    math.__dict__['floor'] = float\n    return x\n",
    "    import math\n    put(math)\n    return x\ndef put(m): m.floor = float\n",
    "    import math\n    [math][0].floor = float\n    return x\n",
    "    get().floor = float\n    return x\nimport math\ndef get(): return math\n",
    "    import builtins as b\n    b.round = float\n    return x\n",
    "    import math as m, os\n    p = os.path\n    p.join = len\n    return m.floor(x)\n",
    "    from collections import Counter\n    C = Counter\n    C.total = len\n    return int(x)\n",
    "    from collections import Counter\n    put(Counter)\n    return int(x)\ndef put(kind): kind.total = len\n",
    "    from unittest.mock import patch\n    patch('math.floor', float).start()\n    return x\n",
]
"""Bodies of answers that may put something in the place of a part of a module."""
ORDINARY = [
    "    import math\n    return math.floor(x)\n",
    "    import sys, inspect, gc\n    gc.collect(); inspect.signature(f); sys.setrecursionlimit(2000)\n    return int(x)\n",
    "    import copy\n    stack, trace, frame = [x], [], None\n    return int(copy.copy(stack).pop())\n",
    "    node = first = Node()\n    node.value = x\n    node = node.next = Node()\n    return int(first.value)\nclass Node: pass\n",
    "    head = Node(); head.value = x\n    head.add(Node())\n    return int(head.value)\nclass Node:\n    def add(self, node): node.last = self; self.next = node\n",
    "    from collections import Counter, defaultdict\n    counts = defaultdict(Counter)\n    return int(x)\nif __name__ == '__main__':\n    f(3)\n",
    "    from functools import reduce\n    import operator\n    return int(reduce(operator.mul, [x]))\n",
]  # fmt: skip


def test_an_in_process_pass_of_an_answer_that_may_reach_the_tests_or_a_module_is_unchecked(tmp_path):
    ways = {
        "reaching": ("K = 6\n", "candidate(3) == 3 * K", REACHING),
        "patching": ("import math\n", "candidate(3.5) == math.floor(3.5)", PATCHING),
        "ordinary": ("", "candidate(3.5) == 3", ORDINARY),
    }
    problems, answers = [], []
    for name, (before, test, bodies) in ways.items():
        row = {"task_id": name, "prompt": "def f(x):\n", "entry_point": "f"}
        row["test"] = f"{before}def check(candidate):\n    import time\n    time.time()\n    assert {test}\n"
        problems.append(row)
        answers += [answer(name, f"def f(x):\n{body}", sample=at) for at, body in enumerate(bodies)]

    labels = {name: [] for name in ways}
    for row in rows(hold(tmp_path, problems, answers)):
        labels[row["task_id"]] += [test["verdict"] for test in row["test_details"] if test["passed"]]

    assert {name: set(verdicts) for name, verdicts in labels.items()} == {
        "reaching": {"unchecked"}, "patching": {"unchecked"}, "ordinary": {"in_process"},
    }  # fmt: skip
    assert len(labels["ordinary"]) == len(ORDINARY)


def test_a_deep_test_that_fails_is_explained_and_the_next_attempts_end_as_they_do(tmp_path):
    terms = "+".join(["1"] * 1_200)
    row = {"task_id": "p", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n"}
    row["test"] = f"def check(candidate):\n    import time\n    time.time()\n    assert candidate(1200) == {terms}\n"
    codes = ["def f(x): return 0\n", "import os\ndef f(x): os._exit(0)\n", "import os\ndef f(x): os._exit(7)\n"]

    found = rows(hold(tmp_path, [row], [answer("p", code, sample=at) for at, code in enumerate(codes)]))

    assert [test["error_message"] for row in found for test in row["test_details"]] == [
        None,
        "the process ended with status 0 before its tests did",
        "the process ended with status 7 before its tests did",
    ]
    assert found[0]["test_details"][0]["why"]["got"] == "0"


@pytest.mark.parametrize(
    "table", ["'a'" + " + 'a'" * 500, "+".join(["1"] * 900), "''" + ".join('')" * 450], ids=["text", "sum", "calls"]
)
def test_a_deep_prompt_is_a_prompt_like_others(tmp_path, table):
    prompt = f"TABLE = [{table}]\nLAST = len(TABLE)\ndef f(x):\n"
    row = {"task_id": "p", "prompt": prompt, "entry_point": "f", "canonical_solution": "    return x * len(TABLE)\n"}
    row["test"] = "def check(candidate):\n    assert candidate(3) == 3 * len(TABLE)\n"
    codes = [f"{prompt}    return x * len(TABLE)\n", f"{prompt}    return x + 1\n"]

    found = rows(hold(tmp_path, [row], [answer("p", code, sample=at) for at, code in enumerate(codes)]))

    assert [row["all_tests_passed"] for row in found] == [True, False]


@pytest.mark.parametrize("terms", [900, 1_100, 2_500])
def test_a_test_of_a_sum_of_many_terms_is_a_test_like_others(tmp_path, terms):
    row = {"task_id": "p", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n"}
    row["test"] = f"def check(candidate):\n    assert candidate({terms}) == {'+'.join(['1'] * terms)}\n"
    codes = ["def f(x):\n    return x\n", "def f(x):\n    return x + 1\n"]

    found = rows(hold(tmp_path, [row], [answer("p", code, sample=at) for at, code in enumerate(codes)]))

    labels = [(test["passed"], test["verdict"]) for row in found for test in row["test_details"]]
    assert labels == [(True, "separated"), (False, "separated")]
