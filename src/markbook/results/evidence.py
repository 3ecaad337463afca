"""Evidence laid out from what a row holds: the stats of its scores, the answer and the references. Nothing is scored again."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markbook.text import cut
from markbook.text.format import format_percent
from markbook.why import Change, Evidence, Finding

if TYPE_CHECKING:
    from rapidfuzz.distance import Opcodes

# Evidence that a score's stats hold as words: quality points with their lines, a judge's reasons, and whatever else.

_MOST, _WORDS, _QUOTE, _NAME = 40, 1_200, 300, 80
_FACTS = 12


def point_to_lines(name: str, stats: Mapping[str, object]) -> Evidence | None:
    """Return the points of a quality score with their lines; None where the stats hold none."""
    points = [point for point in _list(stats.get("points")) if isinstance(point, Mapping)]
    if not points:
        return None
    findings = []
    for point in points:
        at, verdict = point.get("line"), "passed" if point.get("passed") is True else "failed"
        # True is an int in Python, and stats of other tools may hold it.
        line = at if isinstance(at, int) and not isinstance(at, bool) and at > 0 else None
        vacuous = " (nothing there could have failed it)" if point.get("vacuous") else ""
        words = f"{_text(point.get('evidence'), _WORDS)}{vacuous}".strip()
        findings.append(Finding(_text(point.get("id"), _NAME), verdict, line, words))
    for tool, result in list(_mapping(stats.get("evidence")).items())[:5]:  # what linters say changes no score
        rules = facts_text(_mapping(_mapping(result).get("rules"))) or "nothing found"
        findings.append(Finding(_text(tool, _NAME), "noted", words=rules))
    return Evidence(name, facts_text({key: stats[key] for key in ("passed", "total") if key in stats}), tuple(findings))


def read_judge_marks(name: str, stats: Mapping[str, object]) -> Evidence | None:
    """Return a judge's marks with its reasons and quotes; None where the stats are not a judge's."""
    marks, by_judge = _mapping(stats.get("marks")), _mapping(stats.get("by_judge"))
    if not marks and not by_judge:
        return None
    why = _mapping(stats.get("evidence"))
    findings = []
    for criterion, mark in list(marks.items())[:_MOST]:
        about, name_shown = _mapping(why.get(criterion)), _text(criterion, _NAME).replace("_", " ")
        quotes = tuple(_text(quote, _QUOTE) for quote in _list(about.get("quotes"))[:5])
        findings.append(Finding(name_shown, _number(mark), words=_text(about.get("reason"), _WORDS), quotes=quotes))
    findings += [
        Finding(f"judge {_text(judge, _NAME)}", "", words=facts_text(_mapping(judge_marks)))
        for judge, judge_marks in list(by_judge.items())[:_MOST]
    ]
    named = {"n": "valid replies", "n_missing": "invalid replies", "deviation": "deviation",
             "coverage": "share of the text that was judged", "quotes": "quotes", "quotes_found": "of them in the text",
             "flipped": "changed their mind with the order"}  # fmt: skip
    unsaid = {"n_missing", "flipped", "quotes", *(() if stats.get("quotes") else ("quotes_found",))}  # where they are 0
    facts = {
        words: value
        for key, words in named.items()
        if (value := stats.get(key)) not in (None, "") and (value or key not in unsaid)
    }
    return Evidence(name, facts_text(facts), tuple(findings))


def describe_stats(name: str, stats: Mapping[str, object]) -> Evidence | None:
    """Return stats of any shape in words; None where nothing in them can be said in a line."""
    words = facts_text(stats)
    return Evidence(name, words) if words else None


def facts_text(stats: Mapping[str, object]) -> str:
    """Return numbers and short words with their names, in one line."""
    facts = []
    for key, value in list(stats.items())[:_FACTS]:
        value_text = _plain(value)
        if value_text:
            facts.append(f"{_text(key, _NAME).replace('_', ' ')} {value_text}")
    return ", ".join(facts)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return cut(value, 200)
    if isinstance(value, Mapping):
        inner = [f"{_text(key, 40)} {_number(number)}" for key, number in list(value.items())[:8] if _is_number(number)]
        return f"({', '.join(inner)})" if inner else ""
    if isinstance(value, Sequence) and value and all(isinstance(part, str | int | float) for part in value):
        return cut(" / ".join(_number(part) if _is_number(part) else str(part) for part in value[:20]), 200)
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: object) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return _text(value, 40)
    return f"{value:g}" if isinstance(value, int) or not math.isfinite(value) else f"{value:.4g}"


def _list(value: object) -> Sequence[object]:
    # Stats may come from a file of any size, and everything from here on is laid out on a page.
    return value[:_MOST] if isinstance(value, list | tuple) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object, most: int) -> str:
    return cut(value, most) if isinstance(value, str) else "" if value is None else cut(str(value), most)


# Which words of an answer match the reference: laid out only where they come to the very counts that the score has.

LISTED = 30
"""Words of a list that are shown."""
_GRAM = 100
_SIZES = {1: "words", 2: "bigrams", 3: "trigrams"}
Tokens = Sequence[tuple[str, str]]
"""Words, each as it is shown and as it is compared."""


def overlapping(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    """Return the matched and missed words of BLEU or ROUGE; None where the stats are of something else."""
    if {"counts", "totals"} <= stats.keys():
        from markbook.metrics.text import tokenizers

        counts, totals = _numbers(stats["counts"]), _numbers(stats["totals"])
        lead = ", ".join(
            f"{hit} of {of} {_SIZES.get(n, f'{n}-grams')}"
            for n, (hit, of) in enumerate(zip(counts, totals, strict=False), 1)
        )
        lead += f" match; length {stats.get('sys_len')} words, reference {stats.get('ref_len')}"
        # The stats do not name the options: those are taken whose words come to the very counts that were scored.
        for tokenizer, low, end in itertools.product(tokenizers.NAMES, (False, True), (False, True)):
            ours, *theirs = (
                [(word, word) for word in tokenizers.words(tokenizer, side, lowercase=low, keep_end=end)]
                for side in (text, *references)
            )
            hits = [sum((_grams(ours, n) & _most(theirs, n)).values()) for n in range(1, len(counts) + 1)]
            if len(ours) == stats.get("sys_len") and hits == counts:
                return Evidence(name, lead, lists=_lists(ours, theirs, (1, 2)))
        return Evidence(name, lead)
    # METEOR has both shares too, and chunks beside them: its matches are not ROUGE's.
    if {"precision", "recall"} <= stats.keys() and "chunks" not in stats:
        return _rouge(name, stats, text, references)
    return None


def _rouge(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    from markbook.metrics.text.rouge import TOKENIZERS, compared_words

    precision, recall = stats["precision"], stats["recall"]
    if not isinstance(precision, float) or not isinstance(recall, float):
        return None
    precision_recall = precision, recall
    lead = f"precision {format_percent(precision)}, recall {format_percent(recall)}"
    # The size in the metric's name is tried first, for both sizes may come to the same shares.
    sizes = sorted((1, 2), key=lambda n: str(n) not in name)
    for stemmer, tokenizer in itertools.product((True, False), TOKENIZERS):
        ours, *theirs = (compared_words(side, stemmer=stemmer, tokenizer=tokenizer) for side in (text, *references))
        for other in theirs:
            shares = {n: _shares(sum((_grams(ours, n) & _grams(other, n)).values()), n, ours, other) for n in sizes}
            # Equal to the last bit, or not the same words: the score divided the same whole numbers.
            size = next((n for n in sizes if shares[n] == precision_recall), None)
            # Where all matching words stand in one order, ROUGE-L has the shares of ROUGE-1: the name says which one
            # it is.
            if size is not None and "l" not in name.lower().partition("rouge")[2]:
                return Evidence(name, lead, lists=_lists(ours, [other], (size,)))
            common, edits = _align_words(other, ours)
            if _shares(common, 1, ours, other) == precision_recall:
                note = "Unmarked words are the longest common subsequence; all words in lower case."
                return Evidence(name, lead, edits=edits, note=note)
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
        several = (*theirs, ours)
        spellings: dict[tuple[str, ...], str] = {}
        for tokens in several:
            for at in range(len(tokens) - n + 1):
                part = tokens[at : at + n]
                spellings.setdefault(tuple(word for _, word in part), " ".join(word for word, _ in part))
        for words, grams in (
            ("missed", reference_grams - own),
            ("not in the reference", own - reference_grams),
            ("matched", own & reference_grams),
        ):
            ordered = sorted(grams, key=lambda gram: (-grams[gram], spellings[gram]))
            visible = [
                cut(spellings[gram], _GRAM) + (f" ×{grams[gram]}" if grams[gram] > 1 else "")
                for gram in ordered[:LISTED]
            ]
            if len(ordered) > LISTED:
                visible.append(f"and {len(ordered) - LISTED} more")
            if grams:
                lists.append((f"{_SIZES[n]} {words}, {grams.total()}", tuple(visible)))
    return tuple(lists)


def _numbers(value: object) -> list[int]:
    return [int(number) for number in value] if isinstance(value, list | tuple) else []


# How a reference becomes an answer: the edits that a distance counts, letter by letter or word by word.

_LETTERS = 4_000
"""Longer texts are set against each other word by word."""
_KEPT = 60
"""Characters of a long equal part that stay at each of its ends."""
_SCRIPTS_MOST = 200
_PART = 400
_SCRIPTS_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def _align_words(expected: Tokens, actual: Tokens) -> tuple[int, tuple[tuple[Change, str], ...]]:
    """Return how many words the longest common subsequence has, and the edits around it."""
    from rapidfuzz.distance import LCSseq

    (words, ours), (other_words, theirs) = (
        ([f"{word} " for word, _ in side], [word for _, word in side]) for side in (expected, actual)
    )
    return LCSseq.similarity(ours, theirs), _list_edits(LCSseq.opcodes(ours, theirs), words, other_words)


def read_edit_script(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    """Return the edit script of a distance; None where the stats are of something else."""
    from rapidfuzz.distance import Levenshtein

    edits, longest = stats.get("edits"), stats.get("longest")
    if not isinstance(edits, int) or not isinstance(longest, int):
        return None
    lead = f"{edits} edits in {longest} characters"
    for other in references:
        if max(len(text), len(other)) == longest <= _LETTERS and Levenshtein.distance(text, other) == edits:
            return Evidence(name, lead, edits=_parts(other, text))
    return Evidence(name, lead)


def against(text: str, references: Sequence[str]) -> Evidence | None:
    """Return an answer set against the reference that is most like it; None where it equals one."""
    from rapidfuzz.distance import Levenshtein

    if text in references:
        return None
    pieces = _SCRIPTS_WORDS.findall(text)
    nearest = min(references, key=lambda reference: Levenshtein.distance(_SCRIPTS_WORDS.findall(reference), pieces))
    return Evidence("against the reference", edits=_parts(_SCRIPTS_WORDS.findall(nearest), pieces))


def _parts(expected: Sequence[str], actual: Sequence[str]) -> tuple[tuple[Change, str], ...]:
    from rapidfuzz.distance import Levenshtein

    return _list_edits(Levenshtein.opcodes(expected, actual), expected, actual)


def _list_edits(opcodes: Opcodes, expected: Sequence[str], actual: Sequence[str]) -> tuple[tuple[Change, str], ...]:
    parts: list[tuple[Change, str]] = []
    for opcode in opcodes:
        begin, end, start, stop = opcode.src_start, opcode.src_end, opcode.dest_start, opcode.dest_end
        if opcode.tag == "equal":
            parts.append(("same", "".join(actual[start:stop])))
            continue
        parts += [("lost", "".join(expected[begin:end]))] if end > begin else []
        parts += [("added", "".join(actual[start:stop]))] if stop > start else []
    return _shorten_parts(parts)


def _shorten_parts(parts: Sequence[tuple[Change, str]]) -> tuple[tuple[Change, str], ...]:
    """Return parts of which long equal ones lack their middle, as many as are readable."""
    shortened: list[tuple[Change, str]] = []
    for change, text in parts[:_SCRIPTS_MOST]:
        if change == "same" and len(text) > 2 * _KEPT + 20:
            gap = f"{len(text) - 2 * _KEPT} characters"
            shortened += [("same", text[:_KEPT]), ("gap", gap), ("same", text[-_KEPT:])]
        elif len(text) > _PART:
            shortened += [(change, text[:_PART]), ("gap", f"{len(text) - _PART} characters")]
        else:
            shortened.append((change, text))
    if len(parts) > _SCRIPTS_MOST:
        shortened.append(("gap", f"{len(parts) - _SCRIPTS_MOST} more parts"))
    return tuple(shortened)


__all__ = ["Room", "collect_evidence", "read_judge_marks"]

Stats = Mapping[str, object]
LONGEST = 20_000
"""Characters of an answer and a reference whose words are set against each other."""
MOST = 12
"""Scores of one answer that are laid out."""


def collect_evidence(
    values: Mapping[str, float | None],
    stats: Mapping[str, Stats],
    text: str | None,
    references: Sequence[str],
    *,
    best: Mapping[str, float],
    compares: bool = True,
) -> tuple[Evidence, ...]:
    """Return what an answer's scores by name rest on, and `stats`, what each was computed from; a text is None where there is none.

    `best` is the better end of each score's range. `compares`: the answer is set against the reference where no score
    does so: not if it is a program.
    """
    if text is None:
        return ()
    texts = [reference for reference in references if isinstance(reference, str)]
    is_short = len(text) <= LONGEST and all(len(reference) <= LONGEST for reference in texts)
    evidence = []
    # What a judge says of one criterion stands in what it says by the whole rubric.
    rubrics = tuple(f"{name}." for name in values if isinstance((stats.get(name) or {}).get("marks"), Mapping))
    for name in [name for name in values if not (rubrics and name.startswith(rubrics))][:MOST]:
        own = stats.get(name) or {}
        # What a score is of is told by the shape of its stats, so that new metrics have evidence too.
        item = read_judge_marks(name, own) or point_to_lines(name, own)
        if item is None and texts and is_short:
            item = overlapping(name, own, text, texts) or read_edit_script(name, own, text, texts)
        item = item or describe_stats(name, own)
        evidence += [item] if item is not None else []
    is_perfect = all(value is None or value == best.get(name) for name, value in values.items())
    if compares and is_short and texts and not is_perfect and not any(item.edits for item in evidence):
        evidence += [comparison for comparison in [against(text, texts)] if comparison is not None]
    return tuple(evidence)


_LISTED, _PARTS = 10, 60
_PAGE_BYTES = 600_000


class Room:
    """Makes evidence as short as a page wants it, while there is room for it; `view` and `show` have all."""

    def __init__(self) -> None:
        self._left = _PAGE_BYTES

    def __call__(self, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Return the evidence of one answer, nothing once the room is used up."""
        if self._left <= 0:
            return ()
        short = []
        for item in evidence:
            lists = tuple(
                (name, some if len(some) <= _LISTED else (*some[:_LISTED], f"and {len(some) - _LISTED} more"))
                for name, some in item.lists
            )
            short.append(replace(item, lists=lists, edits=item.edits[:_PARTS]))
        # Taken off afterwards: an answer's evidence is shown as a unit, and the first that does not fit is the last.
        self._left -= sum(item.size for item in short)
        return tuple(short)
