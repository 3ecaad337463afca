"""Python expressions, from `ast`, as shapes and steps: those that tree-sitter's grammar for Python would give.

One walk does all of it. A method takes a node of `ast` and returns the number of its shape; on the way it counts the
sub-trees and writes down the tokens that may carry a value, in the order of the source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from markbook.metrics.code._python_parentheses import Parentheses
from markbook.metrics.code._python_texts import STRING, escapes_in, literal_parts
from markbook.metrics.code.flow import Bind, Program, Step
from markbook.metrics.code.shapes import Shapes


def _counter(shapes: Shapes, counted: list[int]) -> Callable[..., int]:
    append = counted.append

    def subtree(*key: str | int) -> int:
        number = shapes[key]
        append(number)
        return number

    return subtree


class Expressions:
    """Reads expressions; one method a kind of `ast` node."""

    def __init__(self, shapes: Shapes, source: str, tree: ast.Module) -> None:
        self.shapes = shapes
        self.counted: list[int] = []
        """The shapes of all sub-trees, one entry an occurrence."""
        self.subtree = _counter(shapes, self.counted)
        """Counts one more sub-tree of a shape, by its key, and returns its number."""
        self.program = Program()
        self.names, self.steps = self.program.names, self.program.steps
        self.parentheses = Parentheses(source, tree)
        self.before = self.parentheses.before
        self.identifier = shapes["identifier",]
        self.in_fstring = 0
        """Inside an f-string `ast` has no places of its own before Python 3.12, so nothing is read back there."""

    def use(self, name: str) -> int:
        """Write down the use of an identifier."""
        self.steps.append(len(self.names))
        self.names.append(name)
        return self.identifier

    def constant(self, text: str) -> None:
        """Write down the use of a token that is no name."""
        self.program.constants.append(len(self.names))
        self.use(text)

    def apart(self, read: Callable[[Any], int], node: Any) -> tuple[int, list[Step], range]:
        """Read a node apart from what runs; return its shape, its steps and its tokens."""
        start, kept = len(self.names), self.steps
        self.steps = steps = list[Step]()
        shape = read(node)
        self.steps = kept
        return shape, steps, range(start, len(self.names))

    def dotted(self, text: str) -> int:
        """Return a dotted name."""
        return self.subtree("dotted_name", *[self.use(word) for word in text.split(".")])

    def expression(self, node: ast.expr, *, around: str = "parenthesized_expression") -> int:
        """Return an expression, with the parentheses around it."""
        if node.__class__ is ast.Name:
            self.steps.append(len(self.names))
            self.names.append(node.id)
            found = self.identifier
        else:
            found = self._expressions[node.__class__](self, node)
        if self.before and not self.in_fstring and self.parentheses.start(node) in self.before:
            for _ in range(self.parentheses.around(node)):
                found = self.subtree(around, found)
        return found

    def listed(self, node: ast.expr) -> int:
        """Return an expression where `a, b` may stand bare."""
        if isinstance(node, ast.Tuple) and not self.in_fstring and not self.parentheses.is_bracketed(node):
            return self.subtree("expression_list", *map(self.expression, node.elts))
        return self.expression(node)

    def target(self, node: ast.expr) -> int:
        """Return what is assigned to."""
        if isinstance(node, ast.Starred):
            return self.subtree("list_splat_pattern", self.target(node.value))
        if isinstance(node, ast.List):
            return self.subtree("list_pattern", *map(self.target, node.elts))
        if isinstance(node, ast.Tuple):
            inner = list(map(self.target, node.elts))
            bracketed = not self.in_fstring and self.parentheses.is_bracketed(node)
            return self.subtree("tuple_pattern" if bracketed else "pattern_list", *inner)
        return self.expression(node, around="tuple_pattern")

    def _bool(self, node: ast.BoolOp) -> int:
        found = self.expression(node.values[0])
        for value in node.values[1:]:
            found = self.subtree("boolean_operator", "left", found, "right", self.expression(value))
        return found

    def _named(self, node: ast.NamedExpr) -> int:
        return self.subtree("named_expression", "name", self.use(node.target.id), "value", self.expression(node.value))

    def _binary(self, node: ast.BinOp) -> int:
        left = self.expression(node.left)
        return self.subtree("binary_operator", "left", left, "right", self.expression(node.right))

    def _unary(self, node: ast.UnaryOp) -> int:
        kind = "not_operator" if isinstance(node.op, ast.Not) else "unary_operator"
        return self.subtree(kind, "argument", self.expression(node.operand))

    def _lambda(self, node: ast.Lambda) -> int:
        listed = self.parameters(node.args)
        head: list[str | int] = ["parameters", self.subtree("lambda_parameters", *listed)] if listed else []
        return self.subtree("lambda", *head, "body", self.expression(node.body))

    def _conditional(self, node: ast.IfExp) -> int:
        return self.subtree("conditional_expression", *map(self.expression, (node.body, node.test, node.orelse)))

    def _dict(self, node: ast.Dict) -> int:
        pairs = [
            self.subtree("dictionary_splat", self.expression(value)) if key is None else self._pair(key, value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return self.subtree("dictionary", *pairs)

    def _pair(self, key: ast.expr, value: ast.expr) -> int:
        return self.subtree("pair", "key", self.expression(key), "value", self.expression(value))

    def _set(self, node: ast.Set) -> int:
        return self.subtree("set", *map(self.expression, node.elts))

    def _list(self, node: ast.List) -> int:
        return self.subtree("list", *map(self.expression, node.elts))

    def _tuple(self, node: ast.Tuple) -> int:
        return self.subtree("tuple", *map(self.expression, node.elts))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, *, in_order: bool = False
    ) -> int:
        """Read a comprehension; its `for` run before its body unless told otherwise."""
        kind = _COMPREHENSIONS[node.__class__]
        steps, self.steps = self.steps, []
        body = self._pair(node.key, node.value) if isinstance(node, ast.DictComp) else self.expression(node.elt)
        rest, clauses = self.steps, []
        self.steps = steps
        if in_order:
            steps += rest
            rest = []
        for one in node.generators:
            left, _, targets = self.apart(self.target, one.target)
            start = len(self.names)
            right = self.expression(one.iter)
            clauses.append(self.subtree("for_in_clause", "left", left, "right", right))
            self.steps.append(Bind(targets, range(start, len(self.names))))
            for test in one.ifs:
                shape, later, _ = self.apart(self.expression, test)
                clauses.append(self.subtree("if_clause", shape))
                (self.steps if in_order else rest).extend(later)
        self.steps += rest
        return self.subtree(kind, "body", body, *clauses)

    def _await(self, node: ast.Await) -> int:
        return self.subtree("await", self.expression(node.value))

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> int:
        if node.value is None:
            return self.subtree("yield")
        return self.subtree(
            "yield", self.listed(node.value) if isinstance(node, ast.Yield) else self.expression(node.value)
        )

    def _compare(self, node: ast.Compare) -> int:
        for operator in node.ops:
            if isinstance(operator, ast.NotIn):
                self.subtree("not in")
            elif isinstance(operator, ast.IsNot):
                self.subtree("is not")
        return self.subtree("comparison_operator", self.expression(node.left), *map(self.expression, node.comparators))

    def _call(self, node: ast.Call) -> int:
        function = self.expression(node.func)
        only = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(only, ast.GeneratorExp) and (self.in_fstring or not self.parentheses.is_group(only)):
            return self.subtree("call", "function", function, "arguments", self._comprehension(only))
        return self.subtree("call", "function", function, "arguments", self.arguments(node.args, node.keywords))

    def arguments(self, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> int:
        """Return the argument list of a call or a class."""
        if not keywords:
            return self.subtree("argument_list", *map(self.expression, args))
        given: list[Any] = [*args, *keywords]
        if not self.in_fstring:
            given.sort(key=self.parentheses.start)
        return self.subtree(
            "argument_list",
            *[self._keyword(one) if isinstance(one, ast.keyword) else self.expression(one) for one in given],
        )

    def _keyword(self, node: ast.keyword) -> int:
        if node.arg is None:
            return self.subtree("dictionary_splat", self.expression(node.value))
        return self.subtree("keyword_argument", "name", self.use(node.arg), "value", self.expression(node.value))

    def _attribute(self, node: ast.Attribute) -> int:
        owner = self.expression(node.value)
        return self.subtree("attribute", "object", owner, "attribute", self.use(node.attr))

    def _between(self, node: ast.Subscript) -> list[ast.expr]:
        if self.in_fstring:
            return node.slice.elts if isinstance(node.slice, ast.Tuple) and node.slice.elts else [node.slice]
        return self.parentheses.between(node)

    def _subscript(self, node: ast.Subscript) -> int:
        value = self.expression(node.value)
        key: list[str | int] = ["subscript", "value", value]
        for one in self._between(node):
            key += "subscript", self.expression(one)
        return self.subtree(*key)

    def _slice(self, node: ast.Slice) -> int:
        parts = [one for one in (node.lower, node.upper, node.step) if one is not None]
        return self.subtree("slice", *map(self.expression, parts))

    def _starred(self, node: ast.Starred) -> int:
        return self.subtree("list_splat", self.expression(node.value))

    def _name(self, node: ast.Name) -> int:
        return self.use(node.id)

    def _constant(self, node: ast.Constant) -> int:
        value = node.value
        if isinstance(value, str | bytes):
            return self._strings(repr(value) if self.in_fstring else self.parentheses.text(node))
        if value is None or isinstance(value, bool):
            self.constant(str(value))
            return self.shapes[str(value).lower(),]
        if value is ...:
            self.constant("...")
            return self.shapes["ellipsis",]
        text = repr(value) if self.in_fstring else self.parentheses.text(node)
        self.constant(text)
        return self.shapes["float" if isinstance(value, float) or "." in text else "integer",]

    def _strings(self, text: str) -> int:
        quote = text[0]
        if quote in "'\"" and "\\" not in text and text.count(quote) == 2:
            return self._string(text, text[1:-1], ())
        parts = [
            self._string(
                match[0], match[3], () if "r" in match[1].lower() or "\\" not in match[3] else escapes_in(match[3])
            )
            for match in STRING.finditer(text)
        ]
        return parts[0] if len(parts) == 1 else self.subtree("concatenated_string", *parts)

    def _string(self, text: str, content: str, escapes: Sequence[str]) -> int:
        shapes = self.shapes
        self.constant(text)
        start, end = shapes["string_start",], shapes["string_end",]
        if not content:
            return self.subtree("string", start, end)
        return self.subtree("string", start, self._content(*escapes), end)

    def _fstring(self, node: ast.JoinedStr) -> int:
        if self.in_fstring:
            return self._interpolated(node, '""')
        text = self.parentheses.text(node)
        parts = [match[0] for match in STRING.finditer(text)]
        if len(parts) < 2:
            return self._interpolated(node, text)
        # `ast` makes one text of several that stand side by side; each is read again alone.
        try:
            nodes = [ast.parse(part, mode="eval").body for part in parts]
        except SyntaxError:  # quotes inside the braces, from Python 3.12
            return self._interpolated(node, text)
        inner = [
            self._interpolated(one, part) if isinstance(one, ast.JoinedStr) else self._strings(part)
            for one, part in zip(nodes, parts, strict=True)
        ]
        return self.subtree("concatenated_string", *inner)

    def _interpolated(self, node: ast.JoinedStr, text: str) -> int:
        shapes = self.shapes
        self.constant(text)
        kept = self.program, self.names, self.steps
        self.program = Program()  # to the data flow a text is one token
        self.names, self.steps = self.program.names, self.program.steps
        self.in_fstring += 1
        parts = [shapes["string_start",]]
        spelled = "\\" in text or "{{" in text or "}}" in text
        literals = iter(literal_parts(text)) if spelled else None
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                parts.append(self._interpolation(value))
            elif isinstance(value, ast.Constant) and value.value:
                parts.append(self._content(*next(literals, ())) if literals else shapes["string_content",])
        self.in_fstring -= 1
        self.program, self.names, self.steps = kept
        return self.subtree("string", *parts, shapes["string_end",])

    def _content(self, *escapes: str) -> int:
        """Return the inside of a text, with the escapes in it (`""`: a backslash that escapes nothing)."""
        key: tuple[str | int, ...] = ("string_content", *[self.shapes[escape,] for escape in escapes if escape])
        return self.subtree(*key) if escapes else self.shapes[key]

    def _interpolation(self, node: ast.FormattedValue) -> int:
        key: list[str | int] = ["interpolation", "expression", self.expression(node.value)]
        if node.conversion >= 0:
            key += "type_conversion", self.shapes["type_conversion",]
        if isinstance(node.format_spec, ast.JoinedStr):
            inner = [
                self.subtree("format_expression", "expression", self.expression(one.value))
                for one in node.format_spec.values
                if isinstance(one, ast.FormattedValue)
            ]
            key += "format_specifier", self.subtree("format_specifier", *inner)
        return self.subtree(*key)

    def parameters(self, node: ast.arguments) -> list[int]:
        """Return the parameters of a function or lambda."""
        plain = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults))
        defaults += node.defaults
        out: list[int] = []
        for place, (one, default) in enumerate(zip(plain, defaults, strict=True)):
            out.append(self._parameter(one, default))
            if node.posonlyargs and place == len(node.posonlyargs) - 1:
                out.append(self.subtree("positional_separator"))
        if node.vararg:
            out.append(self._parameter(node.vararg, None, "list_splat_pattern"))
        elif node.kwonlyargs:
            out.append(self.subtree("keyword_separator"))
        for one, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            out.append(self._parameter(one, default))
        if node.kwarg:
            out.append(self._parameter(node.kwarg, None, "dictionary_splat_pattern"))
        return out

    def _parameter(self, node: ast.arg, default: ast.expr | None, splat: str = "") -> int:
        place, step = len(self.names), len(self.steps)
        target = self.use(node.arg)
        if splat:
            target = self.subtree(splat, target)
        if node.annotation is not None:
            hint = self.hint(node.annotation)
            if default is None:
                return self.subtree("typed_parameter", target, "type", hint)
            return self.subtree(
                "typed_default_parameter", "name", target, "type", hint, "value", self.expression(default)
            )
        if default is None:
            return target
        del self.steps[step]  # a plain default is the one thing here that moves a value
        value = self.expression(default)
        sources = range(place + 1, len(self.names))
        if not sources:
            self.program.unseen.add(place)  # `a=[]`: a value from nowhere, which is no edge
        self.steps.append(Bind((place,), sources, is_computed=False, is_listed=False))
        return self.subtree("default_parameter", "name", target, "value", value)

    def hint(self, node: ast.expr) -> int:
        """Return a type."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            owner = self.use(node.value.id)
            listed = self.subtree("type_parameter", *[self.hint(one) for one in self._between(node)])
            return self.subtree("type", self.subtree("generic_type", owner, listed))
        if isinstance(node, ast.Starred):
            return self.subtree("type", self.subtree("splat_type", self.expression(node.value)))
        return self.subtree("type", self.expression(node))

    _expressions: ClassVar[dict[type[ast.expr], Callable[[Any, Any], int]]] = {
        ast.BoolOp: _bool, ast.NamedExpr: _named, ast.BinOp: _binary, ast.UnaryOp: _unary, ast.Lambda: _lambda,
        ast.IfExp: _conditional, ast.Dict: _dict, ast.Set: _set, ast.List: _list, ast.Tuple: _tuple,
        ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.DictComp: _comprehension,
        ast.GeneratorExp: _comprehension, ast.Await: _await, ast.Yield: _yield, ast.YieldFrom: _yield,
        ast.Compare: _compare, ast.Call: _call, ast.Attribute: _attribute, ast.Subscript: _subscript,
        ast.Slice: _slice, ast.Starred: _starred, ast.Constant: _constant, ast.JoinedStr: _fstring,
    }  # fmt: skip


_COMPREHENSIONS: dict[type[ast.expr], str] = {
    ast.ListComp: "list_comprehension",
    ast.SetComp: "set_comprehension",
    ast.DictComp: "dictionary_comprehension",
    ast.GeneratorExp: "generator_expression",
}
