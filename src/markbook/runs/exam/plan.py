"""What an exam will do: its options, the problems and answers, and when it may stop."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from markbook.benchmarks.answers import Answers, load_answers
from markbook.benchmarks.benchmark import TestFault, language_fault, load_benchmark, without_faults
from markbook.benchmarks.problems import Benchmark, RowError
from markbook.errors import DataError, EnvironmentUnfitError, UsageError
from markbook.option import ASKING
from markbook.programs import program_language
from markbook.runs.exam.exam_options import ExamOptions
from markbook.runs.exam.grading import Tally, exam_sheet, exam_signatures
from markbook.runs.exam.view import read_sample, sample_record
from markbook.runs.kind import Machines, Planned, Skipped
from markbook.runs.options import with_answerer
from markbook.store import Manifest
from markbook.store.reader import COMMAND as FOREIGN
from markbook.types import Sample

if TYPE_CHECKING:
    from markbook.results.stopping import Stopping
    from markbook.runs.exam.questions import Questions


def plan_stop(samples: Sequence[Sample], models: Sequence[str], options: ExamOptions) -> Stopping | None:
    """Return what decides when to stop; None where nobody asked for it.

    Raises:
        UsageError: no moment to stop is said, or the baseline is not an exam and no other tool's results.
        DataError: the baseline is not a run, shares no problem with this one, or was measured differently.
    """
    if options.against is None and not options.stop_when:
        return None
    from markbook.results.stopping import Stopping, open_against, parse_rule  # late: few exams stop early

    baseline = open_against(options.against, options.stop_when)
    baseline_sheet = None
    if baseline is not None:
        baseline_sheet = baseline.sheet(None)
        if baseline_sheet.metric != "exam_score" and baseline.manifest["command"] != FOREIGN:
            raise UsageError(f"an exam cannot be held against marks by {baseline_sheet.metric!r}")
        # Without signatures nothing is held to differ.
        signatures = {} if options.allow_different_measures else baseline_sheet.signatures
        baseline_sheet = replace(baseline_sheet, metric="exam_score", signatures=signatures)
    # As the journal will give them back, so that a problem's content is known by the same digest.
    stripped = [read_sample(sample_record(sample)) for sample in samples]
    sheet = exam_sheet([Tally(model, stripped) for model in models])
    own = replace(sheet, signatures=exam_signatures({**options.identity(), "adaptive": options.adapts}))
    return Stopping(parse_rule(options.stop_when), own, baseline_sheet, seed=options.seed)


_MANY = 1 << 16
"""Bytes of answers that are worth a worker a core from the beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamPlan(Planned):
    """What is about to be marked."""

    options: ExamOptions
    paper: Benchmark
    benchmark: Benchmark
    """The same without the tests that are at fault."""
    faults: Sequence[TestFault]
    answers: Answers
    """As they were read; where a model is asked, none are there until it is done."""
    models: Sequence[str]
    questions: Questions | None = None
    """What a model is asked; None where the answers exist."""
    unavailable: Sequence[str] = ()
    """What is left out because its toolchain is not here, in a line each."""
    stop: Stopping | None = None
    """What says when enough was marked; None where all is."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of its problems and answers, without those whose answers are Python's own."""
        return tuple(sorted({*list_languages(self.benchmark), *self.answers.languages}))

    @property
    def attempts(self) -> int:
        """How many there are, or will be."""
        if self.questions is not None:
            return len(self.questions.requests)
        return sum(self.answers.count(model) for model in self.models)

    def count_planned(self, model: str) -> list[int]:
        """Return how many attempts at each problem there are, or will be, in benchmark order."""
        if self.questions is not None:
            return [self.questions.count] * len(self.benchmark.samples)
        return self.answers.count_planned(model)


def plan_exam(request: ExamOptions, machines: Machines) -> ExamPlan:
    """Read the benchmark and the answers, while workers start.

    Raises:
        DataError: nothing can be marked.
        UsageError: neither answers nor a model, or both; a model that cannot be asked this benchmark; a time limit that is
            none.
        EnvironmentUnfitError: this system cannot run solutions at all.
    """
    request = with_answerer(request, has_answers=bool(request.solutions), of="--solutions")
    request.limits()
    paths = [Path(path) for path in request.solutions]
    # A pool for a handful of answers takes longer to start than to use.
    many = sum(path.stat().st_size for path in paths if path.is_file()) > _MANY
    # Before the inputs are read, so that workers start meanwhile.
    machines.begin_sandbox(request.box(), None if many else 1)
    paper = load_benchmark(Path(request.benchmark), request.format)
    benchmark, faults = without_faults(paper, language_fault)
    sound, unavailable = available(benchmark, skip=request.skip_unavailable)
    questions = None
    if request.model is None:
        answers = load_answers(paths, sound, extract=request.extract, language=_normalise_language)
        models = answers.models
    else:
        from markbook.runs.exam.questions import plan_questions  # exams of answers that exist need no client

        questions = plan_questions(sound, request)
        answers, models = Answers(sound, _normalise_language), [str(request.model)]
    # Planned over the problems that are left: one without its toolchain has no score to decide by.
    stop = plan_stop(sound.samples, models, request)
    rejection = next(iter([*paper.rejections, *answers.invalid.first, *answers.unknown.first]), None)
    return ExamPlan(
        manifest=_manifest(request, sound, answers, unavailable, stop, questions),
        skipped=Skipped(len(paper.rejections) + answers.invalid.count + answers.unknown.count, rejection),
        options=request,
        paper=paper,
        benchmark=sound,
        faults=faults,
        answers=answers,
        models=models,
        questions=questions,
        unavailable=unavailable,
        stop=stop,
    )


def _normalise_language(name: str) -> str:
    """Return our name of a language, empty for Python, whose programs have a way of their own; RowError if there is none."""
    from markbook.languages import language

    try:
        canonical = language(name).name
    except UsageError as error:
        raise RowError(f"{error.message}{f' ({error.hint})' if error.hint else ''}") from None
    return "" if canonical == "python" else canonical


def list_languages(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the languages that answers are built and run in by the problems themselves, sorted."""
    return tuple(sorted({program_language(sample) for sample in benchmark.samples} - {""}))


def available(benchmark: Benchmark, *, skip: bool) -> tuple[Benchmark, list[str]]:
    """Return the benchmark without the problems whose language cannot be run here, and what to say of those.

    Raises:
        EnvironmentUnfitError: there are some and they are not to be skipped, or none is left without them.
    """
    lacking: dict[str, str] = {}
    reasons: dict[str, EnvironmentUnfitError] = {}
    for sample in benchmark.samples:
        if (sample.language or sample.judge is not None) and (error := _unfit(sample)) is not None:
            # By message: one line a toolchain, however many problems want it.
            lacking[sample.id] = error.message
            reasons.setdefault(error.message, error)
    samples = tuple(sample for sample in benchmark.samples if sample.id not in lacking)
    if lacking and (not skip or not samples):
        raise next(iter(reasons.values()))
    total = len(benchmark.samples)
    notes = [
        f"unavailable: {count} of {total} problems: {message} ({reasons[message].hint.partition(';')[0]}); "
        f"scored {len(samples)} of {total}"
        for message, count in Counter(lacking.values()).items()
    ]
    return replace(benchmark, samples=samples, left_out=frozenset(lacking)) if lacking else benchmark, notes


def _unfit(sample: Sample) -> EnvironmentUnfitError | None:
    """Return why a problem's language, or a library that it wants, cannot be used here; DataError if the language is unknown."""
    from markbook.languages import find

    try:
        # The problem's own judge is a program too, and may want another toolchain than the answers.
        for name in sorted(sample.judge.languages) if sample.judge is not None else ():
            find(name)
        target = find(sample.language or "python").language
    except EnvironmentUnfitError as error:
        return error
    except UsageError as error:
        raise DataError(error.message, at=sample.source, hint=error.hint) from None
    text = "\n".join((sample.prompt_code, *(f"{test.setup}\n{test.program}" for test in sample.tests)))
    library = target.lacks(text)
    if library is None:
        return None
    way = f"apt install {library.package}" if library.package else "it cannot be linked here"
    return EnvironmentUnfitError(
        f"{target.title} programs that say {library.word!r} cannot be run here",
        hint=f"{way}; --skip-unavailable leaves their problems out, as missing",
    )


def _manifest(
    request: ExamOptions,
    benchmark: Benchmark,
    answers: Answers,
    unavailable: Sequence[str],
    stop: Stopping | None,
    questions: Questions | None,
) -> Manifest:
    inputs = {"benchmark": benchmark.digest, **({} if questions is None else {"questions": questions.digest})}
    for number, solutions_digest in enumerate(answers.inputs.values(), start=1):
        inputs[f"solutions/{number}"] = solutions_digest
    config = {
        **request.identity(),
        # In the config, and so part of what makes it the same run: another value can change a verdict.
        "adaptive": request.adapts,
        "benchmark_name": benchmark.name,
        "benchmark_format": benchmark.format,
        "models": answers.models if questions is None else [request.model],
        **({"unavailable": list(unavailable)} if unavailable else {}),
        **({} if stop is None else {"stop": stop.identity}),
    }
    sources = {
        "benchmark": os.fspath(request.benchmark),
        "benchmark_files": list(benchmark.files),
        "solutions": list(answers.inputs),
        **({} if request.against is None else {"against": os.fspath(request.against)}),
    }
    extra = {
        "sources": sources,
        **({} if questions is None else {ASKING: request.collect_kept(ASKING)}),
        "skipped": {
            "benchmark_rows": len(benchmark.rejections),
            "answers_invalid": answers.invalid.count,
            "answers_unknown_task": answers.unknown.count,
            "answers_repeated": answers.collapsed.count,
            "answers_null": answers.null.count,
        },
        "warnings": list(answers.warnings),
        "workers": request.workers,
    }
    return Manifest("exam", config, inputs, extra)
