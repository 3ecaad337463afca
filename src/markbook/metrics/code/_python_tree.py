"""A Python source from the standard library's `ast`, with the shapes and the flow that tree-sitter's tree would give.

With it CodeBLEU of Python needs no package, and has one meaning with either parser: the kinds, fields and tokens are
those of tree-sitter's Python grammar (a test holds the two together). What `ast` forgets is read back from the source:
parentheses around an expression and the spelling of numbers and strings. Not read back: what stands inside an f-string
beyond its expressions, and where one text constant ends and the next begins when an f-string is among them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from markbook.metrics.code._python_expressions import Expressions
from markbook.metrics.code._python_patterns import patterns
from markbook.metrics.code._python_pieces import pieces
from markbook.metrics.code.flow import Bind, Branch, Loop, Step

_EMPTY_BASES = re.compile(rb"class\s+[\w\x80-\xff]+\s*(?:\[[^\]]*\])?\s*\(")


class Reader(Expressions):
    """Reads statements; one method a kind of `ast` node."""

    def module(self, body: Sequence[ast.stmt]) -> int:
        """Return a whole source."""
        return self.subtree("module", *self.statements(body))

    def statements(self, body: Sequence[ast.stmt]) -> list[int]:
        """Return statements; a bare string is a comment by another name and left out."""
        return [
            self._statements[one.__class__](self, one)
            for one in body
            if not isinstance(one, ast.Expr) or not self._is_docstring(one.value)
        ]

    def _is_docstring(self, node: ast.expr) -> bool:
        is_text = isinstance(node, ast.JoinedStr) or _is_text(node)
        return is_text and not self.parentheses.around(node)

    def block(self, body: Sequence[ast.stmt]) -> int:
        """Return an indented block."""
        inner = self.statements(body)
        return self.subtree("block", *inner) if inner else self.shapes["block",]

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        decorators = self._decorators(node.decorator_list)
        key = ["function_definition", "name", self.use(node.name), *self._type_parameters(node)]
        key += "parameters", self.subtree("parameters", *self.parameters(node.args))
        if node.returns is not None:
            key += "return_type", self.hint(node.returns)
        return self._decorated(decorators, self.subtree(*key, "body", self.block(node.body)))

    def _class(self, node: ast.ClassDef) -> int:
        decorators = self._decorators(node.decorator_list)
        key = ["class_definition", "name", self.use(node.name), *self._type_parameters(node)]
        data, start = self.parentheses.data, self.parentheses.start(node)
        if node.bases or node.keywords or _EMPTY_BASES.match(data, start):
            key += "superclasses", self.arguments(node.bases, node.keywords)
        return self._decorated(decorators, self.subtree(*key, "body", self.block(node.body)))

    def _decorators(self, nodes: Sequence[ast.expr]) -> list[int]:
        return [self.subtree("decorator", self.expression(one)) for one in nodes]

    def _decorated(self, decorators: Sequence[int], made: int) -> int:
        return self.subtree("decorated_definition", *decorators, "definition", made) if decorators else made

    def _type_parameters(self, node: Any) -> list[str | int]:
        found = []
        for one in getattr(node, "type_params", []):
            inner = self.subtree("type", self.use(one.name))
            bound = getattr(one, "bound", None)
            if bound is not None:
                inner = self.subtree("type", self.subtree("constrained_type", inner, self.hint(bound)))
            found.append(inner)
        return ["type_parameters", self.subtree("type_parameter", *found)] if found else []

    def _return(self, node: ast.Return) -> int:
        return self.subtree("return_statement", *([] if node.value is None else [self.listed(node.value)]))

    def _delete(self, node: ast.Delete) -> int:
        targets = [self.expression(one) for one in node.targets]
        listed = targets[0] if len(targets) == 1 else self.subtree("expression_list", *targets)
        return self.subtree("delete_statement", listed)

    # Assignments

    def _assign(self, node: ast.Assign) -> int:
        return self.subtree("expression_statement", self._chain(node.targets, node.value))

    def _chain(self, targets: Sequence[ast.expr], value: ast.expr) -> int:
        """Return `first = second = value`: each target is assigned the assignment to its right."""
        first, *others = targets
        left, _, names = self.apart(self.target, first)
        if others:
            flow = self._flow(first, names, ast.Assign(others, value), lambda _: self._chain(others, value))
        else:
            flow = self._flow(first, names, value, self.listed)
        return self.subtree("assignment", "left", left, "right", flow)

    def _flow(
        self, target: ast.expr, targets: Sequence[int], value: ast.expr | ast.Assign, read: Callable[[Any], int]
    ) -> int:
        """Read the right side of an assignment, write down how its value moves, and return its shape.

        As many targets as values are paired. The published definition pairs the children of whatever two nodes have
        equally many, `a.b = c + d` too.
        """
        pairs = [] if isinstance(target, ast.Name) and not self.before else self._pairs(target, targets, value)
        start = len(self.names)
        if pairs and isinstance(value, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            right = self._comprehension(value, in_order=True)
        elif pairs and isinstance(value, ast.Assign):
            right, _, tokens = self.apart(read, value)
            self.steps += tokens  # the parts of a paired assignment are read, and not assigned
        else:
            right = read(value)
        self.steps += pairs or [Bind(targets, range(start, len(self.names)))]
        return right

    def _pairs(self, target: ast.expr, targets: Sequence[int], value: ast.expr | ast.Assign) -> list[Bind]:
        """Return what each part of the right side binds, empty where the two sides do not pair."""
        lefts, rights = pieces(self.parentheses, target), pieces(self.parentheses, value)
        if not lefts or len(lefts) != len(rights):
            return []
        to, source, pairs = targets[0] if targets else 0, len(self.names), []
        for left, right in zip(lefts, rights, strict=True):
            many, count = self._size(left), self._size(right)
            pairs.append(Bind(range(to, to + many), range(source, source + count)))
            to, source = to + many, source + count
        return pairs

    def _size(self, parts: Sequence[ast.expr | int]) -> int:
        """Return how many tokens with a value some parts of an expression have."""
        size = 0
        for part in parts:
            if isinstance(part, int):
                size += part
                continue
            counted, constants = len(self.counted), len(self.program.constants)
            _, _, tokens = self.apart(self.expression, part)
            size += len(tokens)
            del self.names[tokens.start :], self.counted[counted:], self.program.constants[constants:]
        return size

    def _augmented(self, node: ast.AugAssign) -> int:
        left, _, names = self.apart(self.target, node.target)
        right = self._flow(node.target, names, node.value, self.listed)
        return self.subtree("expression_statement", self.subtree("augmented_assignment", "left", left, "right", right))

    def _annotated(self, node: ast.AnnAssign) -> int:
        left, _, names = self.apart(self.target, node.target)
        hint, _, _ = self.apart(self.hint, node.annotation)
        key: list[str | int] = ["assignment", "left", left, "type", hint]
        if node.value is not None:
            key += "right", self._flow(node.target, names, node.value, self.listed)
        return self.subtree("expression_statement", self.subtree(*key))

    # What runs again, or not at all

    def _for(self, node: ast.For | ast.AsyncFor) -> int:
        left, _, names = self.apart(self.target, node.target)
        kept, self.steps = self.steps, []
        key: list[str | int] = [
            "for_statement",
            "left",
            left,
            "right",
            self._flow(node.target, names, node.iter, self.listed),
        ]
        key += "body", self.block(node.body)
        key += self._else(node.orelse)
        kept.append(Loop(self.steps, self.steps))
        self.steps = kept
        return self.subtree(*key)

    def _else(self, body: Sequence[ast.stmt]) -> list[str | int]:
        return ["alternative", self.subtree("else_clause", "body", self.block(body))] if body else []

    def _while(self, node: ast.While) -> int:
        kept, self.steps = self.steps, []
        key: list[str | int] = [
            "while_statement",
            "condition",
            self.expression(node.test),
            "body",
            self.block(node.body),
        ]
        key += self._else(node.orelse)
        kept.append(Loop(self.steps, self.steps))
        self.steps = kept
        return self.subtree(*key)

    def _if(self, node: ast.If) -> int:
        kept, self.steps = self.steps, []
        key: list[str | int] = ["if_statement", *self._if_parts(node)]
        sides: list[list[Step]] = [self.steps]
        rest = node.orelse
        # An elif is an if alone in the else, in the column of the if; an if inside an else stands further in.
        while len(rest) == 1 and isinstance(rest[0], ast.If) and self._is_elif(rest[0]):
            self.steps = []
            key += "alternative", self.subtree("elif_clause", *self._if_parts(rest[0]))
            sides.append(self.steps)
            rest = rest[0].orelse
        if rest:
            self.steps = []
            key += self._else(rest)
            sides.append(self.steps)
        kept.append(Branch(sides[0], sides[1:], bool(rest)))
        self.steps = kept
        return self.subtree(*key)

    def _is_elif(self, node: ast.If) -> bool:
        return self.parentheses.data.startswith(b"elif", self.parentheses.start(node))

    def _if_parts(self, node: ast.If) -> tuple[str | int, ...]:
        return "condition", self.expression(node.test), "consequence", self.block(node.body)

    # The rest

    def _with(self, node: ast.With | ast.AsyncWith) -> int:
        items = []
        for item in node.items:
            value = self.expression(item.context_expr)
            if item.optional_vars is not None:
                alias = self.subtree("as_pattern_target", self.expression(item.optional_vars))
                value = self.subtree("as_pattern", value, "alias", alias)
            items.append(self.subtree("with_item", "value", value))
        return self.subtree("with_statement", self.subtree("with_clause", *items), "body", self.block(node.body))

    def _match(self, node: ast.Match) -> int:
        data, place = self.parentheses.data, self.parentheses.start(node) + len("match")
        opened = data.find(b"(", place)
        if opened >= 0 and not data[place:opened].strip():
            self.parentheses.note(opened)  # it looks like a call's
        subject = self.expression(node.subject)
        cases: list[str | int] = []
        for case in node.cases:
            cases += "alternative", self._case(case)
        return self.subtree("match_statement", "subject", subject, "body", self.subtree("block", *cases))

    def _case(self, case: ast.match_case) -> int:
        key: list[str | int] = ["case_clause", *patterns(self, case.pattern)]
        if case.guard is not None:
            key += "guard", self.subtree("if_clause", self.expression(case.guard))
        return self.subtree(*key, "consequence", self.block(case.body))

    def _raise(self, node: ast.Raise) -> int:
        key: list[str | int] = ["raise_statement"]
        if node.exc is not None:
            key.append(self.listed(node.exc))
        if node.cause is not None:
            key += "cause", self.expression(node.cause)
        return self.subtree(*key)

    def _try(self, node: ast.Try) -> int:
        key: list[str | int] = ["try_statement", "body", self.block(node.body)]
        for handler in node.handlers:
            caught: list[str | int] = ["except_clause"]
            if handler.type is not None:
                value = self.expression(handler.type)
                if handler.name:
                    alias = self.subtree("as_pattern_target", self.use(handler.name))
                    value = self.subtree("as_pattern", value, "alias", alias)
                caught += "value", value
            key.append(self.subtree(*caught, self.block(handler.body)))
        if node.orelse:
            key.append(self.subtree("else_clause", "body", self.block(node.orelse)))
        if node.finalbody:
            key.append(self.subtree("finally_clause", self.block(node.finalbody)))
        return self.subtree(*key)

    def _assert(self, node: ast.Assert) -> int:
        said = [self.expression(one) for one in (node.test, node.msg) if one is not None]
        return self.subtree("assert_statement", *said)

    def _import(self, node: ast.Import) -> int:
        return self.subtree("import_statement", *self._aliases(node.names))

    def _import_from(self, node: ast.ImportFrom) -> int:
        if node.module == "__future__" and not node.level:
            return self.subtree("future_import_statement", *self._aliases(node.names))
        key: list[str | int] = ["import_from_statement", "module_name"]
        if node.level:
            prefix = self.subtree("import_prefix")
            key.append(self.subtree("relative_import", prefix, *([self.dotted(node.module)] if node.module else [])))
        else:
            key.append(self.dotted(node.module or ""))
        if node.names[0].name == "*":
            return self.subtree(*key, self.subtree("wildcard_import"))
        return self.subtree(*key, *self._aliases(node.names))

    def _aliases(self, names: Sequence[ast.alias]) -> list[str | int]:
        found: list[str | int] = []
        for one in names:
            made = self.dotted(one.name)
            if one.asname:
                made = self.subtree("aliased_import", "name", made, "alias", self.use(one.asname))
            found += "name", made
        return found

    def _scope(self, node: ast.Global | ast.Nonlocal) -> int:
        word = "global" if isinstance(node, ast.Global) else "nonlocal"
        return self.subtree(f"{word}_statement", *map(self.use, node.names))

    def _expression_statement(self, node: ast.Expr) -> int:
        value = node.value
        if isinstance(value, ast.Tuple) and not self.parentheses.is_bracketed(value):
            # At the level of a statement the grammar spreads `a, b` out in the statement itself.
            return self.subtree("expression_statement", *map(self.expression, value.elts))
        return self.subtree("expression_statement", self.expression(value))

    def _word(self, node: ast.Pass | ast.Break | ast.Continue) -> int:
        return self.subtree(f"{node.__class__.__name__.lower()}_statement")

    def _type_alias(self, node: Any) -> int:
        left = self.subtree("type", self.use(node.name.id))
        return self.subtree("type_alias_statement", "left", left, "right", self.hint(node.value))

    _statements: ClassVar[dict[type[ast.stmt], Callable[[Any, Any], int]]] = {
        ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class, ast.Return: _return,
        ast.Delete: _delete, ast.Assign: _assign, ast.AugAssign: _augmented, ast.AnnAssign: _annotated, ast.For: _for,
        ast.AsyncFor: _for, ast.While: _while, ast.If: _if, ast.With: _with, ast.AsyncWith: _with, ast.Match: _match,
        ast.Raise: _raise, ast.Try: _try, ast.TryStar: _try, ast.Assert: _assert, ast.Import: _import,
        ast.ImportFrom: _import_from, ast.Global: _scope, ast.Nonlocal: _scope, ast.Expr: _expression_statement,
        ast.Pass: _word, ast.Break: _word, ast.Continue: _word,
        getattr(ast, "TypeAlias", ast.stmt): _type_alias,  # from Python 3.12
    }  # fmt: skip


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
