"""What a page shows: finished words and numbers, which HTML, Markdown and the notebook lay out each in its way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markbook.report.charts import Picture
from markbook.report.words import costs
from markbook.results.sheet import Headline, Status
from markbook.text import Table
from markbook.why import Evidence, Why

MOST_BYTES = 2_500_000
"""Of foreign text in all problems of a page together; markup comes on top."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of the table below it."""

    picture: Picture
    alt: str
    """What it shows, for those who do not see it."""


@dataclass(frozen=True, slots=True)
class Section:
    """One topic of the page: words, at most one chart, and its tables."""

    id: str
    """Our own word, for links."""
    title: str
    lead: str
    """One or two sentences that say how to read it."""
    tables: Sequence[Table] = ()
    chart: Chart | None = None


@dataclass(frozen=True, slots=True)
class ShownTest:
    """One test of a problem and how each shown answer did."""

    text: str
    results: tuple[str, ...]
    """One word an answer: passed, failed, flagged, unchecked (it passed, and may be forged), or a dash without a result."""


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One attempt at a problem."""

    model: str
    label: str
    """The model, and which attempt where there are several."""
    status: Status
    score: float | None = None
    """0..1; None without an attempt."""
    passed: int = 0
    total: int = 0
    code: str = ""
    error: str = ""
    """Kind and message, empty where there was none."""
    note: str = ""
    why: Why | None = None
    evidence: tuple[Evidence, ...] = ()
    """What its scores rest on."""


_DIFFERENCE_LINES = 400
"""Lines of an answer that are compared with another's."""


def find_difference(answers: Iterable[ShownAnswer]) -> tuple[str, str, tuple[str, ...]] | None:
    """Return how the first answer that failed differs from the first that passed; None without both, or of equal ones."""
    answers = list(answers)
    right = next((answer for answer in answers if answer.status == "passed"), None)
    wrong = next((answer for answer in answers if answer.status != "passed" and answer.code.strip()), None)
    if right is None or wrong is None:
        return None
    import difflib  # late: right answers alone need none of it; its time grows with the square of the lines

    old, new = (answer.code.splitlines()[:_DIFFERENCE_LINES] for answer in (right, wrong))
    lines = tuple(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    return (right.label, wrong.label, lines) if lines else None


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with what the models made of it."""

    id: str
    prompt: str
    answers: tuple[ShownAnswer, ...]
    outcomes: tuple[tuple[str, Status, str], ...]
    """For each model its name, the worst status of its attempts, and that in numbers where a word is not enough."""
    topic: str = ""
    complexity: str = ""
    kind: str = ""
    checks: tuple[ShownTest, ...] = ()
    difference: tuple[str, str, tuple[str, ...]] | None = None
    """The label of a solving and of a failing answer, and the lines of their unified diff."""

    @property
    def size(self) -> int:
        """What is foreign in it, about as many characters as it takes on the page."""
        answers = sum(
            len(answer.code) + len(answer.error) + (answer.why.size if answer.why else 0) for answer in self.answers
        )
        checks = sum(len(check.text) for check in self.checks) + 60 * len(self.checks) * len(self.answers)
        difference = sum(map(len, self.difference[2])) if self.difference else 0
        return len(self.prompt) + answers + checks + difference + 120 * len(self.outcomes)


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """What was done, as name and value."""
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    problems: tuple[Problem, ...] = ()
    problems_total: int = 0
    """How many there are, shown here or not."""
    items: str = "problems"
    """What a problem is called here: papers, rows."""
    models: tuple[str, ...] = ()
    topics: tuple[str, ...] = field(default=())
    topic: str = "Topic"
    headline: Headline = field(default_factory=Headline)
    """The result in one sentence, and what would tell more."""


def show_start(started: object) -> str:
    """Return when a run began, to the minute."""
    text = str(started or "")
    return text[:16].replace("T", " ") + (" UTC" if text.endswith("+00:00") else "")


def of_run(page: Page, manifest: Mapping[str, Any]) -> Page:
    """Return a page that says in its head which run it is of: its labels, day, command, version and inputs."""
    inputs, tags = manifest.get("inputs") or {}, manifest.get("tags")
    digests = [f"{name} {str(digest)[:12]}" for name, digest in sorted(inputs.items())]
    more = f" and {len(digests) - 3} more" if len(digests) > 3 else ""
    facts = (
        ("Run", str(manifest.get("name") or "")),
        ("Tags", ", ".join(map(str, tags if isinstance(tags, list) else ()))),
        ("Notes", str(manifest.get("notes") or "")),
        ("Started", show_start(manifest.get("started"))),
        ("Made by", f"markbook {manifest.get('command', '')} {manifest.get('markbook', '')}".strip()),
        *((who, words) for who, words in costs(manifest) if who == "Model"),  # a cassette changes what judges took
        ("Inputs (SHA-256)", ", ".join(digests[:3]) + more),
    )
    return replace(page, facts=(*page.facts, *((name, value) for name, value in facts if value)))
