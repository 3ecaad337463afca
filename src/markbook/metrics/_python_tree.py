"""A Python syntax tree from the standard library's `ast`, in the form that tree-sitter gives it.

With it CodeBLEU of Python needs no package, and has one meaning with either parser: the kinds, fields and tokens are
those of tree-sitter's Python grammar (a test holds the two together). What `ast` forgets is read back from the source:
parentheses around an expression and the spelling of numbers and strings. Not read back: where one text constant ends
and the next begins when an f-string is among them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from markbook.metrics._code_tree import Node
from markbook.metrics._python_expressions import BINARY, Expressions, at, dotted, name, separated, token
from markbook.metrics._python_patterns import pattern


def convert(tree: ast.Module, source: str) -> Node:
    """Return the tree of a module that `ast` has parsed from this source.

    Raises:
        RecursionError: it is nested too deeply.
    """
    builder = Builder(source)
    return Node("module", builder.statements(tree.body))


class Builder(Expressions):
    """Builds the nodes of statements; one method a kind of `ast` node."""

    def statements(self, body: Sequence[ast.stmt]) -> list[Node]:
        """Return the nodes of statements; a bare string is a comment by another name and left out."""
        return [
            self._statements[type(one)](self, one)
            for one in body
            if not (
                isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
            )
        ]

    def block(self, body: Sequence[ast.stmt]) -> Node:
        """Return an indented block."""
        return Node("block", self.statements(body))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        head = [token("async")] if isinstance(node, ast.AsyncFunctionDef) else []
        parts = [*head, token("def"), at("name", name(node.name)), *self._type_parameters(node)]
        listed = [token("("), *separated(self.parameters(node.args)), token(")")]
        parts.append(at("parameters", Node("parameters", listed)))
        if node.returns is not None:
            parts += [token("->"), at("return_type", self.hint(node.returns))]
        parts += [token(":"), at("body", self.block(node.body))]
        return self._decorated(node, Node("function_definition", parts))

    def _class(self, node: ast.ClassDef) -> Node:
        parts = [token("class"), at("name", name(node.name)), *self._type_parameters(node)]
        if node.bases or node.keywords:
            parts.append(at("superclasses", self.arguments(node.bases, node.keywords)))
        parts += [token(":"), at("body", self.block(node.body))]
        return self._decorated(node, Node("class_definition", parts))

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, made: Node) -> Node:
        if not node.decorator_list:
            return made
        decorators = [Node("decorator", [token("@"), self.expression(one)]) for one in node.decorator_list]
        return Node("decorated_definition", [*decorators, at("definition", made)])

    def _type_parameters(self, node: Any) -> list[Node]:
        found = []
        for one in getattr(node, "type_params", []):
            inner = Node("type", [name(one.name)])
            bound = getattr(one, "bound", None)
            if bound is not None:
                inner = Node("type", [Node("constrained_type", [inner, token(":"), self.hint(bound)])])
            found.append(inner)
        if not found:
            return []
        return [at("type_parameters", Node("type_parameter", [token("["), *separated(found), token("]")]))]

    def _return(self, node: ast.Return) -> Node:
        value = [] if node.value is None else [self.listed(node.value)]
        return Node("return_statement", [token("return"), *value])

    def _delete(self, node: ast.Delete) -> Node:
        targets = [self.expression(one) for one in node.targets]
        listed = targets[0] if len(targets) == 1 else Node("expression_list", separated(targets))
        return Node("delete_statement", [token("del"), listed])

    def _assign(self, node: ast.Assign) -> Node:
        right = self.listed(node.value)
        for target in reversed(node.targets):
            right = Node("assignment", [at("left", self.target(target)), token("="), at("right", right)])
        return Node("expression_statement", [right])

    def _augmented(self, node: ast.AugAssign) -> Node:
        operator = token(BINARY[type(node.op)] + "=")
        parts = [at("left", self.target(node.target)), operator, at("right", self.listed(node.value))]
        return Node("expression_statement", [Node("augmented_assignment", parts)])

    def _annotated(self, node: ast.AnnAssign) -> Node:
        parts = [at("left", self.target(node.target)), token(":"), at("type", self.hint(node.annotation))]
        if node.value is not None:
            parts += [token("="), at("right", self.listed(node.value))]
        return Node("expression_statement", [Node("assignment", parts)])

    def _for(self, node: ast.For | ast.AsyncFor) -> Node:
        head = [token("async")] if isinstance(node, ast.AsyncFor) else []
        parts = [*head, token("for"), at("left", self.target(node.target)), token("in")]
        parts += [at("right", self.listed(node.iter)), token(":"), at("body", self.block(node.body))]
        return Node("for_statement", parts + self._else(node.orelse))

    def _else(self, body: Sequence[ast.stmt]) -> list[Node]:
        if not body:
            return []
        return [at("alternative", Node("else_clause", [token("else"), token(":"), at("body", self.block(body))]))]

    def _while(self, node: ast.While) -> Node:
        parts = [token("while"), at("condition", self.expression(node.test)), token(":")]
        return Node("while_statement", [*parts, at("body", self.block(node.body)), *self._else(node.orelse)])

    def _if(self, node: ast.If) -> Node:
        parts = self._if_parts("if", node)
        rest = node.orelse
        # An elif is an if alone in the else, in the column of the if; an if inside an else stands further in.
        while len(rest) == 1 and isinstance(rest[0], ast.If) and self._is_elif(rest[0]):
            parts.append(at("alternative", Node("elif_clause", self._if_parts("elif", rest[0]))))
            rest = rest[0].orelse
        return Node("if_statement", parts + self._else(rest))

    def _is_elif(self, node: ast.If) -> bool:
        return self.data.startswith(b"elif", self.start(node))

    def _if_parts(self, word: str, node: ast.If) -> list[Node]:
        condition = at("condition", self.expression(node.test))
        return [token(word), condition, token(":"), at("consequence", self.block(node.body))]

    def _with(self, node: ast.With | ast.AsyncWith) -> Node:
        head = [token("async")] if isinstance(node, ast.AsyncWith) else []
        items = []
        for item in node.items:
            value = self.expression(item.context_expr)
            if item.optional_vars is not None:
                alias = at("alias", Node("as_pattern_target", [self.expression(item.optional_vars)]))
                value = Node("as_pattern", [value, token("as"), alias])
            items.append(Node("with_item", [at("value", value)]))
        clause = Node("with_clause", separated(items))
        return Node("with_statement", [*head, token("with"), clause, token(":"), at("body", self.block(node.body))])

    def _match(self, node: Any) -> Node:
        cases = [at("alternative", self._case(case)) for case in node.cases]
        subject = at("subject", self.expression(node.subject))
        return Node("match_statement", [token("match"), subject, token(":"), at("body", Node("block", cases))])

    def _case(self, case: ast.match_case) -> Node:
        parts = [token("case"), pattern(self, case.pattern)]
        if case.guard is not None:
            parts.append(at("guard", Node("if_clause", [token("if"), self.expression(case.guard)])))
        return Node("case_clause", [*parts, token(":"), at("consequence", self.block(case.body))])

    def _raise(self, node: ast.Raise) -> Node:
        parts = [token("raise")]
        if node.exc is not None:
            parts.append(self.listed(node.exc))
        if node.cause is not None:
            parts += [token("from"), at("cause", self.expression(node.cause))]
        return Node("raise_statement", parts)

    def _try(self, node: ast.Try) -> Node:
        parts = [token("try"), token(":"), at("body", self.block(node.body))]
        star = [token("*")] if isinstance(node, ast.TryStar) else []
        for handler in node.handlers:
            caught = [token("except"), *star]
            if handler.type is not None:
                value = self.expression(handler.type)
                if handler.name:
                    alias = at("alias", Node("as_pattern_target", [name(handler.name)]))
                    value = Node("as_pattern", [value, token("as"), alias])
                caught.append(at("value", value))
            parts.append(Node("except_clause", [*caught, token(":"), self.block(handler.body)]))
        if node.orelse:
            parts.append(Node("else_clause", [token("else"), token(":"), at("body", self.block(node.orelse))]))
        if node.finalbody:
            parts.append(Node("finally_clause", [token("finally"), token(":"), self.block(node.finalbody)]))
        return Node("try_statement", parts)

    def _assert(self, node: ast.Assert) -> Node:
        said = [self.expression(one) for one in (node.test, node.msg) if one is not None]
        return Node("assert_statement", [token("assert"), *separated(said)])

    def _import(self, node: ast.Import) -> Node:
        return Node("import_statement", [token("import"), *separated(self._aliases(node.names))])

    def _import_from(self, node: ast.ImportFrom) -> Node:
        if node.module == "__future__" and not node.level:
            parts = [token("from"), token("__future__"), token("import"), *separated(self._aliases(node.names))]
            return Node("future_import_statement", parts)
        module = [dotted(node.module)] if node.module else []
        if node.level:
            prefix = Node("import_prefix", [token(".") for _ in range(node.level)])
            module = [Node("relative_import", [prefix, *module])]
        head = [token("from"), *(at("module_name", one) for one in module), token("import")]
        if node.names[0].name == "*":
            return Node("import_from_statement", [*head, Node("wildcard_import", [token("*")])])
        return Node("import_from_statement", [*head, *separated(self._aliases(node.names))])

    def _aliases(self, names: Sequence[ast.alias]) -> list[Node]:
        found = []
        for one in names:
            made = dotted(one.name)
            if one.asname:
                made = Node("aliased_import", [at("name", made), token("as"), at("alias", name(one.asname))])
            found.append(at("name", made))
        return found

    def _scope(self, node: ast.Global | ast.Nonlocal) -> Node:
        word = "global" if isinstance(node, ast.Global) else "nonlocal"
        return Node(f"{word}_statement", [token(word), *separated([name(one) for one in node.names])])

    def _expression_statement(self, node: ast.Expr) -> Node:
        value = self.listed(node.value)
        # At the level of a statement the grammar spreads `a, b` out in the statement itself.
        inner = value.children if value.kind == "expression_list" else [value]
        return Node("expression_statement", inner)

    def _word(self, node: ast.Pass | ast.Break | ast.Continue) -> Node:
        word = type(node).__name__.lower()
        return Node(f"{word}_statement", [token(word)])

    def _type_alias(self, node: Any) -> Node:
        left = Node("type", [name(node.name.id)])
        parts = [token("type"), at("left", left), token("="), at("right", self.hint(node.value))]
        return Node("type_alias_statement", parts)

    _statements: ClassVar[dict[type[ast.stmt], Callable[[Any, Any], Node]]] = {
        ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class, ast.Return: _return,
        ast.Delete: _delete, ast.Assign: _assign, ast.AugAssign: _augmented, ast.AnnAssign: _annotated, ast.For: _for,
        ast.AsyncFor: _for, ast.While: _while, ast.If: _if, ast.With: _with, ast.AsyncWith: _with, ast.Match: _match,
        ast.Raise: _raise, ast.Try: _try, ast.TryStar: _try, ast.Assert: _assert, ast.Import: _import,
        ast.ImportFrom: _import_from, ast.Global: _scope, ast.Nonlocal: _scope, ast.Expr: _expression_statement,
        ast.Pass: _word, ast.Break: _word, ast.Continue: _word,
    }  # fmt: skip
