"""Why an attempt failed: what was compared, raised, printed; collected after the verdict, for failing attempts only."""

import pytest
from support.load import PATIENCE
from support.payloads import HTML
from test_sandbox_beside import READS

from markbook.report.item import reason_lines
from markbook.sandbox import Job, Sandbox
from markbook.types import Limits, ProblemType, Sample, Test

LIMITS = Limits(seconds=2.0)


@pytest.fixture(scope="module")
def box():
    with Sandbox(workers=1, isolation="weak", explain=True) as box:
        yield box


def explained(box, code, *tests, canonical="", program="", entry="f", kind=ProblemType.FUNCTION, limits=LIMITS):
    made = (Test(program=program),) if program else tuple(Test(assertion=one) for one in tests)
    references = (canonical,) if canonical else ()
    sample = Sample("s", tests=made, entry_point=entry, references=references, problem_type=None if program else kind)
    ((_, outcome),) = box.run([Job("k", code, sample, limits)])
    return outcome


def only(box, code, test, **more):
    (found,) = explained(box, code, test, **more).why.failures
    return found


def test_a_passing_attempt_has_nothing_to_explain(box):
    assert explained(box, "def f(x): return x", "f(1) == 1").why is None


@pytest.mark.parametrize("canonical", ["", "def f(x):\n    return [x, x + 1]"])
def test_expected_and_got_stand_side_by_side(box, canonical):
    found = only(box, "def f(x):\n    return [x, x]", "f(1) == [1, 2]", canonical=canonical)

    assert (found.got, found.operator, found.expected) == ("[1, 1]", "==", "[1, 2]")
    assert found.difference == "first differs at item 1: 1 instead of 2"
    assert found.source == "f(1) == [1, 2]"


@pytest.mark.parametrize(
    ("body", "test", "got", "expected", "words"),
    [
        ("return x", "3 == f(1)", "1", "3", "=="),
        ("return x", "1 == 1 and f(1) == 4", "1", "4", "=="),
        ("return x + .5", "abs(f(1) - 1) < 1e-6", "1.5", "1", "within 1e-06"),
        ("return x", "f(1) in (2, 3)", "1", "(2, 3)", "in"),
        ("return 0", "f(1)", "0", "", "true"),
        ("return {1: 2}", "f(1) == {1: 3}", "{1: 2}", "{1: 3}", "=="),
    ],
)
def test_what_the_solution_gave_is_told_from_what_was_wanted(box, body, test, got, expected, words):
    why = explained(box, f"def f(x):\n    {body}", test).why

    (found,) = why.failures
    assert (found.got, found.expected, found.operator) == (got, expected, words)
    assert (f"      is not true: {got}" in reason_lines(why)) is (words == "true")


def test_types_are_said_where_they_alone_differ(box):
    found = only(box, "class I(int):\n    pass\ndef f(x): return I(3)", "f(1) == '3'")

    assert (found.got, found.expected, found.types_differ) == ("3", "'3'", True)
    assert (found.got_type, found.expected_type) == ("I", "str")


def test_long_values_are_cut_around_their_first_difference(box):
    found = only(box, "def f(x): return 'a' * 5000 + 'b' + 'c' * 5000", "f(1) == 'a' * 5000 + 'd' + 'c' * 5000")

    assert len(found.got) <= 402
    assert "ab" in found.got
    assert "ad" in found.expected
    assert found.difference == "first differs at character 5000: 'b' instead of 'd'"


def test_an_exception_names_the_solutions_own_lines(box):
    code = "def g(x):\n    return 1 / x\n\ndef f(x):\n    return g(x - 1)\n"
    found = only(box, code, "f(1) == 1")

    assert found.error == "ZeroDivisionError: division by zero"
    assert [(one.number, one.function, one.text) for one in found.lines] == [
        (5, "f", "return g(x - 1)"),
        (2, "g", "return 1 / x"),
    ]


def test_a_solution_that_does_not_load_says_where(box):
    why = explained(box, "x = 1\nraise ValueError('no')\n", "f(1) == 1").why

    assert (why.error, why.lines[0].number) == ("ValueError: no", 2)


def test_a_syntax_error_says_where(box):
    why = explained(box, "x = 1\ndef f(:\n", "f(1) == 1").why

    assert why.error.startswith("SyntaxError")
    assert why.lines[0].number == 2
    assert why.lines[0].text == "def f(:"
    assert not why.is_again


def test_what_is_printed_is_kept_in_part(box):
    code = "import sys\ndef f(x):\n    print('seen', x)\n    print('e' * 9000, file=sys.stderr)\n    return 0"
    why = explained(box, code, "f(7) == 1").why

    assert why.stdout == "seen 7\n"
    assert why.stderr == "e" * 2000
    assert why.is_again


def test_an_endless_loop_says_where_it_was_and_keeps_its_verdict(box):
    code = "def f(x):\n    n = 0\n    while True:\n        n += 1\n"
    outcome = explained(box, code, "f(1) == 1", limits=Limits(seconds=0.3))

    assert outcome.limit == "cpu"
    assert outcome.why.limit == "cpu"
    assert [(one.number, one.text) for one in outcome.why.lines] == [(3, "while True:")]


@pytest.mark.slow
def test_what_takes_long_and_comes_to_its_end_is_explained_all_the_same(box):
    code = "def f(x):\n    n = 0\n    for i in range(12_000_000): n += 1\n    return n\n"
    outcome = explained(box, code, "f(1) == 1", limits=Limits(seconds=60.0))

    assert (outcome.limit, outcome.why.limit) == ("", "")
    assert outcome.why.failures[0].got == "12000000"


@pytest.mark.parametrize("canonical", ["", "def f(n): return ['secret-1', n]\n"], ids=["alone", "with a reference"])
@pytest.mark.parametrize("program", [False, True])
def test_what_is_looked_at_apart_is_never_in_the_process_of_the_solution(box, canonical, program):
    # it fails by what it finds, prints that, and would leave it for the next attempt where there is a way
    code = READS + "def f(n):\n    found = read()\n    print(found)\n    return found\n"
    test = "func(3) == ['secret-1', 3]".replace("func", "f" if program else "func")

    outcome = explained(
        box, code, *([] if program else [test]), canonical=canonical, program=f"assert {test}\n" if program else ""
    )

    if canonical:
        assert [test.verdict.value for test in outcome.tests] == ["separated"]
        assert outcome.why.stdout == "[]\n"
    (found,) = outcome.why.failures
    assert found.expected == "['secret-1', 3]"


def test_objects_of_the_solution_are_shown_as_it_shows_them(box):
    code = "class P:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return f'P({self.n})'\ndef f(n): return [P(n)]\n"
    found = only(box, code, "f(1) == [2]", canonical="def f(n): return [2]\n")

    assert (found.got, found.expected) == ("[P(1)]", "[2]")


def test_what_the_solution_raises_is_shown_with_its_lines_where_a_right_answer_is_known(box):
    code = "def g(x):\n    return 1 / x\n\ndef f(x):\n    return g(x - 1)\n"
    found = only(box, code, "f(1) == 1", canonical="def f(x): return 1\n")

    assert found.error == "ZeroDivisionError: division by zero"
    assert [(one.number, one.text) for one in found.lines] == [(5, "return g(x - 1)"), (2, "return 1 / x")]


def test_a_limit_is_shown_with_its_line_where_a_right_answer_is_known(box):
    code = "def f(n):\n    while n:\n        n += 1\n    return 0\n"
    outcome = explained(
        box, code, "f(0) == 1", "f(1) == 1", canonical="def f(n): return 1\n", limits=Limits(seconds=0.3)
    )

    assert (outcome.limit, outcome.why.limit) == ("cpu", "cpu")
    assert [(one.got, one.expected) for one in outcome.why.failures] == [("0", "1")]
    assert [(one.number, one.text) for one in outcome.why.lines] == [(2, "while n:")]


@pytest.mark.parametrize("seconds", [0.15, 0.3, 0.45])
def test_an_endless_exchange_of_a_solution_with_its_test_ends_alike_every_time(box, seconds):
    code = "def f(*many):\n    lists = [list(one) for one in many]\n    return lists\n"
    tests = ("list(f([1, 2])) == [1, 2]", "next(iter(f(iter(int, 1)))) == 0")
    canonical = "def f(*many):\n    for row in zip(*many):\n        yield from row\n"

    outcome = explained(box, code, *tests, canonical=canonical, limits=Limits(seconds, wall_seconds=PATIENCE / 4))

    assert outcome.limit == "cpu"
    assert outcome.why.limit in ("cpu", "wall")  # while one of the two processes waits, it sleeps on a loaded machine
    assert [failure.test for failure in outcome.why.failures] == [0]
    # The solution knows its line; if the test's process is the first at its limit, as may happen on a loaded machine, no one asks it.
    assert [(line.number, line.text) for line in outcome.why.lines[:1]] in (
        [],
        [(2, "lists = [list(one) for one in many]")],
    )


def test_an_endless_exchange_that_the_test_keeps_up_keeps_what_was_seen_before(box):
    tests = ("f(1) == 2", "all(f(1) == 1 for _ in iter(int, 1))")

    outcome = explained(
        box, "def f(n): return 1\n", *tests, canonical="", limits=Limits(0.4, wall_seconds=PATIENCE / 4)
    )

    assert outcome.limit == "cpu"
    assert outcome.why.limit in ("cpu", "wall")  # while one of the two processes waits, it sleeps on a loaded machine
    assert [failure.test for failure in outcome.why.failures] == [0]


def test_what_does_not_load_is_shown_with_its_lines_where_a_right_answer_is_known(box):
    code = "print('here')\nx = 1\nraise ValueError('no')\n"
    why = explained(box, code, "f(1) == 1", canonical="def f(n): return 1\n").why

    assert (why.error, why.lines[0].number, why.stdout) == ("ValueError: no", 3, "here\n")


def test_tests_apart_and_beside_are_both_explained(box):
    sample = Sample(
        "s",
        tests=(Test(assertion="f(1) == 2"), Test(setup="import time", assertion="f(2) == 3")),
        entry_point="f",
        references=("def f(n): return n + 1\n",),
        problem_type=ProblemType.FUNCTION,
    )
    ((_, outcome),) = box.run([Job("k", "def f(n):\n    print(n)\n    return n\n", sample, LIMITS)])

    assert [test.verdict.value for test in outcome.tests] == ["separated", "in_process"]
    assert [(one.test, one.got, one.expected) for one in outcome.why.failures] == [(0, "1", "2"), (1, "2", "3")]


PROGRAM = """
def check(candidate):
    assert candidate(1) == 1
    assert candidate(2) == 3, "two"
    for n in (4, 5):
        assert candidate(n) == n
    assert candidate(0) == 0
check(f)
"""


def test_every_failed_assertion_of_a_program_is_explained(box):
    outcome = explained(box, "def f(x):\n    return 1 // x * x if x < 3 else -x\n", program=PROGRAM)

    found = {one.part: one for one in outcome.why.failures}
    assert {part for part, test in enumerate(outcome.tests[0].parts) if not test.passed} == set(found)
    assert (found[1].got, found[1].expected, found[1].source) == ("0", "3", 'assert candidate(2) == 3, "two"')
    assert found[1].error == "AssertionError: two"
    assert (found[2].got, found[2].expected) == ("-4", "4")
    assert found[3].error.startswith("ZeroDivisionError")


@pytest.mark.parametrize("text", ["hello", "it is y", "\0"])
def test_a_text_is_looked_at_too(box, text):
    found = only(box, text, "len(text) == 4", kind=ProblemType.TEXT)

    assert (found.got, found.expected) == (str(len(text)), "4")


def test_a_program_that_prints_shows_what_it_read_and_printed(box):
    sample = Sample("s", tests=(Test(stdin="3 4\n", stdout="7\n"),), problem_type=ProblemType.STDIN)
    ((_, outcome),) = box.run([Job("k", "import sys\nprint(8)\nprint('oh', file=sys.stderr)", sample, LIMITS)])

    (found,) = outcome.why.failures
    assert (found.source, found.got, found.expected, found.printed) == ("3 4\n", "8\n", "7\n", "oh\n")
    assert not outcome.why.is_again


HOSTILE = [
    "class R:\n    def __repr__(self): raise SystemExit\n    def __eq__(self, o): return False\ndef f(x): return R()",
    "class R:\n    def __repr__(self):\n        while True: pass\ndef f(x): return R()",
    "class R:\n    def __repr__(self): return 5\ndef f(x): return R()",
    "class R:\n    def __repr__(self): return 'x' * 10 ** 9\ndef f(x): return R()",
    "class R:\n    @property\n    def __class__(self): raise ValueError\ndef f(x): return R()",
    "def f(x):\n    l = []\n    l.append(l)\n    return l",
    "def f(x):\n    l = []\n    for _ in range(100000): l = [l]\n    return l",
    "def f(x):\n    def g(): return g()\n    return g()",
    "class E(Exception):\n    def __str__(self): raise self\ndef f(x): raise E",
    "import os\ndef f(x): os._exit(0)",
    "import sys\ndef f(x):\n    sys.stdout = None\n    sys.stderr.kept = 3\n    return 2",
    "def f(x):\n    print('\\ud800' * 100)\n    return '\\ud800'",
    "import signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    while True: pass",
    "def f(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    "import os\nfor n in range(3, 30):\n    try: os.write(n, b'\\xff' * 50)\n    except OSError: pass\ndef f(x): return 0",
]


@pytest.mark.parametrize("code", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_solutions_change_no_verdict_and_end_no_worker(box, code):
    outcome = explained(box, code, "f(1) == 1", limits=Limits(seconds=0.3, memory_bytes=512 << 20))

    assert [test.passed for test in outcome.tests] == [False]
    assert "crash" not in outcome.flags
    assert len(str(outcome.why)) < 20_000
    assert explained(box, "def f(x): return x", "f(1) == 1").passed == 1


def test_rows_of_an_exam_say_why(tmp_path):
    from support.exam_kit import answer, hold, problem, rows

    tests = [{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 3"}]
    run = hold(tmp_path, [problem("a", tests=tests)], [answer("a", "def f(x):\n    print('hm')\n    return x\n")])

    (row,) = rows(run)
    assert "why" not in row["test_details"][0]
    assert row["test_details"][1]["why"] == {
        "source": "func(2) == 3", "operator": "==", "got": "2", "expected": "3", "got_type": "int", "expected_type": "int",
    }  # fmt: skip
    assert row["why"] == {"stdout": "hm\n", "is_again": True}


def shown(run, *args):
    from click.testing import CliRunner

    from markbook.cli.show import command

    return CliRunner().invoke(command, [str(run.folder), *args], standalone_mode=False)


def held(tmp_path, code="def f(x):\n    return g(x)\n\ndef g(x):\n    return [][x]\n"):
    from support.exam_kit import answer, hold, problem

    tests = [{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 3"}]
    return hold(tmp_path, [problem("a", tests=tests)], [answer("a", code), answer("a", "def f(x): return x", "other")])


def test_an_item_is_shown_in_the_terminal_with_why(tmp_path):
    import json

    run = held(tmp_path)
    text = shown(run, "a").output
    alone = json.loads(shown(run, "a", "--model", "gpt", "--json").output)

    for words in (
        "Write f.",
        "gpt: error",
        "IndexError: list index out of range",
        "line 5 in g: return [][x]",
        "other: partial",
    ):
        assert words in text
    assert text.count("Write f.") == 1
    assert [(one["model"], one["why"]["failures"][0]["test"]) for one in alone] == [("gpt", 0)]


def test_an_item_that_is_not_there_gets_the_nearest_name(tmp_path):
    from markbook.errors import UsageError

    run = held(tmp_path)
    for args, words in ((("b",), "a"), (("a", "--model", "gtp"), "gpt")):
        found = shown(run, *args)
        assert isinstance(found.exception, UsageError)
        assert words in found.exception.hint


def test_the_page_and_the_view_say_why(tmp_path):
    from markbook.report.browser import RunSite
    from markbook.report.exports import html
    from markbook.results.kind import open_results

    run = held(tmp_path, "def f(x):\n    return '1'\n")
    page = html()(open_results(run))["report.html"]
    site = RunSite(run.folder.parent)
    number = site.page("/", {}).split('href="/run/')[1].split('"')[0]
    rows = site.page(f"/run/{number}", {"model": "gpt"})
    body = site.page(f"/attempt/{number}/" + rows.split(f"/attempt/{number}/")[1].split('"')[0].split("?")[0], {})

    for text in (page, body):
        assert "Why it failed" in text
        assert '<dt>expected <span class="kind">int</span></dt><dd><pre tabindex="0">1</pre>' in text
        assert "func(2) == 3" in text


@pytest.mark.parametrize("place", [0, 1, 2])
def test_hostile_values_stay_words_wherever_they_are_shown(tmp_path, place):
    from markbook.report.browser import RunSite
    from markbook.report.exports import html
    from markbook.report.item import render_lines
    from markbook.results.kind import open_results

    words = [*HTML, "\x1b[2J\x1b]0;owned\x07", "\r\n\u202e"][place::3]
    code = f"W = {words!r}\nclass E(Exception): pass\ndef f(x):\n    print(W)\n    if x % 2:\n        raise E(W[x % {len(words)}])\n    return W[x % {len(words)}]\n"
    from support.exam_kit import answer, hold, problem

    tests = [{"assertion": f"func({at}) == 'no'"} for at in range(len(words))]
    run = hold(tmp_path, [problem("a", tests=tests)], [answer("a", code)])
    results = open_results(run)
    (entry,) = results.entries()
    found = results.show_attempt(entry.location)
    assert len(found.why.failures) + found.why.left_out == len(words)
    site = RunSite(run.folder.parent)
    number = site.page("/", {}).split('href="/run/')[1].split('"')[0]
    for text in (html()(results)["report.html"], site.page(f"/attempt/{number}/{entry.location}", {})):
        body = text.split("<body>")[1]
        assert body.count("<script") == 1
        for word in (
            "<img",
            "<iframe",
            "<svg onload",
            "<script>window",
            "<form action=http",
            "<base",
            "<object",
            "\x1b",
            "\u202e",
        ):
            assert word not in body
    said = "\n".join(render_lines(found))
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_what_is_shown_is_seen_by_the_names_by_which_it_was_decided(box):
    patched = "from unittest.mock import patch\nwith patch(f'{__name__}.g', return_value=5):\n    assert f(3) == 6\n"
    (found,) = explained(box, "def g(n): return n\ndef f(n): return g(n)\n", program=patched).why.failures
    assert (found.got, found.expected) == ("5", "6")

    counted = "import time\nf(1)\nassert count == 2\n"
    code = "count = 0\ndef f(n):\n    global count\n    count += 1\n"
    (found,) = explained(box, code, program=counted).why.failures
    assert (found.got, found.expected) == ("1", "2")
