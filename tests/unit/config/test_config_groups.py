"""Groups of lm-evaluation-harness: tags, groups in place, members with keys of their own, tasks of other folders."""

import json

import pytest
from support.wild_kit import HEAD, write

import markbook
from markbook.config.loading import load_all
from markbook.errors import ConfigError

BODY = HEAD.partition("\n")[2] + "doc_to_text: q\ndoc_to_target: a\n"


def files(folder, **texts):
    for name, text in texts.items():
        path = folder / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(folder, group):
    tasks, groups = load_all([str(folder / group)])
    return [each.task.name for each in tasks], {group.name: held for group, held in groups}


@pytest.mark.parametrize("tag", ["tag: good", "tag: [bad, good]", "tag:\n  - bad\n  - good # so", "tag:\n- 'good'"])
def test_a_tag_stands_for_every_task_that_bears_it(tmp_path, tag):
    files(
        tmp_path,
        a=f"task: a\n{tag}\n{BODY}",
        b=f"task: b\ntag: other\n{BODY}",
        c="task: c\ninclude: base.txt\n",
        g="group: g\ntask: good\n",
    )
    (tmp_path / "base.txt").write_text(f"{tag}\n{BODY}")

    assert names(tmp_path, "g.yaml") == (["a", "c"], {"g": ["a", "c"]})


def test_a_group_stands_in_place_of_a_name(tmp_path):
    members = "task:\n  - group: stem\n    task: [a]\n    aggregate_metric_list: [{metric: exact_match}]\n  - b\n"
    files(tmp_path, a=f"task: a\n{BODY}", b=f"task: b\n{BODY}", g=f"group: g\n{members}")

    assert names(tmp_path, "g.yaml") == (["a", "b"], {"g": ["a", "b"], "stem": ["a"]})


def test_a_member_has_keys_of_its_own(tmp_path):
    files(tmp_path, a=f"task: a\n{BODY}", g="group: g\ntask: [{task: a, task_alias: A, num_fewshot: 3}]\n")

    tasks, _ = load_all([str(tmp_path / "g.yaml")])

    assert (tasks[0].task.few_shot.count, tasks[0].alias) == (3, "A")


def test_a_wrong_key_of_a_member_is_named_at_its_place(tmp_path):
    files(tmp_path, a=f"task: a\n{BODY}", g="group: g\ntask:\n  - task: a\n    num_fewshoot: 3\n")

    with pytest.raises(ConfigError, match="unknown key 'num_fewshoot'") as found:
        load_all([str(tmp_path / "g.yaml")])
    assert found.value.at.endswith("g.yaml:4:5")


def test_one_task_with_different_keys_is_two_of_one_name(tmp_path):
    files(tmp_path, a=f"task: a\n{BODY}", g="group: g\ntask: [a, {task: a, num_fewshot: 3}]\n")

    with pytest.raises(ConfigError, match="two tasks are named 'a'"):
        load_all([str(tmp_path / "g.yaml")])


def test_members_lie_in_folders_below_and_beside(tmp_path):
    files(
        tmp_path,
        one__a=f"task: a\n{BODY}",
        two__deep__b=f"task: b\ntag: far\n{BODY}",
        bench__g="group: g\ntask: [a, far]\n",
        top="group: top\ntask: [g]\n",
    )

    assert names(tmp_path, "bench/g.yaml")[0] == ["a", "b"]
    assert names(tmp_path, "top.yaml")[0] == ["a", "b"]


def test_an_unknown_member_is_named(tmp_path):
    files(tmp_path, a=f"task: abc\n{BODY}", g="group: g\ntask: [abd]\n")

    with pytest.raises(ConfigError, match="unknown task 'abd'") as found:
        load_all([str(tmp_path / "g.yaml")])
    assert "did you mean 'abc'" in found.value.hint


def test_a_group_in_place_is_summed_up_by_its_own_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    members = "task:\n  - group: stem\n    task: [a]\n    aggregate_metric_list: [{metric: exact_match}]\n"
    files(tmp_path, a=f"task: a\n{BODY}", g=f"group: g\n{members}")
    write(tmp_path / "rows.jsonl", [{"q": "?", "a": "x"}, {"q": "?", "a": "y"}])
    write(tmp_path / "said.jsonl", [{"doc_id": 0, "prediction": "x"}, {"doc_id": 1, "prediction": "no"}])

    run = markbook.run_task("g.yaml", predictions="said.jsonl", output="out")

    groups = json.loads((run.folder / "summary.json").read_text())["groups"]
    assert groups["stem"]["metrics"]["exact_match"]["value"] == 0.5
