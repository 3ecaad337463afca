"""BLEU of a text and of a corpus, by sacrebleu's conventions or by those of Hugging Face's `bleu`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from markbook.errors import ConfigError
from markbook.metrics import Score, UnitMetric, clamp, missing_undefined
from markbook.metrics.overlaps import Block, measure_blocks, overlaps
from markbook.metrics.text.chrf_ter import sum_draws
from markbook.metrics.text.tokenizers import NAMES, cutter, version, vocabulary
from markbook.plugins import same_options
from markbook.types import Item, Measurement

ORDER = 4
SMOOTHING = {"exp": None, "none": None, "floor": 0.1, "add-k": 1.0}
"""Smoothing methods with their default value (Chen and Cherry 2014; exp is NIST's)."""
CONVENTIONS = ("sacrebleu", "hf")


@dataclass(frozen=True, slots=True)
class BleuOptions:
    """Everything about BLEU that can change its value."""

    lowercase: bool
    effective_order: bool
    smooth_method: str
    smooth_value: float | None
    tokenize: str
    convention: str

    def signature(self, name: str) -> str:
        """Return the signature of a value computed with these options."""
        case, effective = "lc" if self.lowercase else "mixed", "yes" if self.effective_order else "no"
        tokens = self.tokenize + (f"-unicode{version()}" if self.tokenize == "intl" else "")
        smooth = self.smooth_method + ("" if self.smooth_value is None else f"[{self.smooth_value:g}]")
        reference = "shortest" if self.convention == "hf" else "closest"
        parts = f"n:{ORDER}|case:{case}|eff:{effective}|tok:{tokens}|smooth:{smooth}|ref:{reference}"
        return f"{name}|{parts}|conv:{self.convention}|v1"


def bleu(
    *,
    lowercase: bool = False,
    effective_order: bool | None = None,
    smooth_method: str | None = None,
    smooth_value: float | None = None,
    tokenize: str = "13a",
    convention: str = "sacrebleu",
) -> Bleu:
    """Return BLEU of each text, 0 to 1, higher is better; its summary is the mean, which is not corpus BLEU.

    BP * exp(mean of ln p_n for n = 1..4), p_n the clipped n-gram precision, BP = exp(1 - r/c) if the candidate's
    length c is below the reference length r, else 1. Source: Papineni 2002 with sacrebleu 2.6's conventions
    (reference length: the closest; n-grams clipped by the largest count in any reference). Missing: no reference;
    under `convention="hf"` also a text or reference without tokens, where that implementation divides by zero.
    The stats hold `counts`, `totals`, `sys_len`, `ref_len`.

    Args:
        lowercase: compare in lower case.
        effective_order: leave out the orders a short text has no n-grams of; on for sacrebleu's convention (or
            an identical text of three words would score 0), not available in Hugging Face's.
        smooth_method: `exp` (default), `none`, `floor`, `add-k`; for hf `none` (default) or `add-k` with 1.
        smooth_value: for `floor` (0.1) and `add-k` (1).
        tokenize: `13a`, `none` (white space), `char`, `zh`, `intl`.
        convention: `sacrebleu`, or `hf` (reference length: the shortest; add-k on every order, also words).

    Raises:
        ConfigError: an unknown value, or one that the convention does not have.
    """
    if convention not in CONVENTIONS:
        raise ConfigError(f"bleu: unknown convention {convention!r}", hint=f"one of {', '.join(CONVENTIONS)}")
    is_hf = convention == "hf"
    method = smooth_method or ("none" if is_hf else "exp")
    methods = ("none", "add-k") if is_hf else tuple(SMOOTHING)
    if method not in methods:
        raise ConfigError(f"bleu: unknown smooth_method {method!r}", hint=f"{convention}: {', '.join(methods)}")
    if tokenize not in NAMES:
        raise ConfigError(f"bleu: unknown tokenizer {tokenize!r}", hint=f"one of {', '.join(NAMES)}")
    if is_hf and effective_order:
        raise ConfigError("bleu: the hf convention has no effective order", hint="leave effective_order out")
    value = SMOOTHING[method] if smooth_value is None else smooth_value
    if SMOOTHING[method] is None:
        value = None
    # a floor stands for a share of the n-grams' count, which is 1 or more
    most = 1.0 if method == "floor" else math.inf
    if value is not None and not 0 <= value <= most:
        between = "from 0 to 1" if method == "floor" else "from 0 up"
        raise ConfigError(f"bleu: smooth_value of {method} must be a number {between}, not {value:g}")
    effective = not is_hf if effective_order is None else effective_order
    options = BleuOptions(lowercase, effective, method, value, tokenize, convention)
    return Bleu("bleu", options.signature("bleu"), options)


@same_options(bleu)
def corpus_bleu(**options: Any) -> CorpusBleu:
    """Return BLEU over all texts together: `summarise` adds up the texts' counts and computes one score.

    A single measurement's value is that text's own BLEU with the effective order, for reading; its stats are the
    counts that the corpus score is made of, so a bootstrap needs no second pass. The effective order is off for
    the corpus score by default, as in sacrebleu. Options, source and missing cases as in `bleu`.
    """
    effective = options.get("effective_order") or False
    checked = replace(bleu(**options).options, effective_order=effective)
    return CorpusBleu("corpus_bleu", checked.signature("corpus_bleu"), checked)


@dataclass(frozen=True, slots=True)
class Bleu(UnitMetric):
    """BLEU with its options; made by `bleu` or `corpus_bleu`."""

    name: str
    signature: str
    options: BleuOptions

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        name = self.options.tokenize
        keep_end = self.options.convention == "hf"
        words, cut = vocabulary(name), cutter(name, lowercase=self.options.lowercase, keep_end=keep_end)

        def score(block: Block) -> list[list[Score]]:
            tokens = words.tokens(map(cut, block.texts))
            sizes = tokens.sizes.tolist()
            matches = overlaps(tokens, block.rows, ORDER).tolist()
            return [
                [
                    self._score(counts, sizes[candidate], [sizes[reference] for reference in references])
                    for counts, (candidate, references) in zip(matches, block.rows, strict=True)
                ]
            ]

        return measure_blocks([(self.name, self.signature)], items, score)[0]

    def _score(self, counts: list[int], sys_len: int, ref_lens: list[int]) -> Score:
        # A text of `sys_len` words has that many less n n-grams of order n + 1, and never a negative number.
        totals = [sys_len - n if sys_len > n else 0 for n in range(ORDER)]
        if len(ref_lens) == 1:
            ref_len = ref_lens[0]
        elif self.options.convention == "hf":
            ref_len = min(ref_lens)
        else:
            ref_len = min(ref_lens, key=lambda length: (abs(sys_len - length), length))  # of two as close, the shorter
        stats = {"counts": counts, "totals": totals, "sys_len": sys_len, "ref_len": ref_len}
        # One text of a corpus is shown with the effective order, as the docstring of `corpus_bleu` says.
        effective = self.options.effective_order or (not self.averages and self.options.convention == "sacrebleu")
        value = _value(self.options, counts, totals, sys_len, ref_len, effective=effective)
        if value is None and not self.averages:
            return 0.0, {**stats, "undefined": True}  # left out, an empty answer would cost the corpus nothing
        if value is None:
            return missing_undefined(
                "no token in the candidate or a reference: the hf convention divides by zero"
            ), stats
        return value, stats


class CorpusBleu(Bleu):
    """BLEU over all texts together, with its options; made by `corpus_bleu`."""

    __slots__ = ()
    averages = False

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the score of the summed counts, None if there is nothing."""
        rows = _rows(measurements)  # whole numbers: their sum is the same in every order
        return self._of_sums(rows.sum(axis=0, dtype=np.int64).tolist()) if len(rows) else None

    def resample(self, measurements: Sequence[Measurement], draws: Iterable[Iterable[int]]) -> list[float]:
        """Return the summary of each resampling; the measurements are read once."""
        values = map(self._of_sums, sum_draws(_rows(measurements), draws))
        return [value for value in values if value is not None]

    def _of_sums(self, sums: list[int]) -> float | None:
        counts, totals = sums[:ORDER], sums[ORDER : 2 * ORDER]
        return _value(self.options, counts, totals, sums[-2], sums[-1], effective=self.options.effective_order)


def _rows(measurements: Sequence[Measurement]) -> npt.NDArray[np.int32]:
    """Return counts, totals, sys_len and ref_len of each measurement that has them (a missing one may)."""
    stats = (cast("dict[str, Any]", measurement.stats) for measurement in measurements)
    rows = ([*row["counts"], *row["totals"], row["sys_len"], row["ref_len"]] for row in stats if "counts" in row)
    return np.fromiter(rows, np.dtype((np.int32, 2 * ORDER + 2)))


def _value(
    options: BleuOptions, counts: Sequence[int], totals: Sequence[int], sys_len: int, ref_len: int, *, effective: bool
) -> float | None:
    if options.convention == "hf":
        if sys_len == 0 or ref_len == 0:
            return None
        k = options.smooth_value or 0.0
        shares = [(count + k) / (total + k) if total + k else 0.0 for count, total in zip(counts, totals, strict=True)]
        if min(shares) <= 0:
            return 0.0
        # As that implementation writes it: 1 - ref_len / sys_len would round otherwise.
        ratio = sys_len / ref_len
        penalty = 1.0 if ratio > 1.0 else math.exp(1 - 1.0 / ratio)
        return clamp(penalty * math.exp(sum(math.log(share) / ORDER for share in shares)))
    if not any(counts):
        return 0.0
    penalty = math.exp(1 - ref_len / sys_len) if sys_len < ref_len else 1.0
    logs: list[float] = []
    smoothed = 1.0
    for n, (count, total) in enumerate(zip(counts, totals, strict=True)):
        added = options.smooth_value if options.smooth_method == "add-k" and n and options.smooth_value else 0.0
        hits, possible = count + added, total + added
        if possible == 0:  # the text is shorter than n words: longer n-grams have none either
            break
        if hits:
            logs.append(math.log(100.0 * hits / possible))
        elif options.smooth_method == "exp":
            smoothed *= 2
            logs.append(math.log(100.0 / (smoothed * possible)))
        elif options.smooth_method == "floor" and options.smooth_value:
            logs.append(math.log(100.0 * options.smooth_value / possible))
        else:
            return 0.0
    if len(logs) < ORDER and not effective:
        return 0.0
    return clamp(penalty * math.exp(sum(logs) / len(logs)) / 100.0)
