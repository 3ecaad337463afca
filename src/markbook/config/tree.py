"""YAML as a tree that remembers where everything stands, read without running or expanding anything.

Theory of operation
-------------------
A task file is written by strangers and read before anybody looked at it, and every complaint about it has to name a
line and a column. A loader that makes Python values loses the places and runs constructors for tags, so the tree is
built here, out of the parser's events.

*The parts.* `read_tree` opens a regular file of at most `MAX_BYTES`. `_Builder` takes one event at a time and keeps
the open collections on a stack of its own: without recursion a file can nest only as deep as `MAX_DEPTH`, and
the error names the place. A finished `Node` holds a plain value, its file, line and column, and those of its keys.
`plain` gives the values alone; `check` finds the place again for each error of pydantic.

*Aliases.* An alias is the very node of its anchor, not a copy, so a tree takes no more memory than its text. Because
`plain` unfolds it, each node knows its `size` with all aliases unfolded, and more than `MAX_NODES` are refused while
the tree is built: a 300-byte bomb never comes to exist. An alias inside its own anchor is unknown, as the anchor is
entered when its node is complete.

*Scalars.* Words follow the core schema of YAML 1.2, where `yes` and `no` are texts. Files of the harness are YAML 1.1:
`with_words` converts bare words afterwards, which is why a node remembers whether it stood without quotes. Numbers
remember how they were written, for `version: 1.10` is not 1.1.

*Tags.* `!function name` becomes a `Function`, a name to look up. The core tags are honoured; every other is refused.

*Keys that stand twice* are an error, but the harness takes the last one: a caller that passes the list `twice` gets
them as notes. Merge keys (`<<`) are resolved here, with a mapping's own keys over them.

The library's `compose` would build a similar tree in fewer lines, but it recurses and cannot be stopped by depth or
size at the place where the limit is passed.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from markbook.errors import ConfigError, os_errors_as, suggest

if TYPE_CHECKING:
    from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound="BaseModel")

Event = Any
"""A parser event; the library's own classes declare none of the attributes that its parser sets."""

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_NODES = 100_000

_CORE = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS = {
    spelled: is_true
    for words, is_true in ((("yes", "on"), True), (("no", "off"), False))
    for word in words
    for spelled in (word, word.capitalize(), word.upper())
}
"""What YAML 1.1 takes for true and false beside those."""
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MAX_DIGITS = 400


@dataclass(frozen=True, slots=True)
class Function:
    """A `!function name` tag: a name to look up, never something to import."""

    name: str
    at: str
    """`file:line:column`."""

    @property
    def folder(self) -> Path:
        """Where the file lies that names it, which need not be the one that includes that file."""
        return Path(self.at.rsplit(":", 2)[0]).parent


@dataclass(frozen=True, slots=True)
class Twice:
    """A key that stands twice in a mapping."""

    name: str
    at: str
    first: str
    """Line and column of the first."""

    @property
    def error(self) -> ConfigError:
        """What is said where one key counts as a mistake."""
        return ConfigError(f"duplicate key {self.name!r}", at=self.at, hint=f"first at {self.first}")

    @property
    def note(self) -> str:
        """What is said where the last one counts."""
        return f"the key {self.name!r} stands twice, the last one counts: {self.at}, first at {self.first}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands."""

    value: bool | int | float | str | Function | list[Node] | dict[str, Node] | None
    file: str
    line: int
    """From 1."""
    column: int
    """From 1."""
    size: int = 1
    """How many nodes it holds with every alias unfolded."""
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Line and column of a mapping's keys."""
    is_bare: bool = False
    """Whether it is a word or number that stands without quotes and without a tag."""
    text: str = ""
    """How a number is written: 1.10 is the number 1.1."""

    @property
    def at(self) -> str:
        """`file:line:column`."""
        return f"{self.file}:{self.line}:{self.column}"

    def key_at(self, key: str) -> str:
        """`file:line:column` of a mapping's key, or of the node itself if the key came from elsewhere."""
        if key not in self.keys:
            return self.at
        value = self.value[key] if isinstance(self.value, dict) else self
        line, column = self.keys[key]
        return f"{value.file}:{line}:{column}"


def plain(node: Node) -> Any:
    """Return the node as plain Python values; functions stay `Function`."""
    if isinstance(node.value, dict):
        return {key: plain(value) for key, value in node.value.items()}
    if isinstance(node.value, list):
        return [plain(value) for value in node.value]
    return node.value


def with_words(node: Node) -> Node:
    """Return a tree in which bare words are what YAML 1.1 makes of them: yes and on are true, no and off false."""
    if isinstance(node.value, dict):
        return replace(node, value={key: with_words(value) for key, value in node.value.items()})
    if isinstance(node.value, list):
        return replace(node, value=[with_words(value) for value in node.value])
    if node.is_bare and isinstance(node.value, str) and node.value in _WORDS:
        return replace(node, value=_WORDS[node.value])
    return node


def find(node: Node, path: Sequence[object]) -> Node:
    """Return the deepest node on a path of keys and indices, stopping where the path leaves the tree."""
    for step in path:
        if isinstance(node.value, dict) and step in node.value:
            node = node.value[str(step)]
        elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
    return node


def read_tree(path: Path, twice: list[Twice] | None = None) -> Node:
    """Read a YAML file. `twice` takes the keys that stand twice, of which the last counts; without it they are an error.

    Raises:
        ConfigError: no such file, not a regular file, too large, not UTF-8, or as `parse_tree`.
    """
    with os_errors_as(ConfigError, "cannot read it", path):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError("not a regular file", at=str(path))
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES >> 20} MiB, the limit for a config file", at=str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"not UTF-8 at byte {error.start}", at=f"{path}:{line}") from error
    return parse_tree(text, str(path), twice)


def parse_tree(text: str, file: str, twice: list[Twice] | None = None) -> Node:
    """Parse YAML text with one document.

    Raises:
        ConfigError: a syntax error, a duplicate key without `twice`, a tag other than `!function` and the core ones, an unknown
            or recursive alias, more than one document, or a cap exceeded; each with `file:line:column`.
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _Builder(file, twice).build(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"not valid YAML: {problem}", at=at) from error
    except YAMLError as error:
        first = str(error).strip().splitlines()[0]
        raise ConfigError(f"not valid YAML: {first}", at=file) from error


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been seen."""

    event: Event
    items: list[Node]


class _Builder:
    """Builds nodes bottom-up from events with a stack of its own: no recursion, so depth is ours to cap."""

    def __init__(self, file: str, twice: list[Twice] | None) -> None:
        self.file = file
        self.twice = twice
        self.anchors: dict[str, Node] = {}
        self.stack: list[_Open] = []
        self.count = 0

    def build(self, text: str) -> Node:
        root: Node | None = None
        documents = 0
        from ruamel.yaml import YAML

        yaml: Any = YAML(typ="safe", pure=True)
        events: Iterator[Event] = yaml.parse(text)
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self.error("a second document starts here; a task file holds one", event)
            node = self.take(kind, event)
            if node is None:
                continue
            if self.stack:
                self.stack[-1].items.append(node)
            else:
                root = node
        if root is None:
            raise ConfigError("the file is empty", at=self.file)
        return root

    def take(self, kind: str, event: Event) -> Node | None:
        """Return the node that this event completes."""
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            self.stack.append(_Open(event, []))
            if len(self.stack) > MAX_DEPTH:
                raise self.error(f"nested deeper than {MAX_DEPTH} levels", event)
            return None
        if kind == "ScalarEvent":
            node = self.node(event, self.scalar(event), 1)
            written = str(event.value) if isinstance(node.value, int | float) else ""
            node = replace(node, is_bare=event.tag is None and event.implicit[0], text=written)
        elif kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise self.error(f"alias *{event.anchor} has no anchor before it", event)
            node = self.anchors[event.anchor]
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            opened = self.stack.pop()
            event = opened.event
            node = self.mapping(opened) if kind == "MappingEndEvent" else self.sequence(opened)
        else:
            return None
        if kind != "AliasEvent" and event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def node(self, event: Event, value: Any, size: int, keys: dict[str, tuple[int, int]] | None = None) -> Node:
        self.count += 1
        if size > MAX_NODES or self.count > MAX_NODES:
            raise self.error(f"its aliases stand for more than {MAX_NODES:,} values", event)
        mark = event.start_mark
        return Node(value, self.file, mark.line + 1, mark.column + 1, size, keys or {})

    def scalar(self, event: Event) -> bool | float | str | Function | None:
        tag, text = event.tag, event.value
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise self.error("this holds half a character, which nothing could write again", event)
        if tag is None:
            return self.resolve(text, event) if event.implicit[0] else text
        if tag == "!function":
            if not re.fullmatch(r"[A-Za-z_][\w.]*", text):
                raise self.error(f"!function takes a name such as utils.bleu_score, not {text!r}", event)
            return Function(text, self.at(event))
        if tag in ("!", _CORE + "str"):
            return str(text)
        if tag in {_CORE + name for name in ("int", "float", "bool", "null")}:
            return self.resolve(text, event)
        raise self.refuse_tag(tag, event)

    def resolve(self, text: str, event: Event) -> bool | float | str | None:
        """Return a plain scalar by the core schema of YAML 1.2."""
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if len(text) > _MAX_DIGITS:
            return text
        if _INT.fullmatch(text):
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if _NOT_FINITE.fullmatch(text):
            raise self.error(f"{text} is not a finite number", event)
        if _FLOAT.fullmatch(text):
            number = float(text)
            if not math.isfinite(number):
                raise self.error(f"{text} is not a finite number", event)
            return number
        return text

    def sequence(self, opened: _Open) -> Node:
        if opened.event.tag not in (None, _CORE + "seq"):
            raise self.refuse_tag(opened.event.tag, opened.event)
        return self.node(opened.event, opened.items, 1 + sum(item.size for item in opened.items))

    def mapping(self, opened: _Open) -> Node:
        if opened.event.tag not in (None, _CORE + "map"):
            raise self.refuse_tag(opened.event.tag, opened.event)
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        keys: dict[str, tuple[int, int]] = {}
        pairs = zip(opened.items[::2], opened.items[1::2], strict=True)
        for key, value in pairs:
            if isinstance(key.value, list | dict | Function):
                raise ConfigError("a key must be plain text", at=key.at)
            name = "null" if key.value is None else str(key.value)
            if name == "<<":
                sources = value.value if isinstance(value.value, list) else [value]
                result: dict[str, Node] = {}
                for source in sources:
                    if not isinstance(source.value, dict):
                        raise ConfigError("<< takes a mapping or a list of mappings", at=source.at)
                    result = source.value | result
                merged = result | merged
                continue
            if name in own:
                line, column = keys[name]
                duplicate = Twice(name, key.at, f"{line}:{column}")
                if self.twice is None:
                    raise duplicate.error
                self.twice.append(duplicate)
            own[name] = value
            keys[name] = (key.line, key.column)
        size = 1 + sum(1 + value.size for value in own.values()) + sum(1 + value.size for value in merged.values())
        return self.node(opened.event, merged | own, size, keys)

    def at(self, event: Event) -> str:
        return f"{self.file}:{event.start_mark.line + 1}:{event.start_mark.column + 1}"

    def error(self, message: str, event: Event) -> ConfigError:
        return ConfigError(message, at=self.at(event))

    def refuse_tag(self, tag: object, event: Event) -> ConfigError:
        tag_name = str(tag).replace(_CORE, "!!")
        return ConfigError(
            f"tag {tag_name} is not allowed", at=self.at(event), hint="nothing in a file is ever executed"
        )


# From a tree to a pydantic model, with every complaint at its place in the file.

_MOST_COMPLAINTS = 20
"""How many complaints are listed."""


def check(model: type[ModelT], node: Node) -> ModelT:
    """Return the node as a model.

    Raises:
        ConfigError: with one line a complaint, each with `file:line:column`, unknown keys with the nearest known.
    """
    from pydantic import ValidationError  # late: who reads a tree alone does without

    if not isinstance(node.value, dict):
        raise ConfigError(f"a mapping is needed here, not {_kind(node)}", at=node.at)
    try:
        return model.model_validate(plain(node))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        paths: list[tuple[int | str, ...]] = []
        for problem in problems:
            # pydantic puts its own names for the branches of a union into the path; the file holds none of them
            at, steps, location = node, list[int | str](), problem["loc"]
            for position, step in enumerate(location):
                inner = find(at, (step,))
                is_absent = problem["type"] == "missing" and position == len(location) - 1
                if inner is not at or is_absent:
                    steps.append(step)
                at = inner
            paths.append(tuple(steps))
        # Where a value may be of two kinds, every kind complains; the complaint that goes deepest is meant.
        problems_kept = [
            (path, problem)
            for path, problem in zip(paths, problems, strict=True)
            if not any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        ]
        # a misspelt key explains a missing one
        problems_kept.sort(key=lambda pair: pair[1]["type"] != "extra_forbidden")
        complaints = list(dict.fromkeys(_complaint(model, node, path, problem) for path, problem in problems_kept))
        first, rest = complaints[0], complaints[1:_MOST_COMPLAINTS]
        raise ConfigError("; ".join([first[1], *(f"{spot}: {text}" for spot, text in rest)]), at=first[0]) from None


_PLAIN = frozenset({"string_type", "int_type", "float_type", "bool_type"})
"""Complaints of a value that may be text, a number or true and false: of a list, all of them say the same."""


def _complaint(model: type[BaseModel], node: Node, steps: Sequence[int | str], error: Any) -> tuple[str, str]:
    key_path = ".".join(str(part) for part in steps)
    if error["type"] == "extra_forbidden":
        parent = find(node, steps[:-1])
        key = str(steps[-1])
        loc = error["loc"][:-1]
        current: list[type[BaseModel]] = [model]
        for step in loc:
            if isinstance(step, int):
                continue
            by_class = [cls for cls in current if cls.__name__ == step]
            nested = [
                inner
                for cls in current
                for name, info in cls.model_fields.items()
                if step in (name, info.alias)
                for inner in _models_in(info.annotation)
            ]
            current = by_class or nested or current
        names = {info.alias or name for cls in current for name, info in cls.model_fields.items()}
        return parent.key_at(key), f"unknown key {key_path!r} ({suggest(key, sorted(names))})"
    target = find(node, steps)
    if error["type"] == "missing":
        return target.at, f"{key_path!r} is missing"
    if error["type"] == "list_type":
        return target.at, f"{key_path!r} must be a list, not {_kind(target)}"
    if error["type"] in _PLAIN and isinstance(target.value, list | dict):
        return target.at, f"{key_path!r} must be a single value, not {_kind(target)}"
    return target.at, f"{key_path}: {error['msg'].removeprefix('Value error, ')}".removeprefix(": ")


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _kind(node: Node) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(node.value), type(node.value).__name__)
