"""Data flow: which value each variable comes from, as CodeBLEU defines it.

The walk follows the order in which a program runs: the right side of an assignment before the left, the branches of an
if each from the same state, a loop's body twice so that a value can flow around. Every set is an ordered one, so that
the result depends on the source alone (in the widely used package it depends on the hash seed).
Source: Ren et al. 2020, section 3.3, and the graph of Guo et al. 2021 (GraphCodeBERT) that it builds on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from markbook.metrics._code_tree import STRINGS, Node

MAX_STEPS = 200_000
"""A loop's body is walked twice, so every loop around it doubles the steps: twenty would be a million times as many."""

Edge = tuple[str, str, tuple[str, ...]]
"""A variable, `comesFrom` or `computedFrom`, and the variables its value is from; all renamed `var_0`, `var_1`, ..."""

States = dict[str, tuple[int, ...]]
"""For each variable, the tokens that gave it its current value."""


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
    """Kinds of an if."""
    alternatives: frozenset[str] = frozenset()
    """Kinds that stand in a branch and start again from the state before it."""
    loops: frozenset[str] = frozenset()
    """Kinds that run all their children twice."""
    counted: frozenset[str] = frozenset()
    """Kinds of a C-like for: the `initializer` (or `init`) runs once, the rest twice."""
    each: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Kinds of a for-each, by the fields of target, values and body, as above."""
    first: frozenset[str] = frozenset()
    """Kinds that run before their siblings: the `for` of a comprehension."""
    names: frozenset[str] = frozenset({"identifier"})
    """Kinds of a token that names a variable."""


class _TooLongError(Exception):
    """The walk has used up its steps."""


class _Item:
    """One step: a variable at a token, and where its value is from."""

    __slots__ = ("index", "name", "places", "relation", "sources")

    def __init__(self, name: str, index: int, relation: str, sources: list[str], places: list[int]) -> None:
        self.name = name
        self.index = index
        self.relation = relation
        self.sources = sources
        self.places = places


def edges(root: Node, grammar: Grammar) -> Counter[Edge]:
    """Return the data-flow edges of a tree, each with how often it occurs.

    Empty where no value moves, and where the walk would take more than `MAX_STEPS` or more of Python's stack than
    there is: such a program has no data flow that could be compared within seconds.
    """
    walk = _Walk(root, grammar)
    try:
        items, _ = walk.visit(root, {})
    except (_TooLongError, RecursionError):
        return Counter()
    items.sort(key=lambda item: item.index)
    used: set[int] = set()
    for item in items:
        if item.places:
            used.add(item.index)
            used.update(item.places)
    merged: dict[int, _Item] = {}
    for item in items:
        if item.index not in used:
            continue
        held = merged.get(item.index)
        if held is None:
            merged[item.index] = item
        else:
            sources = list(dict.fromkeys(held.sources + item.sources))
            merged[item.index] = _Item(held.name, held.index, held.relation, sources, held.places)
    return _renamed(list(merged.values()))


def _renamed(items: list[_Item]) -> Counter[Edge]:
    """Return the edges with the variables numbered in the order in which they appear."""
    numbers: dict[str, str] = {}
    found: Counter[Edge] = Counter()
    for item in items:
        for name in (*item.sources, item.name):
            numbers.setdefault(name, f"var_{len(numbers)}")
        found[numbers[item.name], item.relation, tuple(numbers[name] for name in item.sources)] += 1
    return found


class _Walk:
    """The walk over one tree; `visit` takes the state before a node and returns the state after it."""

    def __init__(self, root: Node, grammar: Grammar) -> None:
        self.grammar = grammar
        self.steps = 0
        self.special: frozenset[str] = frozenset().union(
            grammar.declarations, grammar.assignments, grammar.updates, grammar.branches, grammar.alternatives,
            grammar.each, grammar.loops, grammar.counted,
        )  # fmt: skip
        self.index: dict[int, int] = {}
        stack = [root]
        while stack:
            node = stack.pop()
            if not node.children or node.kind in STRINGS:
                self.index[id(node)] = len(self.index)
            else:
                stack.extend(reversed(node.children))

    def visit(self, node: Node, states: States) -> tuple[list[_Item], States]:
        """Return the steps of a node, and the state after it. The state given is not changed."""
        grammar, kind = self.grammar, node.kind
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise _TooLongError
        if not node.children or kind in STRINGS:
            return self._token(node, states)
        if kind not in self.special:
            if not grammar.first:
                return self._run(node.children, states)
            first = [child for child in node.children if child.kind in grammar.first]
            rest = [child for child in node.children if child.kind not in grammar.first] if first else node.children
            return self._run([*first, *rest], states)
        if kind in grammar.declarations:
            return self._declaration(node, states)
        if kind in grammar.assignments:
            return self._assignment(node, states)
        if kind in grammar.updates:
            return self._update(node, states)
        if kind in grammar.branches or kind in grammar.alternatives:
            return self._branch(node, states)
        if kind in grammar.each:
            return self._each(node, states)
        if kind in grammar.loops:
            return self._twice(node.children, node.children, states)
        names = ("initializer", "initialize", "init")
        again = [child for child in node.children if child.field not in names]
        return self._twice(node.children, again, states)

    def _run(self, nodes: list[Node], states: States) -> tuple[list[_Item], States]:
        found: list[_Item] = []
        for node in nodes:
            if node.children or node.kind != node.text:  # a literal token of the grammar moves nothing
                items, states = self.visit(node, states)
                found += items
        return found, states

    def _token(self, node: Node, states: States) -> tuple[list[_Item], States]:
        name = node.text
        if node.kind == name:
            return [], states
        index = self.index[id(node)]
        if name in states:
            return [_Item(name, index, "comesFrom", [name], list(states[name]))], states
        if node.kind in self.grammar.names:
            states = {**states, name: (index,)}
        return [_Item(name, index, "comesFrom", [], [])], states

    def _variables(self, node: Node | None) -> list[tuple[str, int]]:
        """Return the tokens under a node that are not literal tokens of the grammar, in order."""
        found = []
        stack = [node] if node is not None else []
        while stack:
            one = stack.pop()
            if not one.is_token:
                stack.extend(reversed(one.children))
            elif one.kind != one.text:
                found.append((one.text, self.index[id(one)]))
        return found

    def _declaration(self, node: Node, states: States) -> tuple[list[_Item], States]:
        name_field, value_field = self.grammar.declarations[node.kind]
        names, value = self._variables(node.child(name_field)), _part(node, value_field)
        if value is None:
            found = [_Item(name, index, "comesFrom", [], []) for name, index in names]
            return found, {**states, **{name: (index,) for name, index in names}}
        found, states = self.visit(value, states)
        for name, index in names:
            for source, place in self._variables(value):
                found.append(_Item(name, index, "comesFrom", [source], [place]))
        return found, {**states, **{name: (index,) for name, index in names}}

    def _sides(self, left: Node, right: Node) -> list[tuple[Node, Node]]:
        if self.grammar.pairwise:
            lefts = [child for child in left.children if child.kind != ","]
            rights = [child for child in right.children if child.kind != ","]
            if lefts and len(lefts) == len(rights):
                return list(zip(lefts, rights, strict=True))
        return [(left, right)]

    def _assignment(self, node: Node, states: States) -> tuple[list[_Item], States]:
        left, right = node.child("left"), node.child("right")
        if left is None or right is None:
            # `x: int` alone declares and moves nothing; the `in` part of a for clause has its value last.
            right = node.children[-1] if left is not None and node.kind in self.grammar.first else None
        if left is None or right is None:
            return [], states
        found, states = self._flow(self._sides(left, right), states)
        return found, states

    def _flow(self, sides: list[tuple[Node, Node]], states: States) -> tuple[list[_Item], States]:
        """Return the steps of evaluating all right sides, then binding all left sides."""
        found: list[_Item] = []
        for _, right in sides:
            items, states = self.visit(right, states)
            found += items
        for left, right in sides:
            sources = self._variables(right)
            targets = self._variables(left)
            for name, index in targets:
                found.append(
                    _Item(name, index, "computedFrom", [one for one, _ in sources], [place for _, place in sources])
                )
            states = {**states, **{name: (index,) for name, index in targets}}
        return found, states

    def _update(self, node: Node, states: States) -> tuple[list[_Item], States]:
        names = self._variables(node)
        found = [
            _Item(name, index, "computedFrom", [other], [place]) for name, index in names for other, place in names
        ]
        return found, {**states, **{name: (index,) for name, index in names}}

    def _branch(self, node: Node, states: States) -> tuple[list[_Item], States]:
        found: list[_Item] = []
        current, ends = states, []
        has_else = node.kind in self.grammar.alternatives
        for child in node.children:
            has_else = has_else or "else" in child.kind
            if child.kind in self.grammar.alternatives or (child.field == "alternative" and child.named):
                items, end = self.visit(child, states)
                ends.append(end)
                has_else = True
            else:
                items, current = self.visit(child, current)
            found += items
        ends.append(current)
        if not has_else:
            ends.append(states)
        joined: dict[str, set[int]] = {}
        for end in ends:
            for name, places in end.items():
                joined.setdefault(name, set()).update(places)
        return found, {name: tuple(sorted(places)) for name, places in joined.items()}

    def _twice(self, once: list[Node], again: list[Node], states: States) -> tuple[list[_Item], States]:
        found, states = self._run(once, states)
        more, states = self._run(again, states)
        return _merged(found + more), states

    def _each(self, node: Node, states: States) -> tuple[list[_Item], States]:
        target, values, body = (_part(node, name) for name in self.grammar.each[node.kind])
        found: list[_Item] = []
        for _ in range(2):
            if target is not None and values is not None:
                items, states = self._flow(self._sides(target, values), states)
                found += items
            for part in (body, node.child("alternative")):
                if part is not None:
                    items, states = self.visit(part, states)
                    found += items
        return _merged(found), states


def _part(node: Node, field: str) -> Node | None:
    """Return the child in a field or, where the grammar names none, the one at a place."""
    if not field.startswith("#"):
        return node.child(field)
    nameless = [child for child in node.children if child.named and child.field is None]
    place = int(field[1:])
    return nameless[place] if place < len(nameless) else None


def _merged(items: list[_Item]) -> list[_Item]:
    """Return the steps of a loop with those of the two rounds at one token made one."""
    merged: dict[tuple[str, int, str], _Item] = {}
    for item in items:
        key = (item.name, item.index, item.relation)
        held = merged.get(key)
        if held is None:
            merged[key] = item
        else:
            sources = list(dict.fromkeys(held.sources + item.sources))
            places = sorted({*held.places, *item.places})
            merged[key] = _Item(item.name, item.index, item.relation, sources, places)
    return sorted(merged.values(), key=lambda item: item.index)
