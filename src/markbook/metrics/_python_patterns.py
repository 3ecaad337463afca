"""The patterns of a match statement, from `ast`, in the form that tree-sitter gives them."""

from __future__ import annotations

import ast

from markbook.metrics._code_tree import Node
from markbook.metrics._python_expressions import Expressions, at, dotted, name, separated, token


def pattern(builder: Expressions, node: ast.pattern) -> Node:
    """Return one pattern."""
    return Node("case_pattern", _inner(builder, node))


def _inner(builder: Expressions, node: ast.pattern) -> list[Node]:
    match node:
        case ast.MatchValue():
            return [_value(builder, node.value)]
        case ast.MatchSingleton():
            return [Node(str(node.value).lower(), [], text=str(node.value))]
        case ast.MatchSequence():
            inner = separated([_element(builder, one) for one in node.patterns])
            return [Node("list_pattern", [token("["), *inner, token("]")])]
        case ast.MatchMapping():
            return [_mapping(builder, node)]
        case ast.MatchClass():
            given = [pattern(builder, one) for one in node.patterns]
            for word, one in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
                keyword = Node("keyword_pattern", [name(word), token("="), *_inner(builder, one)])
                given.append(Node("case_pattern", [keyword]))
            owner = _value(builder, node.cls)
            return [Node("class_pattern", [owner, token("("), *separated(given), token(")")])]
        case ast.MatchAs(pattern=None, name=None):
            return [token("_")]
        case ast.MatchAs(pattern=None, name=str() as bound):
            return [dotted(bound)]
        case ast.MatchAs(pattern=ast.pattern() as one, name=str() as bound):
            return [Node("as_pattern", [pattern(builder, one), token("as"), name(bound)])]
        case ast.MatchOr():
            parts: list[Node] = []
            for one in node.patterns:
                if parts:
                    parts.append(token("|"))
                parts += _inner(builder, one)
            return [Node("union_pattern", parts)]
        case _:
            return [_splat("*", getattr(node, "name", None))]


def _element(builder: Expressions, node: ast.pattern) -> Node:
    if isinstance(node, ast.MatchStar):
        return Node("case_pattern", [_splat("*", node.name)])
    return pattern(builder, node)


def _splat(stars: str, bound: str | None) -> Node:
    return Node("splat_pattern", [token(stars), name(bound) if bound else token("_")])


def _mapping(builder: Expressions, node: ast.MatchMapping) -> Node:
    entries: list[Node] = []
    for key, value in zip(node.keys, node.patterns, strict=True):
        if entries:
            entries.append(token(","))
        entries += [at("key", _value(builder, key)), token(":"), at("value", pattern(builder, value))]
    if node.rest:
        entries += [*([token(",")] if entries else []), _splat("**", node.rest)]
    return Node("dict_pattern", [token("{"), *entries, token("}")])


def _value(builder: Expressions, node: ast.expr) -> Node:
    """Return a constant or a dotted name."""
    words: list[str] = []
    one = node
    while isinstance(one, ast.Attribute):
        words.append(one.attr)
        one = one.value
    if isinstance(one, ast.Name):
        return dotted(".".join([one.id, *reversed(words)]))
    return builder.expression(node)
