"""Trees from tree-sitter, for every language that CodeBLEU knows (extra `code`)."""

from __future__ import annotations

import functools
from importlib import metadata
from typing import Any, NamedTuple

from markbook.metrics.code.flow import Program
from markbook.metrics.code.grammars import GRAMMARS
from markbook.metrics.code.shapes import MAX_DEPTH, MAX_NODES, Shapes
from markbook.metrics.code.walk import STRINGS, Node, Steps
from markbook.metrics.python_source import MAX_CHARACTERS
from markbook.plugins import need

_MODULES = {
    "python": ("tree_sitter_python", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "go": ("tree_sitter_go", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c_sharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "ruby": ("tree_sitter_ruby", "language"),
}
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "line_continuation"})
"""What stands between the tokens and says nothing: a backslash at the end of a line too."""


class Read(NamedTuple):
    """A source that was read."""

    root: int
    """The shape of the whole."""
    counted: list[int]
    """The shapes of all sub-trees, one entry an occurrence."""
    program: Program
    parses: bool


@functools.cache
def parser(lang: str) -> Any:
    """Return the parser of a language.

    Raises:
        ExtraMissingError: tree-sitter or the language's grammar is not installed.
    """
    tree_sitter = need("tree_sitter", extra="code")
    module, function = _MODULES[lang]
    grammar = need(module, extra="code")
    return tree_sitter.Parser(tree_sitter.Language(getattr(grammar, function)()))


def read(lang: str, source: str, shapes: Shapes) -> Read | str:
    """Return what is compared of a source, or why there is nothing. Comments and, in Python, docstrings are left out.

    The parser mends what it cannot read, so every text has a tree; `parses` tells apart those that needed it.
    """
    if len(source) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS:,} characters"
    if lang == "php" and "<?" not in source:
        source = f"<?php\n{source}"  # without its tag the grammar sees text, and an answer seldom has it
    data = source.encode("utf-8", "replace")
    tree = parser(lang).parse(data)
    if tree.root_node.descendant_count > MAX_NODES:
        return f"more than {MAX_NODES:,} nodes"
    walk = _Walk(lang, data, shapes)
    root = walk.run(tree.walk())
    if root is None:
        return f"more than {MAX_DEPTH} levels"
    Steps(GRAMMARS[lang], walk.program).visit(root, walk.program.steps)
    return Read(root.shape, walk.counted, walk.program, not tree.root_node.has_error)


class _Walk:
    """One walk with a cursor, because a node's own child lists are built anew each time."""

    def __init__(self, lang: str, data: bytes, shapes: Shapes) -> None:
        self.is_python = lang == "python"
        self.data = data
        self.shapes = shapes
        self.special, self.names = GRAMMARS[lang].special, GRAMMARS[lang].names
        self.program = Program()
        self.counted: list[int] = []
        self.strings = 0
        """How many texts the walk is in: to the data flow a text is one token, whatever stands in it."""

    def run(self, cursor: Any) -> Node | None:
        """Return the root, None where the tree is too deep."""
        root = self._open(cursor)
        path = [root]
        if not cursor.goto_first_child():
            self._close(root)
            return root
        while True:
            node = self._open(cursor)
            if node.kind not in _COMMENTS:
                path[-1].children.append(node)
                if cursor.goto_first_child():
                    if len(path) >= MAX_DEPTH:
                        return None
                    path.append(node)
                    continue
            while not cursor.goto_next_sibling():
                cursor.goto_parent()
                closed = path.pop()
                self._close(closed)
                if not path:
                    return root
                if self.is_python and _is_docstring(closed):
                    path[-1].children.pop()
                    del self.counted[closed.mark :]

    def _open(self, cursor: Any) -> Node:
        seen = cursor.node
        kind: str = seen.type
        node = Node(kind, cursor.field_name, len(self.program.names), mark=len(self.counted))
        node.is_named = seen.is_named
        is_leaf, is_string = not seen.child_count, kind in STRINGS
        if is_leaf or is_string:
            text = self.data[seen.start_byte : seen.end_byte].decode("utf-8", "replace")
            if kind != text and not self.strings and kind not in _COMMENTS:
                self._token(text, kind)
            if seen.is_missing:
                node.is_named, kind = True, f"MISSING {kind}"
            elif kind == "ERROR":
                kind = f"UNEXPECTED {text[:1]}"
            node.shape, node.end = self.shapes[kind,], len(self.program.names)
        self.strings += is_string and not is_leaf
        node.is_special = node.kind in self.special
        return node

    def _token(self, text: str, kind: str) -> None:
        if kind not in self.names:
            self.program.constants.append(len(self.program.names))
        self.program.names.append(text)

    def _close(self, node: Node) -> None:
        """Number the shape of a node whose children are all known."""
        self.strings -= node.kind in STRINGS
        node.end = len(self.program.names)
        key: list[str | int] = [node.kind]
        for child in node.children:
            node.is_special = node.is_special or child.is_special
            if child.is_named:
                key += (child.field, child.shape) if child.field else (child.shape,)
        node.shape = self.shapes[tuple(key)]
        if node.children:
            self.counted.append(node.shape)


def _is_docstring(node: Node) -> bool:
    """Tell whether a statement is a bare string, which is a comment by another name."""
    return (
        node.kind == "expression_statement"
        and len(node.children) == 1
        and node.children[0].kind in ("string", "concatenated_string")
    )


@functools.cache
def version(lang: str) -> str:
    """Return the versions of tree-sitter and of the grammar, which decide the tree's shape."""
    parser(lang)
    grammar = _MODULES[lang][0].replace("_", "-")
    return f"{metadata.version('tree-sitter')}+{metadata.version(grammar)}"
