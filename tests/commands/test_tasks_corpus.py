"""Numbers over all rows that are not means (corpus BLEU, chrF, TER) count rows, however many answers each has."""

import json

import pytest

import markbook

TASK = """\
name: demo
data: {path: rows.jsonl}
prompt: "{{ q }}"
reference: "{{ a }}"
metrics: [corpus_bleu, corpus_chrf, corpus_ter]
"""
GROUP = "group: all\ntasks: [task.yaml]\nsummarise: [{metric: corpus_bleu}]\n"
RIGHT = [f"the {word} sat on the {other} today" for word, other in zip("abcdefghijkl", "mnopqrstuvwx", strict=True)]
SAID = [text if at % 3 else text.replace("sat on", "ran over") for at, text in enumerate(RIGHT)]
CORPUS = ("corpus_bleu", "corpus_chrf", "corpus_ter")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the task, or its group, over the answers of each row."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text(TASK, encoding="utf-8")
    (tmp_path / "group.yaml").write_text(GROUP, encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"q": "q", "a": text}) + "\n" for text in RIGHT))

    def over(answers, name="task.yaml", **options):
        rows = [
            {"id": str(at), "index": index, "prediction": one}
            for at, some in enumerate(answers) for index, one in enumerate(some)
        ]  # fmt: skip
        (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        folder = markbook.run_task(name, predictions="said.jsonl", output="out", **options).folder
        return json.loads((folder / "summary.json").read_text())

    return over


def test_the_same_answers_twenty_times_are_no_more_certain(run):
    once, often = (run([[text] * k for text in SAID])["tasks"]["demo"]["metrics"] for k in (1, 20))

    for name in CORPUS:
        assert once[name]["interval"]["low"] < once[name]["value"] < once[name]["interval"]["high"]
        assert often[name] == once[name]
        assert (often[name]["n"], often[name]["n_items"]) == (12, 12)


def test_a_group_counts_the_rows(run):
    found = run([[text] * 3 for text in SAID], "group.yaml")["groups"]["all"]["metrics"]["corpus_bleu"]

    assert (found["n"], found["n_items"]) == (12, 12)


def test_rows_with_a_part_of_their_answers_are_counted(run):
    found = run([[SAID[0], None], *([text, text, text] for text in SAID[1:11]), [None]])["tasks"]["demo"]["metrics"]

    for name in CORPUS:
        one = found[name]
        assert (one["n"], one["n_items"], one["n_partial"], one["n_missing"]) == (11, 12, 1, {"absent": 2})
        assert one["interval"] is not None


@pytest.mark.parametrize("name", ["task.yaml", "group.yaml"])
def test_a_worst_case_that_cannot_be_counted_is_said_not_to_be(run, name):
    summary = run([*([text] for text in SAID[:11]), [None]], name, missing="worst")
    found = summary["groups"]["all"] if name == "group.yaml" else summary["tasks"]["demo"]

    one = found["metrics"]["corpus_bleu"]
    assert (one["policy"], one["n"]) == ("exclude", 11)
    assert "1 missing left out: in a number that is not a mean none has a worst value" in one["note"]
