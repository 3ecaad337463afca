"""A test with one mutated expectation, which are mutated in which run, and what it proves that a solution passes or fails then.

A solution that passes the mutant too was not judged by the test.
"""

from __future__ import annotations

import ast
from collections import Counter

from ..marking import Compiled, Result
from . import expressions, mutated_values
from .mutated_expectations import ExpectationFinder
from .mutated_values import below, shuffle_items
from .mutation_operators import INPUT, OPERATOR, SURE, ExpectedValues
from .programs import FILE, BrokenTest, compile_test, flatten, list_parts

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Sequence
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


# Which tests are mutated in which run, and what it proves.

_AT_ONCE = 3
"""Tests that are wrong in a run, and one of so many at most, as long as that takes no more runs than there are to be."""
_ASKED = 2
"""Operators of a test that a right answer is tried with, before anything else of the test."""
_OFTEN = 3
"""What passes more than one wrong run of so many could be a coin."""
_ENOUGH = 6
"""Wrong variants of a claim that a right answer is known to fail: one that picks by their looks is found out by some. And so
many wrong runs, all passed, tell an `==` that holds for everything from one that holds for some values more than one."""

Variant = tuple[int, int | None]
"""What of a test is made wrong, and the seed of its wrong value; None where every value will do."""
Claims = dict[int, list[list[Variant]]]
"""For each test what of each of its claims may be made wrong."""
Useful = list[list[list[int]] | None]
"""For each test the variants, place and seed, that a right answer fails; None where none was there to try them with."""


def proof(
    canary: Canary, outcomes: dict[int, list[bool]], *, is_useful: bool, apart: bool, undone: Container[int] = (),
    unheard: Container[int] = (), is_lenient: bool = False,
) -> str:  # fmt: skip
    """Return whether the wrong runs prove a pass: `proved`, `forged`, or `open`.

    Where one literal is expected no right answer passes with another. Elsewhere one may: where a right answer is known
    it fails all that was asked, and a pass leaves the test open; where none is, what passes often does. By an operator
    a right answer passes always or never: where one is known to have failed, what passes every time is forged, and
    what passes by it at all may have tossed a coin. So may what passes with another argument, though a right answer
    may as well. What a solution can see to be wrong proves nothing by failing, nor does another thing in the place of an
    object of its own, which is unequal without its being asked.

    Args:
        canary: what of the test can be made wrong.
        outcomes: for each thing that was, whether the solution passed.
        is_useful: whether all of that was asked which a right answer fails.
        apart: whether the test ran where the solution cannot read its code.
        undone: what stands in parts of the test that the true run has not executed, or which did not go well there. A
            right answer passes whatever is expected there. That it was not executed is said by the solution's own
            process: who passes all that is wrong is not believed, and to nobody it proves anything.
        unheard: what stands where the test may fail and pass: there a right answer passes whatever is expected, too.
        is_lenient: whether the solution's text has an `==` of its own, by which a right answer may equal a second literal
            (hours by the clock), and a third by chance. Only what equals all of many is then forged.
    """
    claims: dict[tuple[int, int | tuple[int]], list[bool]] = {}
    sure_claims: dict[int, list[bool]] = {}
    counts = is_open = False
    fails_any = any(not all(passes) for site_index, passes in outcomes.items() if not canary.shown[site_index])
    for site_index, passes in outcomes.items():
        rank = canary.ranks[site_index]
        is_excused = site_index in unheard or (site_index in undone and fails_any)
        if rank == SURE and not is_excused:
            sure_claims.setdefault(canary.claims[site_index], []).extend(passes)
        if rank == SURE and any(passes):
            if not (is_lenient or is_excused):
                return "forged"
            is_open = True
        counts = counts or ((apart or not canary.shown[site_index]) and not canary.circular[site_index])
        # in a tuple, so that a place is not taken for the number of a claim
        key = (rank, (site_index,)) if canary.shown[site_index] else (rank, canary.claims[site_index])
        claims[key] = claims.get(key, []) + passes
    if is_useful and any(rank == OPERATOR and all(passes) for (rank, _), passes in claims.items()):
        return "forged"
    if is_lenient and any(len(passes) >= _ENOUGH and all(passes) for passes in sure_claims.values()):
        return "forged"
    through = [
        passes for (rank, _), passes in claims.items() if all(passes) or _is_often(passes, rank, is_useful=is_useful)
    ]
    return "proved" if counts and not through and not is_open else "open"


def _is_often(passes: list[bool], rank: int, *, is_useful: bool) -> bool:
    """Whether so many wrong runs passed that one which tosses a coin for each could have passed the true ones."""
    if is_useful or rank in (OPERATOR, INPUT):
        return any(passes)
    return sum(passes) > 1 and _OFTEN * sum(passes) > len(passes)


def list_claims(canary: Canary, useful: list[list[int]] | None, *, is_lenient: bool = False) -> list[list[Variant]]:
    """Return the variants of each claim of a test: of what may be made wrong, that which says most.

    What a solution can see is a claim of its own. So is where an expectation comes from, if no right answer passes
    with another, or one has been seen to fail: a solution may have taken it from there. To an `==` of a solution's own
    (`is_lenient`) not every value is wrong, so only those are asked that a right answer failed.
    """
    variants: list[Variant] = (
        [(site_index, None) for site_index in range(len(canary.ranks))]
        if useful is None
        else [
            (site_index, None if canary.ranks[site_index] == SURE and not is_lenient else seed)
            for site_index, seed in useful
        ]
    )
    by_claim: dict[int, list[Variant]] = {}
    visible: dict[int, list[Variant]] = {}
    for variant in dict.fromkeys(variants):
        site_index = variant[0]
        if canary.shown[site_index]:
            visible.setdefault(site_index, []).append(variant)
        else:
            claim_number = canary.claims[site_index]
            sure = useful is not None or canary.ranks[site_index] == SURE
            by_claim.setdefault(claim_number if sure else abs(claim_number), []).append(variant)
    best = []
    for claim in by_claim.values():
        rank = min(canary.ranks[site_index] for site_index, _ in claim)
        best.append([variant for variant in claim if canary.ranks[variant[0]] == rank])
    return best + list(visible.values())


def partition_claims(claims: Claims, canaries: Sequence[Canary]) -> tuple[Claims, Claims]:
    """Return the claims whose wrong values a solution cannot see to be ours, and those where it can.

    They are made wrong in runs of their own: where it sees one it may fail all others of the run.
    """
    sides: list[Claims] = [
        {
            index: [claim for claim in claims_of_test if canaries[index].shown[claim[0][0]] == is_visible]
            for index, claims_of_test in claims.items()
        }
        for is_visible in (False, True)
    ]
    return sides[0], sides[1]


def deals(claims: Claims, most: int, number: int) -> list[dict[int, Variant]]:
    """Return for each wrong run of a round, `most` of them, which tests are wrong in it, and by what.

    Only few at once: a solution that knows the answer to one of them would recognise the run by it. Each variant of a
    claim has its turn as the rounds go by.

    Args:
        claims: what may be made wrong.
        most: runs.
        number: of the round, from 0.
    """
    able = {index: shuffle_items(claims_of_test) for index, claims_of_test in claims.items() if claims_of_test}
    if not able:
        return []
    alone = len(able) == 1
    at_once = max(1, min(_AT_ONCE, len(able) // _AT_ONCE))
    runs = min(max(*map(len, able.values()), -(-sum(map(len, able.values())) // at_once)), most)
    dealt: list[dict[int, Variant]] = [{} for _ in range(runs)]
    for first, (index, claims_of_test) in enumerate(able.items()):
        more = runs if alone else len(claims_of_test)  # the only one is wrong in every run
        for turn in range(min(more, runs)):
            variants = claims_of_test[turn % len(claims_of_test)]
            dealt[(first + turn) % runs][index] = variants[(number + turn // len(claims_of_test)) % len(variants)]
    return dealt


def order(canary: Canary) -> list[int]:
    """Return what can be made wrong in the order in which it is to be tried, the first last.

    Some operators, then what says most of each claim, then all the rest; drawn by lot among equals.
    """
    claims = [[site_index for site_index, _ in claim] for claim in list_claims(canary, None)]
    operators = shuffle_items([places[0] for places in claims if canary.shown[places[0]]])
    best = shuffle_items([places[below(len(places))] for places in claims if not canary.shown[places[0]]])
    first = operators[:_ASKED] + best
    rest = [site_index for site_index in shuffle_items(list(range(len(canary.ranks)))) if site_index not in first]
    return [*reversed(first + sorted(rest, key=lambda site_index: canary.ranks[site_index]))]


def scarce(canary: Canary, useful: list[list[int]]) -> list[int]:
    """Return what of a test is to be tried further, as too few variants are known of what it claims."""
    if not useful:
        return order(canary)
    counts = Counter(site_index for site_index, _ in useful)
    is_seen = not all(canary.shown[site_index] for site_index in counts)
    # one variant is as good as many where no right answer passes any, or where all look the same; what passed may be chance
    few = [
        site_index
        for site_index, rank in enumerate(canary.ranks)
        if counts[site_index] < _ENOUGH
        and (
            rank == OPERATOR and canary.makers
            if canary.shown[site_index]
            else not is_seen or (rank != SURE and counts[site_index])
        )
    ]
    return shuffle_items(few)
