"""Charts show the numbers that they were given, whatever the names in them, and can be read on any screen."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st
from support.payloads import HTML

from markbook.report import charts, exports

SVG = "{http://www.w3.org/2000/svg}"


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
        "stacked": charts.stack_bars(rows, names, names, "Share"),
        "bars": charts.bars(rows, names, names, "Value", (0, 100)),
        "scatter": charts.scatter([{**row, "x": 3} for row in rows], names, x_title="s", y_title="y"),
        "graph": charts.graph(nodes, [{"x": 0.1, "y": 0.1, "x2": 0.9, "y2": 0.9, "weight": 2}]),
    }


def parsed(drawn):
    return ET.fromstring(drawn)


def said(drawn):
    return ["".join(one.itertext()) for one in parsed(drawn).iter(f"{SVG}text")]


def numbers(drawn, kind, name):
    return [float(one.get(name)) for one in parsed(drawn).iter(f"{SVG}{kind}")]


def axis_of(drawn, y):
    """Return where 0 and 100 lie by the numbers along an axis."""
    places = {one.text: float(one.get(y)) for one in parsed(drawn).iter(f"{SVG}text")}
    return places["0"], places["100"]


def test_every_chart_is_drawn_with_its_names_for_both_widths():
    for kind, picture in one_of_each(["gpt-4", "llama"]).items():
        for drawn, width in ((picture.wide, "960"), (picture.narrow, "350")):
            root = parsed(drawn)

            assert root.get("aria-hidden") == "true", kind
            assert root.get("width") == width, kind
            assert root.get("viewBox") == f"0 0 {width} {root.get('height')}", kind
            assert any("gpt-4" in words for words in said(drawn)), kind
            assert "style" not in drawn, kind


def test_a_point_and_its_interval_lie_where_the_numbers_say():
    rows = [{"name": "a", "value": 70.0, "low": 60.0, "high": 85.0}]

    for drawn in vars_of(charts.intervals(rows, ["a"], "Score")):
        zero, hundred = axis_of(drawn, "x")
        (point,) = numbers(drawn, "circle", "cx")
        thick = [one for one in parsed(drawn).iter(f"{SVG}line") if one.get("stroke-width") == "3"]

        assert point == pytest.approx(zero + 0.70 * (hundred - zero), abs=0.1)
        assert float(thick[0].get("x1")) == pytest.approx(zero + 0.60 * (hundred - zero), abs=0.1)
        assert float(thick[0].get("x2")) == pytest.approx(zero + 0.85 * (hundred - zero), abs=0.1)


def vars_of(picture):
    return [picture.wide, picture.narrow]


def test_the_nodes_of_a_graph_lie_inside_the_picture_where_its_lines_end():
    nodes = [{"name": name, "x": x, "y": x, "size": 1} for name, x in (("a", 0.0), ("b", 1.0))]

    for drawn in vars_of(charts.graph(nodes, [{"x": 0.0, "y": 0.0, "x2": 1.0, "y2": 1.0, "weight": 2}])):
        left, right = numbers(drawn, "circle", "cx")
        middle = float(parsed(drawn).get("width")) / 2

        assert (left, right) == pytest.approx((middle - 160, middle + 160), abs=0.1)
        assert [*numbers(drawn, "line", "x1"), *numbers(drawn, "line", "x2")] == [left, right]


def test_a_name_without_a_value_has_a_row_and_no_mark():
    rows = [
        {"name": "a", "value": None, "low": None, "high": None},
        {"name": "b", "value": 5.0, "low": 1.0, "high": 9.0},
    ]

    drawn = charts.intervals(rows, ["a", "b"], "Score").wide

    assert {"a", "b"} <= set(said(drawn))
    assert len(numbers(drawn, "circle", "cx")) == 1


def test_stacked_bars_follow_one_another_by_their_place():
    rows = [
        {"name": "m", "kind": kind, "value": value, "place": place}
        for kind, value, place in (("two", 20, 1), ("one", 30, 0))
    ]

    drawn = charts.stack_bars(rows, ["m"], ["one", "two"], "Share").wide

    places = {one.text: float(one.get("x")) for one in parsed(drawn).iter(f"{SVG}text")}
    unit = (places["50"] - places["0"]) / 50
    assert numbers(drawn, "rect", "x") == pytest.approx([places["0"], places["0"] + 30 * unit], abs=0.1)
    assert numbers(drawn, "rect", "width") == pytest.approx([30 * unit, 20 * unit], abs=0.1)
    assert [one.get("fill") for one in parsed(drawn).iter(f"{SVG}rect")] == list(charts.PALETTE[:2])


def test_bars_begin_at_zero_and_end_at_the_value():
    rows = [{"group": "g", "series": "s", "value": 0.25}]

    drawn = charts.bars(rows, ["g"], ["s"], "Mean", (0, 1)).wide

    places = {one.text: float(one.get("x")) for one in parsed(drawn).iter(f"{SVG}text")}
    assert numbers(drawn, "rect", "x") == pytest.approx([places["0"]], abs=0.1)
    assert numbers(drawn, "rect", "width") == pytest.approx([0.25 * (places["1"] - places["0"])], abs=0.2)


def test_a_curve_lies_where_the_numbers_say():
    rows = [
        {"series": "m", "x": x, "value": value, "low": value - 5, "high": value + 5}
        for x, value in (("1", 20.0), ("2", 60.0))
    ]

    drawn = charts.curves(rows, ["m"], x_title="k", y_title="pass@k", band=True, x_order=["1", "2"]).wide

    shift = 0.35 * charts.SIZE  # from a word's middle to its foot
    zero, hundred = (y - shift for y in axis_of(drawn, "y"))
    wanted = [zero + share * (hundred - zero) for share in (0.2, 0.6)]
    assert numbers(drawn, "circle", "cy")[-2:] == pytest.approx(wanted, abs=0.2)
    (line,) = parsed(drawn).iter(f"{SVG}polyline")
    assert [float(spot.partition(",")[2]) for spot in line.get("points").split()] == pytest.approx(wanted, abs=0.2)


def test_a_heat_map_says_every_value_and_leaves_missing_ones_blank():
    rows = [
        {"column": "m", "line": "t", "value": 80.0, "shown": "80.0"},
        {"column": "m", "line": "u", "value": None, "shown": "-"},
    ]

    drawn = charts.heat_map(rows, ["m"], ["t", "u"], "Score").wide

    assert {"80.0", "-", "m", "t", "u", "Score, 0 to 100"} <= set(said(drawn))
    assert len(numbers(drawn, "rect", "x")) == 1


def test_columns_of_a_heat_map_too_narrow_for_their_names_are_numbered():
    columns = [f"a model with quite a long name, number {at}" for at in range(6)]
    rows = [{"column": name, "line": "t", "value": 10.0 * at, "shown": str(10 * at)} for at, name in enumerate(columns)]

    drawn = charts.heat_map(rows, columns, ["t"], "Score").narrow

    assert {f"{at + 1}  {name}" for at, name in enumerate(columns)} <= set(said(drawn))
    assert {"1", "6"} <= set(said(drawn))


@pytest.mark.parametrize(
    ("values", "ends", "ticks"),
    [
        ([37.0, 81.0], (0, 100), ["0", "20", "40", "60", "80", "100"]),
        ([-12.0, 31.0], (-20, 40), ["\u221220", "\u221210", "0", "10", "20", "30", "40"]),
        ([0.00031], (0, 0.0004), ["0", "0.0001", "0.0002", "0.0003", "0.0004"]),
        ([0.0], (0, 1), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([], (0, 1), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
    ],
)
def test_an_axis_has_round_ends_and_round_numbers(values, ends, ticks):
    low, high = charts.round_range(values)

    assert (low, high) == pytest.approx(ends)
    assert [charts.tick_words(tick) for tick in charts.AxisScale(low, high, 0, 300).ticks] == ticks


def test_nothing_is_drawn_outside_the_picture():
    names = ["W" * 60, "gpt-4", "\u4e2d" * 60]
    for kind, picture in one_of_each(names).items():
        for drawn in vars_of(picture):
            root = parsed(drawn)
            width, height = float(root.get("width")), float(root.get("height"))
            for one in root.iter(f"{SVG}text"):
                room = charts.text_width(one.text)
                start = float(one.get("x")) - room * {"end": 1, "middle": 0.5}.get(one.get("text-anchor"), 0)
                assert start >= -0.2, (kind, one.text)
                assert start + room <= width + 0.2, (kind, one.text)
                assert 0 <= float(one.get("y")) <= height, (kind, one.text)


def test_hostile_names_are_drawn_as_words():
    for kind, picture in one_of_each(HTML).items():
        for drawn in vars_of(picture):
            assert "<script" not in drawn, kind
            assert "<img" not in drawn, kind
            assert {one.tag.removeprefix(SVG) for one in parsed(drawn).iter()} <= {
                "svg", "text", "line", "rect", "circle", "polyline", "polygon",
            }, kind  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.text(max_size=90), min_size=1, max_size=4, unique=True))
@settings(max_examples=25, deadline=None)
def test_any_name_can_be_drawn(names):
    for picture in one_of_each(names).values():
        for drawn in vars_of(picture):
            parsed(drawn)


def test_long_names_that_begin_alike_stay_apart():
    labels = charts.shorten_labels(["a" * 90 + "1", "a" * 90 + "2"])

    assert len(set(labels.values())) == 2
    assert max(map(len, labels.values())) <= charts.LABEL


def test_no_chart_names_an_address():
    for picture in one_of_each(["a", "b"]).values():
        for drawn in vars_of(picture):
            assert set(re.findall(r"https?://[^\s\"'<]+", drawn)) == {"http://www.w3.org/2000/svg"}
            assert "href" not in drawn
            assert "url(" not in drawn


def test_pictures_for_files_have_settled_colours():
    picture = one_of_each(["a", '"currentColor"'])["forest"]

    assert exports.png(picture)[:8] == b"\x89PNG\r\n\x1a\n"
    assert ' fill="currentColor"' not in exports._on_white(picture)
    assert ">&quot;currentColor&quot;<" in exports._on_white(picture)


def test_a_value_without_an_interval_is_a_point():
    rows = [{"name": "a", "value": 1.0, "low": None, "high": None, "verdict": "distinguishable"},
            {"name": "b", "value": 2.0, "low": 1.0, "high": 3.0, "verdict": "distinguishable"}]  # fmt: skip

    drawn = charts.forest(rows, ["a", "b"], "Difference").wide

    assert len(numbers(drawn, "circle", "cx")) >= 2


def test_counted_things_have_whole_numbers_on_their_axis():
    rows = [{"name": name, "kind": "missing", "value": 2, "place": 0} for name in ("first", "second")]

    drawn = charts.stack_bars(rows, ["first", "second"], ["missing"], "Reviews").wide

    assert re.findall(r">([\d.]+)</text>", drawn) == ["0", "1", "2"]


def test_an_agents_name_stands_where_no_line_of_the_graph_runs():
    nodes = [
        {"name": "manager", "x": 0.5, "y": 0.92, "size": 1},
        {"name": "researcher", "x": 0.5, "y": 0.08, "size": 1},
    ]
    edges = [{"x": 0.5, "y": 0.92, "x2": 0.5, "y2": 0.08, "weight": 1}]

    drawn = charts.graph(nodes, edges).wide

    top, bottom = numbers(drawn, "circle", "cy")
    above, below = numbers(drawn, "text", "y")
    assert above < top - 17
    assert below > bottom + 17
