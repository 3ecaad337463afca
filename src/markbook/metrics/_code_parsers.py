"""Trees from tree-sitter, for every language that CodeBLEU knows (extra `code`)."""

from __future__ import annotations

import functools
from importlib import metadata
from typing import Any

from markbook.metrics._code_tree import MAX_NODES, STRINGS, Node
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
_COMMENTS = frozenset({"comment", "line_comment", "block_comment"})


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


def parse(lang: str, source: str) -> Node | str:
    """Return the tree of a source without its comments and, in Python, docstrings; or why there is none.

    The parser mends what it cannot read, so every text has a tree; `has_error` of the root tells them apart.
    """
    if lang == "php" and "<?" not in source:
        source = f"<?php\n{source}"  # without its tag the grammar sees text, and an answer seldom has it
    data = source.encode("utf-8", "replace")
    tree = parser(lang).parse(data)
    if tree.root_node.descendant_count > MAX_NODES:
        return f"more than {MAX_NODES:,} nodes"
    return _convert(tree, data, lang)


def _convert(tree: Any, data: bytes, lang: str) -> Node:
    """Return our form of the tree, walked with a cursor because a node's own child lists are built anew each time."""
    cursor = tree.walk()
    root = _node(cursor, data)
    path = [root]
    if not cursor.goto_first_child():
        return root
    while True:
        node = _node(cursor, data)
        if node.kind not in _COMMENTS:
            path[-1].children.append(node)
            if cursor.goto_first_child():
                path.append(node)
                continue
        while not cursor.goto_next_sibling():
            cursor.goto_parent()
            closed = path.pop()
            if lang == "python":
                closed.children = [child for child in closed.children if not _is_docstring(child)]
            if not path:
                return root


def _node(cursor: Any, data: bytes) -> Node:
    seen = cursor.node
    kind = seen.type
    text = ""
    if kind in STRINGS or not seen.child_count:
        text = data[seen.start_byte : seen.end_byte].decode("utf-8", "replace")
    named = seen.is_named or seen.is_missing
    return Node(kind, [], text=text, named=named, field=cursor.field_name)


def _is_docstring(node: Node) -> bool:
    """Tell whether a statement is a bare string, which is a comment by another name."""
    return node.kind == "expression_statement" and len(node.children) == 1 and node.children[0].kind == "string"


@functools.cache
def version(lang: str) -> str:
    """Return the versions of tree-sitter and of the grammar, which decide the tree's shape."""
    parser(lang)
    grammar = _MODULES[lang][0].replace("_", "-")
    return f"{metadata.version('tree-sitter')}+{metadata.version(grammar)}"
