"""pass@k and pass^k: the estimators, what is missing, and programs that really run (in the sandbox)."""

import itertools
import json
import math
import statistics
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import markbook
from markbook.errors import UsageError
from markbook.runs.pass_at_k import pass_at_k, pass_hat_k
from markbook.stats import pass_at_k_summary
from markbook.stats.passes import standard_error
from markbook.types import Attempt, ErrorKind, Item, Outcome, Sample, TestResult, Verdict

RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
TEST = "assert add(1, 2) == 3\nassert add(0, 5) == 5\n"


def outcome(passed, **options):
    return Outcome((TestResult(passed, Verdict.SEPARATED),), **options)


def items(n, c, sample_id="s"):
    sample = Sample(sample_id)
    return [Item(sample, Attempt(sample_id, "", index=i), outcome(i < c)) for i in range(n)]


def by_text(asked):
    """Run nothing: a program passes if its text is `right`."""
    return [outcome(item.attempt.text == "right") for item in asked]


def test_the_value_equals_the_exact_one(shared_data):
    lines = (shared_data / "metric-fixtures" / "passk.jsonl").read_text("utf-8").splitlines()
    compared = 0
    for row in map(json.loads, lines):
        found = pass_at_k(k=row["k"]).measure(items(row["n"], row["c"]))[0]
        if row["exact"] is None or row["k"] > row["n"]:
            assert found.missing.kind == "undefined"
            continue
        assert found.value == pytest.approx(row["exact"], abs=1e-12)
        compared += 1
    assert compared > 30


def test_values_worked_out_by_hand():
    # 5 attempts, 2 right. pass@2: of the 10 pairs, 3 hold no right one: .7. pass^2: 1 pair is both right: .1.
    assert pass_at_k(k=2).measure(items(5, 2))[0].value == pytest.approx(0.7)
    assert pass_hat_k(k=2).measure(items(5, 2))[0].value == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(1001, 30, 12), (1500, 359, 10), (1500, 1477, 10), (1001, 11, 12), (1001, 1001, 5)]
)
def test_pass_hat_k_of_many_attempts_is_the_exact_one_also_where_it_is_tiny(n, c, k):
    exact = float(Fraction(math.comb(c, k), math.comb(n, k)))

    assert pass_hat_k(k=k).measure(items(n, c))[0].value == pytest.approx(exact, rel=1e-12, abs=0)


@given(st.integers(1, 8), st.data())
def test_both_are_shares_of_the_subsets(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))

    at = pass_at_k(k=k).measure(items(n, c))[0]
    hat = pass_hat_k(k=k).measure(items(n, c))[0]

    assert at.value == pytest.approx(statistics.mean(any(one) for one in subsets))
    assert hat.value == pytest.approx(statistics.mean(all(one) for one in subsets))


@given(st.integers(2, 10), st.data())
def test_the_standard_error_is_that_of_the_estimator(n, data):
    c, k = data.draw(st.integers(1, n - 1)), data.draw(st.integers(1, n))
    p = c / n
    chances = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
    for every in (False, True):
        values = [
            math.comb(i, k) / math.comb(n, k) if every else 1 - math.comb(n - i, k) / math.comb(n, k)
            for i in range(n + 1)
        ]
        centre = sum(chance * value for chance, value in zip(chances, values, strict=True))
        spread = sum(chance * (value - centre) ** 2 for chance, value in zip(chances, values, strict=True))
        assert standard_error(n, c, k, every=every) == pytest.approx(math.sqrt(spread), abs=1e-9)


def test_the_standard_error_of_one_try_is_the_binomial_one_for_any_n():
    assert standard_error(100, 20, 1) == pytest.approx(math.sqrt(0.2 * 0.8 / 100))
    assert standard_error(5000, 1000, 1) == pytest.approx(math.sqrt(0.2 * 0.8 / 5000))
    assert standard_error(1000, 300, 4) == pytest.approx(standard_error(1001, 300, 4), rel=0.02)


def test_k_beyond_n_is_missing_and_says_both_numbers():
    found = pass_at_k(k=10).measure(items(5, 5))[0]

    assert found.missing.kind == "undefined"
    assert found.missing.detail == "5 attempts, and k is 10"
    assert found.stats["n"] == 5


def test_of_several_k_the_first_is_the_value_and_all_stand_in_the_stats():
    found = pass_at_k(k=[1, 2, 9]).measure(items(4, 2))[0]

    assert found.value == 0.5
    assert found.stats["values"] == {1: 0.5, 2: pytest.approx(5 / 6)}
    assert "k:1+2+9" in found.signature


def test_outcomes_that_exist_are_taken_and_the_mean_is_over_problems():
    metric = pass_at_k()
    found = metric.measure([*items(3, 1, "a"), *items(1, 1, "b")])

    assert [one.value for one in found] == [pytest.approx(1 / 3), None, None, 1.0]
    assert found[1].missing.kind == "not_applicable"
    assert metric.summarise(found) == pytest.approx(2 / 3)


def test_a_flagged_test_is_not_passed_and_no_test_is_no_pass():
    flagged = Outcome((TestResult(passed=True, verdict=Verdict.FLAGGED),))
    for one in (flagged, Outcome(())):
        assert pass_at_k().measure([Item(Sample("s"), Attempt("s", ""), one)])[0].value == 0.0


def test_broken_tests_are_never_charged_to_the_programs():
    broken = outcome(passed=False, benchmark_fault="does not parse")

    found = pass_at_k().measure([Item(Sample("s"), Attempt("s", ""), broken)])[0]

    assert found.missing.kind == "undefined"
    assert "does not parse" in found.missing.detail


def test_errors_are_counted_by_kind():
    outcomes = [outcome(passed=False, error=ErrorKind.TIMEOUT), outcome(passed=True)]
    rows = [Item(Sample("s"), Attempt("s", "", index=i), one) for i, one in enumerate(outcomes)]

    assert pass_at_k().measure(rows)[0].stats["errors"] == {"TimeoutError": 1}


def test_a_problem_without_tests_is_undefined():
    assert pass_at_k().measure([Item(Sample("s"), Attempt("s", "x = 1"))])[0].missing.kind == "undefined"


@pytest.mark.parametrize(
    ("candidate", "reference", "kind"),
    [
        (None, TEST, "absent"),
        ([], TEST, "absent"),
        ([None, None], TEST, "absent"),
        ([7], TEST, "undefined"),
        (7, TEST, "undefined"),
        (["right"], None, "undefined"),
        (["right"], [], "undefined"),
        (["right"], 7, "undefined"),
    ],
)
def test_a_bad_row_is_missing_alone(candidate, reference, kind):
    candidates, references = [candidate, ["right", None, "wrong"]], [reference, TEST]

    found = markbook.measure("pass_at_k", candidates, references, run=by_text)

    assert found[0].missing.kind == kind
    assert found[1].value == 0.5
    assert [one.sample_id for one in found] == ["0", "1"]


def test_one_program_may_stand_without_a_list():
    assert markbook.measure("pass@k", ["right"], [TEST], run=by_text)[0].value == 1.0


def test_a_runner_that_crashes_is_a_reason():
    def crash(asked):
        raise OSError("no room")

    assert markbook.measure("pass_at_k", [["a"]], [TEST], run=crash)[0].missing.detail == "OSError: no room"


def test_a_runner_that_loses_outcomes_is_refused():
    with pytest.raises(UsageError, match="0 outcomes for 1"):
        markbook.measure("pass_at_k", [["a"]], [TEST], run=lambda _asked: [])


def test_without_references_there_is_nothing_to_run():
    with pytest.raises(UsageError, match="needs references"):
        markbook.measure("pass_at_k", [["a"]])


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", [], [1, 0]])
def test_a_k_that_is_no_positive_whole_number_is_refused(k):
    with pytest.raises(UsageError, match="k must be"):
        pass_at_k(k=k)


def test_a_timeout_must_be_positive():
    with pytest.raises(UsageError, match="timeout"):
        pass_at_k(timeout=0)


def test_programs_run_in_the_sandbox_against_their_tests():
    loop = "def add(a, b):\n    while True: pass\n"
    forged = "import os\nos._exit(0)\n"
    candidates = [[RIGHT, WRONG, "def add(", loop, forged, ""], [RIGHT, RIGHT], [WRONG]]
    tests = [TEST, [TEST, "assert add(2, 2) == 4"], TEST]

    found = markbook.measure("pass_at_k", candidates, tests, k=[1, 2], timeout=1.0, isolation="weak", workers=1)

    assert (found[0].stats["n"], found[0].stats["c"]) == (6, 1)
    assert found[0].stats["errors"]["TimeoutError"] == 1
    assert found[0].stats["errors"]["SyntaxError"] == 1
    assert found[0].value == pytest.approx(1 / 6)
    assert found[1].stats["values"] == {1: 1.0, 2: 1.0}
    assert found[2].value == 0.0
    summary = markbook.summarise("pass_at_k", found, k=[1, 2])
    assert summary.n == 3
    assert summary.value == pytest.approx((1 / 6 + 1) / 3)


BROKEN = ["assert (", "return 1", "await f(1)", "    assert f(1) == 1"]


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        *((nothing, "no tests") for nothing in ("", "   \n# nothing", "pass", '"""Of f."""', [""], ["", "# none"])),
        *((broken, "tests are broken: ") for broken in BROKEN),
        (["assert f(1) == 1", "assert ("], "tests are broken: "),
    ],
)
def test_tests_that_say_nothing_or_are_no_program_are_undefined_and_nothing_runs(monkeypatch, tests, words):
    monkeypatch.setattr("markbook.runs.pass_at_k.PassAtK._run_in_sandbox", None)

    (found,) = markbook.measure("pass_at_k", [["def f(x):\n    return x"]], [tests])

    assert found.value is None
    assert found.missing.kind == "undefined"
    assert words in found.missing.detail


def test_a_runner_of_ones_own_says_itself_what_a_test_is():
    (found,) = markbook.measure("pass_at_k", [["right"]], ["f(1) should be 1"], run=by_text)

    assert found.value == 1.0


def test_blank_tests_in_another_language_are_none():
    (found,) = markbook.measure("pass_at_k", [["f() { :; }"]], [" \n"], language="sh")

    assert (found.missing.kind, found.missing.detail) == ("undefined", "the problem has no tests")


def test_pass_at_k_near_the_ceiling_is_warned_of_at_every_number_of_problems():
    generator = np.random.default_rng(11)
    for problems in (164, 500):
        for attempts, k in ((10, 5), (20, 10)):
            for _ in range(5):
                right = generator.binomial(attempts, generator.beta(4, 0.4, problems))
                found = pass_at_k_summary([attempts] * problems, right.tolist(), k)
                assert found.note.startswith("the interval may be too narrow")

    plain = pass_at_k_summary([10] * 500, generator.binomial(10, generator.beta(0.5, 0.5, 500)).tolist(), 5)
    assert plain.note == ""


def test_python_by_its_name_is_marked_as_python_without_a_name_apart_from_its_tests():
    # As one program with its tests it would find their expectation in its own text.
    reads = "import re\ndef f(x):\n    return int(re.findall(r'f\\(2\\) == (\\d+)', open(__file__).read())[-1])\n"

    measured = {
        name: markbook.measure("pass_at_k", [[reads]], ["assert f(2) == 41"], language=name) for name in ("", "Python3")
    }

    assert [rows[0].value for rows in measured.values()] == [0.0, 0.0]
    assert measured["Python3"][0].signature == measured[""][0].signature

    (broken,) = markbook.measure("pass_at_k", [[reads]], ["assert ("], language="py")
    assert broken.missing.detail.startswith("the tests are broken: SyntaxError")


@pytest.mark.parametrize(
    ("rare", "problems", "end"),
    [
        (0, 300, ""),
        (1, 300, "0"),
        (20, 300, "0"),
        (29, 300, "0"),
        (30, 300, ""),
        (32, 400, ""),
        (280, 300, "1"),
        (300, 300, ""),
    ],
)
def test_all_right_or_all_wrong_attempts_are_warned_of_by_their_number(rare, problems, end):
    rights = [10] * rare + [0] * (problems - rare)
    note = pass_at_k_summary([10] * problems, rights, 10).note
    assert note == (f"the interval may be too narrow: it rests on few values away from {end}" if end else "")


@pytest.mark.parametrize("solved", [10, 9, 0])
@pytest.mark.parametrize(
    ("problems", "k", "is_warned"), [(60, 5, True), (199, 5, True), (200, 5, False), (60, 1, False)]
)
def test_problems_that_are_all_alike_are_warned_of_while_they_are_few(solved, problems, k, is_warned):
    """Chances Beta(4, .4), 60 problems, pass@5 of 10: 74 % of the intervals hold the truth, and 8 % of them had no warning."""
    note = pass_at_k_summary([10] * problems, [solved] * problems, k).note

    assert ("problems have the same pass@" in note) is is_warned, note


def test_all_right_attempts_need_no_numpy():
    code = "import sys; from markbook.stats import pass_at_k_summary as s; s([9] * 40, [9] * 39 + [0], 5); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
