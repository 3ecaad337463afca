"""What every kind of run offers, and the one place where a finished run is read: commands and reports ask it only.

A kind of run is a part behind the plugin door: an entry point in the group `markbook.runs`, under the name that its
runs carry as `command` in run.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from markbook import plugins
from markbook.errors import DataError, UsageError
from markbook.results.sheet import Sheet, Status
from markbook.results.summary import count_missing
from markbook.types import Direction
from markbook.why import Evidence, Why

if TYPE_CHECKING:
    from markbook.report.page import Page
    from markbook.store import Run

Value = str | int | float | bool | None
Content = str | bytes | Iterable[str] | Iterable[bytes]
"""A file's content, whole or in pieces."""


@dataclass(frozen=True, slots=True)
class Case:
    """An attempt as a build server shows it."""

    suite: str
    name: str
    state: Literal["passed", "failure", "error", "skipped"]
    message: str = ""
    detail: str = ""
    verdict: str = ""
    """The least trustworthy verdict of its tests, where it has any."""
    seconds: float | None = None


class Entry(NamedTuple):
    """One line of the list of attempts that `view` shows."""

    location: int
    """What `Results.show_attempt` finds it by."""
    model: str
    sample: str
    status: Status
    score: float | None
    """By the run's main metric; None where that is missing, whatever else was measured."""
    error: str = ""
    """What kind of error there was, empty if none."""
    topic: str = ""
    seconds: float | None = None
    attempt: int = 0
    """Which of several at the sample."""


class ReplyUsage(NamedTuple):
    """What one reply of a model took; None where that is not known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    seconds: float | None = None
    """From the first request to the answer."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> ReplyUsage:
        """Return what a record has of it; anything but a number there counts as unknown."""
        values = (record.get(name) for name in cls._fields)
        return cls._make(
            value if isinstance(value, int | float) and not isinstance(value, bool) else None for value in values
        )

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what is known of it in words."""
        if self.input_tokens is not None or self.output_tokens is not None:
            read, written = (
                "unknown" if count is None else f"{count:,}" for count in (self.input_tokens, self.output_tokens)
            )
            yield "Tokens", f"{read} in, {written} out"
        if self.cost is not None:
            yield "Cost", f"${self.cost:.4f}"
        if self.seconds is not None:
            yield "Latency", f"{self.seconds:.2f} s"


UNKNOWN_USAGE = ReplyUsage()


@dataclass(frozen=True, slots=True)
class Shown:
    """One attempt in full."""

    model: str
    sample: str
    status: Status
    facts: tuple[tuple[str, str], ...]
    prompt: str
    text: str
    """What was handed in: code, an answer, a review."""
    error: str
    tests: tuple[tuple[str, str, str], ...] = ()
    """What is tested, the result, and how the verdict came about or the error."""
    why: Why | None = None
    evidence: tuple[Evidence, ...] = ()
    """What its scores rest on."""
    asked: str | None = None
    """What the model was told, where `prompt` says more than that."""
    references: tuple[str, ...] = ()
    """The right answers, as far as its kind keeps them apart."""
    reply: str | None = None
    """All that the model said, where `text` is a part of it."""
    usage: ReplyUsage = UNKNOWN_USAGE
    """What the reply took, where a model was asked."""


class Results(Protocol):
    """A run as its journal and published files tell it; nothing is executed, nothing asked again."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""

    def partial_note(self) -> str:
        """Return what to say of a run that broke off, empty for a whole one."""

    def overview(self) -> dict[str, object]:
        """Return what the run is and its main numbers as plain JSON: every value beside its n and what is missing.

        `config` holds the options, `models` or `summary` the numbers.
        """

    def flat_rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield one flat row an attempt."""

    def cases(self) -> Iterator[Case]:
        """Yield one case an attempt, and a skipped one for each that is absent."""

    def sheet(self, metric: str | None) -> Sheet:
        """Return what a comparison reads: one metric's mark of every model on every sample.

        Raises:
            UsageError: the run has no such metric.
        """

    def page(self) -> Page:
        """Return everything that a report for people shows."""

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the files of a format that is not every run's, by path: `documented`, `lm-eval`.

        Raises:
            UsageError: this kind of run has no files of that format.
            DataError: it has, and this run is not finished.
        """

    @property
    def direction(self) -> Direction:
        """Which way is better of the scores that `entries` yields."""

    def entries(self) -> Iterator[Entry]:
        """Yield every attempt for the list of attempts, in the order in which they lie: that in which they were done."""

    def show_attempt(self, location: int) -> Shown:
        """Return the attempt at a location.

        Raises:
            ValueError: there is none.
        """


class RunKind(Protocol):
    """What reading a run asks of its kind, a part behind the plugin door; making one asks `markbook.runs.kind.Kind`."""

    reads_partial: bool
    """Whether the results of a run that broke off say what there is, and how much is lacking."""

    def results(self, run: Run) -> Results:
        """Return what there is to say of a run of this kind."""

    def is_answer(self, name: str) -> bool:
        """Whether an input of this name in run.json is what models gave, which may differ between compared runs."""


def find_kind(run: Run) -> RunKind:
    """Return the kind of a run.

    Raises:
        DataError: nothing installed knows it.
    """
    try:
        kind: RunKind = plugins.create("runs", run.command)
    except UsageError as error:
        raise DataError(
            f"a run of `markbook {run.command}` is of no kind that is known here", at=str(run.folder), hint=error.hint
        ) from error
    return kind


def open_results(run: Run, *, partial: bool = False) -> Results:
    """Return what there is to say of a run, whatever its kind.

    `partial`: one that broke off will do, where its kind can tell what is lacking.

    Raises:
        DataError: it is not finished, or nothing installed knows its kind.
    """
    kind = find_kind(run)
    if run.status not in ("done", "incomplete") and not (partial and kind.reads_partial):
        raise DataError(
            f"this run is {run.status}: samples that are not scored yet would count as missing",
            at=str(run.folder),
            hint="finish it with --resume",
        )
    return kind.results(run)


def get_seed(results: Results) -> int:
    """Return the seed by which a run's own files draw: whatever else shows its numbers has the same intervals by it."""
    seed = results.manifest.get("config", {}).get("seed", 0)
    return seed if isinstance(seed, int) else 0


def get_sheet(results: Results, metric: str | None) -> Sheet:
    """Return a run's sheet in which what is missing counts as in the run's own numbers.

    Raises:
        UsageError: the run has no such metric.
    """
    sheet, policy = results.sheet(metric), results.manifest.get("config", {}).get("missing")
    return count_missing(sheet, policy) if policy in ("worst", "fail") else sheet


def no_files(command: str, name: str) -> UsageError:
    """Return the error of a kind of run that has no files of a format."""
    return UsageError(
        f"a run of `markbook {command}` has no {name} files",
        hint="its own files are in its folder; html, md, csv and json can be made of every run",
    )
