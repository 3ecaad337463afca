"""The exam from a benchmark and answers to marks and reports."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from markbook import plugins
from markbook.errors import StrictDataError
from markbook.load.answers import Answers, load_answers
from markbook.load.assembly import Extract
from markbook.load.benchmark import Benchmark, load_benchmark
from markbook.load.faults import Fault, without_faults
from markbook.results.kind import Results
from markbook.runs.exam.finished import ExamResults
from markbook.runs.exam.marks import ErrorPolicy, Mark, mark, outcome_of
from markbook.runs.exam.view import FAULT, MODEL, OUTCOME, SAMPLE, attempt_record, sample_record
from markbook.runs.options import options_of
from markbook.runs.sandboxes import BoxSettings, RemoteSandbox, begin_sandbox, open_sandboxes
from markbook.sandbox import Job, Sandbox
from markbook.store import Manifest, Run, RunWriter, open_run
from markbook.types import Attempt, Limits, Outcome, Sample

REPORTS = ("documented", "html")
"""The report plugins that every finished exam is given."""


@dataclass(frozen=True, slots=True)
class ExamOptions:
    """How an exam is held. The first group can change a result, the second cannot."""

    format: str = "auto"
    timeout: float = 60.0
    """CPU seconds an attempt may use."""
    memory_mb: int = 2048
    error_policy: ErrorPolicy = "zero"
    extract: Extract = "auto"
    profile: Literal["documented", "corrected"] = "corrected"
    """The exam's documented arithmetic is well defined, so both give the same numbers; recorded with the run."""
    seed: int = 0
    separate: bool = True
    """Keep tests and candidate in different processes."""
    adaptive: bool = False
    """Lower each problem's CPU limit to 20 times what its canonical solution needs."""
    python: str = ""
    """The interpreter whose packages the candidates may import; the running one if empty."""

    workers: int | None = field(default=None, metadata={"identity": False})
    engine: str = field(default="local", metadata={"identity": False})
    """Where solutions run: `local`, `ray`, or another of `markbook list engines`."""
    isolation: Literal["auto", "strict", "weak"] = field(default="auto", metadata={"identity": False})
    dedupe: bool = field(default=True, metadata={"identity": False})
    reuse_verdicts: bool = field(default=False, metadata={"identity": False})
    """Give an attempt that was run before, in the same way, the outcome that it had."""
    strict: bool = field(default=False, metadata={"identity": False})

    def limits(self) -> Limits:
        """Return what an attempt may use."""
        return Limits(seconds=self.timeout, memory_bytes=self.memory_mb << 20)

    def identity(self) -> dict[str, Any]:
        """Return the options that can change a result."""
        fields = type(self).__dataclass_fields__
        return {name: value for name, value in asdict(self).items() if fields[name].metadata.get("identity", True)}


@dataclass(frozen=True, slots=True)
class Planned:
    """What is about to be marked."""

    benchmark: Benchmark
    answers: Answers
    faults: Sequence[Fault]
    attempts: int
    done_before: int
    """How many of them a resumed run had marked."""
    passed_before: int
    """How many of those passed every test."""
    isolation: str


class Watcher:
    """What a caller may follow a run with; this one ignores everything."""

    def loaded(self, benchmark: Benchmark, answers: Answers) -> None:
        """Be told what was read, before anything is written or run."""

    def started(self, planned: Planned, folder: Path) -> None:
        """Be told that the marking begins."""

    def marked(self, attempt: Attempt, result: Mark, outcome: Outcome) -> None:
        """Be told of one more attempt."""

    def unsound(self, task_id: str, detail: str) -> None:
        """Be told of a problem that nobody solved and whose own solution fails its tests too."""

    def spared(self, duplicates: int, reused: int) -> None:
        """Be told how many attempts were not run: exact duplicates of others, and those run by an earlier run."""


def exam(
    benchmark: str | os.PathLike[str],
    solutions: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    resume: str | os.PathLike[str] | None = None,
    watcher: Watcher | None = None,
    reports: Sequence[str] = REPORTS,
    **options: Any,
) -> Run:
    """Mark models' solutions against a benchmark's tests, like an exam, and write the documented reports.

    Args:
        benchmark: a benchmark file or folder; see `markbook list loaders` for the formats.
        solutions: one or more files or folders of answers.
        output: where the run folder is made; `generated` by default.
        resume: a run folder to go on with instead; every other argument must be what it was.
        watcher: is told of progress.
        reports: the report plugins that the finished run is given; `markbook report` makes others later.
        **options: the fields of `ExamOptions`.

    Returns:
        The finished run; its folder holds the reports.

    Raises:
        DataError: nothing can be marked; nothing was written.
        EnvironmentUnfitError: the machine cannot isolate the solutions well enough.
        OutputError: the output cannot be written; nothing was run.
        StorageError: the disk failed during the run, which can be resumed.
        UsageError: an option that does not exist.
    """
    settings = options_of(ExamOptions, options, "exam")
    follow = watcher or Watcher()
    paths = [Path(solutions)] if isinstance(solutions, str | os.PathLike) else [Path(path) for path in solutions]
    box_settings = _box_settings(settings)
    with begin_sandbox(settings.engine, box_settings) as begun:
        paper = load_benchmark(Path(benchmark), settings.format)
        sound, faults = without_faults(paper)
        with load_answers(paths, sound, extract=settings.extract) as answers:
            follow.loaded(paper, answers)
            if settings.strict:
                _refuse_skipped(paper, answers)
            manifest = _manifest(os.fspath(benchmark), sound, answers, settings)
            if resume is not None and _is_finished(Path(resume), manifest):
                return open_run(resume)
            with (
                open_sandboxes(settings.engine, box_settings, begun=begun, jobs=_planned(answers)) as box,
                _open_writer(resume, output, manifest) as writer,
            ):
                unsolved = _hold(writer, box, sound, answers, faults, settings, follow)
                if isinstance(box, Sandbox):  # others run elsewhere and do not say
                    follow.spared(box.duplicates, box.reused)
                unsound = _unsound(box, unsolved, settings)
                for task_id, detail in unsound.items():
                    follow.unsound(task_id, detail)
                _publish(writer, manifest, reports, unsound)
    return open_run(writer.folder)


def _planned(answers: Answers) -> int:
    return sum(answers.count(model) for model in answers.models)


def _open_writer(
    resume: str | os.PathLike[str] | None, output: str | os.PathLike[str] | None, manifest: Manifest
) -> RunWriter:
    if resume is not None:
        return RunWriter.resume(Path(resume), manifest)
    return RunWriter.create(Path(output or "generated"), manifest)


def _manifest(source: str, benchmark: Benchmark, answers: Answers, settings: ExamOptions) -> Manifest:
    inputs = {"benchmark": benchmark.digest}
    for number, digest in enumerate(answers.inputs.values(), start=1):
        inputs[f"solutions/{number}"] = digest
    config = {
        **settings.identity(),
        "benchmark_name": benchmark.name,
        "benchmark_format": benchmark.format,
        "models": answers.models,
    }
    extra = {
        "sources": {"benchmark": source, "benchmark_files": list(benchmark.files), "solutions": list(answers.inputs)},
        "skipped": {
            "benchmark_rows": len(benchmark.rejections),
            "answers_invalid": answers.invalid.count,
            "answers_unknown_task": answers.unknown.count,
            "answers_repeated": answers.collapsed.count,
            "answers_null": answers.null.count,
        },
        "warnings": list(answers.warnings),
        "workers": settings.workers,
    }
    return Manifest("exam", config, inputs, extra)


def _is_finished(folder: Path, manifest: Manifest) -> bool:
    """Whether a run to resume is done already; opening it checks that it is the same run."""
    if not (folder / "run.json").exists():
        return False
    with RunWriter.resume(folder, manifest) as writer:
        return writer.was_done


def _box_settings(settings: ExamOptions) -> BoxSettings:
    return BoxSettings(
        workers=settings.workers,
        isolation=settings.isolation,
        python=settings.python,
        separate=settings.separate,
        dedupe=settings.dedupe,
        adaptive=settings.adaptive,
        reuse_verdicts=settings.reuse_verdicts,
    )


def _hold(
    writer: RunWriter,
    box: Sandbox | RemoteSandbox,
    benchmark: Benchmark,
    answers: Answers,
    faults: Sequence[Fault],
    settings: ExamOptions,
    follow: Watcher,
) -> list[Sample]:
    """Run what is not run yet, and return the problems that some answer tried and none solved."""
    _record_inputs(writer, benchmark, answers, faults)
    tried, solved = _solved_before(writer, benchmark) if writer.is_resumed else (Counter[str](), Counter[str]())
    follow.started(
        Planned(benchmark, answers, faults, _planned(answers), tried.total(), solved.total(), box.level.value),
        writer.folder,
    )
    limits = settings.limits()
    running: dict[str, Attempt] = {}
    for job, outcome in box.run(_jobs(writer, benchmark, answers, limits, running)):
        attempt = running.pop(job.key)
        result = mark(job.sample, outcome)
        tried[attempt.sample_id] += 1
        solved[attempt.sample_id] += result.all_passed
        follow.marked(attempt, result, outcome)
        key = (attempt.model, attempt.sample_id, attempt.index)
        writer.add(OUTCOME, key, attempt_record(attempt, outcome), remember=False)
    return [sample for sample in benchmark.samples if tried[sample.id] and not solved[sample.id]]


def _unsound(box: Sandbox | RemoteSandbox, unsolved: Sequence[Sample], settings: ExamOptions) -> dict[str, str]:
    """Return the problems whose own solution does not pass their tests, with what it fails at.

    Only those that no answer solved are tried: elsewhere somebody has shown that the tests can be passed.
    """
    jobs = [
        Job(f"own:{sample.id}", sample.references[0], sample, settings.limits())
        for sample in unsolved
        if sample.references
    ]
    found: dict[str, str] = {}
    for job, outcome in box.run(jobs) if jobs else ():
        if not mark(job.sample, outcome).all_passed:
            failed = next((number for number, test in enumerate(outcome.tests) if not test.passed), 0)
            why = outcome.error_type or (outcome.tests[failed].error_type if outcome.tests else "") or "AssertionError"
            found[job.sample.id] = f"test {failed}: {why}"
    return dict(sorted(found.items()))


def _solved_before(writer: RunWriter, benchmark: Benchmark) -> tuple[Counter[str], Counter[str]]:
    """Return how many attempts at each problem a resumed run had marked, and how many of them passed every test."""
    samples = {sample.id: sample for sample in benchmark.samples}
    tried: Counter[str] = Counter()
    solved: Counter[str] = Counter()
    for row in writer.rows(OUTCOME):
        name = str(row.key[1])
        tried[name] += 1
        solved[name] += mark(samples[name], outcome_of(row.data)).all_passed
    return tried, solved


def _jobs(
    writer: RunWriter, benchmark: Benchmark, answers: Answers, limits: Limits, running: dict[str, Attempt]
) -> Iterator[Job]:
    samples: Mapping[str, Sample] = {sample.id: sample for sample in benchmark.samples}
    for number, model in enumerate(answers.models):
        for attempt in answers.attempts(model):
            if writer.was_there(OUTCOME, (model, attempt.sample_id, attempt.index)):
                continue
            key = f"{number}:{attempt.sample_id}:{attempt.index}"
            running[key] = attempt
            yield Job(key, attempt.text, samples[attempt.sample_id], limits)


def _record_inputs(writer: RunWriter, benchmark: Benchmark, answers: Answers, faults: Sequence[Fault]) -> None:
    """Put what the reports need of the inputs into the journal, so that they need nothing else."""
    for place, sample in enumerate(benchmark.samples):
        writer.add(SAMPLE, (place,), sample_record(sample))
    for model in answers.models:
        planned = answers.planned(model)
        about = {"source": answers.source(model), "attempts": sum(planned), "planned": planned}
        lacking = answers.lacking(model)
        writer.add(MODEL, (model,), {**about, "lacking": lacking} if any(lacking) else about)
    for number, fault in enumerate(faults):
        writer.add(FAULT, (number,), asdict(fault))
    writer.commit()


def _publish(writer: RunWriter, manifest: Manifest, reports: Sequence[str], unsound: Mapping[str, str]) -> None:
    view = ExamResults(writer, {"command": manifest.command, "config": manifest.config})
    for name in reports:
        render: Callable[[Results], Mapping[str, Any]] = plugins.create_typed("reports", name)
        writer.publish(render(view))
    extra = {"own_solution_fails": dict(unsound)} if unsound else {}
    writer.finish("done", {"isolation": view.isolation, "attempts": view.planned, **extra})


def _refuse_skipped(benchmark: Benchmark, answers: Answers) -> None:
    skipped = [*benchmark.rejections, *answers.invalid.first, *answers.unknown.first]
    if skipped:
        count = len(benchmark.rejections) + answers.invalid.count + answers.unknown.count
        raise StrictDataError(
            f"{count} rows would be skipped; the first: {skipped[0].reason}",
            at=skipped[0].at,
            hint="mend them, or leave out --strict",
        )
