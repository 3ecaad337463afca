# ruff: noqa: FBT002 - the model class keeps the harness's signatures
"""The real lm-evaluation-harness beside ours: the same task files, the same replies, the same numbers.

Not part of `make test`: `make interop` installs the harness from the package index first.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

pytestmark = pytest.mark.filterwarnings("default")

REPLIES = [
    "The quick brown fox jumps over the lazy dog.",
    "A fast brown fox leaped over a lazy dog",
    "",
    "Nothing in common at all",
    "Sentence five is   exactly this one.",
]
TARGETS = [
    "The quick brown fox jumps over the lazy dog.",
    "The quick brown fox jumps over the lazy dog.",
    "An empty reply is marked like any other.",
    "Completely different words here, none shared",
    "Sentence five is exactly this one.",
]
TASK = """\
task: demo
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_until
doc_to_text: "Write: {{question}}"
doc_to_target: "{{target}}"
generation_kwargs: {until: [], temperature: 0.0, do_sample: false}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: !function utils.bleu_score, aggregation: mean, higher_is_better: true}
  - {metric: !function utils.rouge_score, aggregation: mean, higher_is_better: true}
  - {metric: !function utils.edit_distance, aggregation: mean, higher_is_better: false}
metadata: {version: 1.0}
"""
UTILS = """\
import markbook

def _marks(names, references, predictions, **options):
    found = markbook.measure(names, predictions, references, **options)
    return {name: measured[0].value for name, measured in found.items()}

def bleu_score(references, predictions):
    return _marks(["bleu"], references, predictions)

def rouge_score(references, predictions):
    return _marks(["rouge1", "rouge2", "rougeL"], references, predictions, stemmer=True)

def edit_distance(references, predictions):
    return _marks(["edit_distance"], references, predictions)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def run_harness(folder, task, replies, **options):
    """Return the harness's results and the samples file that it writes."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Replay(LM):
        def generate_until(self, requests, disable_tqdm=False):
            return [replies[request.doc_id % len(replies)] for request in requests]

        def loglikelihood(self, requests, disable_tqdm=False):
            raise NotImplementedError

        def loglikelihood_rolling(self, requests, disable_tqdm=False):
            raise NotImplementedError

    manager = TaskManager(include_path=str(folder), include_defaults=False)
    results = simple_evaluate(
        model=Replay(),
        tasks=[task],
        task_manager=manager,
        log_samples=True,
        bootstrap_iters=0,
        verbosity="ERROR",
        **options,
    )
    samples = results.pop("samples")
    tracker = EvaluationTracker(output_path=str(folder / "harness"))
    tracker.general_config_tracker.model_name_sanitized = "replay"
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)
    return results, samples[task]


def rows_of(run):
    return [json.loads(line) for line in run.read("results.jsonl").splitlines()]


def test_a_task_file_with_our_metric_functions_gives_the_same_numbers_in_both(folder):
    import markbook

    (folder / "demo.yaml").write_text(TASK, encoding="utf-8")
    (folder / "utils.py").write_text(UTILS, encoding="utf-8")
    rows = [{"question": f"q{n}", "target": target} for n, target in enumerate(TARGETS)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    theirs, samples = run_harness(folder, "demo", REPLIES)
    run = markbook.run_task("demo.yaml", predictions=folder / "harness")

    ours = json.loads(run.read("summary.json"))["tasks"]["demo"]["metrics"]
    names = ("exact_match", "bleu", "rouge1", "rouge2", "rougeL", "edit_distance")
    assert set(ours) == set(names)
    for name in names:
        assert ours[name]["value"] == pytest.approx(theirs["results"]["demo"][f"{name},none"], abs=1e-12), name
    for row in rows_of(run):
        theirs_row = next(sample for sample in samples if sample["doc_id"] == row["doc_id"])
        assert row["prompt"] == theirs_row["arguments"]["gen_args_0"]["arg_0"]
        for name in names:
            assert row["metrics"][name] == pytest.approx(float(theirs_row[name]), abs=1e-12), (row["doc_id"], name)


def test_the_harness_reads_what_we_export(folder):
    from lm_eval.utils import make_table

    import markbook
    from markbook import plugins
    from markbook.results.kind import open_results

    (folder / "demo.yaml").write_text(TASK, encoding="utf-8")
    rows = [{"question": f"q{n}", "target": target} for n, target in enumerate(TARGETS)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "answers.json").write_text(json.dumps([{"prediction": reply} for reply in REPLIES]), encoding="utf-8")
    run = markbook.run_task("demo.yaml", predictions="answers.json")

    files = plugins.create("reports", "lm-eval")(open_results(run))

    written, samples = sorted(files)
    table = make_table(json.loads(files[written]))
    assert "demo" in table
    assert "rougeL" in table
    import datasets

    (folder / "samples.jsonl").write_text("".join(files[samples]), encoding="utf-8")
    loaded = datasets.load_dataset("json", data_files="samples.jsonl", split="train", cache_dir=str(folder / "cache"))
    assert loaded["doc_id"][:] == [0, 1, 2, 3, 4]


def test_one_of_the_harness_own_tasks_runs_unchanged_and_agrees(folder):
    import lm_eval

    import markbook

    own = Path(lm_eval.__file__).parent / "tasks" / "gsm8k" / "gsm8k.yaml"
    rows = [
        {"question": f"What is {n} times 1,000?", "answer": f"{n} * 1000 = {n}000\n#### {n},000"} for n in range(1, 9)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    replies = [
        "1 * 1000\n#### 1,000",
        "The answer is 2000",
        "#### 3001",
        "It costs $4,000.",
        "",
        "#### 6000 or maybe 7",
        "#### $7,000",
        "5 then 8,000",
    ]
    (folder / "gsm8k_here.yaml").write_text(
        f"include: {own}\ntask: gsm8k_here\ndataset_path: json\ndataset_name: null\n"
        "dataset_kwargs: {data_files: {train: rows.jsonl, test: rows.jsonl}}\n",
        encoding="utf-8",
    )

    theirs, _ = run_harness(folder, "gsm8k_here", replies)
    (folder / "answers.json").write_text(json.dumps([{"prediction": reply} for reply in replies]), encoding="utf-8")
    run = markbook.run_task(own, data="rows.jsonl", predictions="answers.json")

    ours = json.loads(run.read("summary.json"))["tasks"]["gsm8k"]["metrics"]
    assert set(ours) == {"exact_match,strict-match", "exact_match,flexible-extract"}
    for name, record in ours.items():
        assert record["value"] == pytest.approx(theirs["results"]["gsm8k_here"][name], abs=1e-12), name
    assert ours["exact_match,flexible-extract"]["value"] > ours["exact_match,strict-match"]["value"] > 0


SHOTS = """\
task: shots
dataset_path: json
output_type: generate_until
doc_to_text: "Q: {{q}}\\nA:"
doc_to_target: "{{a}}"
generation_kwargs: {until: []}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
FILES = "dataset_kwargs: {data_files: {train: train.jsonl, validation: validation.jsonl, test: test.jsonl}}\n"
SETTINGS = {
    "only a test split": "test_split: test\nnum_fewshot: 3",
    "the test split itself": "test_split: test\nfewshot_split: test\nnum_fewshot: 3",
    "another split": "test_split: test\nfewshot_split: train\nnum_fewshot: 2",
    "training rows by rule": "test_split: test\ntraining_split: train\nvalidation_split: validation\nnum_fewshot: 2",
    "validation rows by rule": "test_split: test\nvalidation_split: validation\nnum_fewshot: 4",
    "no test split": "validation_split: validation\nnum_fewshot: 3",
    "no test split, training rows": "validation_split: validation\ntraining_split: train\nnum_fewshot: 2",
    "the first of another split": (
        "test_split: test\nfewshot_split: train\nfewshot_config: {sampler: first_n}\nnum_fewshot: 3"
    ),
    "the first of the same": (
        "test_split: test\nfewshot_split: test\nfewshot_config: {sampler: first_n}\nnum_fewshot: 3"
    ),
    "the split in fewshot_config": "test_split: test\nfewshot_config: {split: train, sampler: default}\nnum_fewshot: 1",
    "rows in the file": (
        "test_split: test\nnum_fewshot: 2\n"
        "fewshot_config: {sampler: first_n, samples: [{q: s1, a: t1}, {q: s2, a: t2}, {q: s3, a: t3}]}"
    ),
    "drawn rows in the file": (
        "test_split: test\nnum_fewshot: 2\nfewshot_config: {samples: [{q: s1, a: t1}, {q: s2, a: t2}, {q: s3, a: ''}]}"
    ),
    "another look": (
        "test_split: test\nfewshot_split: train\nnum_fewshot: 2\ndescription: 'Answer. '\ntarget_delimiter: '>'\n"
        "fewshot_config: {doc_to_text: 'E {{q}}', doc_to_target: a, target_delimiter: '=', fewshot_delimiter: '|'}"
    ),
    "another delimiter": "test_split: test\nfewshot_split: test\nnum_fewshot: 1\nfewshot_delimiter: '##'",
}


@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("name", SETTINGS)
def test_prompts_with_worked_examples_are_the_same_in_both(folder, name, limit):
    import markbook

    for split, count in (("train", 6), ("validation", 5), ("test", 9)):
        rows = [{"q": f"{split} {n}?", "a": f"{n}!" if n % 4 else ""} for n in range(count)]
        # Equal rows: the harness draws again where it has to drop more than one of them.
        rows += [dict(rows[0])] * (3 if split == "test" else 0)
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "shots.yaml").write_text(SHOTS + FILES + SETTINGS[name] + "\n", encoding="utf-8")

    _, theirs = run_harness(folder, "shots", ["x"], limit=limit)
    (folder / "answers.json").write_text(json.dumps([{"prediction": "x"} for _ in theirs]), encoding="utf-8")
    run = markbook.run_task("shots.yaml", predictions="answers.json", limit=limit)

    prompts = {row["doc_id"]: row["prompt"] for row in rows_of(run)}
    expected = {sample["doc_id"]: sample["arguments"]["gen_args_0"]["arg_0"] for sample in theirs}
    assert prompts == expected
    assert len(prompts) == (limit or (12 if "test_split: test" in SETTINGS[name] else 5))


def test_tasks_with_code_of_their_own_ask_and_mark_the_same_in_both():
    import lm_eval.tasks

    pytest.importorskip("tenacity", reason="lm-eval[api] is not installed")
    tasks, root = Path(lm_eval.tasks.__file__).parent, Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "bench.side_by_side", str(tasks), "--code", "4", "--tasks", "5"]

    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=280, check=True)

    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("!")] == []
    assert re.fullmatch(
        r"[345] tasks of [345] families, \d+ values: every prompt byte-equal, every value equal", lines[-1]
    )
