"""What five red teams found: by what a prompt gives, an answer says what a test expects, or runs where the tests run.

`prompt_attacks.jsonl` has a prompt a row, its test, a reference where one matters, wrong answers that passed `separated`, and
right ones of the same form. `before` names the first Python for which its test is no Python any more.
"""

import json
import sys
from pathlib import Path

import pytest
from support.exam_kit import answer, hold, rows

ATTACKS = [json.loads(line) for line in (Path(__file__).parent / "prompt_attacks.jsonl").read_text().splitlines()]
ATTACKS = [case for case in ATTACKS if sys.version_info < tuple(case.get("before", (4,)))]


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_no_wrong_answer_passes_separated_by_what_the_prompt_gives(tmp_path, known, part):
    cases = part.of([case for case in ATTACKS if not known or "reference" in case], 5, key=lambda case: case["name"])
    problems, answers, is_right = [], [], []
    for case in cases:
        row = {"task_id": case["name"]} | {key: case[key] for key in ("prompt", "entry_point", "test")}
        problems.append(row | ({"canonical_solution": case["reference"]} if known else {}))
        texts = [*case["wrong"], *case["right"]]
        answers += [answer(case["name"], text, sample=at) for at, text in enumerate(texts)]
        is_right += [False] * len(case["wrong"]) + [True] * len(case["right"])

    found = rows(hold(tmp_path, problems, answers))

    forged, failed = [], []
    for right, row in zip(is_right, found, strict=True):
        passed, labels = row["all_tests_passed"], {test["verdict"] for test in row["test_details"]}
        failed += [row["task_id"]] if right and not passed else []
        forged += [row["task_id"]] if not right and passed and "separated" in labels else []
    assert (forged, failed) == ([], [])
