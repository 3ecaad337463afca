"""A panel whose judges have servers and keys of their own."""

import json

import pytest
from support.fake_openai import FakeOpenAI, Reply, fill, schema_of, structured
from support.review_kit import markbook

from markbook.errors import UsageError
from markbook.judge.judge_options import JudgeOptions, Server, plain_judge, split_judge
from markbook.judge.panel import check_plan, plan_panel

RUBRIC = {
    "name": "kind",
    "task": "Judge it.",
    "reads": ["answer"],
    "criteria": [{"name": "kind", "question": "Is it kind?"}],
}


def marking(mark):
    return lambda request, _n: structured(request, json.dumps(fill(schema_of(request), integer=mark)))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "rubric.yaml").write_text(json.dumps(RUBRIC))
    (tmp_path / "rows.jsonl").write_text('{"candidate": "a"}\n{"candidate": "b"}\n')
    (tmp_path / "data.jsonl").write_text('{"q": "Q?"}\n')
    (tmp_path / "answers.jsonl").write_text('{"id": "0", "prediction": "A."}\n')
    (tmp_path / "t.yaml").write_text(
        'name: t\ndata: {path: data.jsonl}\nprompt: "{{ q }}"\nmetrics: [{name: judge, options: {rubric: rubric.yaml}}]\n'
    )
    return tmp_path


def test_each_judge_of_a_panel_is_asked_at_its_own_server_with_its_own_key(files, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the-usual-key")
    monkeypatch.setenv("SECOND_KEY", "its-own-key")
    with FakeOpenAI(marking(5)) as first, FakeOpenAI(marking(3)) as second, FakeOpenAI(marking(1)) as third:
        code, out, err = markbook(
            "score", "judge", files / "rows.jsonl", "--rubric", files / "rubric.yaml", "--rows",
            "--judge", f"openai:a@{first.base_url}", "--judge", f"openai:b@{second.base_url}@SECOND_KEY",
            "--judge", "openai:c", "--base-url", third.base_url,
        )  # fmt: skip

    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["judge"] for row in rows] == [0.5, 0.5]  # the median of 1, .5 and 0
    assert rows[0]["stats"]["judge"]["by_judge"] == {
        "openai:a": {"kind": 5.0}, "openai:b": {"kind": 3.0}, "openai:c": {"kind": 1.0},
    }  # fmt: skip
    assert [server.calls for server in (first, second, third)] == [2, 2, 2]
    assert [{request["model"] for request in server.requests} for server in (first, second, third)] == [
        {"a"},
        {"b"},
        {"c"},
    ]
    # The usual key goes to the one address that was named for all, and to no server of one judge's own.
    assert [set(server.keys) for server in (first, second, third)] == [
        {"Bearer none"}, {"Bearer its-own-key"}, {"Bearer the-usual-key"},
    ]  # fmt: skip


def test_a_run_keeps_the_addresses_without_secrets_and_its_signature_without_addresses(files, monkeypatch):
    monkeypatch.setenv("SECOND_KEY", "its-own-key")
    cassette = files / "c.jsonl"
    with FakeOpenAI(marking(5)) as first, FakeOpenAI(marking(1)) as second:
        judges = ("--judge", f"openai:a@{first.base_url.replace('http://', 'http://me:secret@')}",
                  "--judge", f"openai:b@{second.base_url}@SECOND_KEY")  # fmt: skip
        run = ("run", files / "t.yaml", "--predictions", files / "answers.jsonl", "--cassette", cassette)
        code, _, err = markbook(*run, *judges, "--output", files / "out")
    again = markbook(*run, "--judge", "openai:a", "--judge", "openai:b", "--output", files / "again")

    assert (code, again[0]) == (0, 0), err + again[2]
    [folder], [other] = ((files / name).glob("evaluation_*") for name in ("out", "again"))
    kept = json.loads((folder / "run.json").read_text())
    assert kept["judging"]["judges"] == [f"openai:a@{first.base_url}", f"openai:b@{second.base_url}@SECOND_KEY"]
    assert all("secret" not in path.read_text() and "its-own-key" not in path.read_text()
               for path in folder.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl", ".md", ".html"))  # fmt: skip
    assert json.loads((other / "run.json").read_text())["config"]["judges"] == kept["config"]["judges"]
    assert (folder / "results.jsonl").read_bytes() == (other / "results.jsonl").read_bytes()


def test_a_run_folder_decides_no_server_that_gets_texts(files):
    with FakeOpenAI(marking(5)) as server:
        markbook("run", files / "t.yaml", "--predictions", files / "answers.jsonl", "--output", files / "out", "--judge",
                 f"openai:a@{server.base_url}")  # fmt: skip
    [folder] = (files / "out").glob("evaluation_*")
    kept = json.loads((folder / "run.json").read_text())
    kept["judging"]["judges"] = ["openai:a@https://elsewhere.example/v1@OPENAI_API_KEY"]
    (folder / "run.json").write_text(json.dumps(kept))
    code, _, err = markbook("run", "--resume", folder)

    assert code == 2
    assert "would be sent your key and all texts" in err


def test_a_task_file_names_no_server(files):
    task = (
        (files / "t.yaml")
        .read_text()
        .replace("rubric: rubric.yaml", "rubric: rubric.yaml, models: ['openai:a@http://h/v1']")
    )
    (files / "t.yaml").write_text(task)
    code, _, err = markbook(
        "run", files / "t.yaml", "--predictions", files / "answers.jsonl", "--output", files / "out"
    )

    assert code == 2
    assert "the address of a judge is not for a task file to choose" in err


def test_a_key_that_is_not_there_is_found_before_any_work(files, monkeypatch):
    monkeypatch.delenv("SECOND_KEY", raising=False)
    code, _, err = markbook("score", "judge", files / "rows.jsonl", "--rubric", files / "rubric.yaml", "--judge",
                            "openai:b@http://127.0.0.1:9/v1@SECOND_KEY")  # fmt: skip

    assert code == 2
    assert "the environment variable SECOND_KEY, which should hold the key of openai:b, is not set" in err


@pytest.mark.parametrize(
    ("stated", "model", "server"),
    [
        ("openai:a", "openai:a", None),
        ("openai:a@http://h:1/v1", "openai:a", Server("http://h:1/v1")),
        ("openai:a@https://h/v1@KEY_2", "openai:a", Server("https://h/v1", "KEY_2")),
        ("anthropic:claude@20250101", "anthropic:claude@20250101", None),
        ("anthropic:claude@20250101@https://h", "anthropic:claude@20250101", Server("https://h")),
        ("openai:a@ftp://h", "openai:a@ftp://h", None),
    ],
)
def test_judges_are_read_apart(stated, model, server):
    assert split_judge(stated) == (model, server)


def test_one_name_at_two_servers_is_one_judge_twice():
    with pytest.raises(UsageError, match="a judge stands twice"):
        plan_panel(["openai:a@http://one/v1", "openai:a@http://two/v1"], JudgeOptions())


def test_an_address_that_is_none_is_refused():
    with pytest.raises(UsageError, match="is not an address"):
        plain_judge("openai:a@http://[bad/v1")


def test_other_providers_take_an_address_and_a_key_too(monkeypatch):
    monkeypatch.setenv("MINE", "k")
    check_plan(plan_panel(["anthropic:a@http://127.0.0.1:9@MINE", "openai:b@http://127.0.0.1:9/v1"], JudgeOptions()))


def refusing(_request, _n):
    return Reply(b'{"error": {"message": "down"}}', status=500)


def test_a_text_that_a_judge_of_the_panel_did_not_mark_has_no_score(files):
    """Two judges that say 5 and 1; without the second the score would be 1 and not one half."""
    (files / "data.jsonl").write_text('{"q": "Q?"}\n{"q": "R?"}\n')
    (files / "answers.jsonl").write_text('{"id": "0", "prediction": "A."}\n{"id": "1", "prediction": "B."}\n')

    def half_down(request, n):
        return (refusing if "B." in json.dumps(request["messages"]) else marking(1))(request, n)

    with FakeOpenAI(marking(5)) as first, FakeOpenAI(half_down) as second:
        code, out, err = markbook(
            "run", files / "t.yaml", "--predictions", files / "answers.jsonl", "--output", files / "out",
            "--judge", f"openai:a@{first.base_url}", "--judge", f"openai:b@{second.base_url}", "--judge-retries", "0",
            "--fail-under", "judge=10%",
        )  # fmt: skip

    assert code == 3, out + err
    [folder] = (files / "out").glob("evaluation_*")
    summary = json.loads((folder / "summary.json").read_text())["tasks"]["t"]["metrics"]
    for name in ("judge", "judge.kind"):
        assert (summary[name]["value"], summary[name]["n"]) == (0.5, 1)
        assert summary[name]["n_missing"] == {"unavailable": 1}
    row = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()][1]
    assert row["metrics"]["judge"] is None
    assert row["missing"]["judge"]["detail"].startswith("openai:b: ")
    # What the other judge says is kept, and is no score.
    assert row["stats"]["judge"]["by_judge"] == {"openai:a": {"kind": 5.0}}
    assert "marks" not in row["stats"]["judge"]


def test_a_panel_without_one_of_three_judges_has_no_score_on_the_command_line(files):
    def silent(request, _n):
        return structured(request, '{"kind": "five"}')

    with FakeOpenAI(marking(5)) as first, FakeOpenAI(silent) as second, FakeOpenAI(marking(4)) as third:
        code, out, _ = markbook(
            "score", "judge", files / "rows.jsonl", "--rubric", files / "rubric.yaml", "--json", "--judge-retries", "0",
            "--judge", f"openai:a@{first.base_url}", "--judge", f"openai:b@{second.base_url}",
            "--judge", f"openai:c@{third.base_url}", "--fail-under", "judge=0",
        )  # fmt: skip

    report = json.loads(out)
    assert code == 3
    assert report["metrics"]["judge"]["value"] is None
    assert report["metrics"]["judge"]["n_missing"] == {"failed": 2}
    # The two that answered are compared all the same.
    assert report["panels"]["judge"]["judges"] == ["openai:a", "openai:c"]


def test_samples_of_a_judge_without_a_valid_reply_make_a_run_incomplete(files):
    def one_of_three(request, n):
        return marking(5)(request, n) if request["seed"] == 0 else structured(request, '{"kind": "five"}')

    judging = ("--judge-samples", "3", "--judge-retries", "0", "--judge")
    with FakeOpenAI(one_of_three) as server:
        ran = markbook("run", files / "t.yaml", "--predictions", files / "answers.jsonl", "--output", files / "out",
                       *judging, f"openai:a@{server.base_url}")  # fmt: skip
        scored = markbook("score", "judge", files / "rows.jsonl", "--rubric", files / "rubric.yaml", "--json", *judging,
                          f"openai:a@{server.base_url}", "--fail-under", "judge=0.5")  # fmt: skip

    assert (ran[0], scored[0]) == (3, 3)
    # One text with three samples in the run, two texts in the file; of each one sample counts.
    assert "incomplete: 2 x t: samples of a judge without a valid reply" in ran[2]
    assert "judge: 4 samples of a judge without a valid reply" in scored[2]
    assert json.loads(scored[1])["metrics"]["judge"]["value"] == 1.0
