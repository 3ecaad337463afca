"""`--resume RUN` alone, of `markbook run` and `markbook review`: what was asked for stands in the run's record."""

import json
from pathlib import Path
from typing import ClassVar

import pytest
from support import command_kit, review_kit
from support.command_kit import MAKERS
from support.exam_kit import answer, hold, problem, write_rows
from support.fake_openai import FAULTS, FakeOpenAI
from support.review_kit import markbook, only_run

from markbook.runs.conductor import conduct
from markbook.runs.exam import Exam
from markbook.runs.exam.exam_options import ExamOptions
from markbook.runs.kind import Watcher
from markbook.store.reader import digest_identity

ASKING = pytest.mark.parametrize("name", ["run", "review"])


def edited(run: Path, **changes):
    """Put other values into a run's record, as somebody could who hands a run folder on."""
    record = json.loads((run / "run.json").read_text())
    for part, values in changes.items():
        record[part].update(values)
    (run / "run.json").write_text(json.dumps(record))


@pytest.fixture
def broken_off(tmp_path, monkeypatch):
    """Return a maker of an incomplete run, whose server answered every other question, and of a whole one's digest."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def make(name, *more):
        (tmp_path / name).mkdir()
        command = MAKERS[name](tmp_path / name)
        good, down = command.script, [True]

        def script(request, number):
            return FAULTS["500"](request, number) if down[0] and number % 2 else good(request, number)

        command.server = FakeOpenAI(script).__enter__()
        one = "--judge-workers" if name == "review" else "--concurrency"
        options = ["--judge-retries" if name == "review" else "--retries", "0", one, "1", "--seed", "7", *more]
        code, _, err = command.run(*options, "--output", tmp_path / "out")
        assert code == 3, err
        down[0] = False
        return command, options

    made = []

    def keep(name, *more):
        made.append(make(name, *more))
        return made[-1]

    yield keep
    for command, _ in made:
        command.server.__exit__(None, None, None)


@ASKING
def test_a_run_goes_on_with_what_its_record_names(name, broken_off, tmp_path):
    command, options = broken_off(name)
    run, before = only_run(tmp_path / "out"), command.server.calls

    code, _, err = markbook(name, "--resume", run)

    assert code == 0, err
    assert command.server.calls == before + before // 2
    assert json.loads((run / "run.json").read_text())["status"] == "done"
    assert command.run(*options, "--output", tmp_path / "whole")[0] == 0
    assert command.digest(tmp_path / "whole") == command.digest(tmp_path / "out")


def test_answers_that_exist_are_read_again(tmp_path):
    word = "name: t\ndata: {path: rows.jsonl}\nprompt: x\nreference: '{{ w }}'\nmetrics: [exact_match]\n"
    (tmp_path / "t.yaml").write_text(word)
    write_rows(tmp_path / "rows.jsonl", [{"w": "a"}, {"w": "b"}, {"w": "c"}])
    said = write_rows(tmp_path / "said.jsonl", [{"doc_id": n, "prediction": "a"} for n in range(3)])
    args = ("--predictions", said, "--limit", "2", "--missing", "worst", "--output", tmp_path / "out")
    assert markbook("run", tmp_path / "t.yaml", *args)[0] == 0
    run = only_run(tmp_path / "out")
    whole = (run / "summary.json").read_bytes()
    record = json.loads((run / "run.json").read_text()) | {"status": "interrupted"}
    (run / "run.json").write_text(json.dumps(record))
    (run / "summary.json").unlink()

    code, _, err = markbook("run", "--resume", run)

    assert code == 0, err
    assert (run / "summary.json").read_bytes() == whole


@ASKING
def test_what_the_user_gives_counts(name, broken_off, tmp_path):
    broken_off(name)
    run = only_run(tmp_path / "out")

    code, _, err = markbook(name, "--resume", run, "--seed", "8")

    assert code == 2
    assert "what differs: config." in err


@ASKING
def test_what_a_run_may_cost_stands_in_its_record(name, broken_off, tmp_path):
    of = "--judge" if name == "review" else "-"
    command, _ = broken_off(name, f"{of}-price", "100/100", f"{of}-max-cost", "0.03")
    run, before = only_run(tmp_path / "out"), command.server.calls

    code, _, err = markbook(name, "--resume", run)

    # 120 tokens at $100 a million are $0.012 an answer; a question without one may have cost as much.
    assert code == 3
    assert command.server.calls - before <= 2
    assert "budget" in err or "cost" in err


@ASKING
def test_a_record_does_not_say_where_a_key_is_sent(name, broken_off, tmp_path):
    broken_off(name)
    run = only_run(tmp_path / "out")
    part = {"run": "config", "review": "asked"}[name]
    edited(run, **{part: {"base_url": "http://models.example/v1"}})

    code, _, err = markbook(name, "--resume", run)

    assert code == 2
    assert "started with --base-url 'http://models.example/v1', which would be sent your key" in err
    assert "give --base-url again if you trust it" in err


def test_a_record_does_not_open_the_door_to_code(broken_off, tmp_path):
    broken_off("run")
    run = only_run(tmp_path / "out")
    edited(run, config={"allow_code": True})

    code, _, err = markbook("run", "--resume", run)

    assert code == 2
    assert "started with --allow-code, which would run code that its tasks name" in err


def test_a_record_does_not_say_which_file_is_written(broken_off, tmp_path):
    broken_off("review")
    run = only_run(tmp_path / "out")
    edited(run, asked={"cassette": str(tmp_path / "new.jsonl")})

    code, _, err = markbook("review", "--resume", run)

    assert code == 2
    assert "which would be written" in err
    assert not (tmp_path / "new.jsonl").exists()


def test_a_cassette_that_is_there_is_used_again(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    command = MAKERS["review"](tmp_path)
    with FakeOpenAI(command.script) as server:
        command.server = server
        assert command.run("--output", tmp_path / "out", "--cassette", tmp_path / "c.jsonl")[0] == 0
        calls = server.calls

    code, _, err = markbook("review", "--resume", only_run(tmp_path / "out"))

    assert (code, calls) == (0, server.calls), err


@pytest.mark.parametrize(("value", "told"), [({"seed": "x"}, "--seed"), ({"profile": "evil"}, "--profile")])
def test_a_record_with_values_of_no_meaning_is_refused(value, told, broken_off, tmp_path):
    broken_off("run")
    run = only_run(tmp_path / "out")
    edited(run, config=value)

    code, _, err = markbook("run", "--resume", run)

    assert code == 2
    assert told in err


@pytest.mark.parametrize("name", ["exam", "run", "review"])
def test_a_run_of_another_command_says_which(name, tmp_path):
    other = {"exam": "review", "run": "exam", "review": "run"}[name]
    folder = tmp_path / "evaluation_1"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"schema": 1, "command": other, "status": "interrupted"}))

    code, _, err = markbook(name, "--resume", folder)

    assert code == 2
    assert f"it was made by `markbook {other}`" in err


def test_a_run_without_anything_to_do_says_what_is_missing():
    assert "Missing argument 'TASK...'" in markbook("run")[2]
    assert "--papers and --reviews are needed" in markbook("review")[2]


def test_a_review_from_python_goes_on_at_the_command_line(tmp_path):
    import markbook as package

    papers, rows = review_kit.papers(tmp_path), review_kit.reviews(tmp_path)
    made = package.review(papers, rows, similarity=["cosine", "jaccard"], output=tmp_path / "out")

    code, _, err = markbook("review", "--resume", made.folder)

    assert code == 0, err
    assert command_kit.results(tmp_path / "out")


def test_no_secret_of_an_address_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    command = MAKERS["review"](tmp_path)
    with FakeOpenAI(command.script) as server:
        url = server.base_url.replace("http://", "http://me:hidden@") + "?key=hidden"
        args = ["review", *command.args, "--base-url", url, "--output", tmp_path / "out"]
        markbook(*args)

    (record,) = [path.read_text() for path in (tmp_path / "out").glob("*/run.json")]
    assert "hidden" not in record


def test_a_run_that_cannot_be_locked_is_said_to_be_unwritable(tmp_path):
    run = hold(tmp_path, [problem("a")], [answer("a", "def f(x):\n    return x")])
    (run.folder / "lock").unlink()
    (run.folder / "lock").mkdir()  # as good as a disk that is mounted to be read only

    code, _, err = markbook("exam", "--resume", run.folder, "--isolation", "weak")

    assert code == 73
    assert f"{run.folder}: the run cannot be written" in err


class _Told(Watcher):
    folders: ClassVar = []

    def on_interrupt(self, folder):
        self.folders.append(folder)


def test_an_interrupt_while_reports_are_written_says_what_goes_on_too(tmp_path, monkeypatch):
    benchmark = write_rows(tmp_path / "b.jsonl", [problem("a")])
    solutions = write_rows(tmp_path / "s.jsonl", [answer("a", "def f(x):\n    return x")])

    def broken_off(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("markbook.runs.conductor._publish", broken_off)
    options = ExamOptions(
        benchmark=benchmark, solutions=[solutions], output=str(tmp_path / "o"), isolation="weak", workers=1
    )
    with pytest.raises(KeyboardInterrupt):
        conduct(Exam(), options, _Told())

    assert _Told.folders == [only_run(tmp_path / "o")]


@pytest.mark.parametrize("digest", ["absent", "another"])
def test_a_run_from_before_digests_of_prompts_goes_on_and_one_with_another_is_refused(
    digest, broken_off, tmp_path, caplog
):
    command, _ = broken_off("run")
    run, before = only_run(tmp_path / "out"), command.server.calls
    record = json.loads((run / "run.json").read_text())
    if digest == "absent":
        del record["config"]["prompts_and_targets"]
    else:
        record["config"]["prompts_and_targets"] = dict.fromkeys(record["config"]["prompts_and_targets"], "0" * 64)
    record["identity"] = digest_identity(record["command"], record["config"], record["inputs"])
    (run / "run.json").write_text(json.dumps(record))

    code, _, err = markbook("run", "--resume", run)

    assert code == (0 if digest == "absent" else 2), err
    assert command.server.calls == before + (before // 2 if digest == "absent" else 0)
    assert ("kept no prompts_and_targets" in caplog.text) is (digest == "absent")
    assert ("config.prompts_and_targets" in err) is (digest == "another")


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        *(("config", "stop", value) for value in (5, {}, [1], "x")),
        *(("config", name, float("inf")) for name in ("limit", "seed", "samples")),
        ("config", "timeout", 10**400),
        ("asking", "max_cost", 10**400),
    ],
)
def test_a_record_that_no_command_line_could_have_made_is_damaged(tmp_path, part, name, value):
    write_rows(tmp_path / "rows.jsonl", [{"q": "a"}])
    write_rows(tmp_path / "said.jsonl", [{"doc_id": 0, "prediction": "a"}])
    (tmp_path / "t.yaml").write_text(
        "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ q }}'\nreference: '{{ q }}'\nmetrics: [exact_match]\n"
    )
    assert markbook("run", tmp_path / "t.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path)[0] == 0
    run = only_run(tmp_path)
    edited(run, **{part: {name: value}})

    code, _, err = markbook("run", "--resume", run)

    assert (code, err.splitlines()) == (
        2,
        [f"markbook: {run / 'run.json'}: run.json is damaged: '{part}.{name}' is not what stands there"],
    )
