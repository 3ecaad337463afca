"""More attacks by a task's own code: what is not an answer or a number never becomes one."""

import pytest
from test_task_attacks import BY_FUNCTION, FILTER, GENERATED, folder, run_code  # noqa: F401 - a fixture

SEVERAL = BY_FUNCTION.replace("'{{a}}'", "!function utils.targets")
TARGETS = "def targets(doc):\n    return ['x', 'y']\n"


@pytest.mark.parametrize(
    "given", ["'a0'", "{'a0': 1}", "[['a0'], ['a0']]", "[[None]]", "[None]", "[{'a0'}]", "[{'a0': 1}]"]
)
def test_what_is_not_one_list_of_texts_leaves_a_row_without_a_number(folder, given):  # noqa: F811 - the fixture
    code, metrics, _ = run_code(folder, FILTER, f"def f(resps, docs):\n    return {given}\n")

    assert (code, metrics["exact_match"]["n_missing"]) == (3, {"failed": 2})


def test_a_filter_that_yields_without_an_end_is_given_up(folder):  # noqa: F811 - the fixture
    code, metrics, _ = run_code(folder, FILTER, "import itertools\ndef f(resps, docs):\n    return [itertools.repeat('a0')]\n")  # fmt: skip

    assert (code, metrics["exact_match"]["n_missing"]) == (3, {"failed": 2})


@pytest.mark.parametrize("given", ["float('nan')", "None", "'no'", "np.array([0.0, 0.0])", "Odd()", "{'g': 1.0}"])
def test_what_is_no_number_for_one_of_several_right_answers_is_neither_right_nor_wrong(folder, given):  # noqa: F811
    odd = "import numpy as np\nclass Odd:\n    def __bool__(self): raise RuntimeError('odd')\n"

    _, metrics, _ = run_code(folder, SEVERAL, f"{odd}{TARGETS}def f(references, predictions):\n    return {given}\n")

    assert [number["value"] for number in metrics.values()] == [None]


@pytest.mark.parametrize("given", ["'0.5'", "Odd()"])
def test_what_is_no_number_is_none_of_an_aggregations_numbers(folder, given):  # noqa: F811 - the fixture
    lines = GENERATED + "metric_list: [{metric: !function utils.f, aggregation: !function utils.g}]\n"
    odd = "class Odd:\n    def __float__(self): raise RuntimeError('odd')\n"

    _, metrics, _ = run_code(
        folder, lines, f"{odd}def f(references, predictions):\n    return 1.0\ndef g(items):\n    return {given}\n"
    )

    assert metrics["f"]["value"] is None


def test_a_median_of_texts_is_no_number(folder):  # noqa: F811 - the fixture
    lines = GENERATED + "process_results: !function utils.f\nmetric_list: [{metric: m, aggregation: median}]\n"

    _, metrics, _ = run_code(folder, lines, "def f(doc, results):\n    return {'m': 'a'}\n")

    assert metrics["m"]["value"] is None
