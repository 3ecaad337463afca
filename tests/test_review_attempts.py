"""`markbook review` of several reviews of a paper by one system: they are no more certain than their papers are many."""

import json

import pytest
from review_kit import FIRST, SECOND, markbook, only_run

PAIR = ("--similarity", "cosine,jaccard")
HUMAN = [{"comments": FIRST, "RECOMMENDATION": "4"}, {"comments": SECOND, "RECOMMENDATION": "3"}]


@pytest.fixture
def reviewed(tmp_path):
    """Return a function that reviews papers, each with all of its attempts, and returns the system's summary."""

    def run(attempts):
        place = tmp_path / "papers" / "acl_2017" / "train" / "reviews"
        place.mkdir(parents=True)
        rows = []
        for name, some in attempts.items():
            record = {"title": name, "abstract": "Sparse attention.", "id": name, "reviews": HUMAN}
            (place / f"{name}.json").write_text(json.dumps(record))
            rows += [{"paper_id": name, "system": "s", "execution_time": 5, "review": one} for one in some]
        given = tmp_path / "reviews.jsonl"
        given.write_text("".join(json.dumps(row) + "\n" for row in rows))
        code, _, err = markbook(
            "review", "--papers", tmp_path / "papers", "--reviews", given, *PAIR, "--policy", "renormalise",
            "--output", tmp_path / "out",
        )  # fmt: skip
        assert code == 0, err
        return json.loads((only_run(tmp_path / "out") / "summary.json").read_text())["systems"]["s"]

    return run


def test_one_right_and_one_wrong_attempt_at_every_paper_are_no_certainty(reviewed):
    success = reviewed({name: [FIRST, "bananas"] for name in ("one", "two", "three")})["metrics"]["tier1.task_success"]

    assert (success["value"], success["n"], success["interval"]) == (0.5, 6, None)
    assert success["note"] == "every cluster has the same mean: no interval"
