"""Whether the candidate is the reference, letter by letter."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import partial

from markbook.errors import ConfigError
from markbook.metrics.pairs import PairMetric, Score


def exact_match(
    *,
    strip: bool = False,
    lowercase: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    regexes_to_ignore: Sequence[str] = (),
) -> PairMetric:
    """Return 1 if the candidate equals a reference, else 0; higher is better.

    Texts are compared code point by code point, so NFC and NFD spellings differ. Two empty texts are equal.
    Missing: no reference.

    Args:
        strip: leave out white space at both ends.
        lowercase: compare in lower case.
        ignore_punctuation: leave out ASCII punctuation.
        ignore_numbers: leave out ASCII digits.
        regexes_to_ignore: leave out what these match, one after the other, before anything else.

    Raises:
        ConfigError: a regular expression that does not compile.
    """
    signature = f"exact_match|strip:{'yes' if strip else 'no'}|case:{'lc' if lowercase else 'mixed'}|multi:any|v1"
    dropped = (string.punctuation if ignore_punctuation else "") + (string.digits if ignore_numbers else "")
    if dropped or regexes_to_ignore:
        left_out = [name for name, on in (("punct", ignore_punctuation), ("numbers", ignore_numbers)) if on]
        signature = f"{signature.removesuffix('|v1')}|without:{','.join([*left_out, *map(repr, regexes_to_ignore)])}|v1"
    try:
        patterns = tuple(re.compile(pattern) for pattern in regexes_to_ignore)
    except (re.error, TypeError) as error:
        raise ConfigError(f"exact_match: regexes_to_ignore: {error}") from error
    score = partial(_equal, strip=strip, lowercase=lowercase, dropped=dropped, patterns=patterns)
    return PairMetric("exact_match", signature, score)


def _equal(
    candidate: str,
    references: tuple[str, ...],
    *,
    strip: bool,
    lowercase: bool,
    dropped: str,
    patterns: tuple[re.Pattern[str], ...],
) -> Score:
    texts = [candidate, *references]
    for pattern in patterns:
        texts = [pattern.sub("", text) for text in texts]
    if dropped:
        table = str.maketrans("", "", dropped)
        texts = [text.translate(table) for text in texts]
    if strip:
        texts = [text.strip() for text in texts]
    if lowercase:
        texts = [text.lower() for text in texts]
    return float(texts[0] in texts[1:]), {}
