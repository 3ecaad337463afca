"""Python expressions and patterns, from `ast`, in the form that tree-sitter gives them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from markbook.metrics._code_tree import Node

_STRING = re.compile(r"""([A-Za-z]*)('''|\"\"\"|'|")((?:\\.|(?!\2).)*)\2""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[\\'\"abfnrtv])")
_SPACE = b" \t\n\r\f\\"
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.In: "in",
    ast.IsNot: "is not", ast.NotIn: "not in",
}  # fmt: skip


def token(text: str) -> Node:
    """Return a literal token of the grammar."""
    return Node(text, [], text=text, named=False)


def name(text: str) -> Node:
    """Return an identifier."""
    return Node("identifier", [], text=text)


def at(field: str, node: Node) -> Node:
    """Put a node in a field of its parent."""
    node.field = field
    return node


def separated(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with a comma between each two."""
    out: list[Node] = []
    for node in nodes:
        if out:
            out.append(token(","))
        out.append(node)
    return out


def dotted(text: str) -> Node:
    """Return a dotted name."""
    parts: list[Node] = []
    for word in text.split("."):
        if parts:
            parts.append(token("."))
        parts.append(name(word))
    return Node("dotted_name", parts)


class Expressions:
    """Builds the nodes of expressions; one method a kind of `ast` node."""

    def __init__(self, source: str) -> None:
        self.data = source.encode("utf-8", "surrogatepass")
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.in_fstring = 0
        """Inside an f-string `ast` has no places of its own before Python 3.12, so nothing is read back there."""

    def start(self, node: Any) -> int:
        """Return where a node starts, in bytes."""
        place: int = self.starts[node.lineno - 1] + node.col_offset
        return place

    def _end(self, node: Any) -> int:
        place: int = self.starts[node.end_lineno - 1] + node.end_col_offset
        return place

    def _text(self, node: ast.expr) -> str:
        return self.data[self.start(node) : self._end(node)].decode("utf-8", "replace")

    def _parentheses(self, node: ast.expr) -> int:
        """Return how many pairs of parentheses stand around an expression, those of a call's list included."""
        data, left, right, pairs = self.data, self.start(node) - 1, self._end(node), 0
        while True:
            while left >= 0 and data[left] in _SPACE:
                left -= 1
            if left < 0 or data[left] != 40:  # (
                return pairs
            while right < len(data) and data[right] in _SPACE:
                right += 1
            if right >= len(data) or data[right] != 41:  # )
                return pairs
            pairs, left, right = pairs + 1, left - 1, right + 1

    def expression(self, node: ast.expr, *, own: int = 0) -> Node:
        """Return an expression; `own` is how many pairs of parentheses around it belong to its parent."""
        made = self._expressions[type(node)](self, node)
        if not self.in_fstring:
            for _ in range(self._parentheses(node) - own):
                made = Node("parenthesized_expression", [token("("), made, token(")")])
        return made

    def listed(self, node: ast.expr) -> Node:
        """Return an expression where `a, b` may stand bare."""
        if isinstance(node, ast.Tuple) and not self.is_bracketed(node):
            comma = [token(",")] if len(node.elts) == 1 else []
            return Node("expression_list", [*separated([self.expression(one) for one in node.elts]), *comma])
        return self.expression(node)

    def is_bracketed(self, node: ast.expr) -> bool:
        """Tell whether a tuple has its own parentheses."""
        return (
            self.data[self.start(node)] == 40
            and self.data[self._end(node) - 1] == 41
            and _is_balanced(self._text(node))
        )

    def target(self, node: ast.expr) -> Node:
        """Return what is assigned to."""
        if isinstance(node, ast.Starred):
            return Node("list_splat_pattern", [token("*"), self.target(node.value)])
        if isinstance(node, ast.Tuple | ast.List):
            inner = separated([self.target(one) for one in node.elts])
            if isinstance(node, ast.List):
                return Node("list_pattern", [token("["), *inner, token("]")])
            comma = [token(",")] if len(node.elts) == 1 else []
            if not self.in_fstring and self.is_bracketed(node):
                return Node("tuple_pattern", [token("("), *inner, *comma, token(")")])
            return Node("pattern_list", [*inner, *comma])
        return self.expression(node)

    def _bool(self, node: ast.BoolOp) -> Node:
        word = "and" if isinstance(node.op, ast.And) else "or"
        made = self.expression(node.values[0])
        for value in node.values[1:]:
            parts = [at("left", made), token(word), at("right", self.expression(value))]
            made = Node("boolean_operator", parts)
        return made

    def _named(self, node: ast.NamedExpr) -> Node:
        parts = [at("name", name(node.target.id)), token(":="), at("value", self.expression(node.value))]
        return Node("named_expression", parts)

    def _binary(self, node: ast.BinOp) -> Node:
        left, right = at("left", self.expression(node.left)), at("right", self.expression(node.right))
        return Node("binary_operator", [left, token(BINARY[type(node.op)]), right])

    def _unary(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            return Node("not_operator", [token("not"), at("argument", self.expression(node.operand))])
        parts = [token(_UNARY[type(node.op)]), at("argument", self.expression(node.operand))]
        return Node("unary_operator", parts)

    def _lambda(self, node: ast.Lambda) -> Node:
        listed = self.parameters(node.args)
        head = [at("parameters", Node("lambda_parameters", separated(listed)))] if listed else []
        return Node("lambda", [token("lambda"), *head, token(":"), at("body", self.expression(node.body))])

    def _conditional(self, node: ast.IfExp) -> Node:
        parts = [self.expression(node.body), token("if"), self.expression(node.test), token("else")]
        return Node("conditional_expression", [*parts, self.expression(node.orelse)])

    def _dict(self, node: ast.Dict) -> Node:
        pairs = [
            Node("dictionary_splat", [token("**"), self.expression(value)]) if key is None else self._pair(key, value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return Node("dictionary", [token("{"), *separated(pairs), token("}")])

    def _pair(self, key: ast.expr, value: ast.expr) -> Node:
        return Node("pair", [at("key", self.expression(key)), token(":"), at("value", self.expression(value))])

    def _sequence(self, node: ast.Set | ast.List | ast.Tuple) -> Node:
        inner = separated([self.expression(one) for one in node.elts])
        if isinstance(node, ast.Set):
            return Node("set", [token("{"), *inner, token("}")])
        if isinstance(node, ast.List):
            return Node("list", [token("["), *inner, token("]")])
        comma = [token(",")] if len(node.elts) == 1 else []
        return Node("tuple", [token("("), *inner, *comma, token(")")])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Node:
        kind, left, right = {
            ast.ListComp: ("list_comprehension", "[", "]"),
            ast.SetComp: ("set_comprehension", "{", "}"),
            ast.DictComp: ("dictionary_comprehension", "{", "}"),
            ast.GeneratorExp: ("generator_expression", "(", ")"),
        }[type(node)]
        body = self._pair(node.key, node.value) if isinstance(node, ast.DictComp) else self.expression(node.elt)
        clauses = []
        for one in node.generators:
            head = [token("async")] if one.is_async else []
            parts = [*head, token("for"), at("left", self.target(one.target)), token("in")]
            clauses.append(Node("for_in_clause", [*parts, at("right", self.expression(one.iter))]))
            clauses += [Node("if_clause", [token("if"), self.expression(test)]) for test in one.ifs]
        return Node(kind, [token(left), at("body", body), *clauses, token(right)])

    def _await(self, node: ast.Await) -> Node:
        return Node("await", [token("await"), self.expression(node.value)])

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Node:
        parts = [token("yield")]
        if isinstance(node, ast.YieldFrom):
            parts += [token("from"), self.expression(node.value)]
        elif node.value is not None:
            parts.append(self.listed(node.value) if not self.in_fstring else self.expression(node.value))
        return Node("yield", parts)

    def _compare(self, node: ast.Compare) -> Node:
        parts = [self.expression(node.left)]
        for operator, right in zip(node.ops, node.comparators, strict=True):
            said = _COMPARE[type(operator)]
            word = token(said)
            if " " in said:
                word = Node(said, [token(one) for one in said.split()], named=False)
            parts += [at("operators", word), self.expression(right)]
        return Node("comparison_operator", parts)

    def _call(self, node: ast.Call) -> Node:
        function = at("function", self.expression(node.func))
        only = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(only, ast.GeneratorExp) and (self.in_fstring or not self._parentheses(only)):
            return Node("call", [function, at("arguments", self._comprehension(only))])
        return Node("call", [function, at("arguments", self.arguments(node.args, node.keywords))])

    def arguments(self, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> Node:
        """Return the argument list of a call or a class."""
        own = 1 if len(args) == 1 and not keywords else 0
        given = [(self.start(one), self.expression(one, own=own)) for one in args]
        for keyword in keywords:
            value = self.expression(keyword.value)
            made = Node("dictionary_splat", [token("**"), value])
            if keyword.arg is not None:
                made = Node("keyword_argument", [at("name", name(keyword.arg)), token("="), at("value", value)])
            given.append((self.start(keyword), made))
        if not self.in_fstring:
            given.sort(key=lambda pair: pair[0])
        return Node("argument_list", [token("("), *separated([made for _, made in given]), token(")")])

    def _attribute(self, node: ast.Attribute) -> Node:
        owner = at("object", self.expression(node.value))
        return Node("attribute", [owner, token("."), at("attribute", name(node.attr))])

    def _subscript(self, node: ast.Subscript) -> Node:
        inside = node.slice
        bare = isinstance(inside, ast.Tuple) and inside.elts and (self.in_fstring or not self.is_bracketed(inside))
        several = inside.elts if bare and isinstance(inside, ast.Tuple) else [inside]
        places = separated([at("subscript", self.expression(one)) for one in several])
        return Node("subscript", [at("value", self.expression(node.value)), token("["), *places, token("]")])

    def _slice(self, node: ast.Slice) -> Node:
        parts = [self.expression(node.lower)] if node.lower else []
        parts.append(token(":"))
        if node.upper:
            parts.append(self.expression(node.upper))
        if node.step:
            parts += [token(":"), self.expression(node.step)]
        return Node("slice", parts)

    def _starred(self, node: ast.Starred) -> Node:
        return Node("list_splat", [token("*"), self.expression(node.value)])

    def _name(self, node: ast.Name) -> Node:
        return name(node.id)

    def _constant(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, str | bytes):
            return self._strings(repr(value) if self.in_fstring else self._text(node))
        if value is None or isinstance(value, bool):
            return Node(str(value).lower(), [], text=str(value))
        if value is ...:
            return Node("ellipsis", [], text="...")
        text = repr(value) if self.in_fstring else self._text(node)
        kind = "float" if isinstance(value, float) or "." in text else "integer"
        return Node(kind, [], text=text)

    def _strings(self, text: str) -> Node:
        parts = [_string(match) for match in _STRING.finditer(text)]
        return parts[0] if len(parts) == 1 else Node("concatenated_string", parts)

    def _fstring(self, node: ast.JoinedStr) -> Node:
        text = '""' if self.in_fstring else self._text(node)
        self.in_fstring += 1
        parts = [Node("string_start", [], text="f")]
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                parts.append(self._interpolation(value))
            elif isinstance(value, ast.Constant) and value.value:
                parts.append(Node("string_content", [], text=str(value.value)))
        self.in_fstring -= 1
        return Node("string", [*parts, Node("string_end", [], text='"')], text=text)

    def _interpolation(self, node: ast.FormattedValue) -> Node:
        parts = [token("{"), at("expression", self.expression(node.value))]
        if node.conversion >= 0:
            parts.append(at("type_conversion", Node("type_conversion", [], text="!" + chr(node.conversion))))
        if isinstance(node.format_spec, ast.JoinedStr):
            inner = [
                Node("format_expression", [token("{"), at("expression", self.expression(one.value)), token("}")])
                for one in node.format_spec.values
                if isinstance(one, ast.FormattedValue)
            ]
            parts.append(at("format_specifier", Node("format_specifier", [token(":"), *inner])))
        return Node("interpolation", [*parts, token("}")])

    def parameters(self, node: ast.arguments) -> list[Node]:
        """Return the parameters of a function or lambda, without commas."""
        plain = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults))
        defaults += node.defaults
        out: list[Node] = []
        for place, (one, default) in enumerate(zip(plain, defaults, strict=True)):
            out.append(self._parameter(name(one.arg), one, default))
            if node.posonlyargs and place == len(node.posonlyargs) - 1:
                out.append(Node("positional_separator", [token("/")]))
        if node.vararg:
            splat = Node("list_splat_pattern", [token("*"), name(node.vararg.arg)])
            out.append(self._parameter(splat, node.vararg, None))
        elif node.kwonlyargs:
            out.append(Node("keyword_separator", [token("*")]))
        for one, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            out.append(self._parameter(name(one.arg), one, default))
        if node.kwarg:
            splat = Node("dictionary_splat_pattern", [token("**"), name(node.kwarg.arg)])
            out.append(self._parameter(splat, node.kwarg, None))
        return out

    def _parameter(self, target: Node, node: ast.arg, default: ast.expr | None) -> Node:
        hint = [] if node.annotation is None else [token(":"), at("type", self.hint(node.annotation))]
        if default is not None:
            value = [token("="), at("value", self.expression(default))]
            kind = "typed_default_parameter" if hint else "default_parameter"
            return Node(kind, [at("name", target), *hint, *value])
        return Node("typed_parameter", [target, *hint]) if hint else target

    def hint(self, node: ast.expr) -> Node:
        """Return a type."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inside = node.slice
            bare = isinstance(inside, ast.Tuple) and inside.elts and not self.is_bracketed(inside)
            several = inside.elts if bare and isinstance(inside, ast.Tuple) else [inside]
            listed = [token("["), *separated([self.hint(one) for one in several]), token("]")]
            return Node("type", [Node("generic_type", [name(node.value.id), Node("type_parameter", listed)])])
        return Node("type", [self.expression(node)])

    _expressions: ClassVar[dict[type[ast.expr], Callable[[Any, Any], Node]]] = {
        ast.BoolOp: _bool, ast.NamedExpr: _named, ast.BinOp: _binary, ast.UnaryOp: _unary, ast.Lambda: _lambda,
        ast.IfExp: _conditional, ast.Dict: _dict, ast.Set: _sequence, ast.List: _sequence, ast.Tuple: _sequence,
        ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.DictComp: _comprehension,
        ast.GeneratorExp: _comprehension, ast.Await: _await, ast.Yield: _yield, ast.YieldFrom: _yield,
        ast.Compare: _compare, ast.Call: _call, ast.Attribute: _attribute, ast.Subscript: _subscript,
        ast.Slice: _slice, ast.Starred: _starred, ast.Name: _name, ast.Constant: _constant, ast.JoinedStr: _fstring,
    }  # fmt: skip


def _is_balanced(text: str) -> bool:
    """Tell whether the first parenthesis of a tuple's text closes at its end: `(a), (b)` does not."""
    level = 0
    for place, character in enumerate(text):
        level += (character == "(") - (character == ")")
        if not level:
            return place == len(text) - 1
    return True


def _string(match: re.Match[str]) -> Node:
    prefix, quote, content = match[1], match[2], match[3]
    parts = [Node("string_start", [], text=prefix + quote)]
    if content:
        escapes = [] if "r" in prefix.lower() else _ESCAPE.findall(content)
        inner = [Node("escape_sequence", [], text=one) for one in escapes]
        parts.append(Node("string_content", inner, text=content))
    return Node("string", [*parts, Node("string_end", [], text=quote)], text=match[0])
