"""The same marks as each tool writes them: two models, twenty items, of which two broke off where the format can say it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

ITEMS = 20
BROKEN = (3, 11)
"""Items that broke off: ten in a hundred."""


def mark(model: int, item: int) -> int:
    return int((item * 7 % 10 < 4 + 2 * model) != (item == 5 + model))


def prompt(item: int) -> str:
    return f"What is {item} plus {item}?"


def lm_eval(folder: Path, model: int, *, old: bool = False) -> Path:
    name, stamp = f"model-{model}", "2026-01-02T03-04-05.678901"
    here = folder / name
    here.mkdir(parents=True)
    samples = []
    for item in range(ITEMS):
        arguments = [[prompt(item), {}]] if old else {"gen_args_0": {"arg_0": prompt(item), "arg_1": {}}}
        row = {
            "doc_id": item, "doc": {"q": prompt(item)}, "target": str(2 * item), "arguments": arguments,
            "resps": [[str(2 * item)]], "filtered_resps": [str(2 * item)], "acc": float(mark(model, item)),
        }  # fmt: skip
        if item in BROKEN:
            row["acc"] = float("nan")
        if not old:
            row |= {
                "filter": "none",
                "metrics": ["acc"],
                "doc_hash": f"h{item}",
                "prompt_hash": "p",
                "target_hash": "t",
            }
        samples.append(json.dumps(row))
    (here / f"samples_sums_{stamp}.jsonl").write_text("\n".join(samples) + "\n")
    results = {
        "results": {"sums": {"alias": "sums", "acc,none": 0.5, "acc_stderr,none": 0.1}}, "config": {"model_args": name},
        "versions": {"sums": 1},
    }  # fmt: skip
    if not old:
        results |= {
            "n-samples": {"sums": {"original": 100, "effective": ITEMS}}, "higher_is_better": {"sums": {"acc": True}},
            "model_name": name,
        }  # fmt: skip
    path = here / f"results_{stamp}.json"
    path.write_text(json.dumps(results, indent=2))
    return path


def inspect_log(folder: Path, model: int, *, form: str = "eval") -> Path:
    samples = []
    for item in range(ITEMS):
        sample = {
            "id": f"sums/{item}", "epoch": 1, "input": prompt(item), "target": str(2 * item),
            "output": {"choices": [{"message": {"content": str(2 * item)}}]},
            "scores": {"match": {"value": "C" if mark(model, item) else "I"}},
        }  # fmt: skip
        if item in BROKEN:
            sample |= {"scores": {}, "error": {"message": "the sandbox went away"}}
        samples.append(sample)
    header = {
        "version": 2, "status": "success",
        "eval": {
            "task": "sums", "model": f"model-{model}", "dataset": {"sample_ids": [one["id"] for one in samples]},
            "config": {"epochs": 1},
        },
        "results": {"scores": [{"name": "match"}]},
    }  # fmt: skip
    if form == "json":
        path = folder / f"log-{model}.json"
        path.write_text(json.dumps(header | {"samples": samples}))
        return path
    path = folder / f"log-{model}.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for sample in samples:
            name = f"samples/{sample['id'].replace('/', '_')}_epoch_1.json"
            archive.writestr(name, json.dumps(sample))
    return path


def evalplus(folder: Path, model: int, *, old: bool = False) -> Path:
    found = {}
    for item in range(ITEMS):
        base = "pass" if mark(model, item) else "fail"
        if item in BROKEN:
            base = None
        if old:
            found[f"sums/{item}"] = {"nfiles": 1, "base": [[base, [True]]], "plus": [["pass", [True]]]}
        else:
            found[f"sums/{item}"] = [
                {
                    "task_id": f"sums/{item}",
                    "solution": "x",
                    "base_status": base,
                    "plus_status": "pass",
                    "base_fail_tests": [],
                }
            ]
    path = folder / f"model-{model}_eval_results.json"
    path.write_text(json.dumps({"date": "2026-01-02 03:04", "hash": "abc", "eval": found}))
    return path


def human_eval(folder: Path, model: int) -> Path:
    path = folder / f"model-{model}_results.jsonl"
    rows = [
        {"task_id": f"sums/{item}", "completion": "x", "result": "passed", "passed": None if item in BROKEN else bool(mark(model, item))}
        for item in range(ITEMS)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def promptfoo(folder: Path, model: int, *, version: int = 3) -> Path:
    rows = []
    for item in range(ITEMS):
        row = {
            "provider": {"id": f"model-{model}", "label": ""}, "prompt": {"raw": prompt(item), "label": "ask"},
            "vars": {"n": item}, "response": {"output": str(2 * item)}, "success": bool(mark(model, item)),
            "score": mark(model, item), "namedScores": {}, "gradingResult": {"pass": True, "score": 1},
        }  # fmt: skip
        if version == 3:
            row |= {"promptIdx": 0, "testIdx": item, "failureReason": 0 if mark(model, item) else 1}
            row["error"] = None if mark(model, item) else "Expected output to contain something"
        if item in BROKEN:
            row |= {"error": "API error: 500", "gradingResult": None} | ({"failureReason": 2} if version == 3 else {})
        rows.append(row)
    path = folder / f"promptfoo-{model}.json"
    about = {"evalId": "eval-abc", "results": {"version": version, "prompts": [], "results": rows}, "config": {}}
    path.write_text(json.dumps(about, indent=2))
    return path


def deepeval(folder: Path, model: int, *, old: bool = False) -> Path:
    cases = []
    for item in range(ITEMS):
        value = None if item in BROKEN else mark(model, item)
        success = value is not None and value >= 0.5
        metric = {"name": "Correctness", "threshold": 0.5, "success": success, "score": value}
        metric["error"] = "the judge did not answer" if item in BROKEN else None
        cases.append(
            {
                "name": f"test_case_{item}", "input": prompt(item), "actualOutput": str(2 * item), "success": success,
                "metricsMetadata" if old else "metricsData": [metric],
            }
        )  # fmt: skip
    path = folder / f"deepeval-{model}.json"
    run = {"testCases": cases, "conversationalTestCases": [], "hyperparameters": {"model": f"model-{model}"}}
    path.write_text(json.dumps({"testRunData": run} if old else run))
    return path


def helm(folder: Path, model: int) -> Path:
    here = folder / f"sums:model=model-{model}"
    here.mkdir()
    stats = []
    for item in range(ITEMS):
        count = 0 if item in BROKEN else 1
        stat = {"name": {"name": "exact_match", "split": "test"}, "count": count, "sum": mark(model, item) * count}
        noted = {"name": {"name": "num_prompt_tokens", "split": "test"}, "count": 1, "sum": 12}
        stats.append({"instance_id": f"id{item}", "train_trial_index": 0, "stats": [noted, stat]})
    (here / "run_spec.json").write_text(json.dumps({"name": "sums", "adapter_spec": {"model": f"model-{model}"}}))
    instances = [{"id": f"id{item}", "input": {"text": prompt(item)}} for item in range(ITEMS)]
    (here / "instances.json").write_text(json.dumps(instances))
    path = here / "per_instance_stats.json"
    path.write_text(json.dumps(stats, indent=2))
    return path


def every_eval_ever(folder: Path, model: int) -> Path:
    path = folder / f"eee-{model}.jsonl"
    rows = []
    for item in range(ITEMS):
        row = {
            "schema_version": "0.2.1", "evaluation_id": "sums/x", "model_id": f"model-{model}", "evaluation_name": "sums",
            "sample_id": str(item), "sample_hash": f"h{item}", "interaction_type": "single_turn",
            "input": {"raw": prompt(item), "reference": []}, "output": {"raw": ["x"]}, "answer_attribution": [],
            "evaluation": {"score": mark(model, item), "is_correct": bool(mark(model, item))},
        }  # fmt: skip
        if item in BROKEN:
            row |= {"error": "time out", "output": {"raw": []}}
        rows.append(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(folder: Path, model: int, *, suffix: str = "csv") -> Path:
    path = folder / f"model-{model}.{suffix}"
    rows = [
        {"item": f"sums/{item}", "model": f"model-{model}", **({"score": None, "error": "broke"} if item in BROKEN else {"score": mark(model, item), "error": ""})}
        for item in range(ITEMS)
    ]  # fmt: skip
    if suffix == "csv":
        lines = [
            ",".join(rows[0]),
            *(",".join("" if cell is None else str(cell) for cell in row.values()) for row in rows),
        ]
        path.write_text("\n".join(lines) + "\n")
    elif suffix == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


FORMATS = {
    "lm-eval": lm_eval,
    "lm-eval before 0.4.3": lambda folder, model: lm_eval(folder, model, old=True),
    "inspect eval": inspect_log,
    "inspect json": lambda folder, model: inspect_log(folder, model, form="json"),
    "evalplus": evalplus,
    "evalplus 0.1": lambda folder, model: evalplus(folder, model, old=True),
    "human-eval": human_eval,
    "promptfoo": promptfoo,
    "promptfoo 2": lambda folder, model: promptfoo(folder, model, version=2),
    "deepeval": deepeval,
    "deepeval before 1.5": lambda folder, model: deepeval(folder, model, old=True),
    "helm": helm,
    "every-eval-ever": every_eval_ever,
    "csv": table,
    "jsonl": lambda folder, model: table(folder, model, suffix="jsonl"),
}
