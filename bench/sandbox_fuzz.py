"""Searching for a way around the sandbox: `python -m bench.sandbox_fuzz --minutes 60 --seed 1`.

Candidates are made up at random (`_candidates.py`) before wrong answers to the problems of `tests/security/attacks/shapes.py`, run
in batches at level A and B in turn, with and without a canonical solution, honest answers in between. Counted are passes
by their label, runs that were aborted, and honest answers that lost marks. Each find is made as small as it can be and
written to `generated/sandbox_fuzz` (`--finds`) as a program that `tests/security/attacks` can take over. The exit code is 1 if a wrong
answer passed as separated or in_process, a run was aborted or an honest answer lost marks. Nothing is run below the
level of the batch. A seed makes the same candidates each time; what they do may hang on the clock.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench._candidates import Maker, Piece, source
from markbook.sandbox import Job, Sandbox
from markbook.types import Isolation, Limits, Outcome

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "security")]
LIMITS = Limits(seconds=0.3, wall_seconds=0.6, memory_bytes=1 << 30, processes=20)
BATCH = 60
"""Candidates that are run at once, with an honest answer after every tenth."""
TURN = 5
"""Batches before the other level has its turn, in a sandbox made anew."""
TRIES = 3
"""How often a smaller candidate may be tried: some pass by chance."""
_NEAR = {
    "asyncio": ["async_main", "async_gather", "async_loop", "awaited", "beside_async"],
    "random": ["drawn", "drawn_check"],
    "unittest": ["unittest", "assertions", "beside_unittest", "beside_assertions", "beside_mock"],
    "liar": [
        "starts",
        "within",
        "text",
        "subset",
        "mapping",
        "ordered",
        "close",
        "equal",
        "length",
        "keyed",
        "array",
        "array_sum",
    ],
    "raises": ["map_all", "filtered", "stepped_over", "sequence", "swallowed", "suppressed", "raises", "tried"],
    "asks": ["loop", "cases", "drawn", "close", "check_calls", "imports", "imports_from", "map_all"],
}
"""Problems that have to do with what a piece does, by a word of its kind: they are drawn more often than others."""
_TURNS = [(0, Isolation.A), (0, Isolation.B), (1, Isolation.A), (0, Isolation.B), (0, Isolation.A), (1, Isolation.B)]
"""Which search has which turn, and its level; that with packages, which make every fork dear, has one in three."""
KEPT = 2
"""Finds of the same kinds of pieces, against the same shape, that are made small and written."""


@dataclass(frozen=True)
class Candidate:
    """One wrong answer with what stands around it."""

    number: int
    shape: str
    known: bool
    """Whether the examiner has a right answer."""
    pieces: tuple[Piece, ...]


@dataclass
class Tally:
    """What has been seen."""

    attempts: int = 0
    passes: Counter[str] = field(default_factory=Counter)
    """Passes of wrong answers by label."""
    kinds: Counter[str] = field(default_factory=Counter)
    """The finds by what they need."""
    seen: Counter[tuple[object, ...]] = field(default_factory=Counter)
    aborted: int = 0
    disturbed: int = 0
    controls: int = 0

    @property
    def is_bad(self) -> bool:
        """Whether something was found that must not be."""
        return bool(self.passes["separated"] + self.passes["in_process"] + self.aborted + self.disturbed)

    def line(self) -> str:
        """Return it in one line."""
        passes = ", ".join(f"{self.passes[label]} {label}" for label in ("separated", "in_process", "unchecked"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return (
            f"{self.attempts} attempts; passed: {passes}; {self.aborted} runs aborted; {self.disturbed} of {self.controls} "
            f"honest answers disturbed; {memory} MiB"
        )


class Search:
    """Runs batches and looks into what passes."""

    def __init__(self, seed: int, finds: Path, shapes: list[str]) -> None:
        import attacks.shapes as problems

        self.seed = seed
        self.finds = finds
        self.tally = Tally()
        self._shapes = {name: problems.SHAPES[name] for name in shapes}
        self._given = problems.GIVEN
        self._samples = {
            (name, known): shape.sample(canonical=known)
            for name, shape in self._shapes.items()
            for known in (True, False)
        }
        self._maker = Maker(random.Random(seed))
        self._number = 0
        self._level = Isolation.A
        self._box: Sandbox | None = None

    @property
    def box(self) -> Sandbox:
        """The sandbox that is open."""
        if self._box is None:
            wanted = "strict" if self._level == Isolation.A else "auto"
            self._box = Sandbox(workers=1, isolation=wanted, at_most=self._level, dedupe=False)  # type: ignore[arg-type]  # one of these two
            self._box.start()
        return self._box

    def close(self) -> None:
        """Close the sandbox that is open."""
        box, self._box = self._box, None
        if box is not None:
            box.close()

    def turn(self, level: Isolation) -> None:
        """Go on at a level."""
        self.close()
        self._level = level

    def candidates(self) -> list[Candidate]:
        """Make a batch up: each set of pieces against three shapes."""
        chance, made = self._maker.chance, []
        while len(made) < BATCH:
            pieces = tuple(self._maker.pieces())
            for name in self._drawn(pieces):
                known = chance.random() < 0.5 or self._shapes[name].proof
                made.append(Candidate(self._number, name, known, pieces))
            self._number += 1
        return made

    def _drawn(self, pieces: tuple[Piece, ...]) -> list[str]:
        """Return three problems, those first that have to do with what the pieces do."""
        chance, every = self._maker.chance, list(self._shapes)
        text = " ".join(kind for kind, _ in pieces)
        near = [name for word, names in _NEAR.items() if word in text for name in names if name in self._shapes]
        first = chance.sample(near, min(len(near), 2)) if chance.random() < 0.7 else []
        rest = chance.sample(every, min(3, len(every)))
        return list(dict.fromkeys([*first, *rest]))[:3]

    def _job(self, key: object, one: Candidate) -> Job:
        given = f"MARKER = ''\n{self._given}{self._shapes[one.shape].wrong}"
        return Job(key, source(given, list(one.pieces)), self._samples[one.shape, one.known], LIMITS)  # type: ignore[arg-type]  # never read

    def batch(self) -> None:
        """Run one batch and look into what passed."""
        made = self.candidates()
        jobs: list[Job] = []
        names = list(self._shapes)
        for place, one in enumerate(made):
            jobs.append(self._job(place, one))
            if place % 10 == 9:
                name = names[(self._number + place) % len(names)]
                jobs.append(Job(f"honest {name}", self._shapes[name].right, self._samples[name, True], LIMITS))
        passed: list[tuple[Candidate, str]] = []
        try:
            for job, outcome in self.box.run(jobs):
                self._note(job.key, outcome, made, passed)
        except Exception as error:  # noqa: BLE001 - whatever ends a run is a find
            self._aborted(made, error)
            return
        for one, label in passed:
            self._look_into(one, label)

    def _note(self, key: object, outcome: Outcome, made: list[Candidate], passed: list[tuple[Candidate, str]]) -> None:
        if isinstance(key, int):
            self.tally.attempts += 1
            label = label_of(outcome)
            if label:
                self.tally.passes[label] += 1
                passed.append((made[key], label))
            return
        self.tally.controls += 1
        if not all(result.passed for result in outcome.tests):
            self.tally.disturbed += 1
            print(
                f"DISTURBED {key} near candidate {made[0].number}: {outcome.error_type} {outcome.error_message}",
                flush=True,
            )

    def _aborted(self, made: list[Candidate], error: Exception) -> None:
        self.tally.aborted += 1
        print(f"ABORTED near candidate {made[0].number} at {self._level}: {type(error).__name__} {error}", flush=True)
        self._box = None

    def _passes(self, one: Candidate) -> str:
        for _ in range(TRIES):
            for _, outcome in self.box.run([self._job(0, one)]):
                label = label_of(outcome)
                if label:
                    return label
        return ""

    def _look_into(self, one: Candidate, label: str) -> None:
        """Leave out what it does not need; write it if its like is not yet there."""
        kinds = tuple(sorted({kind for kind, _ in one.pieces}))
        signature = (one.shape, one.known, label, kinds)
        self.tally.seen[signature] += 1
        if label == "unchecked" or self.tally.seen[signature] > KEPT:
            return
        pieces = list(one.pieces)
        for piece in one.pieces:
            fewer = [other for other in pieces if other is not piece]
            smaller = Candidate(one.number, one.shape, one.known, tuple(fewer))
            if self._passes(smaller):
                pieces = fewer
        needed = ", ".join(sorted({kind for kind, _ in pieces})) or "nothing"
        self.tally.kinds[f"{label} against {one.shape}: {needed}"] += 1
        small = (one.shape, one.known, label, needed)
        self.tally.seen[small] += 1
        if self.tally.seen[small] <= KEPT:
            self._write(one, label, pieces, needed)

    def _write(self, one: Candidate, label: str, pieces: list[Piece], needed: str) -> None:
        header = (
            f"# Passes as {label} at level {self._level}; it {needed}. Seed {self.seed}, candidate {one.number}.\n"
            f"# against: {one.shape}\n# canonical: {'with' if one.known else 'without'}\n# attempts: {TRIES}\n"
        )
        self.finds.mkdir(parents=True, exist_ok=True)
        path = self.finds / f"found_{self.seed}_{one.number}_{one.shape}_{'with' if one.known else 'without'}.py"
        path.write_text(header + source("", pieces), encoding="utf-8")


def label_of(outcome: Outcome) -> str:
    """Return the least trustworthy claim among the passes of an attempt with a wrong answer, empty for none."""
    labels = {result.verdict.value for result in outcome.tests if result.passed}
    return next((label for label in ("separated", "in_process", "unchecked") if label in labels), "")


def main() -> None:
    """Search until the time is up."""
    parser = argparse.ArgumentParser(description="Search for a way around the sandbox.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--finds", type=Path, default=ROOT / "generated" / "sandbox_fuzz", help="where finds are written"
    )
    parser.add_argument("--shapes", default="", help="only these problems, between commas")
    options = parser.parse_args()
    from attacks.shapes import GROUPS, SHAPES

    plain = (
        options.shapes.split(",") if options.shapes else [name for name in GROUPS["all"] if not SHAPES[name].modules]
    )
    with_numpy = [name for name in GROUPS["numpy"] if importlib.util.find_spec("numpy") and not options.shapes]
    searches = [Search(options.seed, options.finds, plain)]
    if with_numpy:
        searches.append(Search(options.seed + 1_000_000, options.finds, with_numpy))
    end = time.monotonic() + 60 * options.minutes
    turn = 0
    while time.monotonic() < end:
        place, level = _TURNS[turn % len(_TURNS)]
        search = searches[place if place < len(searches) else 0]
        search.turn(level)
        for _ in range(TURN):
            if time.monotonic() < end:
                search.batch()
        turn += 1
        if turn % len(_TURNS) == 0:
            print(*(search.tally.line() for search in searches), sep="\n", flush=True)
        search.close()
    _report(searches)


def _report(searches: list[Search]) -> None:
    for search in searches:
        print(f"seed {search.seed}: {search.tally.line()}")
        for kind, count in search.tally.kinds.most_common():
            print(f"  {count:5} {kind}")
    sys.exit(1 if any(search.tally.is_bad for search in searches) else 0)


if __name__ == "__main__":
    main()
