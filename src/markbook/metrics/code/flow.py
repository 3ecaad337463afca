"""Data flow: which value each variable comes from, as CodeBLEU defines it.

A parser's walk writes down a program of steps in the order in which the source runs: the right side of an assignment
before the left, the branches of an if each from the same state, a loop's body twice so that a value can flow around.
Running the steps gives the edges. Every set is an ordered one, so that the result depends on the source alone (in the
widely used package it depends on the hash seed).
Source: Ren et al. 2020, section 3.3, and the graph of Guo et al. 2021 (GraphCodeBERT) that it builds on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

MAX_STEPS = 1_000_000
"""More steps than any program of `MAX_NODES` takes unless its loops stand in dozens of others."""

Edge = tuple[int, ...]
"""A variable, 0 (comes from) or 1 (is computed from), and the variables its value is from; all by number."""

States = dict[str, tuple[int, ...]]
"""For each variable, the tokens that gave it its current value."""


class Bind(NamedTuple):
    """Variables get their value from others."""

    targets: Sequence[int]
    sources: Sequence[int]
    is_computed: bool = True
    is_listed: bool = True
    """Whether a source that is named twice counts twice: so it is in an assignment that runs once."""


class Loop(NamedTuple):
    """Steps that run, and run again."""

    first: list[Step]
    again: list[Step]


class Branch(NamedTuple):
    """Steps of which one side runs, each from the state before."""

    main: list[Step]
    others: list[list[Step]]
    is_complete: bool
    """Whether one of the sides always runs: there is an else."""


Step: TypeAlias = "int | Bind | Loop | Branch"
"""The use of a token, by its number, or one of the three above."""


@dataclass(slots=True)
class TokenFlow:
    """The tokens of a source that may carry a value, in its order, and what is done with them."""

    names: list[str] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    """Tokens that name no variable: numbers, strings."""
    steps: list[Step] = field(default_factory=list)
    unseen: set[int] = field(default_factory=set)
    """Tokens that no step uses."""


class _TooLongError(Exception):
    """The run has used up its steps."""


def edges(program: TokenFlow) -> Counter[Edge]:
    """Return the data-flow edges of a program, each with how often it occurs.

    Variables are numbered in the order in which they appear. Empty where no value moves, and where it would take more
    than `MAX_STEPS` or more of Python's stack than there is: such a program has no flow that could be compared within
    seconds.
    """
    run = _Run(program)
    try:
        run.steps(program.steps, {})
    except (_TooLongError, RecursionError):
        return Counter()
    return run.edges()


class _Run:
    """One run of a program."""

    def __init__(self, program: TokenFlow) -> None:
        self.names = program.names
        self.unseen = program.unseen
        self.left = MAX_STEPS
        self.constants = frozenset(program.constants)
        self.bound: set[int] = set()
        """Tokens whose variable had a value when they were used."""
        self.used: set[int] = set()
        """Tokens that a value moved to or from."""
        self.binds: dict[int, Bind] = {}
        self.repeated: set[int] = set()
        """Targets that were bound more than once."""
        self.looped: set[int] = set()

    def steps(self, steps: Sequence[Step], states: States) -> None:
        """Run steps; the states become those after them."""
        names, constants, bound, used = self.names, self.constants, self.bound, self.used
        self.left -= len(steps)
        if self.left < 0:
            raise _TooLongError
        for step in steps:
            if step.__class__ is int:
                name = names[step]
                places = states.get(name)
                if places is not None:
                    bound.add(step)
                    used.update(places)
                elif step not in constants:
                    states[name] = (step,)
            elif step.__class__ is Bind:
                self._bind(step, states)
            elif step.__class__ is Loop:
                self._loop(step, states)
            elif isinstance(step, Branch):
                self._branch(step, states)

    def _bind(self, step: Bind, states: States) -> None:
        targets, sources, _, _ = step
        self.left -= len(targets) * (1 + len(sources) // 8)
        if targets and sources:
            self.used.update(targets)
            self.used.update(sources)
        for target in targets:
            if target in self.binds:
                self.repeated.add(target)
            else:
                self.binds[target] = step
            states[self.names[target]] = (target,)

    def _loop(self, step: Loop, states: States) -> None:
        """Run a loop twice, but once in the later rounds of a loop around it.

        What a variable holds in a later round is what it held in an earlier one or what the loop around gave it, and
        the one run sees both: a third or fourth run finds nothing new, and to make them all would take time that
        doubles with every loop around a loop.
        """
        self.steps(step.first, states)
        if id(step) not in self.looped:
            self.looped.add(id(step))
            self.steps(step.again, states)

    def _branch(self, step: Branch, states: States) -> None:
        before = states.copy()
        self.steps(step.main, states)
        ends = []
        for other in step.others:
            end = before.copy()
            self.steps(other, end)
            ends.append(end)
        if not step.is_complete:
            ends.append(before)
        self.left -= len(before) * (len(ends) + 1) // 8  # copying is work too
        for end in ends:
            for name, places in end.items():
                mine = states.get(name)
                if mine is None:
                    states[name] = places
                elif mine != places:
                    states[name] = tuple({*mine, *places})

    def edges(self) -> Counter[Edge]:
        """Return what the run found."""
        names, bound, binds = self.names, self.bound, self.binds
        numbers: dict[str, int] = {}
        edges: list[Edge] = []
        for token in sorted((bound | self.used) - self.unseen):
            bind, name = binds.get(token), names[token]
            if bind is None:
                number = numbers.setdefault(name, len(numbers))
                edges.append((number, 0, number) if token in bound else (number, 0))
                continue
            _, places, is_computed, is_listed = bind
            edge = [numbers.setdefault(names[source], len(numbers)) for source in places]
            if token in self.repeated or not is_listed:
                edge = list(dict.fromkeys(edge))
            edges.append((numbers.setdefault(name, len(numbers)), int(is_computed), *edge))
        return Counter(edges)
