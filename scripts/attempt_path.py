"""What one attempt of an exam passes on its way from the file of answers to the number in the report.

    python scripts/attempt_path.py              print the figures
    python scripts/attempt_path.py --names      print the modules, functions and types, too
    python scripts/attempt_path.py --json       all of it as JSON

An exam of one problem and one answer runs in this process with a profiler on every thread. A word in the answer and its
score, 3 of 7 tests, are values that nothing else has. A function counts where an argument or its result holds the attempt:
the word, the number, a record of the verdicts, or a record with one of these in its fields. A type counts where one of its
instances does; a dictionary whose keys are several words is a record, too, any other is a collection. The way begins with
what `markbook.files` reads, and ends where `END` returns the score as the report has it; what then lays the report out is
counted apart. The workers that execute the code are processes of their own, and not counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from array import array
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

WORD, NUMBERS = "zyxattempt", (3 / 7, 300 / 7, 42.86)
VERDICTS = frozenset({"Outcome", "RawTest", "TestResult", "Mark"})
"""Records that are the attempt's result before it has a number."""
GRADE = "markbook.runs.exam.grading:mark"
END = "markbook.runs.exam.score_tables:score_record"
BEFORE = "markbook.files."
READ = frozenset({"Line", "{candidate_solution, model, task_id}"})
"""What is read: the line, and the answer's row in it."""
DEPTH = 3
MOST = 50
"""Parts of a collection that are looked at."""
TESTS = [{"assertion": f"func({x}) == {3 * x}"} for x in range(1, 8)]
PROBLEM = {"task_id": "triple", "name": "triple", "problem": "Triple a number.", "tests": TESTS} | {
    "canonical_solution": "def triple(x):\n    return 3 * x", "topic": "numbers", "object": "function", "complexity": 1,
}  # fmt: skip


class Watch:
    """The functions and types that hold the attempt, before the report and in all."""

    def __init__(self) -> None:
        self.is_before = True
        self.functions: dict[bool, set[str]] = {True: set(), False: set()}
        self.types: dict[bool, set[str]] = {True: set(), False: set()}
        self.graded = 0
        self._lock = threading.RLock()

    def holds(self, value: Any, depth: int = DEPTH) -> bool:
        """Return whether a value holds the attempt, and note its type if so."""
        kind = type(value)
        if isinstance(value, str | bytes):
            return (WORD in value) if isinstance(value, str) else (WORD.encode() in value)
        if isinstance(value, float):
            return any(abs(value - number) < 1e-9 for number in NUMBERS)
        if not depth or isinstance(value, type):
            return False
        if is_dataclass(kind):
            parts, name = [getattr(value, part.name, None) for part in fields(kind)], kind.__qualname__
        elif kind is dict and 1 < len(value) < MOST and all(isinstance(key, str) and "/" not in key for key in value):
            parts, name = list(value.values()), "{" + ", ".join(sorted(value)) + "}"
        elif isinstance(value, tuple | list | array) and len(value) < MOST:
            parts, name = list(value), kind.__qualname__ if hasattr(kind, "_fields") else ""
        else:
            return False
        if name in READ:
            return False
        # All parts are looked at, for each may be of a type of its own.
        is_holding = sum(self.holds(part, depth - 1) for part in parts) > 0 or kind.__name__ in VERDICTS
        if is_holding and name:
            self.types[self.is_before].add(name)
        return is_holding

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        module, code = frame.f_globals.get("__name__") or "", frame.f_code
        if event not in ("call", "return") or not module.startswith("markbook.") or module.startswith(BEFORE):
            return
        # Of a comprehension or a constructor that a dataclass makes the function around it is what one reads.
        name = f"{module}:{code.co_qualname.split('.<locals>')[0]}"
        count = code.co_argcount + code.co_kwonlyargcount
        values = [frame.f_locals.get(part) for part in code.co_varnames[:count]] if event == "call" else [arg]
        with self._lock:
            if name == END and event == "return":
                self.is_before = False
            if sum(map(self.holds, values)) and not code.co_qualname.startswith("__create_fn__"):
                self.functions[self.is_before and module != END.partition(":")[0]].add(name)
            if f"{module}:{code.co_qualname}" == GRADE and event == "call":
                # The problem's own solution, which passes all tests, may be graded, too.
                self.graded += frame.f_locals["outcome"].passed == 3


def run_exam(watch: Callable[[FrameType, str, Any], None], folder: Path, word: str) -> None:
    """Run an exam of one answer, which has this word in it, under a profiler."""
    from markbook.cli import main

    code = f"# {word}\ndef triple(x):\n    return 3 * x if x < 4 else 0"
    answer = {"task_id": "triple", "model": "model", "candidate_solution": code}
    (folder / "problems.jsonl").write_text(json.dumps(PROBLEM) + "\n", "utf-8")
    (folder / "answers.jsonl").write_text(json.dumps(answer) + "\n", "utf-8")
    files = ["--benchmark", str(folder / "problems.jsonl"), "--solutions", str(folder / "answers.jsonl")]
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            main(["exam", *files, "--output", str(folder / "out")])
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"the exam ended with {end.code}") from end
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def measure() -> dict[str, Any]:
    """Return the figures and names: of the way to the number, and of what is entered only to lay the report out."""
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        # First one of another answer: what modules do when they are imported is not the attempt's way.
        for word, profile in (("other", lambda *_: None), (WORD, watch)):
            (own := Path(folder) / str(word == WORD)).mkdir()
            run_exam(profile, own, word)
    functions, types = watch.functions[True], watch.types[True]
    later = watch.functions[False] - functions
    modules = {name.partition(":")[0] for name in functions}
    names = {"modules": modules, "functions": functions, "types": types}
    names["modules of the report"] = {name.partition(":")[0] for name in later} - modules
    return {
        **{key: len(value) for key, value in names.items()},
        "graded": watch.graded,
        "names": {key: sorted(value) for key, value in names.items()},
    }


if __name__ == "__main__":
    figures = measure()
    if "--json" in sys.argv:
        print(json.dumps(figures))
    else:
        print(*(f"{key:<22} {value}" for key, value in figures.items() if key != "names"), sep="\n")
        for key, names in figures["names"].items() if "--names" in sys.argv else ():
            print(f"\n{key}", *names, sep="\n  ")
