"""Task files, rows and answers for the tests of tasks as they are in the wild."""

import json

from support.review_kit import markbook

HEAD = "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
PLAIN = HEAD + "doc_to_text: q\ndoc_to_target: a\n"


def write(path, rows):
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def task(folder, lines, rows=({"q": "q0", "a": "x"}, {"q": "q1", "a": "y"}), name="lm.yaml"):
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(lines, encoding="utf-8")
    write(folder / "rows.jsonl", rows)
    return name


def said(folder, replies):
    return write(folder / "said.jsonl", [{"doc_id": n, "prediction": reply} for n, reply in enumerate(replies)])


def run_task(*more):
    """Run `lm.yaml` with the recorded answers; return exit code, metrics and messages."""
    code, shown, messages = markbook("run", "lm.yaml", "--predictions", "said.jsonl", "--json", *more)
    return code, json.loads(shown)["tasks"]["demo"]["metrics"] if shown else {}, messages


def metrics(run):
    found = json.loads((run.folder / "summary.json").read_text(encoding="utf-8"))["tasks"]["demo"]["metrics"]
    return {name: metric["value"] for name, metric in found.items()}


def rows_of(run):
    return [json.loads(line) for line in (run.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
