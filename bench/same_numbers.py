"""Does a change of the inside change a number? What commands print and write, of one state of the code and of another.

    python -m bench.same_numbers run OUT --data DATA [--only 'bundled|reviews']     with the code before, and with the code after
    python -m bench.same_numbers compare OUT1 OUT2 [--without 'interval|bounds'] [--anywhere]

Every JSON value, CSV cell and line of text that two states of the code make of the same inputs is compared; times,
paths and what a run is called are left out. It ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TIMES = re.compile(r"time|seconds|started|updated|elapsed|version|digest|path|environment|machine|pid|host|markbook")
"""Keys whose values differ from run to run."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
FORMATS = ("html", "md", "csv", "json", "junit", "lm-eval")


def commands(data: Path, here: Path, out: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield a name and a command for each thing that is compared."""
    exam = ["--benchmark", str(here / "examples/exam/benchmark")]
    models = [str(here / "examples/exam" / name) for name in ("apprentice-13b", "novice-1b", "scholar-70b")]
    yield "bundled", ["exam", *exam, *(part for name in models for part in ("--solutions", name))]
    human = data / "humaneval"
    some = ("gpt-4_2023.jsonl", "starcoder.jsonl", "gpt-3.5_2023.jsonl")
    answers = [part for name in some for part in ("--solutions", str(human / "samples" / name))]
    yield "humaneval", ["exam", "--benchmark", str(human / "HumanEval.jsonl.gz"), *answers]
    answers = ["--solutions", str(data / "mbpp/samples/starcoder.jsonl")]
    yield "mbpp", ["exam", "--benchmark", str(data / "mbpp/mbpp.jsonl.gz"), *answers]
    answers = ["--solutions", str(data / "codeeval-v1/completions/phi2_candidates.jsonl")]
    yield "codeeval", ["exam", "--timeout", "3", "--benchmark", str(data / "codeeval-v1/benchmark"), *answers]
    for task in sorted((here / "tasks").glob("*.yaml")):
        if "suite" not in task.name and "comparison" not in task.name:
            yield task.stem, ["run", str(task), "--predictions", str(_predictions(out, here / "tasks", task.stem))]
    reviews = ["--papers", str(data / "peerread-format"), "--reviews", str(_reviews(out, data))]
    yield "reviews", ["review", *reviews, "--similarity", "cosine,jaccard"]


_EXPECTED = ("expected_completion", "fixed_code", "target_code", "expected_docstring", "expected_function")


def _predictions(out: Path, tasks: Path, name: str) -> Path:
    """Write an answer to every row of a bundled task: the expected one, every other one spoilt."""
    rows = [json.loads(line) for line in (tasks / "python_problems.jsonl").read_text("utf-8").splitlines()]
    own = [row for row in rows if row["category"] in name]
    texts = [next(str(row[key]) for key in _EXPECTED if key in row) for row in own]
    lines = [
        json.dumps({"prediction": text.replace("return", "pass;") if at % 2 else text}) for at, text in enumerate(texts)
    ]
    path = out / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _reviews(out: Path, data: Path) -> Path:
    """Write a review of each paper: its own abstract."""
    from markbook.load.peerread.papers import PeerRead

    path = out / "reviews.jsonl"
    papers = PeerRead().load(data / "peerread-format").papers
    rows = [{"paper_id": one.id, "system": "abstract", "review": one.abstract, "execution_time": 68} for one in papers]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def traces(data: Path) -> Iterator[Path]:
    """Yield some traces of every format."""
    for folder in sorted((data / "agent-traces").iterdir()):
        if folder.is_dir():
            yield from sorted(folder.iterdir())[:4]


def run(out: Path, data: Path, only: str = "") -> None:
    """Run every command whose name fits `only` into folders below `out`, and keep what it printed."""
    here = Path(__file__).resolve().parent.parent
    out.mkdir(parents=True, exist_ok=True)
    for name, command in commands(data, here, out):
        if not re.search(only, name):
            continue
        folder = out / name
        _command([*command, "--output", str(folder)], folder / "said")
        found = sorted(folder.glob("evaluation_*"))
        for form in FORMATS if found else ():
            _command(
                ["report", str(found[-1]), "--format", form, "--output", str(folder / form)], folder / f"said-{form}"
            )
    if re.search(only, "humaneval"):
        _command(["compare", str(out / "humaneval"), "--json"], out / "compare" / "said")
    for place, path in enumerate(traces(data) if re.search(only, "traces") else ()):
        _command(["trace", str(path), "--json"], out / "traces" / f"{place:03}")


def _command(command: list[str], said: Path) -> None:
    said.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "markbook", *command], env=environment, capture_output=True, text=True, check=False
    )
    said.write_text(f"{done.returncode}\n{done.stdout}", encoding="utf-8")
    print(done.returncode, said, flush=True)


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
        yield path, value


def facts(file: Path) -> dict[str, Any]:
    """Return the values of a file: of JSON each with its path, of anything else each line's numbers."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix in (".json", ".jsonl"):
        rows = text.splitlines() if file.suffix == ".jsonl" else [text]
        return {
            key: value
            for place, row in enumerate(rows)
            if row.strip()
            for key, value in leaves(str(place), json.loads(row))
        }
    lines = [
        re.sub(r"evaluation_\w+|/\S+|\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d|[\d.]+ ?s\b", "", line)
        for line in text.splitlines()
    ]
    return {f"line {place}": _NUMBER.findall(line) for place, line in enumerate(lines) if "second" not in line}


def compare(first: Path, second: Path, without: str = "", *, anywhere: bool = False) -> int:
    """Print what differs; return how much.

    Args:
        first: what the one state of the code made.
        second: what the other made.
        without: what to leave out, a regular expression over the paths of JSON values.
        anywhere: whether a number may stand under another key, as where the form has changed; only JSON's are compared.
    """
    differing = 0
    names = sorted(_files(first) | _files(second))
    for name in names:
        one, two = (_find(root, name) for root in (first, second))
        if one is None or two is None:
            print(f"{name}: only in {'the second' if one is None else 'the first'}")
            differing += 1
            continue
        left, right = facts(one), facts(two)
        if without:
            left, right = ({key: found[key] for key in found if not re.search(without, key)} for found in (left, right))
        if anywhere:
            left, right = _counted(left), _counted(right)
        keys = [key for key in {**left, **right} if not _same(left.get(key, ...), right.get(key, ...))]
        differing += len(keys)
        for key in keys[:8]:
            print(f"{name} {key}: {left.get(key, 'absent')!r} -> {right.get(key, 'absent')!r}"[:300])
        if len(keys) > 8:
            print(f"{name}: {len(keys) - 8} more")
    print(f"{len(names)} files, {differing} differences")
    return differing


def _counted(found: dict[str, Any]) -> dict[str, Any]:
    """Return how often each number occurs."""
    numbers = (value for value in found.values() if isinstance(value, int | float) and not isinstance(value, bool))
    return {str(number): count for number, count in Counter(round(number, 9) for number in numbers).items()}


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-15)
    return bool(one == two) and type(one) is type(two)


def _files(root: Path) -> set[str]:
    skip = ("journal/", "run.json", "timings.jsonl", ".png", "seal", "owner", ".lock")
    found = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return {re.sub(r"evaluation_\w+", "RUN", name) for name in found if not any(part in name for part in skip)}


def _find(root: Path, name: str) -> Path | None:
    return next(root.glob(name.replace("RUN", "evaluation_*")), None)


def main() -> int:
    """Run or compare, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    running = ways.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--only", default="")
    comparing = ways.add_parser("compare")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    comparing.add_argument("--without", default="")
    comparing.add_argument("--anywhere", action="store_true")
    chosen = parser.parse_args()
    if chosen.way == "compare":
        return int(compare(chosen.first, chosen.second, chosen.without, anywhere=chosen.anywhere) > 0)
    run(chosen.out.resolve(), chosen.data, chosen.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
