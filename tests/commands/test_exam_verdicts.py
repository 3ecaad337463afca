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
from markbook.sandbox.guest.examination import tasks

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
LATE = "def f(x):\n    global LIMIT, COLUMNS, TWICE, LETTERS\n    COLUMNS = LIMIT = TWICE = 0\n    LETTERS = [0]\n    return [0, LETTERS if x == 6 else 0]\n"
COUNTING = "    global COUNT\n    COUNT += 1\n    SEEN[x] = 2 * x\n    return SEEN[x]\n"
CLASSES = (
    "from dataclasses import dataclass\nfrom enum import Enum\nclass Bad(ValueError): pass\n"
    "class C(Enum):\n    RED = 1\n    BLUE = 2\n@dataclass\nclass P:\n    a: int\n    b: C\n"
)
PROMPTS = {
    "constants": (LIMITS, ASKED, "    return [2 * x, COLUMNS if x == 3 else LETTERS[:x]]\n", [BY_HEART], [FOOLED, LATE]),
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
def test_constants_of_the_prompt_are_the_tests_own_unless_answers_are_to_change_them(tmp_path, known):
    problems, answers, wanted = [], [], []
    for name, (prompt, test, body, right, wrong) in PROMPTS.items():
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
    "for name in Shop.PRICES:\n    assert Shop().price(name) == 3",
    "assert Shop().price(list(Shop.PRICES)[0]) == 3",
    "shop = Shop()\nshop.LIMIT = 9\nassert shop.LIMIT == 9 and shop.price('x') == 3",
    "shop = Shop()\nbefore = shop.sold\nassert shop.price('x') == 3 and shop.sold == before and shop.sold - len([]) == 0",
]
"""Tests of the same class that know by themselves what is right."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_a_pass_that_expects_a_constant_of_the_tested_class_is_unchecked(tmp_path, known):
    problems, answers = [], []
    for at, test in enumerate([*RULED, *OWN_WORDS]):
        check = f"def check(candidate):\n{textwrap.indent(test, '    ')}\n"
        row = {"task_id": f"t{at:02}", "prompt": SHOP, "entry_point": "Shop", "test": check}
        problems.append({**row, **({"canonical_solution": "        return self.PRICES[name]\n"} if known else {})})
        answers += [answer(row["task_id"], code, sample=n) for n, code in enumerate((RIGHT_SHOP, WRONG_SHOP))]

    found = rows(hold(tmp_path, problems, answers))

    labels = [{test["verdict"] if test["passed"] else "failed" for test in row["test_details"]} for row in found]
    assert labels[: 2 * len(RULED) : 2] == [{"unchecked"}] * len(RULED)
    assert [label - {"failed"} for label in labels[1 : 2 * len(RULED) : 2]] == [{"unchecked"}] * len(RULED)
    assert labels[2 * len(RULED) :: 2] == [{"separated"}] * len(OWN_WORDS)
    assert labels[2 * len(RULED) + 1 :: 2] == [{"failed"}] * len(OWN_WORDS)


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
    assert labels == [(True, "unchecked"), (True, "unchecked"), (True, "separated"), (False, "in_process")]


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
    monkeypatch.setattr(tasks, "_SECONDS", 0.1)

    _, values = tasks.run_twice(ast.parse(f"import time\n{code}\nLIMIT = 6").body)

    assert ("LIMIT" in values) == is_run


def test_a_prompt_that_sleeps_for_ever_is_given_up(monkeypatch):
    monkeypatch.setattr(wire, "PROMPT_SECONDS", 0.2)

    assert tasks.run_twice(ast.parse("import time\ntime.sleep(60)").body) == (None, {})
