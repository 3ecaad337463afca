"""The doctor says what it found by trying."""

import json

from click.testing import CliRunner
from support.paths import ROOT

from markbook.cli.doctor import command, examine


def test_every_layer_is_listed_with_the_reason_where_it_failed():
    found = examine()

    assert {"seccomp", "limits"} <= {layer.name for layer in found.layers} or found.isolation == "D"
    assert all(layer.ok or layer.detail for layer in found.layers)
    assert found.writable["working directory"]


def test_the_exit_code_says_whether_solutions_can_be_run():
    result = CliRunner().invoke(command, ["--json"], standalone_mode=False)
    found = json.loads(result.output)

    assert result.return_value == (0 if found["fit"] else 4)
    assert found["isolation"] in {"A", "B", "C", "D"}


def test_the_text_names_the_level_and_the_extras():
    text = CliRunner().invoke(command, [], standalone_mode=False).output

    assert "Isolation" in text
    assert "semantic" in text


def test_every_extra_that_a_user_may_install_is_known():
    import tomllib

    from markbook.cli.doctor import _EXTRAS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(_EXTRAS) == set(project["optional-dependencies"]) - {"dev", "docs", "fuzz", "interop"}


def test_a_working_directory_that_is_gone_is_one_that_cannot_be_written(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    found = examine()

    assert found.writable == {"working directory": False, "temporary files": True}
    assert not found.is_fit
