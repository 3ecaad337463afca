"""`markbook review` of several reviews of a paper by one system: they are no more certain than their papers are many."""

import json
import math

import pytest
from support.review_kit import FIRST, SECOND, markbook, only_run

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
            for review in some:
                error = review.get("error") if isinstance(review, dict) else None
                rows.append({"paper_id": name, "system": "s", "execution_time": 5, "review": review, "error": error})
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


@pytest.mark.parametrize("none", [None, "", {"comments": FIRST, "error": "timeout"}])
def test_how_fast_no_review_came_is_no_score_of_it(reviewed, none):
    rest = reviewed({"one": [FIRST], "two": [none]})["metrics"]["composite.composite_score"]

    assert (rest["n"], sum(rest["n_missing"].values())) == (1, 1)


def test_composites_without_the_time_are_not_those_with_it(tmp_path):
    place = tmp_path / "papers" / "acl_2017" / "train" / "reviews"
    place.mkdir(parents=True)
    rows = {"slow": [], "silent": []}
    for name in map(str, range(4)):
        record = {"title": name, "abstract": "Sparse attention.", "id": name, "reviews": HUMAN}
        (place / f"{name}.json").write_text(json.dumps(record))
        rows["slow"].append({"paper_id": name, "system": "slow", "execution_time": 300, "review": FIRST})
        rows["silent"].append({"paper_id": name, "system": "silent", "review": FIRST})

    def review(name, rows):
        given = tmp_path / f"{name}.jsonl"
        given.write_text("".join(json.dumps(row) + "\n" for row in rows))
        code, _, err = markbook(
            "review", "--papers", tmp_path / "papers", "--reviews", given, *PAIR, "--judge", "off", "--policy",
            "renormalise", "--output", tmp_path / name,
        )  # fmt: skip
        assert code == 0, err
        return only_run(tmp_path / name)

    both = review("both", [*rows["slow"], *rows["silent"]])
    apart = [review(name, rows[name]) for name in rows]

    code, said, _ = markbook("compare", both, "--json")
    refused = markbook("compare", *apart)

    assert code == 0
    (note,) = (note for note in json.loads(said)["notes"] if "Composites" in note)
    assert "(silent: output_similarity, task_success; slow: output_similarity, task_success, time_taken)" in note
    assert refused[0] == 2
    assert "parts:output_similarity, task_success, time_taken" in refused[2]


def test_attempts_at_one_paper_say_nothing_of_other_papers(reviewed):
    found = reviewed({"one": [f"{SECOND} {word}" for word in ("Clear.", "Good.", "Weak.", "New.", "Fine.")]})

    for name in ("tier1.cosine_score", "tier1.task_success"):
        one = found["metrics"][name]
        assert (one["n"], one["interval"], one["note"]) == (5, None, "fewer than 2 clusters: no interval")


def test_a_recommendation_repeated_ten_times_is_known_no_better(reviewed):
    said = {"one": 5, "two": 1, "three": 3}
    found = reviewed({
        name: [{"comments": FIRST, "recommendation": mark}] * 10 for name, mark in said.items()
    })["own_recommendation"]  # fmt: skip

    # People's mean is 3.5 of 5, .625; the reviews' are 1, 0 and .5: the differences .375, -.625 and -.125 with the mean
    # -.125. se = sqrt(3 / 2) sqrt(5^2 + 5^2) / 30, and t(2) = 4.303.
    reach = 4.302653 * math.sqrt(1.5 * 50) / 30
    assert (found["n"], found["mean_difference"]) == (30, -0.125)
    assert found["mean_difference_interval"]["method"] == "cluster-cr2"
    assert found["mean_difference_interval"]["high"] == pytest.approx(-0.125 + reach)
    assert found["mean_absolute_difference_interval"]["method"] == "cluster-cr2"
