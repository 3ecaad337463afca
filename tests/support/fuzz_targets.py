"""Every reader of what others wrote, as a function of bytes: it gives records, or raises a MarkbookError, and nothing else.

`tests/fuzz_corpus/<target>` holds inputs of our own and every one that ever broke a reader; `test_fuzz.py` tries them
all and a few hundred made from them, `python -m bench.fuzz` as many as there is time for.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from markbook.benchmarks.answers import load_answers
from markbook.benchmarks.benchmark import load_benchmark, without_faults
from markbook.config.loading import load
from markbook.datasets.generated_reviews import GeneratedReviews
from markbook.datasets.papers import PeerRead
from markbook.datasets.predictions import read_answers
from markbook.datasets.samples import load_samples
from markbook.errors import ConfigError, MarkbookError
from markbook.judge.client import Violation, parse_marks
from markbook.judge.rubrics import CONSTRUCTIVENESS
from markbook.model.cassette import Cassette
from markbook.runs.reviews.config_file import read_config
from markbook.store import open_run
from markbook.traces import read_trace
from markbook.traces.references import read_references
from markbook.types import Sample, TaskRow
from support.paths import TESTS

CORPUS = TESTS / "fuzz_corpus"
FORMATS = (
    None, "agents-eval", "autogen", "claude-code", "inspect", "langsmith", "openai-messages", "otlp", "pydantic-ai",
    "swe-agent", "tau-bench", "who-and-when",
)  # fmt: skip
PROBLEM = {
    "task_id": "a", "name": "f", "problem": "Write f.", "canonical_solution": "def f(x):\n    return x\n",
    "tests": [{"assertion": "func(1) == 1"}], "topic": "t", "object": "function", "complexity": 1,
}  # fmt: skip
ANSWER = {"task_id": "a", "model": "other", "candidate_solution": "x = 1"}
TASK = 'name: t\ndata: {path: rows.jsonl}\nprompt: "{{ q }}"\nreference: "{{ a }}"\nmetrics: [exact_match]\n'
SAMPLES = tuple(Sample(str(n), "q", (answer,), row=TaskRow({"q": "q"}, n)) for n, answer in enumerate("ab"))

Target = Callable[[bytes, Path], None]


def put(folder: Path, name: str, data: bytes) -> Path:
    """Write a file, with its folders, and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def benchmark(data: bytes, folder: Path) -> None:
    sound, faults = without_faults(load_benchmark(put(folder, "benchmark.jsonl", data)))
    assert sound.samples
    assert all(fault.reason for fault in faults)


def answers(data: bytes, folder: Path) -> None:
    paper = load_benchmark(put(folder, "benchmark.jsonl", json.dumps(PROBLEM).encode()))
    given = put(folder, "answers.jsonl", data + b"\n" + json.dumps(ANSWER).encode())
    found = load_answers([given], paper)
    assert sum(1 for model in found.models for _ in found.attempts(model)) >= 1


def task(data: bytes, folder: Path) -> None:
    load(put(folder, "task.yaml", data))


def rows(data: bytes, folder: Path) -> None:
    put(folder, "rows.jsonl", data)
    found = load_samples(load(put(folder, "task.yaml", TASK.encode())))  # type: ignore[arg-type]  # one task
    assert found.samples


def predictions(data: bytes, folder: Path) -> None:
    for name in ("answers.jsonl", "answers.json", "answers.csv"):
        with suppress(MarkbookError):
            read_answers(put(folder, name, data), "t", SAMPLES, several=False)


def papers(data: bytes, folder: Path) -> None:
    put(folder, "papers/acl_2017/train/reviews/one.json", data)
    found = PeerRead().load(folder / "papers")
    assert sum(found.counts[name] for name in found.counts if name.startswith("entries_")) >= sum(
        len(paper.human) for paper in found.papers
    )


def paper_text(data: bytes, folder: Path) -> None:
    put(folder, "papers/acl_2017/train/reviews/one.json", b'{"id": "one", "reviews": []}')
    put(folder, "papers/acl_2017/train/parsed_pdfs/one.pdf.json", data)
    (paper,) = PeerRead().load(folder / "papers").papers
    paper.sample()


def generated(data: bytes, folder: Path) -> None:
    for name in ("reviews.jsonl", "reviews.json", "run/review.json", "run/trace.json"):
        with suppress(MarkbookError):
            for attempt in GeneratedReviews().load(put(folder, f"{name}_/{name}", data)).attempts:
                assert attempt.sample_id


def config(data: bytes, folder: Path) -> None:
    read_config(put(folder, "config.json", data)).as_record()


def trace(data: bytes, folder: Path) -> None:
    path = put(folder, "trace.json", data)
    # Detection first, then one reader that the content did not ask for.
    for wanted in (None, FORMATS[len(data) % len(FORMATS)]):
        with suppress(MarkbookError):
            found = read_trace(path, wanted)
            assert found.tool_calls >= 0
            assert found.seconds is None or found.seconds >= 0


def references(data: bytes, folder: Path) -> None:
    read_references(put(folder, "references.json", data))


def cassette(data: bytes, folder: Path) -> None:
    path = put(folder, "cassette.jsonl", data)
    tape = Cassette(path)
    if not tape.is_whole:
        tape.record("new", {"payload": "1"})
        assert Cassette(path).find("new") == {"payload": "1"}


def reply(data: bytes, _folder: Path) -> None:
    try:
        marks = parse_marks(data.decode("utf-8", "replace"), CONSTRUCTIVENESS)
    except Violation:
        return
    assert all(1 <= mark.score <= 5 for mark in marks.values())


def run_folder(data: bytes, folder: Path) -> None:
    head, _, journal = data.partition(b"\n")
    put(folder, "evaluation_1/run.json", head)
    put(folder, "evaluation_1/journal/00000001.jsonl", journal)
    run = open_run(folder / "evaluation_1")
    for row in run.rows("outcome"):
        assert isinstance(row.key, tuple)


TARGETS: dict[str, Target] = {
    found.__name__: found
    for found in (
        benchmark, answers, task, rows, predictions, papers, paper_text, generated, config, trace, references, cassette,
        reply, run_folder,
    )
}  # fmt: skip
"""Every target by name."""


def attempt(name: str, data: bytes, folder: Path) -> str:
    """Give a reader its bytes; return what kind of error of ours came of it, or nothing."""
    try:
        TARGETS[name](data, folder)
    except ConfigError:
        return "ConfigError"
    except MarkbookError as error:
        assert error.exit_code in {2, 3, 73}, error
        return type(error).__name__
    return ""


def seeds(name: str) -> list[bytes]:
    """Return the kept inputs of a target, in a stable order."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
