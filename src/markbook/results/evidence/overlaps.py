"""Which words of an answer match the reference: laid out only where they come to the very counts that the score has."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from markbook.evidence import Evidence
from markbook.results.evidence.scripts import script
from markbook.text import cut
from markbook.text.numbers import format_number

LISTED = 30
"""Words of a list that are shown."""
_GRAM = 100
_SIZES = {1: "words", 2: "pairs of words", 3: "three words", 4: "four words"}
Tokens = Sequence[tuple[str, str]]
"""Words, each as it is shown and as it is compared."""


def overlapping(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    """Return the matched and missed words of BLEU or ROUGE; None where the stats are of something else."""
    if {"counts", "totals"} <= stats.keys():
        return _bleu(name, stats, text, references)
    if {"precision", "recall"} <= stats.keys() and "chunks" not in stats:
        return _rouge(name, stats, text, references)
    return None


def _bleu(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    from markbook.metrics.text import bleu_tokens

    counts, totals = _numbers(stats["counts"]), _numbers(stats["totals"])
    lead = ", ".join(
        f"{hit} of {of} {_SIZES.get(n, f'{n}-grams')}"
        for n, (hit, of) in enumerate(zip(counts, totals, strict=False), 1)
    )
    lead += f"; {stats.get('sys_len')} words against {stats.get('ref_len')}"
    for tokenizer, low, end in itertools.product(bleu_tokens.NAMES, (False, True), (False, True)):
        ours, *theirs = (
            [(word, word) for word in bleu_tokens.words(tokenizer, side, lowercase=low, keep_end=end)]
            for side in (text, *references)
        )
        if len(ours) == stats.get("sys_len") and _hits(ours, theirs, len(counts)) == counts:
            return Evidence(name, lead, lists=_lists(ours, theirs, (1, 2)))
    return Evidence(name, lead)


def _hits(ours: Tokens, theirs: Sequence[Tokens], order: int) -> list[int]:
    return [sum((_grams(ours, n) & _most(theirs, n)).values()) for n in range(1, order + 1)]


def _rouge(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    from markbook.metrics.text.rouge import TOKENIZERS, compared_words

    precision, recall = stats["precision"], stats["recall"]
    if not isinstance(precision, float) or not isinstance(recall, float):
        return None
    precision_recall = precision, recall
    lead = f"precision {format_number(precision)}, recall {format_number(recall)}"
    sizes = sorted((1, 2), key=lambda n: str(n) not in name)
    for stemmer, tokenizer in itertools.product((True, False), TOKENIZERS):
        ours, *theirs = (compared_words(one, stemmer=stemmer, tokenizer=tokenizer) for one in (text, *references))
        for other in theirs:
            shares = {n: _shares(sum((_grams(ours, n) & _grams(other, n)).values()), n, ours, other) for n in sizes}
            size = next((n for n in sizes if shares[n] == precision_recall), None)
            if size is not None and "l" not in name.lower().partition("rouge")[2]:
                return Evidence(name, lead, lists=_lists(ours, [other], (size,)))
            edits = script(
                [one for _, one in other], [one for _, one in ours], [one for one, _ in other], [one for one, _ in ours]
            )
            if _shares(edits.common, 1, ours, other) == precision_recall:
                return Evidence(
                    name, lead, edits=edits.parts, note="The words of the common subsequence stay; in small letters."
                )
    return Evidence(name, lead)


def _shares(hits: int, n: int, ours: Tokens, theirs: Tokens) -> tuple[float, float]:
    return hits / max(1, len(ours) - n + 1), hits / max(1, len(theirs) - n + 1)


def _grams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    words = [word for _, word in tokens]
    return Counter(zip(*(words[at:] for at in range(n)), strict=False))


def _most(several: Sequence[Tokens], n: int) -> Counter[tuple[str, ...]]:
    """Return each n-gram as often as the reference has it that has it most."""
    largest: Counter[tuple[str, ...]] = Counter()
    for tokens in several:
        largest |= _grams(tokens, n)
    return largest


def _lists(ours: Tokens, theirs: Sequence[Tokens], sizes: Sequence[int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what matches, what is missed and what is too much, for n-grams of these sizes."""
    lists: list[tuple[str, tuple[str, ...]]] = []
    for n in sizes:
        own, reference_grams = _grams(ours, n), _most(theirs, n)
        spelled = _spell_ngrams((*theirs, ours), n)
        for words, grams in (
            ("missed", reference_grams - own),
            ("not in the reference", own - reference_grams),
            ("matched", own & reference_grams),
        ):
            if grams:
                lists.append((f"{_SIZES[n]} {words}, {grams.total()}", _list_ngrams(grams, spelled)))
    return tuple(lists)


def _spell_ngrams(several: Sequence[Tokens], n: int) -> dict[tuple[str, ...], str]:
    """Return how each n-gram is written where it comes first."""
    spellings: dict[tuple[str, ...], str] = {}
    for tokens in several:
        for at in range(len(tokens) - n + 1):
            part = tokens[at : at + n]
            spellings.setdefault(tuple(word for _, word in part), " ".join(word for word, _ in part))
    return spellings


def _list_ngrams(grams: Counter[tuple[str, ...]], spelled: Mapping[tuple[str, ...], str]) -> tuple[str, ...]:
    ordered = sorted(grams, key=lambda gram: (-grams[gram], spelled[gram]))
    visible = [cut(spelled[gram], _GRAM) + (f" ×{grams[gram]}" if grams[gram] > 1 else "") for gram in ordered[:LISTED]]  # noqa: RUF001 - times
    return (*visible, f"and {len(ordered) - LISTED} more") if len(ordered) > LISTED else tuple(visible)


def _numbers(value: object) -> list[int]:
    return [int(number) for number in value] if isinstance(value, list | tuple) else []
