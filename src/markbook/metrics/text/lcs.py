"""Comparing two sequences: how much work is too much, and which words are in a longest common subsequence."""

from __future__ import annotations

from collections.abc import Sequence

MAX_CELLS = 10**12
"""The largest product of two texts' lengths that is compared: about ten seconds of bit-parallel work."""

MAX_TABLE_CELLS = 2 * 10**9
"""The largest product for which the rows of the table are kept: about 250 MB."""


def positions(reference: Sequence[int], candidate: Sequence[int]) -> list[int]:
    """Return the indices in the reference of one longest common subsequence, the last index first.

    Of several it is the one that ROUGE's implementations read out: from the end, along the candidate only where
    that keeps more. Each row of the table is one integer whose zero bits mark where the length grows (Hyyrö 2004),
    so a row costs a few operations on machine words instead of a loop over the candidate.
    """
    places: dict[int, int] = {}
    for j, word in enumerate(candidate):
        places[word] = places.get(word, 0) | (1 << j)
    row = (1 << len(candidate)) - 1
    full = row
    grown = [0]
    for word in reference:
        hits = row & places.get(word, 0)
        row = ((row + hits) | (row - hits)) & full
        grown.append(row ^ full)
    indices = []
    i, j = len(reference), len(candidate)
    length = grown[i].bit_count()
    while i and j and length:
        if reference[i - 1] == candidate[j - 1]:
            indices.append(i - 1)
            i, j, length = i - 1, j - 1, length - 1
            continue
        length_left = length - (grown[i] >> (j - 1) & 1)
        above = (grown[i - 1] & ((1 << j) - 1)).bit_count()
        if length_left > above:
            j, length = j - 1, length_left
        else:
            i, length = i - 1, above
    return indices
