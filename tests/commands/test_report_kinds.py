"""Every report of every kind of run: files, or one sentence that says why there is none."""

import json

import pytest
from support.command_kit import MAKERS
from support.exam_kit import answer, problem, write_rows
from support.fake_openai import FakeOpenAI
from support.review_kit import markbook, only_run

from markbook import plugins

FORMATS = [name for name in plugins.names("reports") if name not in ("mlflow", "wandb")] + ["md"]
REFUSED = {("run", "documented"), ("review", "documented"), ("review", "lm-eval")}


@pytest.fixture(scope="module", params=MAKERS)
def made(request, tmp_path_factory):
    """Return a kind of run, and the folder of a finished one."""
    folder = tmp_path_factory.mktemp(request.param)
    command = MAKERS[request.param](folder)
    if command.script is None:
        command.run("--output", folder / "out")
    else:
        with FakeOpenAI(command.script) as server:
            command.server = server
            command.run("--output", folder / "out")
    return request.param, only_run(folder / "out")


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_of_every_kind_of_run(name, made, tmp_path):
    kind, run = made

    code, out, told = markbook("report", run, "--format", name, "--output", tmp_path / "new")

    if (kind, name) in REFUSED:
        assert (code, out) == (2, "")
        assert f"markbook {kind}`" in told
        assert not (tmp_path / "new").exists()
    else:
        assert code == 0, told
        assert all(path.startswith(str(tmp_path / "new")) for path in out.split("\n") if path)
        assert out.count("\n") >= 1


RIGHT, WRONG = "def f(x):\n    return x\n", "def f(x):\n    return -x\n"


def test_an_exam_is_handed_to_the_harness(tmp_path):
    problems = [problem(f"p{n}") for n in range(4)]
    said = [answer(f"p{n}", RIGHT if n < 2 else WRONG, "a") for n in range(3)] + [answer("p0", RIGHT, "b/c")]
    benchmark, solutions = write_rows(tmp_path / "bench.jsonl", problems), write_rows(tmp_path / "s.jsonl", said)
    args = ("--benchmark", benchmark, "--solutions", solutions, "--isolation", "weak", "--output", tmp_path / "out")
    markbook("exam", *args)
    new = tmp_path / "new"

    code, out, told = markbook("report", only_run(tmp_path / "out"), "--format", "lm-eval", "--output", new)

    assert code == 0, told
    names = sorted(path.name for path in new.iterdir())
    assert len(names) == len(out.splitlines()) // 2 == 2
    results = json.loads(next((new / "a").glob("results_*.json")).read_text())
    found = results["results"]["bench"]
    assert (found["exam_score,none"], found["pass@1,none"]) == (0.5, 0.5)
    assert found["n_scored"] == {"exam_score": 3, "pass@1": 3}
    assert results["model_name"] == "a"
    assert results["date"] > 1_700_000_000
    rows = [json.loads(line) for line in next((new / "a").glob("samples_bench_*.jsonl")).read_text().splitlines()]
    assert [(row["doc_id"], row["exam_score"]) for row in rows] == [(0, 1), (1, 1), (2, 0)]
    assert rows[0]["resps"] == [[RIGHT]]


def test_tasks_whose_names_differ_by_a_sign_keep_their_samples(tmp_path):
    lines = "dataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
    write_rows(tmp_path / "rows.jsonl", [{"word": "a"}])
    for number, name in enumerate(("a/b", "a b", "a_b")):
        (tmp_path / f"{number}.yaml").write_text(f"task: {name!r}\n{lines}doc_to_text: word\ndoc_to_target: word\n")
    said = tmp_path / "said.jsonl"
    write_rows(said, [{"task": name, "doc_id": 0, "prediction": "a"} for name in ("a/b", "a b", "a_b")])
    files = [tmp_path / f"{number}.yaml" for number in range(3)]
    assert markbook("run", *files, "--predictions", said, "--output", tmp_path / "out")[0] == 0

    markbook("report", only_run(tmp_path / "out"), "--format", "lm-eval", "--output", tmp_path / "new")

    assert len(list((tmp_path / "new").glob("samples_*.jsonl"))) == 3
