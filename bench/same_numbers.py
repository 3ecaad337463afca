"""Does a change of the inside change anything that a user sees? What commands print and write, before and after it.

    python -m bench.same_numbers run OUT --data DATA [--only 'bundled|reviews']     with the code before, and with the code after
    python -m bench.same_numbers reopen OUT1 OUT2                                   old runs by the code after
    python -m bench.same_numbers compare OUT1 OUT2 [--without 'interval|bounds'] [--exact]

`run` runs about sixty commands and keeps what they print (both streams, the exit status) and every file that they write,
what a server answers to fixed requests, all help pages and schemas, and the signatures of the Python names. `reopen`
takes the run folders of an earlier `run`, whole, interrupted and damaged, and shows, reports, compares and resumes them.
`compare` holds two such folders against each other: every JSON value and every line of text; times, paths and names of
runs are left out, and with `--exact` words and layout count too. It ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench._serving import Client, free_port, server

HERE = Path(__file__).resolve().parent.parent
_TIMES = re.compile(
    r"time|seconds|started|updated|elapsed|version|digest|path|environment|machine|pid|host|markbook|cpu"
)
"""Keys whose values differ from run to run."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
_PASSING = re.compile(
    r"evaluation_\w+|/[\w./+-]+|\d\d:\d\d(:\d\d)?|\d{4}-\d\d-\d\d|[\d.,]+ ?(ms|s|min|h|/s|MiB|GiB)\b|\b0x[0-9a-f]+|\b[0-9a-f]{12,64}\b"
)
"""Words of a text that differ from run to run."""
_SKIPPED = ("journal/", "run.json", "timings.jsonl", ".png", "seal", "owner", ".lock", ".parquet", "__pycache__")
FORMATS = ("html", "md", "csv", "json", "junit", "lm-eval")
COMMANDS = (
    "compare", "exam", "demo", "init", "get", "schema", "run", "score", "doctor", "list", "show", "view", "serve", "report",
    "noise", "site", "import", "trace", "review", "judge", "judge check", "judge correct", "label",
)  # fmt: skip
KINDS = ("metrics", "tasks", "loaders", "traces", "engines", "generators", "reports", "runs", "foreign", "languages")
SCHEMAS = ("benchmark", "answers", "task", "review", "exam-result", "run-result", "review-result")
TEXT_METRICS = "bleu,corpus_bleu,rouge1,rouge2,rougeL,rougeLsum,meteor,edit_distance,edit_similarity,exact_match,jaccard,tfidf_cosine,chrf,ter"
Cases = Iterator[tuple[str, list[str]]]


def exams(data: Path, out: Path) -> Cases:
    """Yield exams: every form of benchmark and answers, every option that decides a verdict or a score."""
    bundled = ["exam", "--benchmark", str(HERE / "examples/exam/benchmark"), "--solutions"]
    models = [str(HERE / "examples/exam" / name) for name in ("apprentice-13b", "novice-1b", "scholar-70b")]
    yield "bundled", [*bundled, *models]
    ways = (
        ["--error-policy", "partial"], ["--profile", "documented"], ["--in-process"], ["--fresh-tests"], ["--all-tests"],
        ["--no-dedupe", "--workers", "1"], ["--isolation", "weak"], ["--json"], ["--strict"], ["--adaptive-timeout"],
    )  # fmt: skip
    for way in ways:
        yield f"bundled{way[0]}", [*bundled, *models, "--timeout", "2", *way]
    human, mbpp = data / "humaneval", data / "mbpp"
    some = ("gpt-4_2023.jsonl", "starcoder.jsonl", "gpt-3.5_2023.jsonl")
    answers = [str(human / "samples" / name) for name in some]
    yield "humaneval", ["exam", "--benchmark", str(human / "HumanEval.jsonl.gz"), "--solutions", *answers]
    mini = ["exam", "--benchmark", str(human / "HumanEvalPlus-Mini.jsonl.gz"), "--solutions"]
    yield "humaneval-plus", [*mini, str(human / "samples/gpt-3.5-turbo_broken-run.jsonl")]
    answers = [str(mbpp / "samples/starcoder.jsonl")]
    yield "mbpp", ["exam", "--benchmark", str(mbpp / "mbpp.jsonl.gz"), "--solutions", *answers]
    code = data / "codeeval-v1"
    answers = [str(code / "completions/phi2_candidates.jsonl")]
    yield "codeeval", ["exam", "--timeout", "3", "--benchmark", str(code / "benchmark"), "--solutions", *answers]
    for language in ("js", "cpp"):
        rows = data / f"humaneval-x/humaneval_{language}.jsonl.gz"
        some_rows = _cut(rows, out / f"x-{language}.jsonl", 12)
        yield f"humaneval-x-{language}", ["exam", "--benchmark", str(some_rows), "--check-benchmark", "--json"]
    for name in ("hello", "different", "oddecho"):
        package = data / "problem-packages" / name
        answers = [str(path) for path in sorted((package / "submissions").iterdir()) if "time" not in path.name]
        yield f"package-{name}", ["exam", "--benchmark", str(package), "--skip-unavailable", "--solutions", *answers]


def _cut(rows: Path, to: Path, count: int) -> Path:
    """Write the first rows of a packed file."""
    with gzip.open(rows, "rt", encoding="utf-8") as stream:
        to.write_text("".join(line for line, _ in zip(stream, range(count), strict=False)), encoding="utf-8")
    return to


_EXPECTED = ("expected_completion", "fixed_code", "target_code", "expected_docstring", "expected_function")


def tasks(data: Path, out: Path, url: str) -> Cases:
    """Yield tasks over answers that exist, and over those of a model server on this machine."""
    for task in sorted((HERE / "tasks").glob("*.yaml")):
        if "suite" not in task.name and "comparison" not in task.name:
            yield task.stem, ["run", str(task), "--predictions", str(_predictions(out, task.stem))]
    model = ["--model", "openai:m", "--base-url", url, "--limit", "6", "--seed", "1"]
    yield "asked", ["run", str(HERE / "tasks/python_docstring_generation.yaml"), *model]
    yield "suite", ["run", str(HERE / "tasks/python_coding_suite.yaml"), *model]
    rooms = data / "cases-2/rooms/tasks"
    yield "choices", ["run", str(rooms / "mc.yaml"), "--predictions", str(rooms / "mcans.jsonl"), "--limit", "20"]
    yield "nulls", ["run", str(rooms / "nul.yaml"), "--predictions", str(rooms / "nulans.jsonl")]
    text = data / "metric-fixtures/text.jsonl"
    yield "score-text", ["score", TEXT_METRICS, str(text), "--json"]
    yield "score-rows", ["score", "rougeL,bleu", str(text), "--rows"]
    yield "score-code", ["score", "codebleu,edit_similarity", str(data / "metric-fixtures/code.jsonl"), "--json"]


def _predictions(out: Path, name: str) -> Path:
    """Write an answer to every row of a bundled task: the expected one, every other one spoilt."""
    rows = [json.loads(line) for line in (HERE / "tasks/python_problems.jsonl").read_text("utf-8").splitlines()]
    own = [row for row in rows if row["category"] in name]
    texts = [next(str(row[key]) for key in _EXPECTED if key in row) for row in own]
    lines = [
        json.dumps({"prediction": text.replace("return", "pass;") if at % 2 else text}) for at, text in enumerate(texts)
    ]
    path = out / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def reviews_and_traces(data: Path, out: Path, url: str) -> Cases:
    """Yield reviews of papers, with and without a judge, and every trace file."""
    reviews = ["review", "--papers", str(data / "peerread-format"), "--reviews", str(_reviews(out, data))]
    yield "reviews", [*reviews, "--similarity", "cosine,jaccard"]
    judge = ["--judge", "openai:m", "--base-url", url, "--limit", "4", "--seed", "1"]
    yield "reviews-judged", [*reviews, "--similarity", "cosine,jaccard", *judge]
    yield "reviews-documented", [*reviews, "--similarity", "cosine,jaccard", "--profile", "documented", "--limit", "9"]
    for folder in sorted((data / "agent-traces").iterdir()):
        for path in sorted(folder.iterdir())[:4] if folder.is_dir() else ():
            yield f"trace-{folder.name}-{path.name}", ["trace", str(path), "--json"]


def _reviews(out: Path, data: Path) -> Path:
    """Write a review of each paper: its own abstract."""
    rows = [
        {"paper_id": path.stem, "system": "abstract", "review": json.loads(path.read_text("utf-8"))["abstract"], "execution_time": 68}
        for path in sorted((data / "peerread-format").rglob("reviews/*.json"))
    ]  # fmt: skip
    target = out / "reviews.jsonl"
    target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return target


def of_runs(data: Path, out: Path) -> Cases:
    """Yield what reads finished runs and other tools' results; those named here have been made before."""
    human = str(out / "humaneval")
    logs = data / "agent-traces/inspect-logs"
    tau = str(data / "agent-traces/tau-bench/gpt-4o-airline_tasks0-11x4.json")
    yield "compare", ["compare", human, "--json"]
    yield "compare-md", ["compare", human, "--format", "md", "--all-pairs"]
    yield "compare-csv", ["compare", human, "--format", "csv"]
    yield "compare-bundled", ["compare", str(out / "bundled")]
    yield "noise", ["noise", str(out / "bundled"), "--json"]
    yield "show", ["show", str(out / "bundled"), "generators_2", "--model", "novice-1b"]
    yield "site", ["site", human, "-o", str(out / "site" / "pages"), "--json"]
    yield "import-tau", ["import", tau, "-o", str(out / "import-tau" / "made"), "--json"]
    yield (
        "import-inspect",
        ["import", str(logs / "log_formats.json"), "-o", str(out / "import-inspect" / "made"), "--json"],
    )
    yield "compare-foreign", ["compare", tau, "--json"]
    yield "compare-other", ["compare", human, tau]


def surface(out: Path) -> Cases:
    """Yield help pages, lists and schemas; write the signatures of the Python names."""
    for name in COMMANDS:
        yield f"help-{name.replace(' ', '-')}", [*name.split(), "--help"]
    for kind in KINDS:
        yield f"list-{kind}", ["list", kind, "--json"]
    for name in SCHEMAS:
        yield f"schema-{name}", ["schema", name]
    (out / "surface").mkdir(exist_ok=True)
    script = (
        "import inspect, markbook, markbook.stats, markbook.documented, markbook.rewards\n"
        "for module in (markbook, markbook.stats, markbook.documented, markbook.rewards):\n"
        "    for name in sorted(getattr(module, '__all__', dir(module))):\n"
        "        value = getattr(module, name)\n"
        "        if callable(value):\n"
        "            print(module.__name__, name, inspect.signature(value) if not isinstance(value, type) else '')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    (out / "surface/python.txt").write_text(done.stdout + done.stderr[-2000:], encoding="utf-8")


REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/mark", {"items": [{"id": "a", "code": "def f(a):\n    return a + 1\n", "tests": ["f(1) == 2", "f(2) == 3"], "entry_point": "f"}]}),
    ("/v1/mark", {"items": [{"id": 0, "code": "def f(a): return 2\n", "tests": ["f(1) == 2", "f(2) == 3"]}], "detail": True}),
    ("/v1/mark", {"items": [{"id": "e", "code": "def f(:\n", "tests": ["f(1) == 2"]}, {"id": "t", "code": "x = 1"}]}),
    ("/v1/mark", {"items": [{"id": "s", "code": "print(int(input()) + 1)", "tests": [{"stdin": "1\n", "stdout": "2\n"}]}], "detail": True}),
    ("/v1/mark", {"items": [{"id": "m", "answer": "1/2", "reference": "0.5", "metric": "math_equal"}]}),
    ("/v1/mark", {"items": [{"id": "w", "code": "def f(): pass\n", "tests": ["f(1)"], "timeout": 2}], "detail": True}),
    ("/v1/mark", {"items": []}),
    ("/v1/mark", {"things": 1}),
    ("/run_code", {"code": "print(1 + 1)", "language": "python"}),
    ("/run_code", {"code": "import sys; print(input()); sys.exit(3)", "language": "python", "stdin": "x\n"}),
    ("/run_code", {"code": "echo $((1 + 2))", "language": "bash"}),
    ("/get_reward", {"query": ["Say 2."], "prompts": ["Say 2."], "labels": ["2"]}),
)  # fmt: skip


def served(out: Path) -> None:
    """Write what a server answers to fixed requests."""

    async def ask(port: int) -> list[dict[str, Any]]:
        client = Client(port)
        replies = [await client.post(path, body) for path, body in REQUESTS]
        replies.append(await client.get("/openapi.json"))
        client.close()
        return [{"status": status, "body": json.loads(body)} for status, body in replies]

    with server("--workers", "1") as (_, port):
        (out / "served").mkdir(exist_ok=True)
        (out / "served/replies.json").write_text(json.dumps(asyncio.run(ask(port)), indent=1), encoding="utf-8")


def run(out: Path, data: Path, only: str = "") -> None:
    """Run every command whose name fits `only` into folders below `out`, and keep what it printed and wrote."""
    out.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    model = subprocess.Popen([sys.executable, "-m", "bench._model_server", str(port)], stdout=subprocess.DEVNULL)
    try:
        for name, command in (*exams(data, out), *tasks(data, out, url), *reviews_and_traces(data, out, url)):
            if re.search(only, name):
                _run_and_report(command, out / name)
    finally:
        model.terminate()
        model.wait(30)
    for name, command in (*of_runs(data, out), *surface(out)):
        if re.search(only, name):
            _command(command, out / name / "said")
    if re.search(only, "served"):
        served(out)


def _run_and_report(command: list[str], folder: Path) -> None:
    makes_a_run = command[0] in ("exam", "run", "review") and "--check-benchmark" not in command
    _command([*command, "--output", str(folder)] if makes_a_run else command, folder / "said")
    made = sorted(folder.glob("evaluation_*"))
    for form in FORMATS if made else ():
        report = ["report", str(made[-1]), "--format", form, "--output", str(folder / form)]
        _command(report, folder / f"said-{form}")


def _command(command: list[str], said: Path) -> None:
    said.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [sys.executable, "-m", "markbook", *command], env=environment, capture_output=True, text=True, check=False
    )
    said.write_text(f"{done.returncode}\n{done.stdout}", encoding="utf-8")
    said.with_name(said.name + "-stderr").write_text(done.stderr.replace("\r", "\n"), encoding="utf-8")
    print(done.returncode, said, flush=True)


def reopen(old: Path, out: Path) -> None:
    """Have run folders that another state of the code made shown, reported, compared and resumed: whole, interrupted, damaged."""
    kinds = (
        "bundled",
        "humaneval",
        "codeeval",
        "reviews",
        "python_code_repair",
        "python_docstring_generation",
        "asked",
    )
    for name in kinds:
        for made in sorted((old / name).glob("evaluation_*"))[:1]:
            for way, spoil in {"whole": None, "interrupted": _interrupt, "damaged": _damage}.items():
                folder = out / f"{name}-{way}" / made.name
                shutil.copytree(made, folder, dirs_exist_ok=True)
                if spoil is not None:
                    spoil(folder)
                for form in ("json", "md"):
                    report = ["report", str(folder), "--format", form, "--output", str(folder.parent / form)]
                    _command(report, folder.parent / f"said-{form}")
                _command(["compare", str(folder), str(made), "--json"], folder.parent / "said-compare")
                _command([_command_of(folder), "--resume", str(folder)], folder.parent / "said-resume")


def _command_of(folder: Path) -> str:
    try:
        return str(json.loads((folder / "run.json").read_text("utf-8"))["command"])
    except (OSError, ValueError, KeyError):
        return "exam"


def _interrupt(folder: Path) -> None:
    """Leave a run as one that was killed: half of its journal, and its manifest says that it goes on."""
    for path in folder.rglob("journal*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    manifest = folder / "run.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"status": "complete"', '"status": "running"'), "utf-8")


def _damage(folder: Path) -> None:
    """Cut a run's manifest."""
    manifest = folder / "run.json"
    manifest.write_bytes(manifest.read_bytes()[: manifest.stat().st_size // 2])


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value of a JSON document with where it stands."""
    if isinstance(value, dict):
        for name, part in value.items():
            if not _TIMES.search(name.lower()):
                yield from leaves(f"{path}/{name}", part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(f"{path}[{place}]", part)
    else:
        yield path, _PASSING.sub("", value) if isinstance(value, str) else value


def facts(file: Path, *, exact: bool) -> dict[str, Any]:
    """Return the values of a file: of JSON each with its path, of anything else each line's numbers, or its words too."""
    text = file.read_text(encoding="utf-8", errors="replace")
    rows = text.splitlines() if file.suffix == ".jsonl" else [text.partition("\n")[2] if file.name == "said" else text]
    try:
        documents = [json.loads(row) for row in rows if row.strip()]
    except ValueError:
        documents = []
    if documents and not all(isinstance(document, str | int | float) for document in documents):
        return dict(pair for place, document in enumerate(documents) for pair in leaves(str(place), document))
    lines = [_PASSING.sub("", line).rstrip() for line in text.splitlines() if "second" not in line]
    return {f"line {place}": line if exact else _NUMBER.findall(line) for place, line in enumerate(lines)}


def compare(first: Path, second: Path, without: str = "", *, exact: bool = False) -> int:
    """Print what differs; return how much.

    Args:
        first: what the one state of the code made.
        second: what the other made.
        without: what to leave out, a regular expression over names of files and paths of JSON values.
        exact: whether words and layout count, and not numbers alone.
    """
    differing = values = 0
    names = sorted(_files(first) | _files(second))
    for name in names:
        one, two = (_find(root, name) for root in (first, second))
        if one is None or two is None:
            print(f"{name}: only in {'the second' if one is None else 'the first'}")
            differing += 1
            continue
        left, right = facts(one, exact=exact), facts(two, exact=exact)
        keys = [key for key in {**left, **right} if not (without and re.search(without, f"{name} {key}"))]
        values += len(keys)
        keys = [key for key in keys if not _same(left.get(key, ...), right.get(key, ...))]
        differing += len(keys)
        for key in keys[:8]:
            print(f"{name} {key}: {left.get(key, 'absent')!r} -> {right.get(key, 'absent')!r}"[:300])
        if len(keys) > 8:
            print(f"{name}: {len(keys) - 8} more")
    print(f"{len(names)} files, {values} values, {differing} differences")
    return differing


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-15)
    return bool(one == two) and type(one) is type(two)


def _files(root: Path) -> set[str]:
    names = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return {re.sub(r"evaluation_\w+", "RUN", name) for name in names if not any(part in name for part in _SKIPPED)}


def _find(root: Path, name: str) -> Path | None:
    return next(root.glob(name.replace("[", "[[]").replace("RUN", "evaluation_*")), None)


def main() -> int:
    """Run, reopen or compare, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    running = ways.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--only", default="")
    reopening = ways.add_parser("reopen")
    comparing = ways.add_parser("compare")
    for parts in (reopening, comparing):
        parts.add_argument("first", type=Path)
        parts.add_argument("second", type=Path)
    comparing.add_argument("--without", default="")
    comparing.add_argument("--exact", action="store_true")
    chosen = parser.parse_args()
    if chosen.way == "compare":
        return int(compare(chosen.first, chosen.second, chosen.without, exact=chosen.exact) > 0)
    if chosen.way == "reopen":
        reopen(chosen.first.resolve(), chosen.second.resolve())
    else:
        run(chosen.out.resolve(), chosen.data.resolve(), chosen.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
