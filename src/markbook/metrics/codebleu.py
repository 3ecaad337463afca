"""CodeBLEU: how much code resembles a reference in its tokens, its syntax and its data flow."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markbook import plugins
from markbook.errors import UsageError
from markbook.metrics import _code_parsers, _source
from markbook.metrics._code_flow import Edge, edges
from markbook.metrics._code_grammars import GRAMMARS, KEYWORDS
from markbook.metrics._code_tree import MAX_DEPTH, Node, depth, subtrees
from markbook.metrics._pairwise import PairMetric, Score, clamp, undefined
from markbook.metrics._python_tree import convert
from markbook.types import Attempt, Item, Sample

PARTS = ("ngram", "weighted_ngram", "syntax", "dataflow")
SPELLINGS = {"c++": "cpp", "c#": "c_sharp", "csharp": "c_sharp", "js": "javascript", "py": "python", "golang": "go"}
PARSERS = ("ast", "tree-sitter")
_ORDER = 4
_EPSILON = 0.1
"""Count of an order without a match (smoothing method 1 of Chen and Cherry 2014)."""
_KEYWORD_WEIGHT, _WORD_WEIGHT = 1.0, 0.2
_CACHED_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class Shape:
    """What is compared of one text beyond its tokens."""

    syntax: Counter[bytes]
    flow: Counter[Edge]


def codebleu(
    *,
    lang: str = "python",
    weights: Iterable[float] = (0.25, 0.25, 0.25, 0.25),
    parser: str = "",
    profile: str = "corrected",
) -> PairMetric:
    """Return the weighted mean of four matches with the reference, 0 to 1; higher is better.

    The parts are BLEU-4 over white-space tokens, the same as a recall in which keywords weigh 1 and other words .2,
    the share of the reference's sub-trees that the candidate has, and the share of its data-flow edges. Part values
    stand in `stats`; a part that the reference does not define (no data flow in it, code that does not parse, a text
    of more than 400 levels) is dropped, listed in `stats["dropped"]`, and the weights of the others are scaled up
    (`stats["weights"]`). A candidate that does not parse has no syntax and no flow in common: 0. Several references:
    the best one for each part but the first, which clips against all of them. Source: Ren et al. 2020,
    arXiv 2009.10297, with the repairs that `docs/metrics/codebleu.md` lists.

    Args:
        lang: python, java, javascript, go, c, cpp, rust, c_sharp, php or ruby.
        weights: of the four parts.
        parser: `ast` (the default for Python) or `tree-sitter` (for all other languages; extra `code`).
        profile: `documented` is plain BLEU, as the document computes what it calls CodeBLEU.

    Raises:
        UsageError: an option has a value that it cannot have.
        ExtraMissingError: the language needs the extra `code`.
    """
    if profile == "documented":
        made: PairMetric = _plain_bleu()
        return made
    if profile != "corrected":
        raise UsageError(f"unknown profile {profile!r}", hint="corrected, documented")
    lang = SPELLINGS.get(lang.lower(), lang.lower())
    if lang not in GRAMMARS:
        raise UsageError(f"unknown language {lang!r}", hint=plugins.suggest(lang, sorted(GRAMMARS)))
    shares = tuple(float(weight) for weight in weights)
    if len(shares) != len(PARTS) or min(shares) < 0 or not math.isfinite(sum(shares)) or sum(shares) <= 0:
        raise UsageError(f"weights {shares} are not four shares", hint="four numbers from 0 up, not all 0")
    parser = parser or ("ast" if lang == "python" else "tree-sitter")
    if parser not in PARSERS or (parser == "ast" and lang != "python"):
        raise UsageError(f"no parser {parser!r} for {lang}", hint="ast (Python only), tree-sitter")
    version = _code_parsers.version(lang) if parser == "tree-sitter" else "stdlib"
    listed = ",".join(f"{weight:g}" for weight in shares)
    return PairMetric(
        name="codebleu",
        signature=f"codebleu|lang:{lang}|parser:{parser}[{version}]|w:{listed}|df:renorm|multi:best|v1",
        score=functools.partial(_score, lang, parser, shares),
    )


def _plain_bleu() -> PairMetric:
    metric: PairMetric = plugins.create("metrics", "bleu", convention="hf")
    return PairMetric(
        name="codebleu",
        signature=f"codebleu|profile:documented|{metric.signature}",
        score=functools.partial(_as_bleu, metric),
    )


def _as_bleu(metric: PairMetric, candidate: str, references: tuple[str, ...]) -> Score:
    found = metric.measure([Item(Sample("", references=references), Attempt("", candidate))])[0]
    value = found.value if found.value is not None else found.missing
    assert value is not None
    return value, found.stats


def _score(lang: str, parser: str, weights: tuple[float, ...], candidate: str, references: tuple[str, ...]) -> Score:
    texts = [reference.strip() for reference in references if reference.strip()]
    if not texts:
        return undefined("the reference is empty"), {}
    candidate = candidate.strip()
    mine, others = candidate.split(), [text.split() for text in texts]
    grams, known = _all_grams(mine), [_all_grams(other) for other in others]
    parts: dict[str, float | None] = {
        "ngram": _bleu(mine, others, grams, known),
        "weighted_ngram": max(_recall(mine, grams, one, KEYWORDS[lang]) for one in known),
    }
    shape, shapes = _shape(lang, parser, candidate), [_shape(lang, parser, text) for text in texts]
    syntax = [_syntax(shape, other) for other in shapes]
    flow = [_flow(shape, other) for other in shapes]
    parts["syntax"] = max((one for one in syntax if one is not None), default=None)
    parts["dataflow"] = max((one for one in flow if one is not None), default=None)
    used = {name: weight for name, weight in zip(PARTS, weights, strict=True) if parts[name] is not None}
    total = math.fsum(used.values())
    stats: dict[str, object] = {name: value for name, value in parts.items() if value is not None}
    stats["dropped"] = [name for name in PARTS if name not in used]
    stats["candidate_parses"] = shape is not None
    if not total:
        return undefined("no part with a weight is defined for this reference"), stats
    stats["weights"] = {name: weight / total for name, weight in used.items()}
    value = math.fsum(weight / total * (parts[name] or 0.0) for name, weight in used.items())
    return clamp(value), stats


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[place:] for place in range(n)), strict=False))


def _penalty(length: int, reference: int) -> float:
    if length > reference:
        return 1.0
    return math.exp(1 - reference / length) if length else 0.0


def _geometric(matches: Sequence[tuple[float, float]], penalty: float) -> float:
    if matches[0][0] == 0:
        return 0.0
    logs = [math.log((found or _EPSILON) / most) / _ORDER for found, most in matches]
    return penalty * math.exp(math.fsum(logs))


Grams = tuple[Counter[tuple[str, ...]], ...]


def _all_grams(words: Sequence[str]) -> Grams:
    return tuple(_grams(words, n) for n in range(1, _ORDER + 1))


def _bleu(candidate: Sequence[str], references: Sequence[Sequence[str]], mine: Grams, others: Sequence[Grams]) -> float:
    """Return BLEU-4 with an epsilon for an order without a match, clipped against all references."""
    matches = []
    for n, counts in enumerate(mine):
        most = others[0][n]
        for other in others[1:]:
            most = most | other[n]
        found = sum(min(many, most[gram]) for gram, many in counts.items() if gram in most)
        matches.append((float(found), float(max(1, counts.total()))))
    nearest = min((len(one) for one in references), key=lambda length: (abs(length - len(candidate)), length))
    return _geometric(matches, _penalty(len(candidate), nearest))


def _recall(candidate: Sequence[str], mine: Grams, other: Grams, keywords: frozenset[str]) -> float:
    """Return the same as a recall, in which a keyword counts 1 and any other word .2 (single words only)."""
    matches = []
    for n, counts in enumerate(other):
        have = mine[n]
        found = [(gram, min(many, have[gram])) for gram, many in counts.items() if gram in have]
        if n == 0:
            weights = {gram: _KEYWORD_WEIGHT if gram[0] in keywords else _WORD_WEIGHT for gram in counts}
            most = math.fsum(many * weights[gram] for gram, many in counts.items())
            matches.append((math.fsum(many * weights[gram] for gram, many in found), max(1.0, most)))
        else:
            matches.append((float(sum(many for _, many in found)), float(max(1, counts.total()))))
    # A recall already falls with what is missing, so length is punished only below two words, as everywhere published.
    return _geometric(matches, _penalty(len(candidate), 2))


def _syntax(mine: Shape | None, other: Shape | None) -> float | None:
    """Return the share of the reference's sub-trees that the candidate has; None where the reference has none."""
    if other is None or not other.syntax:
        return None
    if mine is None:
        return 0.0
    return sum(many for shape, many in other.syntax.items() if shape in mine.syntax) / other.syntax.total()


def _flow(mine: Shape | None, other: Shape | None) -> float | None:
    if other is None or not other.flow:
        return None
    if mine is None:
        return 0.0
    found = sum(min(many, mine.flow[edge]) for edge, many in other.flow.items() if edge in mine.flow)
    return found / other.flow.total()


def _shape(lang: str, parser: str, text: str) -> Shape | None:
    """Return what is compared of a text, None where it does not parse. Short texts are remembered."""
    return shape_cached(lang, parser, text) if len(text) <= _CACHED_CHARACTERS else _shape_of(lang, parser, text)


def _shape_of(lang: str, parser: str, text: str) -> Shape | None:
    root = _python(text) if parser == "ast" else _code_parsers.parse(lang, text)
    if not isinstance(root, Node) or depth(root) > MAX_DEPTH or not root.children:
        return None
    grammar = GRAMMARS[lang]
    return Shape(subtrees(root), edges(root, grammar) if grammar is not None else Counter())


shape_cached = functools.lru_cache(maxsize=1024)(_shape_of)


def _python(text: str) -> Node | None:
    source = _source.read(text)
    if isinstance(source, str):
        return None
    try:
        root = convert(source.tree, source.text)
    except RecursionError:
        return None
    if source.rung != "body":
        return root
    # The head `def _():` was put there to make a body parse; only what is under it is the answer's.
    function, *rest = root.children
    body = function.child("body")
    return Node("module", [*(body.children if body else []), *rest])
