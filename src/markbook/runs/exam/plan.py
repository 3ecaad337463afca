"""What an exam will do: its options, and its inputs read and checked before anything is written or run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from markbook.errors import DataError, EnvironmentUnfitError, UsageError
from markbook.load.answers import Answers, load_answers
from markbook.load.assembly import Extract
from markbook.load.benchmark import Benchmark, RowError, load_benchmark
from markbook.load.faults import TestFault, without_faults
from markbook.runs.exam.marks import ErrorPolicy
from markbook.runs.exam.stopping import ExamStop, plan_stop
from markbook.runs.kind import Planned, Skipped
from markbook.runs.machines import Machines
from markbook.runs.options import ASKING, AskingOptions, AskingSettings, aside, with_answerer
from markbook.runs.programs.streams import language_of
from markbook.runs.programs.unending import language_fault
from markbook.runs.sandboxes import BoxSettings
from markbook.store import Manifest
from markbook.types import Limits, Sample

if TYPE_CHECKING:
    from markbook.runs.exam.asking import Questions

REPORTS = ("documented", "html")
"""The report plugins that every finished exam is given."""


_MANY = 1 << 16
"""Bytes of answers that are worth a worker a core from the beginning."""
_ASKED = ("samples", "gen_kwargs", "system")
"""Options that say how a model is asked and can change what it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamOptions(AskingOptions):
    """How an exam is held. The first group can change a result, the second cannot."""

    format: str = "auto"
    timeout: float = 60.0
    """CPU seconds an attempt may use at most."""
    memory_mb: int = 2048
    error_policy: ErrorPolicy = "zero"
    extract: Extract = "auto"
    profile: Literal["documented", "corrected"] = "corrected"
    """The exam's documented arithmetic is well defined, so both give the same numbers; recorded with the run."""
    seed: int = 0
    separate: bool = True
    """Keep tests and candidate in different processes."""
    adaptive: bool | None = None
    """Lower each problem's CPU limit to 20 times what its canonical solution needs, at least 3 seconds; None for what the
    profile says: the corrected one does, the documented one knows one limit for all."""
    all_tests: bool = False
    """Go on with the tests of a program that reads and writes when it has failed one."""
    fresh_tests: bool = False
    """Give every test of a function problem a freshly loaded solution of its own."""
    python: str = ""
    """The interpreter whose packages the candidates may import; the running one if empty."""

    benchmark: str | os.PathLike[str] = aside("")
    """A file or folder; what it held is in the manifest's inputs."""
    solutions: Sequence[str | os.PathLike[str]] = aside(())
    """Files and folders of answers; none where a model is asked."""
    skip_unavailable: bool = False
    """Leave out the problems in languages whose toolchains are not here, as missing, instead of refusing the exam."""
    isolation: Literal["auto", "strict", "weak"] = aside("auto")
    dedupe: bool = aside(True)
    reuse_verdicts: bool = aside(False)
    """Give an attempt that was run before, in the same way, the outcome that it had."""
    against: str | os.PathLike[str] | None = aside(None)
    """A finished run to be held against, where `stop_when` says so; its marks and the rule are in the manifest's config."""
    stop_when: str = aside("")
    """`decided` or `precise:0.03`; empty to do all."""
    allow_different_measures: bool = aside(False)
    """Whether that run may have been measured differently."""
    reports: Sequence[str] = aside(REPORTS)

    @property
    def adapts(self) -> bool:
        """Whether each problem has a limit of its own."""
        return self.profile == "corrected" if self.adaptive is None else self.adaptive

    def identity(self) -> dict[str, object]:
        """Return the options that can change a result; how a model is asked is none where the answers exist."""
        identity = super(
            ExamOptions, self
        ).identity()  # a slotted dataclass is made anew, which the bare call does not know
        if self.model is None:
            return {name: value for name, value in identity.items() if name not in _ASKED}
        from markbook.model.connect import without_secrets

        model_options = {"model": self.model, "base_url": without_secrets(self.base_url)}
        return {**identity, **model_options, **({"generator": self.generator} if self.generator else {})}

    def limits(self) -> Limits:
        """Return what an attempt may use."""
        return Limits(seconds=self.timeout, memory_bytes=self.memory_mb << 20)

    def box(self, languages: tuple[str, ...] = ()) -> BoxSettings:
        """Return how its sandbox is set up, for samples in these languages."""
        return BoxSettings(
            languages=languages,
            workers=self.workers,
            isolation=self.isolation,
            python=self.python,
            separate=self.separate,
            dedupe=self.dedupe,
            adaptive=self.adapts,
            reuse_verdicts=self.reuse_verdicts,
            explain=True,
        )


class ExamSettings(AskingSettings, total=False):
    """The fields of `ExamOptions` as keyword arguments of `exam`, but for those that it names itself."""

    format: str
    timeout: float
    memory_mb: int
    error_policy: ErrorPolicy
    extract: Extract
    profile: Literal["documented", "corrected"]
    seed: int
    separate: bool
    adaptive: bool | None
    all_tests: bool
    fresh_tests: bool
    python: str
    skip_unavailable: bool
    isolation: Literal["auto", "strict", "weak"]
    dedupe: bool
    reuse_verdicts: bool
    against: str | os.PathLike[str] | None
    stop_when: str
    allow_different_measures: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamPlan(Planned):
    """What is about to be marked."""

    options: ExamOptions
    paper: Benchmark
    """The benchmark as it was read."""
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
    stop: ExamStop | None = None
    """What says when enough was marked; None where all is."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of its problems and answers, without those whose answers are Python's own."""
        return tuple(sorted({*languages_of(self.benchmark), *self.answers.languages}))

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
    many = sum(path.stat().st_size for path in paths if path.is_file()) > _MANY
    machines.begin_sandbox(request.box(), None if many else 1)
    paper = load_benchmark(Path(request.benchmark), request.format)
    benchmark, faults = without_faults(paper, language_fault)
    sound, unavailable = available(benchmark, skip=request.skip_unavailable)
    questions = None
    if request.model is None:
        answers = machines.open(load_answers(paths, sound, extract=request.extract, language=_normalise_language))
        models = answers.models
    else:
        from markbook.runs.exam.asking import plan_questions  # exams of answers that exist need no client

        questions = plan_questions(sound, request)
        answers, models = machines.open(Answers(sound, _normalise_language)), [str(request.model)]
    stop = plan_stop(sound.samples, models, request)
    return ExamPlan(
        manifest=_manifest(request, sound, answers, unavailable, stop, questions),
        skipped=_count_skipped(paper, answers),
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


def languages_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the languages that answers are built and run in by the problems themselves, sorted."""
    return tuple(sorted({language_of(sample) for sample in benchmark.samples} - {""}))


def available(benchmark: Benchmark, *, skip: bool) -> tuple[Benchmark, list[str]]:
    """Return the benchmark without the problems whose language cannot be run here, and what to say of those.

    Raises:
        EnvironmentUnfitError: there are some and they are not to be skipped, or there are no others.
    """
    lacking: dict[str, str] = {}
    reasons: dict[str, EnvironmentUnfitError] = {}
    for sample in benchmark.samples:
        if (sample.language or sample.judge is not None) and (error := _unfit(sample)) is not None:
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
    """Return why a problem's language, or a library that it wants, cannot be used here.

    Raises:
        DataError: there is no such language.
    """
    from markbook.languages import find

    try:
        for name in sorted(sample.judge.languages) if sample.judge is not None else ():
            find(name)
        language = find(sample.language or "python").language
    except EnvironmentUnfitError as error:
        return error
    except UsageError as error:
        raise DataError(error.message, at=sample.source, hint=error.hint) from None
    text = "\n".join((sample.prompt_code, *(f"{test.setup}\n{test.program}" for test in sample.tests)))
    library = language.lacks(text)
    if library is None:
        return None
    way = f"apt install {library.package}" if library.package else "it cannot be linked here"
    return EnvironmentUnfitError(
        f"{language.title} programs that say {library.word!r} cannot be run here",
        hint=f"{way}; --skip-unavailable leaves their problems out, as missing",
    )


def _manifest(
    request: ExamOptions,
    benchmark: Benchmark,
    answers: Answers,
    unavailable: Sequence[str],
    stop: ExamStop | None,
    questions: Questions | None,
) -> Manifest:
    inputs = {"benchmark": benchmark.digest, **({} if questions is None else {"questions": questions.digest})}
    for number, solutions_digest in enumerate(answers.inputs.values(), start=1):
        inputs[f"solutions/{number}"] = solutions_digest
    config = {
        **request.identity(),
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


def _count_skipped(benchmark: Benchmark, answers: Answers) -> Skipped:
    first = next(iter([*benchmark.rejections, *answers.invalid.first, *answers.unknown.first]), None)
    return Skipped(len(benchmark.rejections) + answers.invalid.count + answers.unknown.count, first)
