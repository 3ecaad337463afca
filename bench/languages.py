"""Verdicts on programs beside what the plain toolchain says of the same text, row by row.

python -m bench.languages FILE [FILE ...] [--limit N] [--timeout 15]

Each FILE is HumanEval-X (its canonical solutions are the answers) or MultiPL-E (its recorded replies are). Every answer is
marked as an exam marks it. Then the same text, without our last statements, is built and run by the language's own commands:
exit code 0 is a pass, as those who published the benchmarks count it, and where failed tests do not change it (Racket, C#) that
nothing is heard of one. Canonical solutions run so outside any sandbox, with
nothing but the toolchain; recorded replies are nobody's we trust, so theirs run in the sandbox, as one program each.
Printed is a line a file: rows, passes of either way, agreement; then every row that fails or that differs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from markbook.benchmarks.answers import load_answers
from markbook.benchmarks.benchmark import load_benchmark
from markbook.benchmarks.problems import Benchmark
from markbook.errors import MarkbookError
from markbook.languages import Toolchain, find
from markbook.languages.toolchain import Prebuilt
from markbook.programs.marker import ProgramMarker
from markbook.runs.exam.plan import available
from markbook.sandbox import Job
from markbook.sandbox.program import Phase, ProgramRun, ProgramSandbox
from markbook.sandbox.record_store import default_cache
from markbook.types import Limits, Outcome

_HEARD = {"racket": r"."}
"""What a run is to leave unsaid on standard error, where a failed test is only said: MultiPL-E's runner takes any word."""
_BUILD = Limits(seconds=240, file_bytes=256 << 20, processes=256)


@dataclass(frozen=True, slots=True)
class Plain:
    """What the plain toolchain said."""

    passed: bool
    said: str


@dataclass(frozen=True, slots=True)
class Text:
    """A program as its benchmark has it: one text, and the commands that build and run it."""

    files: dict[str, bytes]
    build: tuple[str, ...]
    run: tuple[str, ...]
    build_environment: dict[str, str]
    environment: dict[str, str]
    heard: str
    """What it says where a test fails, if its exit code does not."""


def text_of(prebuilt: Prebuilt, tool: Toolchain, job: Job) -> Text:
    """Return an answer with its test as the benchmark's own scripts put it together."""
    language, test = tool.language, job.sample.tests[0]
    parts = (language.prelude, test.setup, job.code, test.program)
    tool = prebuilt.prepare(tool, "".join((job.code, *(f"{one.setup}\n{one.program}" for one in job.sample.tests))))
    whole = "".join(part if not part or part.endswith("\n") else f"{part}\n" for part in parts)
    words = dict(language.words(whole)) if language.words else {}
    environments = [
        {**tool.places.environment, **language.environment, **more} for more in (language.build_environment, {})
    ]
    building, running = [{name: tool.fill_words(text, words) for name, text in one.items()} for one in environments]
    return Text(
        {language.source: whole.encode()},
        tool.command(language.build, words),
        tool.command(language.run, words),
        building,
        running,
        _HEARD.get(language.name, language.failures.quiet),
    )


def outside(text: Text, seconds: float) -> Plain:
    """Build and run a text that is trusted with nothing but the toolchain."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in text.files.items():
            Path(folder, name).write_bytes(data)
        for argv, more in ((text.build, text.build_environment), (text.run, text.environment)):
            if not argv:
                continue
            command = [word.replace("{build}", folder) for word in argv]
            around = {name: word.replace("{work}", "/tmp/markbook-bench") for name, word in more.items()}
            try:
                found = subprocess.run(
                    command,
                    cwd=folder,
                    env={**os.environ, **around},
                    capture_output=True,
                    timeout=20 * seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return Plain(passed=False, said="timeout")
            if found.returncode != 0:
                return Plain(passed=False, said=_last(found.stderr + found.stdout))
        if _is_heard(text, found.stderr):
            return Plain(passed=False, said=_last(found.stderr))
    return Plain(passed=True, said="")


def inside(box: ProgramSandbox, texts: Iterable[tuple[str, Text]], seconds: float) -> Iterator[tuple[str, Plain]]:
    """Build and run texts that nobody trusts in the sandbox, each as one program."""
    limits = Limits(seconds=seconds, processes=256)
    heard: dict[str, Text] = {}

    def runs() -> Iterator[ProgramRun]:
        for key, text in texts:
            heard[key] = text
            build = (Phase(text.build, _BUILD, builds=True, environment=text.build_environment),) if text.build else ()
            run = Phase(text.run, limits, environment=text.environment)
            yield ProgramRun(key, text.files, (*build, run), programs=("main",))

    for run, executed in box.run(runs()):
        last = executed[-1] if executed else None
        good = last is not None and len(executed) == len(run.phases) and last.is_good
        good = good and last is not None and not _is_heard(heard.pop(run.key), last.stderr)
        yield run.key, Plain(good, "" if good or last is None else last.limit or _last(last.stderr + last.stdout))


def jobs_of(path: Path, limits: Limits, limit: int | None) -> tuple[list[Job], bool]:
    """Return a file's answers, and whether they are the benchmark's own."""
    benchmark: Benchmark = load_benchmark(path, "auto")
    benchmark, said = available(benchmark, skip=True)
    for line in said:
        print(f"  {line}")
    samples = benchmark.samples[:limit]
    if any(sample.references for sample in samples):
        return [Job(one.id, one.references[0], one, limits) for one in samples if one.references], True
    known = {sample.id: sample for sample in samples}
    answers = load_answers([path], benchmark)
    found = [one for model in answers.models for one in answers.attempts(model)]
    return [
        Job(one.sample_id, one.text, known[one.sample_id], limits) for one in found if one.sample_id in known
    ], False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--timeout", type=float, default=15.0)
    options = parser.parse_args()
    if not options.files:
        return print(__doc__)
    for path in options.files:
        try:
            jobs, trusted = jobs_of(path, Limits(seconds=options.timeout), options.limit)
        except MarkbookError as error:
            print(f"{path.name}: {error.message} ({error.hint})", flush=True)
            continue
        _compare(path.name, jobs, trusted=trusted, seconds=options.timeout)
    return None


def _compare(name: str, jobs: list[Job], *, trusted: bool, seconds: float) -> None:
    tool = find(jobs[0].sample.language)
    marker = ProgramMarker([jobs[0].sample.language], isolation="weak", cache=default_cache())
    try:
        ours: dict[str, Outcome] = {job.key: outcome for job, outcome in marker.run(jobs)}
    finally:
        marker.close()
    prebuilt = Prebuilt(default_cache().built)
    prebuilt.start()
    try:
        if trusted:
            plain = {job.key: outside(text_of(prebuilt, tool, job), seconds) for job in jobs}
        else:
            with ProgramSandbox([*tool.folders, str(prebuilt.folder)], isolation="weak") as box:
                prebuilt.seen_at(box.seen_at(str(prebuilt.folder)))
                plain = dict(inside(box, ((job.key, text_of(prebuilt, tool, job)) for job in jobs), seconds))
    finally:
        prebuilt.close()
    right = [sum(_right(ours[job.key]) for job in jobs), sum(plain[job.key].passed for job in jobs)]
    same = sum(_right(ours[job.key]) == plain[job.key].passed for job in jobs)
    print(f"{name}: {len(jobs)} answers, {right[0]} pass, plain {right[1]}, {same} agree", flush=True)
    for job in jobs:
        mine, theirs = ours[job.key], plain[job.key]
        if _right(mine) != theirs.passed or (trusted and not theirs.passed):
            test = mine.tests[0]
            print(f"  {job.key}: {'right' if _right(mine) else 'wrong'} ({test.error_type} {test.error_message[:80]}), "
                  f"plain {'right' if theirs.passed else 'wrong'} {theirs.said[:100]!r}")  # fmt: skip


def _right(outcome: Outcome) -> bool:
    return all(test.passed for test in outcome.tests)


def _is_heard(text: Text, said: bytes) -> bool:
    return bool(text.heard and re.search(text.heard, said.decode("utf-8", "replace"), re.MULTILINE))


def _last(said: bytes) -> str:
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")


if __name__ == "__main__":
    main()
