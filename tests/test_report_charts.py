"""Charts are data; whatever name they hold, they can be drawn."""

import json

import pytest
from hypothesis import given, settings, strategies as st
from payloads import HTML

from markbook.report import charts, pictures


def one_of_each(names):
    rows = [{"name": name, "series": name, "column": name, "line": name, "group": name, "kind": name, "x": "1", "value": 50.0,
             "low": 40.0, "high": 60.0, "shown": "50", "place": at, "verdict": "distinguishable"} for at, name in enumerate(names)]  # fmt: skip
    nodes = [{"name": name, "x": 0.5, "y": at / len(names), "size": 1} for at, name in enumerate(names)]
    return {
        "intervals": charts.intervals(rows, names, "Score"),
        "heat": charts.heat_map(rows, names, names, "Score"),
        "curve": charts.curves(rows, names, x_title="k", y_title="y", band=True, x_order=["1"]),
        "points": charts.curves(rows, names, x_title="k", y_title="y", band=False, x_order=["1"]),
        "forest": charts.forest(rows, names, "Difference"),
        "stacked": charts.stacked(rows, names, names, "Share"),
        "bars": charts.bars(rows, names, names, "Value", (0, 100)),
        "scatter": charts.scatter([{**row, "x": 3} for row in rows], names, x_title="s", y_title="y"),
        "graph": charts.graph(nodes, [{"x": 0.1, "y": 0.1, "x2": 0.9, "y2": 0.9, "weight": 2}]),
    }


def test_every_chart_is_drawn_with_its_names():
    for kind, spec in one_of_each(["gpt-4", "llama"]).items():
        drawn = pictures.svg(spec, name=kind)

        assert drawn.startswith('<svg aria-hidden="true"'), kind
        assert "gpt-4" in drawn, kind
        assert "style=" not in drawn


def test_hostile_names_are_drawn_as_words():
    for kind, spec in one_of_each(HTML).items():
        drawn = pictures.svg(spec, name=kind)

        assert "<script" not in drawn, kind
        assert "<img" not in drawn, kind


@pytest.mark.slow
@given(st.lists(st.text(max_size=90), min_size=1, max_size=4, unique=True))
@settings(max_examples=25, deadline=None)
def test_any_name_can_be_drawn(names):
    spec = charts.intervals([{"name": n, "value": 1, "low": 0, "high": 2} for n in names], names, "x")

    assert pictures.svg(spec, name="a").startswith("<svg")


def test_long_names_that_begin_alike_stay_apart():
    names = ["a" * 90 + "1", "a" * 90 + "2"]

    spec = charts.intervals([{"name": name, "value": 1, "low": 0, "high": 2} for name in names], names, "x")

    shown = [row["name"] for row in spec["data"]["values"]]
    assert len(set(shown)) == 2
    assert max(map(len, shown)) <= charts.LABEL
    assert spec["layer"][0]["encoding"]["y"]["sort"] == shown


def test_a_specification_is_plain_json_without_addresses():
    for spec in one_of_each(["a", "b"]).values():
        text = json.dumps(spec, allow_nan=False)

        assert '"url"' not in text
        assert '"href"' not in text


def test_drawing_twice_gives_the_same_bytes():
    spec = one_of_each(["a", "b"])["heat"]

    assert pictures.svg(spec, name="h") == pictures.svg(spec, name="h")


def test_pictures_for_slides_have_settled_colours():
    spec = one_of_each(["a", "b"])["forest"]

    assert pictures.png(spec)[:8] == b"\x89PNG\r\n\x1a\n"
    assert pictures.pdf(spec)[:5] == b"%PDF-"
    assert "currentColor" not in json.dumps(pictures._on_white(spec))


@pytest.mark.parametrize("word", ["0.123456789", 'id="x"', "url(#x)"])
def test_words_between_tags_are_not_touched(word):
    spec = charts.intervals([{"name": word, "value": 1, "low": 0, "high": 2}], [word], "x")

    assert word.replace('"', "&quot;") in pictures.svg(spec, name="a").replace("&#34;", "&quot;").replace(
        '>id="x"<', ">id=&quot;x&quot;<"
    )


def test_a_chart_that_cannot_be_drawn_is_a_sentence(caplog):
    assert pictures.svg({"mark": 7}, name="broken") == pictures.FAILED
    assert "broken could not be drawn" in caplog.text
