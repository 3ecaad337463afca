"""Reports read back: every number and word as a cell, known by where it stands, what it is called, and which models and samples it is said of.

    cells(files, names) -> {(where, models, samples, name): [values]}

The files of every report are read by their endings, so that a new report needs nothing here unless its files have a new one.
Models and samples are known by their names alone, wherever these stand: a test gives them names that occur nowhere else.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import chain
from typing import NamedTuple
from xml.etree import ElementTree as ET

VOLATILE = re.compile(
    r"(?:^|\.)(?:date|started|(?:\w+_)?seconds|time|retrieved_timestamp|evaluation_id|source|run|output)$"
)
"""Cells that say when and where something was done."""
_DIGEST = re.compile(r"(?<![\w.])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,}\b")
_INPUTS = "Inputs (SHA-256)"
"""The line of a page that names the first files that were read, with their digests."""
_MINUTE = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d(?:[:-]\d\d(?:\.\d+)?)?(?:\+00:00|Z)?")
_STAMP = re.compile(r"_\d{4}-\d\d-\d\dT[\d-]+(?:\.\d+)?")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
_TOKEN = re.compile(r"[^\s,;:()\[\]]+")


class Record(NamedTuple):
    """Cells that belong together: a row of a table, an object, a line."""

    where: str
    cells: Mapping[str, object]
    context: str = ""
    """Words that say what the cells are about, beside the cells themselves."""


def read_records(files: Mapping[str, bytes]) -> Iterator[Record]:
    """Yield the records of files by their paths; pictures say what the tables say and are left out."""
    for path, content in sorted(files.items()):
        name, suffix = _STAMP.sub("", path).rpartition(".")[::2]
        if suffix in ("png", "svg"):
            continue
        for record in _READERS[suffix](content):
            yield Record(f"{name}.{suffix} {record.where}".strip(), record.cells, f"{path} {record.context}")


def _read_json(content: bytes) -> Iterator[Record]:
    yield from _walk("", json.loads(content), "")


def _read_lines(content: bytes) -> Iterator[Record]:
    for line in content.decode().splitlines():
        yield from _walk("", json.loads(line), line)  # a row is about one sample, wherever in it that is named


def _walk(where: str, value: object, context: str) -> Iterator[Record]:
    """Yield an object's own values as one record, and those of the objects in it as others that are about the same and their key."""
    if isinstance(value, dict):
        value = _turn_pair(value)
        own = {key: one for key, one in value.items() if not isinstance(one, dict) and not _holds_objects(one)}
        about = " ".join([context, *(str(one) for one in own.values() if isinstance(one, str) and len(one) < 40)])
        yield Record(where, own, context)
        for key, one in value.items():
            if key not in own:
                yield from _walk(f"{where}.{key}", one, f"{about} {key}")
    elif isinstance(value, list):
        for one in value:
            yield from _walk(f"{where}[]", one, context)


_FIRST_AND_SECOND = (("model_a", "model_b"), ("First", "Second"))


def _turn_pair(pair: Mapping[str, object]) -> Mapping[str, object]:
    """Return what is said of two models with the first in the alphabet first: of two that tie, either may stand first."""
    first, second = next((keys for keys in _FIRST_AND_SECOND if set(keys) <= set(pair)), ("", ""))
    if not first or str(pair[first]) <= str(pair[second]):
        return pair
    return _turn({**pair, first: pair[second], second: pair[first]})


def _turn(pair: Mapping[str, object]) -> dict[str, object]:
    other = {"low": "high", "high": "low", "only_a": "only_b", "only_b": "only_a"}
    turned = {other.get(name, name): value for name, value in pair.items()}
    return {name: _turn(value) if isinstance(value, dict) else value for name, value in turned.items()}


def _holds_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) or _holds_objects(one) for one in value)


def _read_csv(content: bytes) -> Iterator[Record]:
    for row in csv.DictReader(io.StringIO(content.decode())):
        yield Record("", row)


def _read_parquet(content: bytes) -> Iterator[Record]:
    import pyarrow.parquet as pq

    for row in pq.read_table(io.BytesIO(content)).to_pylist():
        yield Record("", row)


def _read_junit(content: bytes) -> Iterator[Record]:
    for suite in ET.fromstring(content):
        yield Record("suite", dict(suite.attrib))
        for case in suite:
            cells = {name: value for name, value in case.attrib.items() if name != "time"}
            for inner in case:
                cells |= {f"{inner.tag}.{name}": value for name, value in inner.attrib.items()}
                cells[inner.tag] = "".join(inner.itertext())
                cells |= {str(one.get("name")): one.get("value") for one in inner}
            yield Record("case", cells)


def _read_markdown(content: bytes) -> Iterator[Record]:
    titles, headers = ["", "", "", ""], None
    for line in content.decode().splitlines():
        text = re.sub(r"\\(?=[^\w\s])", "", line).strip()
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            titles[level:], headers = [text.lstrip("# "), *[""] * (3 - level)], None
            continue
        where = " / ".join(filter(None, titles[2:]))
        if not line.startswith("|"):
            headers = None
            if text:
                yield Record(where, {"line": text}, titles[3] or titles[2])
        elif headers is None:
            headers = _split_row(line)
        elif set(line) - set("|-: "):
            yield Record(where, dict(zip(headers, _split_row(line), strict=True)), titles[3] or titles[2])


def _split_row(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [re.sub(r"\\(?=[^\w\s])", "", cell).strip() for cell in cells]


def _read_latex(content: bytes) -> Iterator[Record]:
    label, headers = "", None
    for line in content.decode().splitlines():
        text = _read_words(line)
        if match := re.match(r"\\label\{(.*)\}", text):
            label, headers = match[1], None
        elif line.endswith(r" \\"):
            cells = [_read_words(cell) for cell in line.removesuffix(r" \\").split(" & ")]
            if headers is None:
                headers = cells
            else:
                yield Record(label, dict(zip(headers, cells, strict=True)))
        elif not text.startswith("\\") or text.startswith(r"\caption"):
            yield Record("", {"line": text})


def _read_words(text: str) -> str:
    return re.sub(r"\{([\[\]-])\}", r"\1", re.sub(r"\\(?=[%_&#$])", "", text)).strip()


class _Page(HTMLParser):
    """Collects the tables of a page and its words, block by block; what a problem's block says is about the problem."""

    _SKIPPED = frozenset(("style", "script", "svg", "head", "form", "nav"))
    _BLOCKS = frozenset(("p", "li", "div", "h1", "h2", "h3", "summary", "pre", "table", "caption", "tr", "th", "td", "details", "section"))  # fmt: skip

    _EXAMPLE = ("From ", "@@ ")
    """How a right answer beside a wrong one begins: an example of a difference, of whichever models stand first."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record] = []
        self._hidden: list[str] = []
        self._words: list[str] = []
        self._title = self._problem = self._answer = ""
        self._headers: list[str] | None = None
        self._row: list[str] | None = None
        self._spans: list[str] = []
        self._folds: list[bool] = []

    def handle_starttag(self, tag, attributes):
        classes = (dict(attributes).get("class") or "").split()
        if tag in self._SKIPPED:
            self._hidden.append(tag)
        elif tag in self._BLOCKS:
            self._flush("")
            if tag == "details":
                self._folds.append("problem" in classes)
            elif tag == "table":
                self._headers = None
            elif tag == "tr":
                self._row = []
        elif tag == "span":
            kind = classes[0] if classes and classes[0] in ("id", "mark") else ""
            if kind:
                self._flush("")
            self._spans.append(kind)

    def handle_endtag(self, tag):
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.pop()
        elif tag == "span":
            kind = self._spans.pop()
            if kind == "id":
                self._problem, self._answer = self._text(), ""
            elif kind:
                self._flush(kind)
        elif tag in ("h2", "h3"):
            words = self._text()
            self._answer = words if tag == "h3" else ""
            self._title = self._title if self._problem else words
            self._flush(tag)
        elif tag in ("th", "td") and self._row is not None:
            self._row.append(self._text())
            self._words.clear()
        elif tag == "tr" and self._row is not None:
            if self._headers is None:
                self._headers = self._row
            else:
                cells = dict(zip(self._headers, self._row, strict=True))
                self.records.append(Record(self._title if not self._problem else "problem tests", cells, self._problem))
            self._row = None
        elif tag == "details":
            self._flush("")
            if self._folds.pop():
                self._problem = self._answer = ""
        elif tag in self._BLOCKS:
            self._flush(tag)
        elif tag == "dt":
            self._words.append(" ")

    def handle_data(self, data):
        if not self._hidden:
            self._words.append(data)

    def _text(self) -> str:
        return " ".join("".join(self._words).split())

    def _flush(self, name: str) -> None:
        words = self._text()
        self._words.clear()
        if words and not words.startswith(self._EXAMPLE):
            where = "problem" if self._problem else self._title
            self.records.append(Record(where, {f"line {name}".strip(): words}, f"{self._problem} {self._answer}"))


def _read_html(content: bytes) -> Iterator[Record]:
    page = _Page()
    page.feed(content.decode())
    yield from page.records


_READERS = {
    "csv": _read_csv, "html": _read_html, "json": _read_json, "jsonl": _read_lines, "md": _read_markdown, "parquet": _read_parquet,
    "tex": _read_latex, "xml": _read_junit,
}  # fmt: skip

Key = tuple[str, tuple[str, ...], tuple[str, ...], str]


class Names:
    """The models and samples of a test, and what they are to be called."""

    def __init__(self, models: Sequence[str], items: Sequence[str], renamed: Mapping[str, str] | None = None) -> None:
        self.models, self.items, self._renamed = frozenset(models), frozenset(items), dict(renamed or {})
        self._pattern = self._match([*models, *items])
        self._old = self._match(list(self._renamed)) if self._renamed else None

    @staticmethod
    def _match(words: Sequence[str]) -> re.Pattern[str]:
        return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, words))})(?![A-Za-z0-9])")

    def rename(self, text: str) -> str:
        return self._old.sub(lambda match: self._renamed[match[0]], text) if self._old else text

    def find(self, *texts: str) -> frozenset[str]:
        return frozenset(chain.from_iterable(self._pattern.findall(text) for text in texts))

    def blank(self, text: str, model: str) -> str:
        return self._pattern.sub(lambda match: "MODEL" if match[0] == model else match[0], text)

    def hide(self, text: str) -> str:
        return self._pattern.sub("*", text)


def cells(files: Mapping[str, bytes], names: Names) -> dict[Key, list[object]]:
    """Return all cells of a report's files.

    In the cells that are said of one model it is called MODEL, so that what is said of two can be compared. The words of a cell
    that is said of several models or samples are sorted and its numbers have no sign: who stands first there is no matter.
    """
    collected: dict[Key, list[object]] = defaultdict(list)
    for record in read_records(files):
        texts = [names.rename(text) for text in (record.where, record.context)]
        values = {names.rename(name): _rename(value, names) for name, value in _turn_pair(record.cells).items()}
        about = names.find(*texts, *(value for value in values.values() if isinstance(value, str)))
        for name, value in values.items():
            if value in (None, "") or _is_volatile(name, value):
                continue
            said = about | names.find(name, *([json.dumps(value)] if isinstance(value, list) else []))
            models, items = sorted(said & names.models), sorted(said & names.items)
            model = models[0] if len(models) == 1 else ""
            key = names.hide(texts[0]), tuple(models), tuple(items), names.hide(name)
            collected[key].append(_normalise(value, names, model, is_sorted=len(models) > 1 or len(items) > 1))
    return {key: sorted(values, key=repr) for key, values in collected.items()}


def in_order(files: Mapping[str, bytes]) -> list[tuple[str, dict[str, object]]]:
    """Return all records of a report's files in their order, without what says when and where something was done."""
    return [
        (
            record.where,
            {
                name: _MINUTE.sub("MINUTE", value) if isinstance(value, str) else value
                for name, value in record.cells.items()
                if not _is_volatile(name, value)
            },
        )
        for record in read_records(files)
    ]


def _is_volatile(name: str, value: object) -> bool:
    return bool(VOLATILE.search(name)) or (isinstance(value, str) and _INPUTS in value)


def _rename(value: object, names: Names) -> object:
    if isinstance(value, list):
        return [_rename(one, names) for one in value]
    return names.rename(value) if isinstance(value, str) else value


def _normalise(value: object, names: Names, model: str, *, is_sorted: bool) -> object:
    if isinstance(value, list):
        parts = [_normalise(one, names, model, is_sorted=is_sorted) for one in value]
        return tuple(sorted(parts, key=repr) if is_sorted else parts)
    if isinstance(value, float | int) and not isinstance(value, bool):
        rounded = round(float(value), 9) + 0.0  # sums in another order differ in their last digit
        return abs(rounded) if is_sorted else rounded
    if not isinstance(value, str):
        return value
    text = _round_long(_MINUTE.sub("MINUTE", _DIGEST.sub("DIGEST", names.blank(value, model))))
    if is_sorted:
        return tuple(sorted(_NUMBER.sub(lambda one: one[0].lstrip("-+−"), word) for word in _TOKEN.findall(text)))
    return text


def _round_long(text: str) -> str:
    """Return a text whose numbers of many digits are rounded, as those of JSON are."""
    return re.sub(r"(?<![\w.])-?\d+\.\d{10,}(?:e-?\d+)?", lambda one: repr(round(float(one[0]), 9)), text)
