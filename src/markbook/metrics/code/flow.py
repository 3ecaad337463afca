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
        # Not only steps but their sizes count: one step may bind many targets to many sources.
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
        # Each side starts from the state before the branch; what a side that may not run leaves is added, not put in its place.
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


# From a syntax tree of any grammar to what is compared: the shapes of its sub-trees and the steps of its data flow.

STRINGS = frozenset({"string", "string_literal", "character_literal"})
"""Nodes that are one token for the data flow, although they have parts for the syntax."""
_ONCE = frozenset({"initializer", "initialize", "init"})
"""The fields of a C-like for that run once."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The node kinds of one language that move values."""

    assignments: frozenset[str] = frozenset()
    """Kinds with the fields `left` and `right`."""
    pairwise: bool = False
    """Whether an assignment with as many targets as values pairs them (Python, Go)."""
    declarations: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Kinds with a name and a value, by the two fields; `#1` is the second named child without a field."""
    updates: frozenset[str] = frozenset()
    """Kinds such as `i++`."""
    branches: frozenset[str] = frozenset()
    alternatives: frozenset[str] = frozenset()
    """Kinds that stand in a branch and start again from the state before it."""
    loops: frozenset[str] = frozenset()
    """Kinds that run all their children twice."""
    counted: frozenset[str] = frozenset()
    """Kinds of a C-like for: the `initializer` (or `init`) runs once, the rest twice."""
    each: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Kinds of a for-each, by the fields of target, values and body, as above."""
    first: frozenset[str] = frozenset()
    """Kinds that run before their siblings, and are never paired: the `for` of a comprehension."""
    names: frozenset[str] = frozenset({"identifier"})
    """Kinds of a token that names a variable."""

    @property
    def special(self) -> frozenset[str]:
        """Every kind that does more than run its children in order."""
        return frozenset().union(
            self.declarations, self.assignments, self.updates, self.branches, self.alternatives, self.loops,
            self.counted, self.each,
        )  # fmt: skip


class SyntaxNode(NamedTuple):
    """A node, named as the grammar names it. Comments are left out."""

    kind: str
    field: str | None
    start: int
    """Its tokens, by number: from here on, up to the next."""
    end: int
    children: Sequence[SyntaxNode]
    is_named: bool
    """Whether it is a rule of the grammar; the others are the literal tokens between them."""
    is_special: bool
    """Whether it, or a node in it, moves values."""
    shape: int

    @property
    def tokens(self) -> range:
        """The tokens in it that may carry a value."""
        return range(self.start, self.end)

    def find_child(self, field: str) -> SyntaxNode | None:
        """Return the child in a field or, for `#n`, the n-th named one that stands in none."""
        if not field.startswith("#"):
            return next((child for child in self.children if child.field == field), None)
        nameless = [child for child in self.children if child.is_named and child.field is None]
        index = int(field[1:])
        return nameless[index] if index < len(nameless) else None


class Steps:
    """Writes the steps of a tree into its program."""

    def __init__(self, grammar: Grammar, program: TokenFlow) -> None:
        self.grammar = grammar
        self.program = program
        self.program.unseen = set(range(len(program.names)))

    def visit(self, node: SyntaxNode | None, out: list[Step]) -> None:
        """Add the steps of a node."""
        if node is None:
            return
        kind, grammar = node.kind, self.grammar
        if not node.is_special:
            self.program.unseen.difference_update(node.tokens)
            out += node.tokens
        elif kind in grammar.declarations:
            self._declaration(node, out)
        elif kind in grammar.assignments:
            self._assignment(node, out)
        elif kind in grammar.updates:
            self._bind(Bind(node.tokens, node.tokens, is_listed=False), out)
        elif kind in grammar.branches or kind in grammar.alternatives:
            self._branch(node, out)
        elif kind in grammar.each:
            self._each(node, out)
        elif kind in grammar.loops or kind in grammar.counted:
            first = self._all(node.children)
            again = [child for child in node.children if child.field not in _ONCE]
            out.append(Loop(first, first if kind in grammar.loops else self._all(again)))
        else:
            early = [child for child in node.children if child.kind in grammar.first]
            late = [child for child in node.children if child.kind not in grammar.first] if early else node.children
            out += self._all([*early, *late])

    def _all(self, nodes: Sequence[SyntaxNode]) -> list[Step]:
        out: list[Step] = []
        for node in nodes:
            self.visit(node, out)
        return out

    def _bind(self, bind: Bind, out: list[Step]) -> None:
        self.program.unseen.difference_update(bind.targets)
        out.append(bind)

    def _declaration(self, node: SyntaxNode, out: list[Step]) -> None:
        name_field, value_field = self.grammar.declarations[node.kind]
        name, value = node.find_child(name_field), node.find_child(value_field)
        self.visit(value, out)
        targets: Sequence[int] = name.tokens if name is not None else ()
        if value is None:
            self._bind(Bind(targets, (), is_computed=False), out)
        elif value.tokens:
            self._bind(Bind(targets, value.tokens, is_computed=False, is_listed=False), out)
        else:
            out.append(Bind(targets, ()))  # `a=[]`: a value from nowhere, which is not an edge

    def _assignment(self, node: SyntaxNode, out: list[Step]) -> None:
        left_side, right = node.find_child("left"), node.find_child("right")
        if left_side is not None and right is None and node.kind in self.grammar.first:
            right = node.children[-1]
        if left_side is None or right is None:
            return  # `x: int` alone declares and moves nothing
        self._flow(left_side, right, out, paired=node.kind not in self.grammar.first)

    def _flow(self, left_side: SyntaxNode, right: SyntaxNode, out: list[Step], *, paired: bool = True) -> None:
        """Add the steps of evaluating all right sides, then of binding all left sides."""
        pairs = [(left_side, right)]
        if paired and self.grammar.pairwise:
            lefts, rights = _parts(left_side), _parts(right)
            if lefts and len(lefts) == len(rights):
                pairs = list(zip(lefts, rights, strict=True))
        for _, source in pairs:
            self.visit(source, out)
        for target, source in pairs:
            self._bind(Bind(target.tokens, source.tokens), out)

    def _branch(self, node: SyntaxNode, out: list[Step]) -> None:
        main, sides = list[Step](), list[list[Step]]()
        for child in node.children:
            if child.kind in self.grammar.alternatives or (child.field == "alternative" and child.is_named):
                sides.append(self._all([child]))
            else:
                self.visit(child, main)
        if node.kind in self.grammar.alternatives and not sides:
            out += main  # what happens where it does not run is the matter of the branch that it is a side of
        else:
            out.append(Branch(main, sides, self._is_complete(node)))

    def _is_complete(self, node: SyntaxNode) -> bool:
        """Tell whether one side always runs: an else stands in the branch, or in its last else-if."""
        return any(
            "else" in child.kind or (child.kind in self.grammar.alternatives and self._is_complete(child))
            for child in node.children
        )

    def _each(self, node: SyntaxNode, out: list[Step]) -> None:
        target, values, body = (node.find_child(name) for name in self.grammar.each[node.kind])
        steps: list[Step] = []
        if target is not None and values is not None:
            self._flow(target, values, steps)
        self.visit(body, steps)
        self.visit(node.find_child("alternative"), steps)
        out.append(Loop(steps, steps))


def _parts(node: SyntaxNode) -> list[SyntaxNode]:
    """Return the children that an assignment may pair; a text is one value, whatever it is made of."""
    return [] if node.kind in STRINGS else [child for child in node.children if child.kind != ","]
