"""The Porter stemmer as NLTK extends it, which rouge-score and NLTK's METEOR use.

Source: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with these changes (NLTK's mode
NLTK_EXTENSIONS): a pool of irregular forms; words of one or two letters stay; four-letter `ies` and `ied` keep
an `e`; `ied` otherwise becomes `i`; `y` becomes `i` only after a consonant that is not the first letter; `alli`
is resolved before the other rules of step 2, `fulli` is one of them and `logi` measures the `l` with the stem;
a two-letter vowel-consonant stem counts as *o.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

_VOWELS = frozenset("aeiou")
_SHAPES = "".join("v" if chr(point) in _VOWELS else "c" for point in range(128))
"""The shape of each ASCII character but y."""

_UNCHANGED = ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")
"""Words that would lose their ends."""
_IRREGULAR = {
    **{word: word for word in _UNCHANGED},
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
}

_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful")),
)
_STEP_3 = (("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""))
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def _by_letter(suffixes: Iterable[tuple[str, str]]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the rules by the last letter but one of their suffix, in order: no other rule can fit a word."""
    rules: dict[str, list[tuple[str, str]]] = {}
    for rule in suffixes:
        rules.setdefault(rule[0][-2], []).append(rule)
    return {letter: tuple(rules) for letter, rules in rules.items()}


_RULES_2, _RULES_3, _RULES_4 = _by_letter(_STEP_2), _by_letter(_STEP_3), _by_letter((suffix, "") for suffix in _STEP_4)


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Return the stem of a word, in lower case."""
    lowered = word.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if len(word) <= 2:
        return lowered
    word = lowered
    if word.endswith("ies"):
        word = word[:-1] if len(word) == 4 else word[:-2]
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = _drop_ing(word)
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    word = _replace(_step_2(word), _RULES_3)
    for suffix, _ in _RULES_4.get(word[-2:-1], ()):
        if word.endswith(suffix):  # the first that fits decides, whether or not enough stands before it
            rest = word[: -len(suffix)]
            if _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st"):
                word = rest
            break
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(word: str) -> str:
    """Spell a word in `c` and `v`: y is a vowel after a consonant, and whatever is not a vowel is a consonant."""
    if "y" not in word and word.isascii():
        return word.translate(_SHAPES)
    letters: list[str] = []
    last = "v"
    for letter in word:
        if letter in _VOWELS:
            last = "v"
        elif letter == "y":
            last = "c" if not letters or last == "v" else "v"
        else:
            last = "c"
        letters.append(last)
    return "".join(letters)


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _ends_cvc(word: str) -> bool:
    shape = _shape(word)
    if len(word) == 2:
        return shape == "vc"
    return shape.endswith("cvc") and word[-1] not in "wxy"


def _replace(word: str, rules: Mapping[str, tuple[tuple[str, str], ...]]) -> str:
    """Apply the first rule whose suffix fits; if nothing with a measure stands before it, no later rule is tried."""
    for suffix, replacement in rules.get(word[-2:-1], ()):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) > 0 else word
    return word


def _drop_ing(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and "v" in _shape(word[: -len(suffix)]):
            word = word[: -len(suffix)]
            break
    else:
        return word
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) >= 2 and word[-1] == word[-2] and _shape(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    if word.endswith("*d"):
        return word[:-2] + "d"  # NLTK takes its own rule marker for a suffix; kept, or such a token would differ
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _RULES_2)
