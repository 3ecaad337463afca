"""Trees from tree-sitter, for every language that CodeBLEU knows (extra `code`)."""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata, resources
from types import FrameType
from typing import Any, NamedTuple

from markbook.metrics.code.flow import STRINGS, Grammar, Steps, SyntaxNode, TokenFlow
from markbook.metrics.python_source import MAX_CHARACTERS
from markbook.plugins import need

# The languages of CodeBLEU: their keywords, and the node kinds that move values.

_WORDS = resources.files("markbook.metrics.code").joinpath("data", "keywords.txt").read_text("ascii")
KEYWORDS = {lang: frozenset(words.split()) for lang, words in (line.split(": ") for line in _WORDS.splitlines())}
"""Words that weigh more in the second part: the reserved words of each language, and Python's soft ones."""

_C_LIKE = Grammar(
    assignments=frozenset({"assignment_expression"}),
    updates=frozenset({"update_expression"}),
    branches=frozenset({"if_statement"}),
    alternatives=frozenset({"else_clause"}),
    loops=frozenset({"while_statement", "do_statement"}),
    counted=frozenset({"for_statement"}),
)
_AUGMENTED = frozenset({"assignment_expression", "augmented_assignment_expression"})

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar(
        assignments=frozenset({"assignment", "augmented_assignment", "for_in_clause"}),
        pairwise=True,
        declarations={"default_parameter": ("name", "value")},
        branches=frozenset({"if_statement"}),
        alternatives=frozenset({"elif_clause", "else_clause"}),
        loops=frozenset({"while_statement"}),
        each={"for_statement": ("left", "right", "body")},
        first=frozenset({"for_in_clause"}),
    ),
    "java": replace(
        _C_LIKE,
        declarations={"variable_declarator": ("name", "value")},
        each={"enhanced_for_statement": ("name", "value", "body")},
    ),
    "javascript": replace(
        _C_LIKE,
        assignments=_AUGMENTED,
        declarations={"variable_declarator": ("name", "value")},
        each={"for_in_statement": ("left", "right", "body")},
        names=frozenset({"identifier", "shorthand_property_identifier_pattern"}),
    ),
    "c": replace(_C_LIKE, declarations={"init_declarator": ("declarator", "value")}),
    "cpp": replace(
        _C_LIKE,
        declarations={"init_declarator": ("declarator", "value")},
        each={"for_range_loop": ("declarator", "right", "body")},
    ),
    "go": Grammar(
        assignments=frozenset({"assignment_statement", "short_var_declaration", "range_clause"}),
        pairwise=True,
        declarations={"var_spec": ("name", "value"), "const_spec": ("name", "value")},
        updates=frozenset({"inc_statement", "dec_statement"}),
        branches=frozenset({"if_statement"}),
        loops=frozenset({"for_statement"}),
    ),
    "rust": Grammar(
        assignments=frozenset({"assignment_expression", "compound_assignment_expr"}),
        declarations={"let_declaration": ("pattern", "value")},
        branches=frozenset({"if_expression"}),
        alternatives=frozenset({"else_clause"}),
        loops=frozenset({"while_expression", "loop_expression"}),
        each={"for_expression": ("pattern", "value", "body")},
    ),
    "c_sharp": replace(
        _C_LIKE,
        declarations={"variable_declarator": ("name", "#0")},
        updates=frozenset({"postfix_unary_expression"}),
        each={"foreach_statement": ("left", "right", "body")},
    ),
    "php": replace(
        _C_LIKE, assignments=_AUGMENTED, each={"foreach_statement": ("#1", "#0", "body")}, names=frozenset({"name"})
    ),
    "ruby": Grammar(
        assignments=frozenset({"assignment", "operator_assignment"}),
        branches=frozenset({"if", "unless"}),
        alternatives=frozenset({"elsif", "else"}),
        loops=frozenset({"while", "until"}),
        each={"for": ("pattern", "value", "body")},
    ),
}
"""How values move in each language."""


# Numbers for the shapes of syntax trees: two sub-trees have one number exactly if they have one shape.
#
# A shape is what tree-sitter writes as an S-expression: a node's kind, and the fields and shapes of its named children;
# names, numbers and operators do not matter. Numbering them from the leaves up (hash-consing) compares two sub-trees in
# one step, where the published package compares their texts.

MAX_DEPTH = 400
"""Deeper trees are not compared: no program that a person wrote is, and Python's own stack ends at 1,000."""
MAX_NODES = 200_000
MAX_SHAPES = 100_000
"""A table that has more is given up with all that was numbered by it, so that a long run needs no more memory."""

Key = tuple["str | int", ...]
"""A kind, then each named child's number, after the name of its field if it stands in one."""

_NUMBERS = itertools.count(1)
"""Never the same number twice in a process, so that numbers of two tables are never taken for one another."""


class Shapes(dict[Key, int]):
    """A table from keys to numbers that grows as it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self._depths: dict[int, int] = {}

    def __missing__(self, key: Key) -> int:
        number, depths, deepest = next(_NUMBERS), self._depths, 0
        for child in key:
            if child.__class__ is int and depths[child] > deepest:
                deepest = depths[child]
        depths[number] = deepest + 1
        return self.setdefault(key, number)  # another thread may have been first; then all take its number

    def depth(self, number: int) -> int:
        """Return the number of nodes on the longest way down, literal tokens of the grammar not counted."""
        return self._depths[number]

    @property
    def is_full(self) -> bool:
        """Whether it has grown beyond what is worth keeping."""
        return len(self) > MAX_SHAPES


# Room on Python's stack: how deep a text may be nested is decided by our limit, not by how deep the caller stands.

_lock = threading.Lock()
_users = 0
_before = 0


@contextmanager
def room_for(calls: int) -> Iterator[None]:
    """Let so many calls stand within one another from here on; the limit is the whole process's, so the last to leave sets it back."""
    global _users, _before  # noqa: PLW0603 - there is one limit
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - no other way to count
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    with _lock:
        if not _users:
            _before = sys.getrecursionlimit()
        _users += 1
        # Never lowered here: another thread that is within this context may need the higher limit.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), depth + calls))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                sys.setrecursionlimit(_before)


_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "line_continuation"})
"""What stands between the tokens and says nothing: a backslash at the end of a line too."""
_FRAMES = 5
"""Calls that one level of a tree takes, at most."""
_ERROR = 0xFFFF
"""The kind of what the parser could not read, in every grammar."""


_node: Callable[[tuple[object, ...]], SyntaxNode] = functools.partial(tuple.__new__, SyntaxNode)
"""Makes a node of its members in order, in half the time of its constructor."""


class NodeKind(NamedTuple):
    """What the walk asks of a kind of node, looked up once a language."""

    name: str
    text: bytes
    """The name as it would stand in a source."""
    is_named: bool
    """Whether it is a rule of the grammar; the others are the literal tokens between them."""
    literal: bytes | None
    """The text of a literal token."""
    is_comment: bool
    is_string: bool
    is_special: bool
    """Whether it moves values."""
    is_variable: bool
    is_doubtful: bool
    """Whether it may be a comment or a docstring."""
    node: SyntaxNode
    """A literal token of this kind in no field: it has no shape and no value, and one does for all."""


class ParserGrammar(NamedTuple):
    """A parser, and its grammar's kinds and fields by number."""

    parser: Any
    kinds: dict[int, NodeKind]
    fields: dict[int | None, str | None]


class Read(NamedTuple):
    """A source that was read."""

    root: int
    """The shape of the whole."""
    counted: list[int]
    """The shapes of all sub-trees, one entry an occurrence."""
    program: TokenFlow
    parses: bool


@functools.cache
def language(lang: str) -> ParserGrammar:
    """Return a language's parser and tables.

    Raises:
        ExtraMissingError: tree-sitter or the language's grammar is not installed.
    """
    tree_sitter = need("tree_sitter", extra="code")
    make = getattr(need(f"tree_sitter_{lang}", extra="code"), "language_php" if lang == "php" else "language")
    grammar = tree_sitter.Language(make())
    kinds = {
        number: _kind(lang, grammar.node_kind_for_id(number), is_named=grammar.node_kind_is_named(number))
        for number in range(grammar.node_kind_count)
    }
    kinds[_ERROR] = _kind(lang, "ERROR", is_named=True)
    fields: dict[int | None, str | None] = {None: None}
    fields |= {number: grammar.field_name_for_id(number) for number in range(1, grammar.field_count + 1)}
    return ParserGrammar(tree_sitter.Parser(grammar), kinds, fields)


def _kind(lang: str, name: str, *, is_named: bool) -> NodeKind:
    return NodeKind(
        name=name,
        text=name.encode(),
        is_named=is_named,
        literal=None if is_named else name.encode(),
        is_comment=name in _COMMENTS,
        is_string=name in STRINGS,
        is_special=name in GRAMMARS[lang].special,
        is_variable=name in GRAMMARS[lang].names,
        is_doubtful=name in _COMMENTS or (lang == "python" and name == "expression_statement"),
        node=_literal(name, None),
    )


def _literal(name: str, field: str | None) -> SyntaxNode:
    return SyntaxNode(name, field, 0, 0, (), is_named=False, is_special=False, shape=0)


def read(lang: str, source: str, shapes: Shapes) -> Read | str:
    """Return what is compared of a source, or why there is nothing. Comments and, in Python, docstrings are left out.

    The parser mends what it cannot read, so every text has a tree; `parses` tells apart those that needed it.
    """
    if len(source) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS:,} characters"
    if lang == "php" and "<?" not in source:
        source = f"<?php\n{source}"  # without its tag the grammar sees text, and an answer seldom has it
    grammar = language(lang)
    data = source.encode("utf-8", "replace")
    tree = grammar.parser.parse(data)
    # The parser has counted them already, before any of them becomes an object of Python.
    if tree.root_node.descendant_count > MAX_NODES:
        return f"more than {MAX_NODES:,} nodes"
    walk = _Walk(grammar, data, shapes, tree.walk())
    try:
        with room_for(_FRAMES * MAX_DEPTH):
            root = walk.run()
            Steps(GRAMMARS[lang], walk.program).visit(root, walk.program.steps)
    except RecursionError:
        return f"more than {MAX_DEPTH} levels"
    return Read(root.shape, walk.counted, walk.program, not tree.root_node.has_error)


class _Walk:
    """One walk with a cursor, because a node's own child lists are built anew each time."""

    def __init__(self, grammar: ParserGrammar, data: bytes, shapes: Shapes, cursor: Any) -> None:
        self.kinds, self.fields = grammar.kinds, grammar.fields
        self.data = data
        self.shapes = shapes
        self.cursor = cursor
        self.program = TokenFlow()
        self.counted: list[int] = []
        self.depth = 0
        self.strings = 0
        """How many texts the walk is in: to the data flow a text is one token, whatever stands in it."""
        self.literals = _Literals()

    def run(self) -> SyntaxNode:
        """Return the root; RecursionError if the tree is too deep."""
        node = self.cursor.node
        kind = self.kinds[node.kind_id]
        if self.cursor.goto_first_child():
            return self._inner(node, kind, None)
        return self._leaf(node, kind, None, self.data[node.start_byte : node.end_byte])

    def _inner(self, node: Any, kind: NodeKind, field: str | None) -> SyntaxNode:
        """Return a node with children, the cursor being on the first of them and in the end on the node."""
        names = self.program.names
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RecursionError
        start = len(names)
        if kind.is_string:
            if not self.strings:
                self._add_token(kind, self.data[node.start_byte : node.end_byte])
            self.strings += 1
        children, key, is_special = self._read_children(kind)
        self.strings -= kind.is_string
        self.depth -= 1
        shape = self.shapes[key]
        if children:
            self.counted.append(shape)
        return _node((kind.name, field, start, len(names), children, kind.is_named, is_special, shape))

    def _read_children(self, parent: NodeKind) -> tuple[list[SyntaxNode], Key, bool]:
        """Return the nodes that count from the cursor on, the key of the node above, and whether values move in it."""
        cursor, kinds, fields, data = self.cursor, self.kinds, self.fields, self.data
        children: list[SyntaxNode] = []
        key: list[str | int] = [parent.name]
        is_special, is_last = parent.is_special, False
        while not is_last:
            node = cursor.node
            kind, field = kinds[node.kind_id], fields[cursor.field_id]
            child = None
            if cursor.goto_first_child():
                child = self._unless_skipped(node, kind, field) if kind.is_doubtful else self._inner(node, kind, field)
            elif (text := data[node.start_byte : node.end_byte]) == kind.literal:
                children.append(kind.node if field is None else self.literals[kind.name, field])
            elif not kind.is_comment:
                child = self._leaf(node, kind, field, text)
            if child is not None:
                children.append(child)
                is_special = is_special or child.is_special
                if child.is_named:
                    key += (field, child.shape) if field else (child.shape,)
            is_last = not cursor.goto_next_sibling()
        cursor.goto_parent()
        return children, tuple(key), is_special

    def _unless_skipped(self, syntax_node: Any, kind: NodeKind, field: str | None) -> SyntaxNode | None:
        """As `_inner`, but for a comment and a docstring, of which nothing is left."""
        if kind.is_comment:
            self.cursor.goto_parent()
            return None
        mark = len(self.counted)
        node = self._inner(syntax_node, kind, field)
        if len(node.children) == 1 and node.children[0].kind in ("string", "concatenated_string"):
            # Its sub-trees were counted on the way and are taken back.
            del self.counted[mark:]
            return None
        return node

    def _leaf(self, node: Any, kind: NodeKind, field: str | None, text: bytes) -> SyntaxNode:
        """Return a node without children that may carry a value."""
        start = len(self.program.names)
        if text != kind.text and not self.strings:
            self._add_token(kind, text)
        is_named, name = kind.is_named, kind.name
        # Named as tree-sitter names it in an S-expression, so that a mended place differs from one that stands in the
        # text.
        if not text and node.is_missing:
            is_named, name = True, f"MISSING {name}"
        elif name == "ERROR":
            name = f"UNEXPECTED {text.decode('utf-8', 'replace')[:1]}"
        end, shape = len(self.program.names), self.shapes[name,]
        return _node((kind.name, field, start, end, (), is_named, kind.is_special, shape))

    def _add_token(self, kind: NodeKind, text: bytes) -> None:
        names = self.program.names
        if not kind.is_variable:
            self.program.constants.append(len(names))
        names.append(text.decode("utf-8", "replace"))


class _Literals(dict[tuple[str, str], SyntaxNode]):
    """The literal tokens that stand in a field, by name and field."""

    def __missing__(self, key: tuple[str, str]) -> SyntaxNode:
        node = self[key] = _literal(*key)
        return node


@functools.cache
def version(lang: str) -> str:
    """Return the versions of tree-sitter and of the grammar, which decide the tree's shape."""
    language(lang)
    grammar = metadata.version(f"tree-sitter-{lang.replace('_', '-')}")
    return f"{metadata.version('tree-sitter')}+{grammar}"
