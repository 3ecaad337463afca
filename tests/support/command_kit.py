"""The three running commands on small inputs, in one shape: what breaks one must not break the others."""

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support import review_kit
from support.exam_kit import answer, problem, write_rows
from support.fake_openai import FakeOpenAI, good, text

PEAK = (
    "import atexit, re\n"
    "atexit.register(lambda: print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1)))\n"
)
"""Lines of a program that print its peak memory in KiB at its end. `ru_maxrss` would not do: it begins with the memory of
the process that started it."""
WORDS = ("one two three four", "five six seven eight", "nine ten eleven twelve", "and so on and on")
TASK = """\
name: demo
data: {path: rows.jsonl}
prompt: "Say {{ word }}."
reference: "{{ word }}"
metrics: [exact_match, bleu]
"""


def say(request, _number=0):
    """Answer with something that depends on the question alone."""
    asked = request["messages"][-1]["content"]
    return text(hashlib.sha256(asked.encode()).hexdigest()[:8] + " " + asked)


_STARTED = re.compile(rb"<dt>Started</dt><dd>[^<]+</dd>")


@dataclass
class Command:
    """A command with its arguments, what it asks a server, and what it writes."""

    name: str
    args: list[str]
    reports: tuple[str, ...]
    """Files that hold no times: the same for every way to the end."""
    kind: str
    """The journal's rows of work done."""
    script: Callable | None = None
    """How its server replies; None where it asks nobody."""
    server: FakeOpenAI | None = field(default=None)

    def full(self, *more):
        """Return the whole command line."""
        url = ["--base-url", self.server.base_url] if self.server is not None else []
        return [self.name, *self.args, *url, *map(str, more)]

    def run(self, *more):
        """Run it in this process; return exit code, stdout and stderr."""
        return review_kit.markbook(*self.full(*more))

    def start(self, *more, **options):
        """Start it as a process of its own."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([sys.executable, "-m", "markbook", *self.full(*more)], **pipes)

    def digest(self, output):
        """Return one digest of all reports of the one run in an output folder, but for the minute in which it was started."""
        folder = review_kit.only_run(output)
        total = hashlib.sha256()
        for name in self.reports:
            data, replaced = _STARTED.subn(b"", (folder / name).read_bytes())
            assert replaced == name.endswith(".html"), f"{name} names its start {replaced} times"
            total.update(data)
        return total.hexdigest()


def exam(folder: Path) -> Command:
    texts = ["def f(x):\n    return x\n", "def f(x):\n    return {0, 'a', x}\n", "", "def f(x)"]
    problems = [problem(f"p{i}") for i in range(6)]
    answers = [answer(f"p{i}", texts[i % len(texts)]) for i in range(6)]
    args = [
        "--benchmark", str(write_rows(folder / "benchmark.jsonl", problems)), "--solutions",
        str(write_rows(folder / "answers.jsonl", answers)), "--isolation", "weak", "--workers", "1",
    ]  # fmt: skip
    names = ("test_results.jsonl", "test_results_score.json", "test_results_errors.json", "evaluation_summary.md")
    return Command("exam", args, tuple(f"gpt/{name}" for name in names), "outcome")


def run(folder: Path) -> Command:
    write_rows(folder / "rows.jsonl", [{"word": word} for word in WORDS])
    (folder / "task.yaml").write_text(TASK)
    args = [str(folder / "task.yaml"), "--model", "openai:m", "--retries", "1"]
    return Command("run", args, ("results.jsonl", "summary.json", "summary.md"), "completion", say)


def review(folder: Path) -> Command:
    args = ["--papers", review_kit.papers(folder), "--reviews", review_kit.reviews(folder), "--traces",
            review_kit.traces(folder), "--similarity", "cosine,jaccard", "--judge", "openai:m", "--judge-retries", "1"]  # fmt: skip
    reports = ("results.jsonl", "summary.json", "evaluation_summary.md", "report.html")
    return Command("review", list(map(str, args)), reports, "judgement", good)


MAKERS = {"exam": exam, "run": run, "review": review}
REVIEW_ROWS = 40


def long_run(folder: Path) -> Command:
    """Return a run of tasks with many questions."""
    made = run(folder)
    write_rows(folder / "rows.jsonl", [{"word": f"word number {n}"} for n in range(REVIEW_ROWS)])
    return made


def long_review(folder: Path) -> Command:
    """Return a review run with many reviews."""
    made = review(folder)
    rows = [
        {"paper_id": "one", "system": f"s{n % 3}", "review": f"{review_kit.GENERATED} {n}", "execution_time": n}
        for n in range(REVIEW_ROWS)
    ]
    review_kit.reviews(folder, rows)
    return made


def long_asked_exam(folder: Path) -> Command:
    """Return an exam of a model with many questions, two answers to each."""
    problems = [
        problem(f"p{i}", name=f"f{i}", canonical=f"def f{i}(x):\n    return x\n") for i in range(REVIEW_ROWS // 2)
    ]
    args = [
        "--benchmark", str(write_rows(folder / "benchmark.jsonl", problems)), "--model", "openai:m", "-n", "2",
        "--retries", "1", "--isolation", "weak", "--workers", "1",
    ]  # fmt: skip
    names = ("test_results.jsonl", "test_results_score.json", "test_results_errors.json", "evaluation_summary.md")
    return Command("exam", args, tuple(f"openai-m-7d95e2f2efef/{name}" for name in names), "completion", write_function)


def write_function(request, _number=0):
    """Answer with the function that is asked for, in a fence; every third has a fault."""
    name = re.search(r"f\d+", request["messages"][-1]["content"])[0]
    fault = " + 1" if int(name[1:]) % 3 == 0 else ""
    return text(f"Here it is:\n\n```python\ndef {name}(x):\n    return x{fault}\n```\n")


LONG = {"run": long_run, "review": long_review, "asked exam": long_asked_exam}


def slowly(script, seconds=0.05):
    """Make a script that takes its time."""

    def reply(request, number):
        time.sleep(seconds)
        return script(request, number)

    return reply


def results(output):
    """Return the lines of results.jsonl of the one run in a folder."""
    return [json.loads(line) for line in (review_kit.only_run(output) / "results.jsonl").read_text().splitlines()]
