"""The figures of the code's structure and language may only become better."""

import importlib.util
import json

import pytest
from support.paths import ROOT


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_figure_is_worse_than_the_recorded_one(house):
    figures = house.measure(ROOT / "src" / "markbook")

    assert house.worse(figures, json.loads(house.RECORD.read_text("utf-8"))) == []


def test_the_figures_of_a_small_package_are_these(house, tmp_path):
    package = tmp_path / "small"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text(
        '"""This is no example."""\n'
        "import os\n\n\n"
        "def shown(found):\n    # why it is so\n    return _twice(found)  # noqa: X1\n\n\n"
        "def _twice(value):\n    return 2 * value\n\n\n"
        "def price_of(value):\n    from small.second import Item\n\n    return Item(value)\n"
    )
    (package / "second.py").write_text("from small import first\n\n\nclass Item:\n    price = first.price_of\n")

    figures = house.measure(package)

    assert figures == {
        "lines": 22,
        "modules": 3,
        "modules_under_60_lines": 3,
        "private_functions_called_once": 1,
        "vague_locals_percent": 33.3,
        "participle_functions": 1,
        "names_ending_in_of": 1,
        "is_no_per_1000_lines": 45.45,
        "comments_percent": 4.5,
        "noqa": 1,
        "stems_more_than_twice": 0,
        "class_names_more_than_once": 0,
        "import_cycles": 1,
    }


def test_worse_is_more_of_all_but_comments(house):
    recorded = {"lines": 10, "comments_percent": 3.0}

    assert house.worse({"lines": 9, "comments_percent": 3.5}, recorded) == []
    assert house.worse({"lines": 11, "comments_percent": 2.5}, recorded) == [
        "lines is 11; it was 10",
        "comments_percent is 2.5; it was 3",
    ]
