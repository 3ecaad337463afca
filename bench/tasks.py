"""Running a task over answers that exist: `markbook run` beside lm-evaluation-harness.

python -m bench.tasks [--rows 10000] [--repeats 3]        needs `make interop` once

All mark the same rows by the same text metrics (exact match, BLEU, ROUGE-1/2/L, METEOR, edit distance), each in a fresh
process; medians are shown. The harness's own metric loop, `ConfigurableTask.process_results` for each row and then its
aggregations, over rows in memory, with three sets of metric functions:
- documented: what the documented functions do. ROUGE by rouge-score with its bootstrap of one row (as the documented
  library calls it), the edit distance as a table in Python. A fiftieth of the rows, since it is a plain loop.
- shipped: BLEU and ROUGE are the functions that the harness itself ships and that its users copy
  (`lm_eval.tasks.truthfulqa.utils`: sacrebleu for each row, rouge-score with its bootstrap). A twentieth of the rows.
- lean: the quickest that one would write with the same libraries: one scorer for all rows, no bootstrap, rapidfuzz.

Of these the loop alone is timed: not the start, not imports, not reading, not writing, no intervals. Also timed:
- harness, whole: `simple_evaluate` with the lean functions, a model that replays the answers, and its samples saved.
- ours, loop: every metric measured and summarised with its interval, in one process; nothing else.
- ours, whole: `markbook.run_task` with two workers: YAML, reading, marking, intervals, journal, results, HTML page.
- ours, command: that as a command, from the start of the interpreter to its end.

BLEU is sacrebleu's and METEOR NLTK's in the harness. The numbers of lean and ours are compared.
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

ROOT = Path(__file__).resolve().parents[1]
HARNESS = ROOT / ".venv-interop" / "bin" / "python"
WORDS = (ROOT / "README.md").read_text(encoding="utf-8").split()

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

FUNCTIONS = """
import json, logging, sys, time
logging.disable(logging.WARNING)
from lm_eval.api.task import ConfigurableTask
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import meteor_score as nltk_meteor
from rapidfuzz.distance import Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import BootstrapAggregator
from sacrebleu.metrics import BLEU

DOCUMENTED, SHIPPED = sys.argv[1] == "documented", sys.argv[1] == "shipped"
if SHIPPED:
    from lm_eval.tasks.truthfulqa import utils as shipped
bleu = BLEU(effective_order=True)
rouge = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)

def bleu_score(references, predictions):
    if SHIPPED:
        return {"bleu": shipped.bleu([[references[0]]], predictions)}
    return {"bleu": bleu.sentence_score(predictions[0], references).score / 100}

def rouge_score(references, predictions):
    if SHIPPED:
        return shipped.rouge(references[:1], predictions)
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

def meteor_score(references, predictions, synonyms=False):
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
"""

LOOP = """
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
part = 50 if DOCUMENTED else 20 if SHIPPED else 1
docs, answers = docs[: len(docs) // part], answers[: len(docs) // part]
began = time.perf_counter()
collected = {}
for doc, answer in zip(docs, answers, strict=True):
    for name, value in task.process_results(doc, [answer]).items():
        collected.setdefault(name, []).append(float(value))
numbers = {name: task.aggregation().get(name, lambda v: sum(v) / len(v))(values) for name, values in collected.items()}
print("RESULT" + json.dumps({"rows": len(docs), "seconds": time.perf_counter() - began, "numbers": numbers}))
"""

WHOLE = """
import json, logging, os, time
os.environ["HF_HUB_OFFLINE"] = "1"
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
answers = [json.loads(line)["prediction"] for line in open("answers.jsonl", encoding="utf-8")]

class Replay(LM):
    def generate_until(self, requests, disable_tqdm=False):
        return [answers[request.doc_id] for request in requests]
    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError
    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError

began = time.perf_counter()
results = simple_evaluate(
    model=Replay(), tasks=["bench"], task_manager=TaskManager(include_path=".", include_defaults=False), log_samples=True
)
samples = results.pop("samples")
tracker = EvaluationTracker(output_path="harness")
tracker.general_config_tracker.model_name_sanitized = "replay"
tracker.save_results_aggregated(results=results, samples=samples)
for name, rows in samples.items():
    tracker.save_results_samples(task_name=name, samples=rows)
print("RESULT" + json.dumps({"rows": len(answers), "seconds": time.perf_counter() - began}))
"""

OUR_LOOP = """
import json, time
import markbook
rows = [json.loads(line) for line in open("rows.jsonl", encoding="utf-8")]
answers = [json.loads(line)["prediction"] for line in open("answers.jsonl", encoding="utf-8")]
targets = [row["target"] for row in rows]
began = time.perf_counter()
names = ["exact_match", "bleu", "edit_distance"]
found = markbook.measure(names, answers, targets)
found |= markbook.measure(["rouge1", "rouge2", "rougeL"], answers, targets, stemmer=True)
found |= markbook.measure(["meteor"], answers, targets, synonyms=False)
numbers = {name: markbook.summarise(name, column).value for name, column in found.items()}
print("RESULT" + json.dumps({"rows": len(rows), "seconds": time.perf_counter() - began, "numbers": numbers}))
"""

OURS = """
import json, time
import markbook
from markbook.runs.tasks import work as task
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
    """Run a program in a fresh process and return what it reports; the harness has an environment of its own."""
    python = HARNESS if "lm_eval" in program else sys.executable
    done = subprocess.run(
        [python, "-c", program, *args], cwd=folder, capture_output=True, text=True, timeout=1800, check=False
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


ARMS = {
    "documented": ("harness, loop, documented functions", FUNCTIONS + LOOP, ("documented",)),
    "shipped": ("harness, loop, the functions it ships", FUNCTIONS + LOOP, ("shipped",)),
    "lean": ("harness, loop, leanest functions", FUNCTIONS + LOOP, ("lean",)),
    "theirs": ("harness, whole, leanest functions", WHOLE, ()),
    "loop": ("ours, loop, one process", OUR_LOOP, ()),
    "python": ("ours, whole, from Python", OURS, ()),
    "command": ("ours, whole, the command", "", ()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if not HARNESS.exists():
        raise SystemExit("run `make interop` first: it installs lm-evaluation-harness")
    speeds: dict[str, list[float]] = {arm: [] for arm in ARMS}
    numbers: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.yaml").write_text(TASK, encoding="utf-8")
        (folder / "utils.py").write_text("import sys\nsys.argv[1:] = ['lean']\n" + FUNCTIONS, encoding="utf-8")
        make_rows(folder, options.rows)
        for _ in range(options.repeats):
            for arm, (_label, program, args) in ARMS.items():
                found = child(folder, program, *args) if program else {"seconds": command(folder)}
                speeds[arm].append(found.get("rows", options.rows) / found["seconds"])
                numbers[arm] = found.get("numbers", {})
    worst = max(abs(numbers["lean"][key] - value) for key, value in numbers["python"].items())
    print(
        f"{options.rows} rows, medians of {options.repeats}; the numbers of lean and ours differ by {worst:.1e} at most"
    )
    medians = {arm: statistics.median(each) for arm, each in speeds.items()}
    bases = ("documented", "shipped", "lean", "theirs")
    print(f"{'':<38} {'rows/s':>8} " + " ".join(f"{'x ' + base:>13}" for base in bases))
    for arm, (label, _program, _args) in ARMS.items():
        print(
            f"{label:<38} {medians[arm]:>8.0f} " + " ".join(f"{medians[arm] / medians[base]:>13.1f}" for base in bases)
        )


if __name__ == "__main__":
    main()
