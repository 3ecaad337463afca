"""How an exam is held: everything that `markbook exam` and `markbook.exam` may be asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from markbook.option import (
    DAY,
    MACHINE,
    PATH,
    TIME_LIMIT,
    CountRange,
    Limits,
    NumberRange,
    Profile,
    choice,
    input_option,
    machine_option,
    option,
    rule_option,
    source_option,
    would,
)
from markbook.runs.options import StoppingOptions, StoppingSettings, strict_option, workers_option

if TYPE_CHECKING:
    from markbook.programs.sandboxes import BoxSettings

REPORTS = ("documented", "html")
ErrorPolicy = Literal["zero", "partial"]
_Extract = Literal["auto", "always", "off"]
_ASKED = ("samples", "gen_kwargs", "system")
"""Options that say how a model is asked and can change what it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamOptions(StoppingOptions):
    """How an exam is held."""

    benchmark: str | os.PathLike[str] = source_option(
        "", "--benchmark", help="The benchmark: a file, or a folder of .jsonl files."
    )
    """A file or folder; what it held is in the manifest's inputs."""
    solutions: Sequence[str | os.PathLike[str]] = source_option(
        (), "--solutions", repeats=True, help="Solutions: files or folders, of one or several models."
    )
    format: str = input_option(
        "auto",
        "--format",
        completes="loaders",
        help="Format of the benchmark.",
        # A loader named by its module is code, and run.json of a run that is resumed may come from anybody.
        danger=lambda name: "would be executed" if ":" in name else "",
    )
    extract: _Extract = input_option(
        "auto",
        "--extract",
        values=choice(_Extract),
        help="When to extract code from a reply: auto (if the reply does not compile), always or off.",
    )
    skip_unavailable: bool = input_option(
        False,
        "--skip-unavailable",
        help="Report problems whose language toolchain is not installed as missing, instead of refusing to run (exit 4).",
    )
    timeout: float = rule_option(
        TIME_LIMIT, "--timeout", values=NumberRange(0.1, DAY), help="CPU time limit of a solution, in seconds."
    )
    adaptive: bool | None = rule_option(
        None,
        "--adaptive-timeout/--fixed-timeout",
        parameter="adaptive",
        help="Limit each problem to 20 x the CPU time of its reference solution (at least 3 s, at most --timeout), or all "
        "problems to --timeout. [default: adaptive; fixed with --profile documented]",
    )
    """Lower each problem's CPU limit to 20 times what its canonical solution needs, at least 3 seconds; None for what the
    profile says: the corrected one does, the documented one knows one limit for all."""
    memory_mb: int = rule_option(
        2048, "--memory-mb", values=CountRange(64, 1 << 20), help="MiB that a solution may use."
    )
    error_policy: ErrorPolicy = rule_option(
        "zero",
        "--error-policy",
        values=choice(ErrorPolicy),
        help="Score of an attempt with an error: 0, or the share of tests that passed.",
    )
    profile: Profile = rule_option(
        "corrected",
        "--profile",
        values=choice(Profile),
        help="documented: the same time limit for all problems. The arithmetic is the same in both.",
    )
    """The exam's documented arithmetic is well defined, so both give the same numbers; recorded with the run."""
    all_tests: bool = rule_option(
        False, "--all-tests", help="Programs that read stdin: also run the tests after the first failure."
    )
    fresh_tests: bool = rule_option(
        False,
        "--fresh-tests",
        help="Functions and classes: load the solution again for each test, and flag tests whose result changes.",
    )
    separate: bool = rule_option(
        True,
        "--in-process",
        parameter="in_process",
        inverts=True,
        help="Run tests in the solution's process: verdicts can be forged, and passes are unchecked.",
        kept="config.separate",
        # The flag is the opposite of the field, which is what run.json keeps.
        decode=lambda is_separate: not is_separate,
    )
    """Keep tests and candidate in different processes."""
    seed: int = rule_option(0, "--seed", values=CountRange(), help="Seed of resampled intervals.")
    workers: int | None = workers_option("Parallel workers [default: one per core].")
    python: str = option(
        "",
        "--python",
        values=PATH,
        help="Interpreter (3.11 or newer) whose packages solutions may import.",
        section=MACHINE,
        danger=would("be executed"),
    )
    """The interpreter whose packages the candidates may import; the running one if empty."""
    dedupe: bool = machine_option(
        True, "--no-dedupe", parameter="no_dedupe", inverts=True, help="Run every solution, even exact duplicates."
    )
    reuse_verdicts: bool = machine_option(
        False,
        "--reuse-verdicts",
        help="Reuse verdicts of earlier runs with identical code, tests, limits and environment.",
    )
    strict: bool = strict_option("Refuse (exit 65) if any row would be skipped.")
    reports: Sequence[str] = option(REPORTS, changes_results=False)

    @property
    def adapts(self) -> bool:
        """Whether each problem has a limit of its own."""
        return self.profile == "corrected" if self.adaptive is None else self.adaptive

    def identity(self) -> dict[str, object]:
        """Return the options that can change a result; how a model is asked is none where the answers exist."""
        # A slotted dataclass is made anew, which the bare call of `super` does not know.
        identity = super(ExamOptions, self).identity()
        if self.model is None:
            return {name: value for name, value in identity.items() if name not in _ASKED}
        from markbook.model.connect import find_asked_address

        # A key that stands in an address must not get into run.json, which is passed on with the results.
        model_options = {"model": self.model, "base_url": find_asked_address(self.model, self.base_url)}
        return {**identity, **model_options, **({"generator": self.generator} if self.generator else {})}

    def limits(self) -> Limits:
        """Return what an attempt may use."""
        return Limits(seconds=self.timeout, memory_bytes=self.memory_mb << 20)

    def box(self, languages: tuple[str, ...] = ()) -> BoxSettings:
        """Return how its sandbox is set up, for samples in these languages."""
        from markbook.programs.sandboxes import BoxSettings

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


class ExamSettings(StoppingSettings, total=False):
    """The fields of `ExamOptions` as keyword arguments of `exam`, but for those that it names itself."""

    format: str
    timeout: float
    memory_mb: int
    error_policy: ErrorPolicy
    extract: _Extract
    profile: Profile
    seed: int
    separate: bool
    adaptive: bool | None
    all_tests: bool
    fresh_tests: bool
    python: str
    skip_unavailable: bool
    dedupe: bool
    reuse_verdicts: bool
