"""A test with one mutated expectation: a solution that passes the mutant too was not judged by the test."""

from __future__ import annotations

import ast

from ..marking import Compiled, Result
from . import expressions, mutated_values
from .mutated_expectations import ExpectationFinder
from .mutation_operators import SURE, ExpectedValues
from .programs import FILE, BrokenTest, compile_test, flatten, list_parts

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from .mutation_operators import MutationSite


_FAULTS = (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError, BrokenTest)

_REDRAWN = 20
"""So many wrong values are drawn for a literal before one is taken that comes to the same."""


def _constants(site: MutationSite) -> list[ast.Constant]:
    """Return the constants of what is expected there, where no right answer passes with others."""
    return expressions.constants(site.node) if site.node is not None and site.rank == SURE else []


class _Parse:
    """The trees of a test with what can be made wrong in them, to be used for one mutant after the other.

    To restore the trees takes a twentieth of the time that it takes to parse a long test and to look through it again.
    """

    def __init__(self, trees: dict[str, Any], sites: list[MutationSite], pool: ExpectedValues) -> None:
        self.trees, self.sites, self.pool = trees, sites, pool
        self._nodes = [
            # changes are made by sites that hold these very lists
            (node, dict(vars(node)), [(value, value[:]) for value in vars(node).values() if type(value) is list])
            for tree in trees.values()
            for node in ast.walk(tree)
        ]

    def restore(self) -> None:
        """Undo what was changed in the trees."""
        for node, fields, lists in self._nodes:
            vars(node).clear()
            vars(node).update(fields)
            for items, before in lists:
                items[:] = before


_MOST_PARSED = 4
"""Tests whose trees are kept: one mutant of few long tests comes after the other, and short tests are parsed in no time."""
_parsed: dict[Canary, _Parse] = {}


class Canary:
    """What of one test can be made wrong."""

    def __init__(self, test: dict[str, Any], entry: set[str], makers: Collection[str] | None = None) -> None:
        """Look for it.

        Args:
            test: its texts.
            entry: what the tested object is called there.
            makers: what of the solution's makes objects that are expected; None for no such thing.
        """
        self._test = test
        self._entry = entry
        self.makers = makers or ()
        self.circular: list[bool] = []
        """For each thing that can be made wrong whether it is the solution's own."""
        self.ranks: list[int] = []
        """For each thing that can be made wrong how much it says that a solution passes then."""
        self.claims: list[int] = []
        """For each of them to what claim of the test it belongs."""
        self._is_known = False
        """Whether it is known how a solution beside it sees it."""
        self._as_shown: Compiled | None = None
        self._hidden: list[str] = []
        self.parts: list[int | None] = []
        """For each of them the number of the part of the test in which it stands, None where that does not report."""
        self.is_likely = False
        """Whether what was made wrong last is what an answer with an `==` of its own may rightly take for the same."""
        self.expected: list[Any] = []
        """The constants that it expects, and where known those that the other tests do."""
        self.says: list[str] = []
        """For each of them what is said there of what; empty where no other place is looked for that says the same."""
        self._last: MutationSite | None = None
        """What was made wrong last."""
        self.shown: list[bool] = []
        """For each of them whether a solution that reads the code of the test can see that it was made wrong."""
        if sum(map(len, test.values())) > expressions.LONGEST:
            self._is_known = True
            return
        try:
            parse = self._parse()
            sites, self.expected = parse.sites, parse.pool.values
            self.ranks, self.claims = [site.rank for site in sites], [site.claim for site in sites]
            self.shown, self.parts = [site.is_shown for site in sites], [site.part for site in sites]
            self.says, self.circular = [site.says for site in sites], [site.is_circular for site in sites]
        except _FAULTS:
            return

    def _find_sites(self) -> tuple[dict[str, Any], list[MutationSite]]:
        """Return the trees of the test, unchanged, and what can be made wrong in them: good until the next call."""
        parse = _parsed.pop(self, None)
        if parse is None:
            parse = self._parse()
            for earliest in [*_parsed][: 1 - _MOST_PARSED]:
                del _parsed[earliest]
        else:
            parse.restore()
        _parsed[self] = parse
        return parse.trees, parse.sites

    def _parse(self) -> _Parse:
        parts = ("program",) if self._test.get("program") else ("setup", "assertion")
        texts = {part: self._test.get(part, "") for part in parts}
        trees = {
            part: ast.parse(
                text.strip() if part == "assertion" else text, mode="eval" if part == "assertion" else "exec"
            )
            for part, text in texts.items()
            if text.strip()
        }
        program_parts = list_parts(trees["program"]) if "program" in trees else ()
        pool = ExpectedValues(self.expected)  # holds the nodes of these very trees
        finder = ExpectationFinder(list(trees.values()), self._entry, program_parts, pool, self.makers)
        return _Parse(trees, finder.sites, pool)

    @expressions.pause_clock
    def as_shown(self) -> Compiled | None:
        """Return the test as a solution beside it sees it, compiled as wrong ones are; None where it is not a test.

        What it says and does not mean is not in it.
        """
        if not self._is_known:
            self._is_known = True
            try:
                trees = self._find_sites()[0]
                self._hidden = mutated_values.hide([*trees.values()])
                self._as_shown = self._compile_trees(trees)
            except _FAULTS:
                self._hidden = []
        return self._as_shown

    def restore_messages(self, result: Result) -> Result:
        """Return a result of the test as it is shown with the messages of the whole one."""
        restored = dict(result)
        if "m" in result:
            restored["m"] = mutated_values.restore_hidden(result["m"], self._hidden)
        if "parts" in result:
            restored["parts"] = [self.restore_messages(part) for part in result["parts"]]
        return restored

    @expressions.pause_clock
    def wrong(self, place: int, seed: int, *, alike: bool = False) -> Compiled | None:
        """Return the test compiled with this made wrong as the seed says; None where that is not a test any more.

        Nothing else is changed but what says the same once more: a solution is not to tell this from the true test by
        anything but what is expected. `alike` makes all wrong that is expected and was the same: else the test itself
        would contradict who is told by an `==` of his own what is expected, and says it again.
        """
        self._last = None
        mutated_values.draw_from(seed)  # the same wrong values each time: what a right answer failed is what is asked
        try:
            for _ in range(_REDRAWN):
                trees, sites = self._find_sites()
                same = [site for site in sites if site is not sites[place] and site.says_as(sites[place])]
                before = expressions.evaluate_literal(sites[place].node)
                old = [constant.value for constant in _constants(sites[place])]
                self.is_likely = sites[place].change() is True
                # another text of the same meaning (`int(2.9)` for `int(2.2)`) is not wrong
                if not before or expressions.evaluate_literal(sites[place].node) not in ((), before):
                    break
            else:
                return None
            self._last = sites[place]
            for site in same:
                site.follow(sites[place])
            new = _constants(sites[place])
            if alike and len(old) == len(new):
                # what is expected in many places stands once in the trees
                other_sites = {id(site.node): site for site in sites if site is not sites[place] and site not in same}
                others = [part for site in other_sites.values() for part in _constants(site)]
                values = [*old, *(part.value for part in others)]
                changed = {
                    (type(was), was): part.value for was, part in zip(old, new, strict=True) if was != part.value
                }
                for part, was in zip([*new, *others], values, strict=True):
                    part.value = changed.get((type(was), was), part.value)
            mutated_values.hide([*trees.values()])
            return self._compile_trees(trees)
        except _FAULTS:
            return None

    @property
    def last_statement(self) -> str:
        """What is said where it was made wrong last; empty if it was not, or where no other test is looked for that says it."""
        return self._last.says if self._last is not None else ""

    @expressions.pause_clock
    def following(self, other: Canary) -> Compiled | None:
        """Return the test with what it says, too, made wrong as another one was last; None where it does not say it."""
        site = other._last
        if site is None or not site.says or site.says not in self.says:
            return None
        try:
            trees, sites = self._find_sites()
            for own_site in sites:
                if own_site.says_as(site):
                    own_site.follow(site)
            mutated_values.hide([*trees.values()])
            return self._compile_trees(trees)
        except _FAULTS:
            return None

    def _compile_trees(self, trees: dict[str, Any]) -> Compiled:
        for tree in trees.values():
            flatten(tree)
        if "program" in trees:
            return compile_test(self._test, trees["program"])
        setup, assertion = (
            compile(trees[part], FILE, mode, dont_inherit=True) if part in trees else None
            for part, mode in (("setup", "exec"), ("assertion", "eval"))
        )
        return ("a", setup, assertion, 0)
