"""`markbook compare` of items that belong together: all that it says of chance is the clusters', or is not said."""

import json

import pytest
from review_kit import markbook as command

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
