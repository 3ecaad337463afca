"""Running a task over answers that exist: `markbook run` beside lm-evaluation-harness's own metric loop.

python -m bench.tasks [--rows 10000] [--repeats 3]        needs `make interop` once

All mark the same rows by the same documented text metrics (exact match, BLEU, ROUGE-1/2/L, METEOR, edit distance), each
in a fresh process:
- documented: the harness's `ConfigurableTask` over rows in memory, `process_results` for each row and its aggregations,
  with metric functions that do what the documented ones do: ROUGE by rouge-score with its bootstrap of one row (as the
  documented library calls it), the edit distance as a table in Python. A fiftieth of the rows, since it is a plain loop.
- lean: the same loop with the quickest functions that one would write: no bootstrap, rapidfuzz.
- ours: the whole command, from the shell to the last file on disk: start, YAML, reading, marking, intervals, journal,
  results; and the same from Python, without the start of the interpreter.

Of the harness only the loop is timed: not imports, not reading, not writing. BLEU is sacrebleu's and METEOR NLTK's in
both. The numbers of all are compared.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8").split()

TASK = """\
task: bench
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{target}}"
generation_kwargs: {until: []}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: !function utils.bleu_score, aggregation: mean, higher_is_better: true}
  - {metric: !function utils.rouge_score, aggregation: mean, higher_is_better: true}
  - {metric: !function utils.meteor_score, aggregation: mean, higher_is_better: true, synonyms: false}
  - {metric: !function utils.edit_distance, aggregation: mean, higher_is_better: false}
"""

THEIRS = """
import json, logging, sys, time
logging.disable(logging.WARNING)
from lm_eval.api.task import ConfigurableTask
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import meteor_score as nltk_meteor
from rapidfuzz.distance import Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import BootstrapAggregator
from sacrebleu.metrics import BLEU

DOCUMENTED = sys.argv[1] == "documented"
bleu = BLEU(effective_order=True)
rouge = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)

def bleu_score(references, predictions):
    return {"bleu": bleu.sentence_score(predictions[0], references).score / 100}

def rouge_score(references, predictions):
    found = rouge.score(references[0], predictions[0])
    if DOCUMENTED:
        total = BootstrapAggregator()
        total.add_scores(found)
        return {name: each.mid.fmeasure for name, each in total.aggregate().items()}
    return {name: each.fmeasure for name, each in found.items()}

class NoWordNet:
    # NLTK's WordNet data is a download; without it both sides match by word and stem alone.
    def synsets(self, word):
        return []

treebank = NLTKWordTokenizer()

def meteor_score(references, predictions):
    tokens = [treebank.tokenize(text) for text in (references[0], predictions[0])]
    return {"meteor": nltk_meteor([tokens[0]], tokens[1], wordnet=NoWordNet())}

def edit_distance(references, predictions):
    first, second = references[0], predictions[0]
    longest = max(len(first), len(second))
    return {"edit_distance": LEVENSHTEIN(first, second) / longest if longest else 0.0}

def in_python(first, second):
    # The two-row table that the metrics' document describes.
    before = list(range(len(second) + 1))
    for row, left in enumerate(first, 1):
        now = [row]
        for column, right in enumerate(second, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (left != right)))
        before = now
    return before[-1]

LEVENSHTEIN = in_python if DOCUMENTED else Levenshtein.distance

def mean(name):
    return {"metric": name, "aggregation": "mean", "higher_is_better": True}

task = ConfigurableTask(config={
    "task": "bench", "dataset_path": "json", "dataset_kwargs": {"data_files": "rows.jsonl"}, "test_split": "train",
    "output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": "{{target}}",
    "generation_kwargs": {"until": []}, "metric_list": [mean("exact_match"), mean(bleu_score), mean(rouge_score),
                    mean(meteor_score), mean(edit_distance)],
})
answers = [json.loads(line)["prediction"] for line in open("answers.jsonl", encoding="utf-8")]
docs = list(task.test_docs())
if DOCUMENTED:
    docs, answers = docs[: len(docs) // 50], answers[: len(docs) // 50]
began = time.perf_counter()
collected = {}
for doc, answer in zip(docs, answers, strict=True):
    for name, value in task.process_results(doc, [answer]).items():
        collected.setdefault(name, []).append(float(value))
numbers = {name: task.aggregation().get(name, lambda v: sum(v) / len(v))(values) for name, values in collected.items()}
print("RESULT" + json.dumps({"rows": len(docs), "seconds": time.perf_counter() - began, "numbers": numbers}))
"""

OURS = """
import json, sys, time
import markbook
from markbook.pipeline import task
began = time.perf_counter()
run = markbook.run_task("bench.yaml", predictions="answers.jsonl", output="inside", workers=2)
seconds = time.perf_counter() - began
found = json.loads(run.read("summary.json"))["tasks"]["bench"]["metrics"]
print("RESULT" + json.dumps({"seconds": seconds, "numbers": {name: each["value"] for name, each in found.items()}}))
"""


def make_rows(folder: Path, count: int) -> None:
    """Write rows of about 40 words and answers in which every seventh word is another one."""
    rng = random.Random(7)
    with (
        (folder / "rows.jsonl").open("w", encoding="utf-8") as rows,
        (folder / "answers.jsonl").open("w", encoding="utf-8") as answers,
    ):
        for number in range(count):
            words = rng.choices(WORDS, k=rng.randint(20, 60))
            said = [rng.choice(WORDS) if rng.random() < 1 / 7 else word for word in words]
            rows.write(json.dumps({"question": f"Question {number}?", "target": " ".join(words)}) + "\n")
            answers.write(json.dumps({"doc_id": number, "prediction": " ".join(said)}) + "\n")


def child(folder: Path, program: str, *args: str) -> dict:
    """Run a program in a fresh process and return what it reports."""
    done = subprocess.run(
        [sys.executable, "-c", program, *args], cwd=folder, capture_output=True, text=True, timeout=1800, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.rpartition("RESULT")[2])


def command(folder: Path) -> float:
    """Return the seconds of the whole command."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "markbook", "run", "bench.yaml", "--predictions", "answers.jsonl", "--json"],
        cwd=folder, capture_output=True, timeout=1800, check=True,
    )  # fmt: skip
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    speeds: dict[str, list[float]] = {"documented": [], "lean": [], "command": [], "python": []}
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.yaml").write_text(TASK, encoding="utf-8")
        make_rows(folder, options.rows)
        for _ in range(options.repeats):
            ours = child(folder, OURS)
            speeds["python"].append(options.rows / ours["seconds"])
            speeds["command"].append(options.rows / command(folder))
            for arm in ("documented", "lean"):
                theirs = child(folder, THEIRS, arm)
                speeds[arm].append(theirs["rows"] / theirs["seconds"])
            worst = max(abs(theirs["numbers"][key] - value) for key, value in ours["numbers"].items())
    print(f"{options.rows} rows, median of {options.repeats}; the numbers differ by {worst:.1e} at most")
    print(f"{'':<52} {'rows/s':>8} {'x documented':>13} {'x lean':>8}")
    base = {arm: statistics.median(speeds[arm]) for arm in ("documented", "lean")}
    for key, label in (
        ("documented", "lm-evaluation-harness's loop, documented functions"),
        ("lean", "lm-evaluation-harness's loop, leanest functions"),
        ("command", "markbook run, the whole command"),
        ("python", "markbook.run_task, from start to the last file"),
    ):
        speed = statistics.median(speeds[key])
        print(f"{label:<52} {speed:>8.0f} {speed / base['documented']:>13.1f} {speed / base['lean']:>8.1f}")


if __name__ == "__main__":
    main()
