"""A model's folder stays inside the run and apart from every other, whatever the model is called."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings, strategies as st

from markbook.report.names import folder_names


@pytest.mark.parametrize("name", ["gpt-4", "Claude 3.5 Sonnet", "phi_2", "qwen2.5-coder@q4"])
def test_safe_name_is_kept(name):
    assert folder_names([name]) == {name: name}


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../x",
        "a/b",
        "a\\b",
        "CON",
        "nul.txt",
        "x" * 300,
        "\u202eevil",
        "a\x00b",
        "run.json",
        "journal",
    ],
)
def test_unsafe_name_gets_a_hash(name):
    folder = folder_names([name])[name]

    assert folder != name
    assert folder.rpartition("-")[2].isalnum()


@settings(max_examples=2000, deadline=None)
@given(st.lists(st.text(max_size=120), unique=True, max_size=6))
def test_no_name_escapes_and_no_two_collide(names):
    folders = folder_names(names)

    assert len({folder.casefold() for folder in folders.values()}) == len(names)
    for folder in folders.values():
        assert PurePosixPath(folder).name == folder
        assert folder not in {"", ".", ".."}
        assert len(folder.encode()) <= 80
        assert "\\" not in folder
