"""Corners of task files: files that name one another, paths that are inherited, names that are also tags, versions."""

from __future__ import annotations

import json

from click.testing import CliRunner

from markbook.cli import cli
from markbook.config import loading
from markbook.config.loading import load_all


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


def rows(path, *questions):
    path.write_text("".join(json.dumps({"q": question, "a": "x"}) + "\n" for question in questions))


def task(path, body, name="t"):
    path.write_text(f"name: {name}\n{body}")
    return path


BODY = "data: {path: d.jsonl}\nprompt: '{{ q }}'\nreference: '{{ a }}'\nmetrics: [exact_match]\n"


def prompts(folder, file):
    said = folder / "said.jsonl"
    said.write_text('{"doc_id": 0, "prediction": "x"}\n')
    result = run_cli("run", file, "--predictions", said, "--output", folder / "run", "--json")
    assert result.exit_code in (0, 3), result.output
    (results,) = (folder / "run").glob("*/results.jsonl")
    return [json.loads(line)["prompt"] for line in results.read_text().splitlines()]


def test_each_groups_file_is_read_once(tmp_path, monkeypatch):
    rows(tmp_path / "d.jsonl", "one")
    task(tmp_path / "t.yaml", BODY)
    (tmp_path / "g0.yaml").write_text("group: g0\ntasks: [t.yaml, t.yaml]\n")
    for at in range(1, 12):
        (tmp_path / f"g{at}.yaml").write_text(f"group: g{at}\ntasks: [g{at - 1}.yaml, g{at - 1}.yaml]\n")
    read, count = loading._read, []
    monkeypatch.setattr(loading, "_read", lambda *args: count.append(args) or read(*args))

    tasks, groups = load_all([str(tmp_path / "g11.yaml")])

    assert [one.task.name for one in tasks] == ["t"]
    assert [group.name for group, _ in groups] == [f"g{at}" for at in range(11, -1, -1)]
    assert all(names == ["t"] for _, names in groups)
    assert len(count) == 13


def test_examples_of_ones_own_lie_beside_the_file_that_names_them(tmp_path):
    for name in ("base", "child"):
        (tmp_path / name).mkdir()
        rows(tmp_path / name / "shots.jsonl", f"{name} shot 1", f"{name} shot 2")
        rows(tmp_path / name / "d.jsonl", f"{name} question")
    task(tmp_path / "base/base.yaml", BODY + "few_shot: {count: 1, path: shots.jsonl}\n")
    own = task(
        tmp_path / "child/own.yaml", "extends: ../base/base.yaml\nfew_shot: {count: 1, path: shots.jsonl}\n", "own"
    )
    data = task(tmp_path / "child/data.yaml", "extends: ../base/base.yaml\ndata: {path: d.jsonl}\n", "data")

    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (first,), (second,) = prompts(tmp_path / "1", own), prompts(tmp_path / "2", data)

    assert ("child shot 1" in first, "base question" in first) == (True, True)
    assert ("base shot 1" in second, "child question" in second) == (True, True)


def test_a_file_of_examples_may_hold_just_as_many_as_are_needed(tmp_path):
    rows(tmp_path / "shots.jsonl", "shot")
    rows(tmp_path / "d.jsonl", "question")
    file = task(tmp_path / "t.yaml", BODY + "few_shot: {count: 1, path: shots.jsonl}\n")

    (prompt,) = prompts(tmp_path, file)

    assert "shot" in prompt


LM = "dataset_path: json\ndataset_kwargs: {data_files: {test: d.jsonl}}\ntest_split: test\ndoc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\n"


def test_a_task_in_a_group_is_known_by_its_own_name_and_by_the_groups(tmp_path):
    rows(tmp_path / "d.jsonl", "one")
    for name in ("x1", "x2"):
        (tmp_path / f"{name}.yaml").write_text(f"group: fam\ntask: {name}\n{LM}")
    (tmp_path / "gx.yaml").write_text("group: gx\ntask: [fam]\n")
    (tmp_path / "gy.yaml").write_text("group: gy\ntask: [x1, x2]\n")

    for name in ("gx", "gy"):
        assert [one.task.name for one in load_all([str(tmp_path / f"{name}.yaml")])[0]] == ["x1", "x2"]


def test_a_version_is_what_stands_in_the_file(tmp_path):
    rows(tmp_path / "d.jsonl", "one")
    file = task(tmp_path / "t.yaml", BODY + "version: 1.10\n")

    ((found,), _) = load_all([str(file)])

    assert found.task.version == "1.10"
