"""Which tests are mutated in which run, and what it proves that a solution passes or fails then."""

from __future__ import annotations

from collections import Counter

from .mutated_values import below, shuffle_items
from .mutation_operators import INPUT, OPERATOR, SURE

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .mutation_canary import Canary


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
