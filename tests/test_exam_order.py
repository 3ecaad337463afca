"""Attempts are put into benchmark order, and a small exam does without what only a large one needs."""

import subprocess
import sys
from array import array

import pytest
from hypothesis import given, strategies as st

from markbook.aggregate import exam_view
from markbook.load import answers

KEYS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40)


@pytest.mark.parametrize("few", [0, 1000], ids=["numpy", "python"])
@given(keys=KEYS)
def test_attempts_are_sorted_by_problem_then_number_then_place(few, keys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exam_view, "_FEW", few)
        order = exam_view._sorted(
            array("Q", [place << 32 | number for place, number in keys]),
            array("Q", [7 * at for at in range(len(keys))]),
        )

    wanted = sorted((place, number, 7 * at) for at, (place, number) in enumerate(keys))
    assert list(zip(order.places, order.locations, strict=True)) == [(place, at) for place, _, at in wanted]


@pytest.mark.parametrize("few", [0, 1000], ids=["numpy", "python"])
@given(keys=KEYS)
def test_answers_are_sorted_by_problem_then_number_then_place(few, keys):
    index = answers._Index()
    index.problem.extend(place for place, _ in keys)
    index.number.extend(number for _, number in keys)
    index.offset.extend(range(len(keys)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "_FEW", few)
        order = answers._benchmark_order(index)

    assert list(order) == [at for _, _, at in sorted((*key, at) for at, key in enumerate(keys))]


def test_an_exam_of_one_answer_loads_nothing_heavy(tmp_path):
    (tmp_path / "paper.jsonl").write_text(
        '{"task_id": "HumanEval/0", "prompt": "def f(x):\\n", "canonical_solution": "    return x\\n",'
        ' "test": "def check(f):\\n    assert f(1) == 1\\n", "entry_point": "f"}\n'
    )
    (tmp_path / "answers.jsonl").write_text('{"task_id": "HumanEval/0", "completion": "    return x\\n"}\n')
    code = (
        "import sys\nfrom markbook.cli import cli\n"
        "cli.main(['exam', '--benchmark', 'paper.jsonl', '--solutions', 'answers.jsonl'], standalone_mode=False)\n"
        "print(sorted(set(sys.modules) & {'numpy', 'scipy', 'vl_convert', 'asyncio', 'importlib.metadata', 'pydantic',"
        " 'rich.progress', 'zipfile', 'email', 'multiprocessing'}))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
