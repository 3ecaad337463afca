"""A model's folder stays inside the run and apart from every other, whatever the model is called."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings, strategies as st

from markbook.report.words import folder_names


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
        "NUL .txt",
        "con. x",
    ],
)
def test_unsafe_name_gets_a_hash(name):
    folder = folder_names([name])[name]

    assert folder != name
    assert folder.rpartition("-")[2].isalnum()


DEVICES = ["con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in range(10))]
TAILS = [
    "",
    ".",
    "..",
    ". ",
    " ",
    " .",
    ".txt",
    "./x",
    "../x",
    ".json/x",
    "..\\x",
    ".*",
    "\u00a0.x",
    ". . x",
    ".-x",
    "/..",
    ":x",
]


def is_device(name):
    """Whether Windows opens a device by this name: spaces and dots at the end of the first part do not count."""
    return name.partition(".")[0].rstrip(" ").lower() in DEVICES


def test_no_folder_is_a_device_of_windows():
    spelled = [change(device) for device in DEVICES for change in (str.lower, str.upper, str.title)]
    models = [f"{head}{name}{tail}" for name in spelled for tail in TAILS for head in ("", "/", "-", "../")]

    folders = folder_names(models)

    assert len(models) >= 4_000
    assert [(model, folder) for model, folder in folders.items() if is_device(folder)] == []
    assert [folder for folder in folders.values() if folder[-1] in ". "] == []
    assert len({folder.casefold() for folder in folders.values()}) == len(set(models))


def test_a_model_called_as_another_ones_folder_gets_its_own():
    taken = folder_names(["a/b"])["a/b"]

    for models in ([taken, "a/b"], ["a/b", taken], [taken, taken.upper(), "a/b"]):
        folders = list(folder_names(models).values())
        assert len({folder.casefold() for folder in folders}) == len(models), folders


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
        assert not is_device(folder)
