"""`markbook compare` of items that belong together: all that it says of chance is the clusters', or is not said."""

import json
import math
import re

import pytest
from support.review_kit import markbook as command

from markbook.results.leaderboard import leaderboard
from markbook.results.sheet import Cell, Sheet
from markbook.stats import items_needed, minimum_detectable_effect

COLUMNS = ("--map", "item=id,model=model,score=score,cluster=src")


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a table of two models, a list of (first, second) scores for each cluster."""

    def write(*clusters, models=("a", "b")):
        rows = ["id,model,score,src"]
        for at, pairs in enumerate(clusters):
            for number, pair in enumerate(pairs):
                rows += [f"{at}-{number},{model},{score},{at}" for model, score in zip(models, pair, strict=True)]
        path = tmp_path / "table.csv"
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return path

    return write


def compared(path, *args):
    code, out, err = command("compare", path, *COLUMNS, "--json", *args)
    assert code == 0, err
    return json.loads(out)


def test_differences_that_cancel_in_every_cluster_have_no_interval_and_no_p(table):
    found = compared(table(*[[(1, 0), (0, 1)]] * 4))

    (pair,) = found["pairs"]
    assert (pair["difference"], pair["interval"], pair["se"], pair["p"]) == (0.0, None, None, None)
    assert pair["verdict"] == "not distinguishable"


def test_what_would_settle_two_models_counts_the_clusters(table):
    # Six clusters of 40; the first model is right in four of them and the second in the others, but for a few.
    clusters = [[(1, 0)] * 36 + [(0, 1)] * 4] * 3 + [[(0, 1)] * 33 + [(1, 0)] * 7] * 3
    found = compared(table(*clusters))

    (pair,) = found["pairs"]
    sd = pair["se"] * math.sqrt(240)
    # Student's t over six clusters would show 1.14, and two marks of 0 to 1 differ by 1 at most.
    assert minimum_detectable_effect(6, sd / math.sqrt(40), method="t").value > 1
    assert pair["minimum_detectable_effect"] is None
    needed = items_needed(pair["difference"], sd)
    assert needed > 10 * items_needed(pair["difference"], 1.0)
    said = int(re.search(r"about ([\d,]+) samples", found["next_step"]).group(1).replace(",", ""))
    assert needed <= said < 1.1 * needed
    # Whole clusters are drawn again, so either may come first.
    assert [one["rank_range"] for one in found["ranking"]] == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("clusters", "why"),
    [
        ([[(1, 0)] * 8 + [(0, 0)] * 12], "fewer than 2 clusters"),
        ([[(1, 0)] * 50], "fewer than 2 clusters"),
        ([[(0.7, 0.6)] * 50] * 2, "no variation"),
        ([[(1, 0), (0, 0)] * 10] * 2, "every cluster has the same mean"),
    ],
)
def test_clusters_without_an_error_leave_nothing_to_say_of_chance(table, clusters, why):
    path = table(*clusters, models=("old", "new"))
    found = compared(path)

    (pair,) = found["pairs"]
    assert pair["difference"] > 0
    silent = ("interval", "se", "p", "p_adjusted", "mcnemar_p", "minimum_detectable_effect")
    assert {name: pair[name] for name in silent} == dict.fromkeys(silent)
    assert [one["rank_range"] for one in found["ranking"]] == [None, None]
    assert "do not differ significantly" in found["headline"]
    assert f"is unknown ({why})" in found["next_step"]
    # A gate that can hold nothing does not pass the worse of the two.
    code, _, messages = command("compare", path, *COLUMNS, "--fail-if-worse", "old")
    assert code == 2
    assert f"whether by chance cannot be said ({why}" in messages


def test_items_of_a_cluster_of_their_own_are_compared_as_without_clusters(table):
    path = table(*[[(0.7, 0.6)]] * 20)
    found, plain = compared(path), compared(path, "--map", "item=id,model=model,score=score")

    assert found["pairs"] == plain["pairs"]
    assert found["pairs"][0]["interval"]["method"] == "wilson-bound"


def test_the_letters_of_many_models_are_those_of_the_clusters():
    # 24 models, two clusters of 30: each is right in one cluster only, or in both but for a few.
    names = [f"{at}-{number}" for at in range(2) for number in range(30)]
    marks = {
        f"m{model}": {name: Cell(float((int(name[0]) == model % 2) ^ ((5 * model + 3 * at) % 7 == 0)))
                      for at, name in enumerate(names)}
        for model in range(24)
    }  # fmt: skip
    board = leaderboard(Sheet("score", marks, meta={name: {"cluster": name[0]} for name in names}))

    assert {one.group for one in board.standings} == {("a",)}
    assert board.method == "errors of clusters of common samples, as markbook compare does"
