"""Runs of tasks and reviews for tests of reports: the files that such runs publish, written by hand."""

import json

from markbook.results.files import SCHEMA
from markbook.stats.records import Estimate
from markbook.store import Manifest, RunWriter, open_run
from markbook.types import Interval, Summary


def metric(value, n, *, direction="higher", missing=None, spread=0.1, bounds=None):
    """Return a metric's record in summary.json."""
    missing = missing or {}
    return Summary(
        metric="m",
        group="total",
        value=value,
        n=n,
        n_items=n + sum(missing.values()),
        n_missing=missing,
        interval=None if value is None else Interval(value - spread, value + spread, "bca"),
        bounds=bounds,
        policy="exclude",
        direction=direction,
        signature="x",
    ).to_record()


def task_row(number, bleu, *, model="m", words="two", text="an answer", kind="failed", tests=None, task="demo"):
    """Return a row of a task's results.jsonl."""
    row = {
        "task": task, "id": f"{number}", "doc_id": number, "doc": {"word": words}, "index": 0, "pipeline": "none", "model": model,
        "prompt": f"Say {words}", "system": "", "references": [words], "reply": text, "text": text,
        "metrics": {"bleu": bleu}, "missing": {} if bleu is not None else {"bleu": {"kind": kind, "detail": words}}, "source": "rows.jsonl:1",
    }  # fmt: skip
    return row | ({"tests": tests} if tests else {})


def task_run(folder, rows, *, contexts=False, words="demo", finish=True):
    """Write a run of one task and return it."""
    known = [row["metrics"]["bleu"] for row in rows if row["metrics"]["bleu"] is not None]
    mean = sum(known) / len(known) if known else None
    record = {
        "alias": "", "version": "1", "context": "full", "base": words, "rows": len(rows), "rows_rejected": 1, "answers": len(known),
        "answers_rejected": 0, "answers_unknown": 0,
        "metrics": {"bleu": metric(mean, len(known), missing={"failed": len(rows) - len(known)}),
                    "edit_distance": metric(0.2, 3, direction="lower")},
    }  # fmt: skip
    comparison = {
        "metric": "bleu", "first": words, "second": f"{words}_no", "contexts": ["full", "none"], "direction": "higher",
        "difference": 0.2, "interval": Interval(0.1, 0.3, "paired-t").to_record(), "p": 0.01, "p_adjusted": 0.02, "n": 9,
        "n_left_out": 0, "n_partial": 0, "minimum_detectable_effect": 0.05, "note": "", "family": 2, "verdict": "full is better",
    }  # fmt: skip
    summary = {
        "schema": SCHEMA, "model": "", "profile": "corrected", "tasks": {words: record},
        "groups": {"all": {"alias": "", "version": "1", "tasks": [words],
                           "metrics": {"bleu": {**metric(mean, len(known)), "tasks": [words]}}}},
        "comparisons": [comparison] if contexts else [],
    }  # fmt: skip
    return _write(folder, "run", rows, summary, finish=finish)


def review_row(paper, system, cosine, composite, *, words="no judge was asked", index=0):
    """Return a row of a review's results.jsonl."""
    lacks = {"kind": "absent", "detail": words}
    label = {"composite_score": composite, "recommendation": "accept" if composite else None, "evaluation_complete": composite is not None,
             "missing": {} if composite is not None else {"composite_score": lacks}}  # fmt: skip
    return {
        "paper_id": paper, "system": system, "index": index, "tier1": {"cosine_score": cosine, "missing": {} if cosine is not None else {"cosine_score": lacks}},
        "tier2": {"technical_accuracy": None, "missing": {"technical_accuracy": lacks}}, "tier3": {"path_convergence": 0.5, "missing": {}},
        "composite": label, "own_recommendation": {"difference": None}, "missing": {"tier2.technical_accuracy": lacks},
    }  # fmt: skip


def review_run(folder, rows, *, graph=None):
    """Write a review run and return it."""
    systems = sorted({row["system"] for row in rows})

    def number(system, tier, name):
        values = [row[tier][name] for row in rows if row["system"] == system and row[tier].get(name) is not None]
        mean, missing = (sum(values) / len(values), {}) if values else (None, {"absent": 3})
        return metric(mean, len(values), missing=missing, bounds=(0.0, 1.0))

    fields = [
        ("tier1", "cosine_score"),
        ("tier2", "technical_accuracy"),
        ("tier3", "path_convergence"),
        ("composite", "composite_score"),
    ]
    summary = {
        "schema": SCHEMA, "papers": len({row["paper_id"] for row in rows}), "reviews": len(rows), "policy": "require_complete", "profile": "corrected",
        "systems": {
            system: {
                "metrics": {f"{tier}.{name}": number(system, tier, name) for tier, name in fields},
                "recommendations": {"accept": 1, "missing": 2}, "papers_without_review": 1, "papers_reviewed": len(rows), "reviews": len(rows),
                "own_recommendation": {"n": 0, "n_missing": len(rows), "mean_difference": None, "mean_absolute_difference": None},
            } for system in systems
        },
        "paper_ids": sorted({row["paper_id"] for row in rows}), "task_success_threshold": {"value": 0.8, "from": "config"},
        "human_yardstick": {"papers": 0, "reviews": 0, "every_pair": {}, "closest_other": {}, "closest_pair_of_paper": {},
                            "success_rate": None, "most_possible_combined": None},
        "weight_sensitivity": {"reviews": 1, "label_changes": 0.25, "ranks": None},
        "judge_agreement": {"technical_accuracy": {**Estimate(0.6, 0.4, 0.8, n=12).to_record(), "judges": ["a", "b"]}},
    }  # fmt: skip
    return _write(folder, "review", rows, summary, graph)


def _write(folder, command, rows, summary, graph=None, *, finish=True):
    with RunWriter.create(folder, Manifest(command, {"profile": "corrected"}, {})) as writer:
        writer.publish({
            "results.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
            "summary.json": json.dumps(summary),
        })  # fmt: skip
        if graph:
            writer.add("tier3", (rows[0]["paper_id"], rows[0]["system"], 0), {"graph": graph})
        if finish:
            writer.finish("done")
    return open_run(writer.folder)
