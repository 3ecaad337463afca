"""pass@k and pass^k: the chance that one of k attempts is right, and that all of k are.

Programs run in the sandbox and nowhere else, or in what a caller gives instead of it. Outcomes that exist already are
taken as they are. These metrics stand above the sandbox, all others below it.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal

from markbook.errors import UsageError
from markbook.metrics import NO_STATS, missing_error, missing_undefined
from markbook.option import TIME_LIMIT
from markbook.programs.marker import MixedBox
from markbook.programs.sandboxes import BoxSettings, RemoteSandbox, open_sandboxes
from markbook.sandbox import Job, Sandbox
from markbook.stats import passes
from markbook.testcode.programs import UNPARSABLE, compile_tree, complete_program, fault, parse_python
from markbook.types import (
    Attempt,
    Direction,
    Item,
    Limits,
    Measurement,
    Metric,
    Missing,
    MissingKind,
    Outcome,
    Sample,
    Test,
    names_python,
)

# Whether the tests of a problem can say anything about an answer, found out before one runs.

NO_TESTS = "the problem has no tests"


def find_problem(tests: Sequence[Test], language: str = "") -> Missing | None:
    """Return why no answer can be marked by these tests, None if they can be run; beside Python only blank texts are seen."""
    # Only tests that are a program and nothing else: what has its own input or assertion is not Python text as a
    # whole.
    programs = [test.program for test in tests if test == Test(program=test.program)]
    if language:
        texts = ["" if program.strip() else NO_TESTS for program in programs]
    else:
        texts = list(map(_find_problem, programs))
    broken = next((text for text in texts if text not in ("", NO_TESTS)), "")
    if broken:
        return missing_undefined(broken)
    if len(programs) == len(tests) and all(texts):
        return missing_undefined(NO_TESTS)
    return None


@functools.lru_cache(maxsize=1024)
def _find_problem(program: str) -> str:
    try:
        tree = parse_python(complete_program(program))
        compile_tree(tree)
    except UNPARSABLE as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        return f"the tests are broken: {type(error).__name__}: {message}{line}"
    if all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in tree.body
    ):
        return NO_TESTS  # `pass`, or a docstring alone: any answer would pass
    return f"the tests: {text}" if (text := fault(tree)) else ""


Run = Callable[[Sequence[Item]], Sequence[Outcome]]
"""Runs each item's attempt against its sample's tests; one outcome an item, in order."""


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """What programs may use, and what stands between them and the machine."""

    seconds: float = TIME_LIMIT
    isolation: Literal["auto", "strict", "weak"] = "auto"
    workers: int | None = None
    language: str = ""
    """What the programs are written in; empty, or a name of Python, for Python with the examiner apart."""


def pass_at_k(
    *,
    k: int | Sequence[int] = 1,
    timeout: float = TIME_LIMIT,
    isolation: Literal["auto", "strict", "weak"] = "auto",
    workers: int | None = None,
    language: str = "",
    run: Run | None = None,
) -> PassAtK:
    """Return the unbiased pass@k of each problem, 0..1, higher is better: 1 - C(n-c, k)/C(n, k).

    n is the number of attempts and c of those that pass every test; a test whose verdict is flagged is not passed.
    The summary is the mean over problems. `stats`: `n`, `c`, `se` (the estimator's standard error with c/n as the
    chance of one attempt; 0 where all or none passed, which is not proof of certainty), `values` by k, `errors` by kind.
    Missing: `undefined` where k > n or the tests are broken, `absent` without any attempt.
    Source: Chen et al. 2021, arXiv 2107.03374.

    Args:
        k: how many attempts may be tried; of several the first gives the value, and all stand in `stats["values"]`.
        timeout: CPU seconds for one program.
        isolation: `auto`, `strict` or `weak`, as in `markbook exam`.
        workers: how many programs run at once; one per core by default.
        language: what the programs and their tests are written in (`markbook list languages`); Python by default.
        run: what runs the programs, instead of the sandbox.

    Raises:
        UsageError: a k that is not a whole number from 1 up, or a timeout that is not positive.
    """
    return _make("pass_at_k", k, ProgramSettings(timeout, isolation, workers, language), run)


def pass_hat_k(
    *,
    k: int | Sequence[int] = 1,
    timeout: float = TIME_LIMIT,
    isolation: Literal["auto", "strict", "weak"] = "auto",
    workers: int | None = None,
    language: str = "",
    run: Run | None = None,
) -> PassAtK:
    """Return pass^k of each problem, 0..1, higher is better: C(c, k)/C(n, k), the chance that all k attempts pass.

    What a user meets who relies on every answer. Options, stats and missing cases as in `pass_at_k`.
    Source: Yao et al. 2024, arXiv 2406.12045.
    """
    return _make("pass_hat_k", k, ProgramSettings(timeout, isolation, workers, language), run)


def _make(name: str, k: object, settings: ProgramSettings, run: Run | None) -> PassAtK:
    ks = tuple(k) if isinstance(k, list | tuple) else (k,)
    # True is an int in Python, and k=True is a mistake and not a 1.
    if not ks or any(not isinstance(value, int) or isinstance(value, bool) or value < 1 for value in ks):
        raise UsageError(f"k must be a whole number from 1 up, or a list of them, not {k!r}")
    if not settings.seconds > 0:
        raise UsageError(f"a timeout of {settings.seconds} seconds is none")
    # Python by its names is Python by default: one signature, or runs of both could not be compared.
    written = "" if names_python(settings.language) else f"|lang:{settings.language}"
    signature = f"{name}|k:{'+'.join(map(str, ks))}|unbiased{written}|cpu:{settings.seconds:g}s|v1"
    return PassAtK(name, signature, ks, settings, run)


@dataclass(frozen=True, slots=True)
class PassAtK(Metric):
    """pass@k or pass^k with its options; made by `pass_at_k` or `pass_hat_k`."""

    name: str
    signature: str
    ks: tuple[int, ...]
    settings: ProgramSettings
    run: Run | None = None
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"
    whole_batch: bool = True  # the attempts at one problem belong together

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item: the problem's value at its first attempt.

        A problem's other attempts are `not_applicable`, so that the mean is over problems. An item with an outcome is
        not run again; one without needs tests.
        """
        outcomes = self._outcomes(items)
        problems: dict[tuple[str, str], list[int]] = {}
        for index, item in enumerate(items):
            problems.setdefault((item.sample.id, item.attempt.model), []).append(index)
        measurements: dict[int, Measurement] = {}
        for places in problems.values():
            first, *others = places
            outcomes_known = [outcomes[index] for index in places]
            measurements[first] = self._mark(items[first], outcomes_known)
            for index in others:
                why = Missing(MissingKind.NOT_APPLICABLE, "counted at the problem's first attempt")
                measurements[index] = self._measurement(items[index], why, NO_STATS)
        return [measurements[index] for index in range(len(items))]

    def measure_rows(self, candidates: Sequence[object], references: Sequence[object] | None) -> list[Measurement]:
        """Return one measurement a row.

        A None among a problem's programs is not an attempt; of several test programs all must pass.

        Raises:
            UsageError: no references.
        """
        if references is None:
            raise UsageError(f"{self.name} needs references: for each row a test program")
        rows = [
            _row(str(i), candidate, reference)
            for i, (candidate, reference) in enumerate(zip(candidates, references, strict=True))
        ]
        items = [item for row in rows if not isinstance(row, Missing) for item in row]
        # The other attempts only say that they are counted there.
        at_first = {measurement.sample_id: measurement for measurement in self.measure(items) if measurement.index == 0}
        return [
            Measurement(self.name, missing=row, sample_id=str(i), signature=self.signature)
            if isinstance(row, Missing)
            else at_first[str(i)]
            for i, row in enumerate(rows)
        ]

    def signs(self, signature: str) -> bool:
        """Whether a measurement so signed has this k: a time limit is the runs' own, and no option of a summary."""
        return _without_limit(signature) == _without_limit(self.signature)

    def _outcomes(self, items: Sequence[Item]) -> list[Outcome | Missing]:
        """Return each item's outcome: the one it has, or that of running it."""
        outcomes = [item.outcome or self._problem(item.sample) for item in items]
        waiting = [index for index, outcome in enumerate(outcomes) if outcome is None]
        if waiting:
            for index, outcome in zip(waiting, self._run([items[index] for index in waiting]), strict=True):
                outcomes[index] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    def _problem(self, sample: Sample) -> Missing | None:
        """Return why a problem's tests mark nothing; what a caller's own runner takes for a test is its own to say."""
        if not sample.tests:
            return missing_undefined(NO_TESTS)
        return find_problem(sample.tests, self._language(sample)) if self.run is None else None

    def _language(self, sample: Sample) -> str:
        """Return what programs are written in; empty for Python, which the examiner marks apart whether or not it is named."""
        language = self.settings.language or sample.language
        return "" if names_python(language) else language

    def _run(self, items: Sequence[Item]) -> Sequence[Outcome | Missing]:
        if self.run is None:
            return self._run_in_sandbox(items)
        try:
            results = self.run(items)
        except Exception as error:  # noqa: BLE001 - the measurement border: a caller's runner that crashes is a reason
            return [missing_error(error)] * len(items)
        if len(results) != len(items):
            raise UsageError(f"run gave {len(results)} outcomes for {len(items)} programs")
        return results

    def _run_in_sandbox(self, items: Sequence[Item]) -> Sequence[Outcome]:
        limits, jobs = Limits(seconds=self.settings.seconds), []
        for index, item in enumerate(items):
            sample = replace(item.sample, language=self._language(item.sample))
            jobs.append(Job(str(index), item.attempt.text, sample, limits))
        languages = tuple(sorted({job.sample.language for job in jobs} - {""}))
        workers, isolation = self.settings.workers, self.settings.isolation
        opened: AbstractContextManager[Sandbox | MixedBox | RemoteSandbox] = (
            open_sandboxes("local", BoxSettings(workers, isolation, languages=languages))
            if languages
            else Sandbox(workers=workers, isolation=isolation)
        )
        with opened as box:
            outcomes = {job.key: outcome for job, outcome in box.run(jobs)}
        return [outcomes[job.key] for job in jobs]

    def _mark(self, item: Item, outcomes_known: Sequence[Outcome | Missing]) -> Measurement:
        for outcome in outcomes_known:
            if isinstance(outcome, Missing):
                return self._measurement(item, outcome, NO_STATS)
            # A broken test says nothing of any answer: no value, rather than a 0 that looks like the model's.
            if outcome.benchmark_fault:
                return self._measurement(
                    item, missing_undefined(f"the tests are broken: {outcome.benchmark_fault}"), NO_STATS
                )
        outcomes = [outcome for outcome in outcomes_known if isinstance(outcome, Outcome)]
        n, c = len(outcomes), sum(outcome.is_right for outcome in outcomes)
        is_every = self.name == "pass_hat_k"
        values = {k: passes.pass_hat_k([(n, c)], k) if is_every else passes.pass_at_k(n, c, k).value for k in self.ks}
        errors = Counter(outcome.error.value for outcome in outcomes if outcome.error is not None)
        stats: dict[str, object] = {"n": n, "c": c, "errors": dict(errors)}
        stats["values"] = {k: value for k, value in values.items() if value is not None}
        value = values[self.ks[0]]
        if value is None:
            return self._measurement(item, missing_undefined(f"{n} attempts, and k is {self.ks[0]}"), stats)
        stats["se"] = passes.standard_error(n, c, self.ks[0], every=is_every)
        return self._measurement(item, value, stats)

    def _measurement(self, item: Item, score: float | Missing, stats: Mapping[str, object]) -> Measurement:
        value = None if isinstance(score, Missing) else score
        return Measurement(
            self.name,
            value,
            score if isinstance(score, Missing) else None,
            sample_id=item.sample.id,
            index=item.attempt.index,
            model=item.attempt.model,
            stats=stats,
            signature=self.signature,
        )


def _without_limit(signature: str) -> list[str]:
    return [part for part in signature.split("|") if not part.startswith("cpu:")]


def _row(name: str, candidate: object, reference: object) -> list[Item] | Missing:
    """Return the items of one row, or why it has none."""
    if candidate is None:
        return Missing(MissingKind.ABSENT, "no candidate")
    programs = [candidate] if isinstance(candidate, str) else candidate
    tests = [reference] if isinstance(reference, str) else reference
    if not isinstance(programs, list | tuple):
        return missing_undefined(f"the candidate is of type {type(candidate).__name__}, not a list of programs")
    if not isinstance(tests, list | tuple) or not tests or not all(isinstance(test, str) for test in tests):
        return missing_undefined(
            "no reference" if tests is None or tests == [] else "the reference is not a test program"
        )
    # A None is an attempt that was not made, so it is not among the n.
    attempts = [program for program in programs if program is not None]
    if not attempts:
        return Missing(MissingKind.ABSENT, "no attempt")
    if not all(isinstance(program, str) for program in attempts):
        return missing_undefined("a program is not a text")
    sample = Sample(name, tests=tuple(Test(program=test) for test in tests))
    return [Item(sample, Attempt(name, text, index=index)) for index, text in enumerate(attempts)]
