"""The patterns of a match statement, from `ast`, as tree-sitter's grammar gives them."""

from __future__ import annotations

import ast

from markbook.metrics.code._python_expressions import Expressions


def patterns(reader: Expressions, node: ast.pattern) -> list[int]:
    """Return the patterns of a case: several where they stand bare between commas."""
    if isinstance(node, ast.MatchSequence) and not _opens(reader, node, b"(["):
        return [_element(reader, one) for one in node.patterns]
    return [pattern(reader, node)]


def _opens(reader: Expressions, node: ast.pattern, brackets: bytes) -> bool:
    return reader.parentheses.data[reader.parentheses.start(node)] in brackets


def pattern(reader: Expressions, node: ast.pattern) -> int:
    """Return one pattern."""
    return reader.subtree("case_pattern", *_inner(reader, node))


def _inner(reader: Expressions, node: ast.pattern) -> list[int]:
    match node:
        case ast.MatchValue(value=ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as number)):
            return [reader.expression(number)]
        case ast.MatchValue(value=ast.BinOp(left=left, right=ast.Constant() as right)):
            signed = left.operand if isinstance(left, ast.UnaryOp) else left
            return [reader.subtree("complex_pattern", reader.expression(signed), reader.expression(right))]
        case ast.MatchValue():
            return [_value(reader, node.value)]
        case ast.MatchSingleton():
            return [_singleton(reader, node)]
        case ast.MatchSequence():
            kind = "tuple_pattern" if _opens(reader, node, b"(") else "list_pattern"
            return [reader.subtree(kind, *[_element(reader, one) for one in node.patterns])]
        case ast.MatchMapping():
            return [_mapping(reader, node)]
        case ast.MatchClass():
            owner = _value(reader, node.cls)
            given = [pattern(reader, one) for one in node.patterns]
            for word, one in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
                keyword = reader.subtree("keyword_pattern", reader.use(word), *_inner(reader, one))
                given.append(reader.subtree("case_pattern", keyword))
            return [reader.subtree("class_pattern", owner, *given)]
        case ast.MatchAs(pattern=None, name=None):
            return []
        case ast.MatchAs(pattern=None, name=str() as bound):
            return [reader.dotted(bound)]
        case ast.MatchAs(pattern=ast.pattern() as one, name=str() as bound):
            return [reader.subtree("as_pattern", pattern(reader, one), reader.use(bound))]
        case ast.MatchOr():
            return [reader.subtree("union_pattern", *[part for one in node.patterns for part in _inner(reader, one)])]
        case _:
            return [_splat(reader, getattr(node, "name", None))]


def _singleton(reader: Expressions, node: ast.MatchSingleton) -> int:
    reader.constant(str(node.value))
    return reader.shapes[str(node.value).lower(),]


def _element(reader: Expressions, node: ast.pattern) -> int:
    if isinstance(node, ast.MatchStar):
        return reader.subtree("case_pattern", _splat(reader, node.name))
    return pattern(reader, node)


def _splat(reader: Expressions, bound: str | None) -> int:
    return reader.subtree("splat_pattern", *([reader.use(bound)] if bound else []))


def _mapping(reader: Expressions, node: ast.MatchMapping) -> int:
    key: list[str | int] = ["dict_pattern"]
    for one, value in zip(node.keys, node.patterns, strict=True):
        key += "key", _value(reader, one)
        key += "value", pattern(reader, value)
    if node.rest:
        key.append(_splat(reader, node.rest))
    return reader.subtree(*key)


def _value(reader: Expressions, node: ast.expr) -> int:
    """Return a constant or a dotted name."""
    words: list[str] = []
    one = node
    while isinstance(one, ast.Attribute):
        words.append(one.attr)
        one = one.value
    if isinstance(one, ast.Name):
        return reader.dotted(".".join([one.id, *reversed(words)]))
    return reader.expression(node)
