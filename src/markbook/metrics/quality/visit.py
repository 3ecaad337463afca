"""One walk over a syntax tree that gathers everything the four quality scores decide on."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

# What one walk over a program's tree finds: everything the four quality scores decide on.

Place = tuple[int, str]
"""A line of the tree, and what stands there."""


@dataclass(slots=True)
class Facts:
    """What one walk found, in the order of the source."""

    names: list[Place] = field(default_factory=list)
    """Every binding of a variable: parameters, targets, walrus, patterns."""
    hints: list[Place] = field(default_factory=list)
    hintable: int = 0
    """Parameters and returns that could carry a hint."""
    hinted: int = 0
    documentable: list[tuple[int, str, bool]] = field(default_factory=list)
    """Every definition: line, name, has a docstring."""
    docstrings: list[Place] = field(default_factory=list)
    functions: int = 0
    returning: list[Place] = field(default_factory=list)
    validations: list[Place] = field(default_factory=list)
    handlers: list[Place] = field(default_factory=list)
    weak_handlers: list[Place] = field(default_factory=list)
    secrets: list[Place] = field(default_factory=list)
    bound_strings: int = 0
    """String constants bound to any name: the places where a credential could stand."""
    unsafe: list[Place] = field(default_factory=list)
    calls: int = 0
    comprehensions: list[Place] = field(default_factory=list)
    generators: list[Place] = field(default_factory=list)
    loops: int = 0
    nested_loops: list[Place] = field(default_factory=list)
    fast: list[Place] = field(default_factory=list)
    defined: list[tuple[int, str, str]] = field(default_factory=list)
    """Every definition and module constant: line, name, kind (function, class, constant)."""
    withs: list[Place] = field(default_factory=list)


class Scope:
    """A function, class or module: what it binds, and where a name is looked up next."""

    __slots__ = ("bound", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.bound: set[str] = set()
        self.outer = outer

    def binds(self, name: str) -> bool:
        """Tell whether this scope or one around it rebinds a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                return True
            scope = scope.outer
        return False


# What a name or a constant says: its words, whether it promises validation, whether it holds a secret.

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = frozenset(["password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets"]) | frozenset(
    ["token", "tokens", "apikey", "credential", "credentials"]
)
_SECRET_KEYS = frozenset(["api", "access", "private", "secret", "auth", "encryption", "signing"])
_VALIDATING = ("valid", "sanitiz", "sanitis")
_VALIDATING_WORDS = frozenset(["check", "checks", "checked", "verify", "verifies", "verified", "ensure", "ensures"])


@functools.cache
def words(name: str) -> tuple[str, ...]:
    """Return the lower-case words of a snake_case or camelCase name."""
    return tuple(word.lower() for word in _WORD.findall(name))


@functools.lru_cache(maxsize=4096)
def is_credential(name: str) -> bool:
    """Tell whether a name is one that secrets are bound to: `password`, `API_KEY`, `authToken`, not `tokenizer`."""
    parts = words(name)
    return any(word in _SECRET_WORDS for word in parts) or any(
        second == "key" and first in _SECRET_KEYS for first, second in itertools.pairwise(parts)
    )


@functools.lru_cache(maxsize=4096)
def is_validating(name: str) -> bool:
    """Tell whether a called name promises validation: `validate_age`, `check`, `isValid`, not `checksum`."""
    return any(word.startswith(_VALIDATING) or word in _VALIDATING_WORDS for word in words(name))


def constant_text(value: ast.expr) -> str | None:
    """Return a non-empty text constant, also of bytes, f-strings without fields and concatenations."""
    match value:
        case ast.Constant(value=str() as text):
            return text or None
        case ast.Constant(value=bytes() as data):
            return data.decode("latin-1") or None
        case ast.JoinedStr(values=parts) if all(isinstance(part, ast.Constant) for part in parts):
            return "".join(str(part.value) for part in parts if isinstance(part, ast.Constant)) or None
    return None


def is_opaque_key(name: str, text: str) -> bool:
    """Tell whether a bare `key` holds what looks like a secret and not, say, a column's name."""
    return (
        words(name)[-1:] == ("key",)
        and len(text) >= 16
        and text.isascii()
        and (not any(map(str.isspace, text)) and any(map(str.isdigit, text)) and any(map(str.isalpha, text)))
    )


def spell(node: ast.expr) -> str:
    """Return a short spelling of an expression for a person: a dotted name, or what kind of thing it is."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute(value=ast.Name() as owner):
            return f"{owner.id}.{node.attr}"
        case ast.Subscript(value=ast.Name() as owner):
            return f"{owner.id}[…]"
        case ast.Constant():
            return repr(node.value)[:40]
    return "…"


FAST_BUILT_INS = frozenset({"sum", "max", "min", "any", "all", "enumerate", "zip"})
"""The document's list."""
UNSAFE = frozenset({"eval", "exec", "compile"})

Context = tuple[Scope, int, str]
"""The scope, how many loops of it are around, and the name of the function it belongs to (`""` outside)."""


class Walk:
    """The walk. An explicit stack, because an answer may be nested deeper than Python's own stack allows."""

    def __init__(self, tree: ast.Module, *, wrapped: bool) -> None:
        self.facts = Facts()
        self.module = Scope(None)
        self.pending: list[tuple[Scope, str, int, bool]] = []
        self.stack: list[tuple[ast.AST, Context]] = []
        body = tree.body
        if wrapped:  # the head `def _():` is ours, not the answer's
            head = body[0]
            assert isinstance(head, ast.FunctionDef)
            body = head.body + body[1:]
        self._document(tree, body, "")
        self._push(body, (self.module, 0, ""))
        while self.stack:
            node, context = self.stack.pop()
            handler = self._handlers.get(type(node))
            if handler is not None:
                handler(self, node, context)
            else:
                self._visit_children(node, context)
        # Decide what had to wait until every binding was known.
        for scope, name, line, is_unsafe in self.pending:
            if not scope.binds(name):
                (self.facts.unsafe if is_unsafe else self.facts.fast).append((line, name))

    def _push(self, nodes: list[ast.stmt] | list[ast.expr], context: Context) -> None:
        self.stack.extend([(node, context) for node in reversed(nodes)])

    def _visit_children(self, node: ast.AST, context: Context) -> None:
        stack = self.stack
        kind: Any = node.__class__  # mypy takes a node class for unhashable
        for name in _fields(kind):
            value = getattr(node, name, None)
            if value.__class__ is list:
                stack.extend([(child, context) for child in reversed(value) if isinstance(child, ast.AST)])
            elif isinstance(value, ast.AST):
                stack.append((value, context))

    def _bind(self, name: str, line: int, scope: Scope) -> None:
        scope.bound.add(name)
        if name.strip("_") and name not in ("self", "cls"):
            self.facts.names.append((line, name))

    def _document(self, node: ast.AST, body: list[ast.stmt], name: str) -> None:
        first = body[0] if body else None
        has = (
            isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        )
        line = getattr(node, "lineno", 1)
        if has and first is not None:
            self.facts.docstrings.append((first.lineno, name or "module"))
        if name:
            self.facts.documentable.append((line, name, has))

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: Context) -> None:
        facts, (scope, _, _) = self.facts, context
        facts.functions += 1
        facts.defined.append((node.lineno, node.name, "function"))
        scope.bound.add(node.name)
        self._document(node, node.body, node.name)
        facts.hintable += 1
        if node.returns is not None:
            facts.hinted += 1
            facts.hints.append((node.lineno, f"{node.name}() -> {spell(node.returns)}"))
        inner = Scope(scope)
        # Decorators, defaults and hints belong to the scope around; pushed last, they are visited first, as they are executed.
        self._push(node.body, (inner, 0, node.name))
        self._arguments(node.args, inner, context)
        self._push(node.decorator_list, context)
        if node.returns is not None:
            self.stack.append((node.returns, context))

    def _lambda(self, node: ast.Lambda, context: Context) -> None:
        inner = Scope(context[0])
        self.stack.append((node.body, (inner, 0, context[2])))
        self._arguments(node.args, inner, context, hints=False)

    def _arguments(self, node: ast.arguments, inner: Scope, context: Context, *, hints: bool = True) -> None:
        facts = self.facts
        plain = [*node.posonlyargs, *node.args]
        every = [*plain, *([node.vararg] if node.vararg else []), *node.kwonlyargs]
        every += [node.kwarg] if node.kwarg else []
        for argument in every:
            self._bind(argument.arg, argument.lineno, inner)
            # Nobody hints self and cls, so they are not among the hintable; where one is hinted, that makes up for no other.
            if hints and argument.arg not in ("self", "cls"):
                facts.hintable += 1
                facts.hinted += argument.annotation is not None
            if argument.annotation is not None:
                facts.hints.append((argument.lineno, f"{argument.arg}: {spell(argument.annotation)}"))
                self.stack.append((argument.annotation, context))
        defaults = [*zip(plain[len(plain) - len(node.defaults) :], node.defaults, strict=True)]
        defaults += [
            (argument, value) for argument, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value
        ]
        for argument, value in defaults:
            self._credential(argument.arg, value)
            self.stack.append((value, context))

    def _class(self, node: ast.ClassDef, context: Context) -> None:
        self.facts.defined.append((node.lineno, node.name, "class"))
        context[0].bound.add(node.name)
        self._document(node, node.body, node.name)
        self._push(node.body, (Scope(context[0]), 0, ""))
        self._push([keyword.value for keyword in node.keywords], context)
        self._push(node.bases, context)
        self._push(node.decorator_list, context)

    def _return(self, node: ast.Return, context: Context) -> None:
        if node.value is not None:
            self.facts.returning.append((node.lineno, context[2]))
            self.stack.append((node.value, context))

    def _visit_yield(self, node: ast.Yield | ast.YieldFrom, context: Context) -> None:
        self.facts.returning.append((node.lineno, context[2]))
        if node.value is not None:
            self.stack.append((node.value, context))

    # Names

    def _name(self, node: ast.Name, context: Context) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id, node.lineno, context[0])
        elif node.id in UNSAFE:
            self.pending.append((context[0], node.id, node.lineno, True))

    def _pattern(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping, context: Context) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name:
            self._bind(name, node.lineno, context[0])
        self._visit_children(node, context)

    def _import(self, node: ast.Import | ast.ImportFrom, context: Context) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom) and node.module == "builtins" and alias.name in UNSAFE:
                self.facts.unsafe.append((node.lineno, f"from builtins import {alias.name}"))
            context[0].bound.add(alias.asname or alias.name.partition(".")[0])

    def _attribute(self, node: ast.Attribute, context: Context) -> None:
        if node.attr in UNSAFE and isinstance(node.value, ast.Name) and node.value.id in ("builtins", "__builtins__"):
            self.facts.unsafe.append((node.lineno, f"{node.value.id}.{node.attr}"))
        self.stack.append((node.value, context))

    # Bindings that may hold a credential

    def _assign(self, node: ast.Assign, context: Context) -> None:
        for target in node.targets:
            self._credential_target(target, node.value)
        self._constant_target(node.targets[0], context)
        self._visit_children(node, context)

    def _visit_annotation(self, node: ast.AnnAssign, context: Context) -> None:
        self.facts.hints.append((node.lineno, f"{spell(node.target)}: {spell(node.annotation)}"))
        if node.value is not None:
            self._credential_target(node.target, node.value)
        self._constant_target(node.target, context)
        self._visit_children(node, context)

    def _constant_target(self, target: ast.expr, context: Context) -> None:
        if isinstance(target, ast.Name) and context[0] is self.module and target.id.isupper():
            self.facts.defined.append((target.lineno, target.id, "constant"))

    def _walrus(self, node: ast.NamedExpr, context: Context) -> None:
        self._credential_target(node.target, node.value)
        self._visit_children(node, context)

    def _dict(self, node: ast.Dict, context: Context) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._credential(key.value, value)
        self._visit_children(node, context)

    def _compare(self, node: ast.Compare, context: Context) -> None:
        if isinstance(node.ops[0], ast.Eq | ast.NotEq):
            self._credential_target(node.left, node.comparators[0])
            self._credential_target(node.comparators[0], node.left)
        self._visit_children(node, context)

    def _credential_target(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple() | ast.List(), ast.Tuple() | ast.List():
                for element, its in zip(target.elts, value.elts, strict=False):
                    self._credential_target(element, its)
            case ast.Name(), _:
                self._credential(target.id, value)
            case ast.Attribute(), _:
                self._credential(target.attr, value)
            case ast.Subscript(slice=ast.Constant(value=str() as key)), _:
                self._credential(key, value)

    def _credential(self, name: str, value: ast.expr) -> None:
        text = constant_text(value)
        if text is None:
            return
        self.facts.bound_strings += 1
        if any(map(str.isalnum, text)) and (is_credential(name) or is_opaque_key(name, text)):
            self.facts.secrets.append((value.lineno, f'{name} = "…" ({len(text)} characters)'))

    # Calls, checks, handlers

    def _call(self, node: ast.Call, context: Context) -> None:
        facts = self.facts
        facts.calls += 1
        name = ""
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in FAST_BUILT_INS:
                self.pending.append((context[0], name, node.lineno, False))
        elif isinstance(node.func, ast.Attribute):
            name = node.func.attr
        if name in ("isinstance", "issubclass") or (name and is_validating(name)):
            facts.validations.append((node.lineno, f"{name}()"))
        for keyword in node.keywords:
            if keyword.arg:
                self._credential(keyword.arg, keyword.value)
            self.stack.append((keyword.value, context))
        self._push(node.args, context)
        self.stack.append((node.func, context))

    def _if(self, node: ast.If, context: Context) -> None:
        if any(isinstance(child, ast.Raise) for child in (*node.body, *node.orelse)):
            self.facts.validations.append((node.lineno, "if …: raise"))
        self._visit_children(node, context)

    def _assert(self, node: ast.Assert, context: Context) -> None:
        self.facts.validations.append((node.lineno, "assert (not run under -O)"))
        self._visit_children(node, context)

    def _try(self, node: ast.Try, context: Context) -> None:
        for handler in node.handlers:
            kind = spell(handler.type) if handler.type else ""
            location = (handler.lineno, f"except {kind}" if kind else "bare except")
            self.facts.handlers.append(location)
            silent = all(isinstance(child, ast.Pass) for child in handler.body)
            if silent or not kind:
                self.facts.weak_handlers.append((location[0], location[1] + (": pass" if silent else "")))
        self._visit_children(node, context)

    def _handler(self, node: ast.ExceptHandler, context: Context) -> None:
        if node.name:
            self._bind(node.name, node.lineno, context[0])
        self._visit_children(node, context)

    # Loops and comprehensions

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, context: Context) -> None:
        scope, depth, name = context
        self.facts.loops += 1
        if depth:
            self.facts.nested_loops.append((node.lineno, "a loop inside a loop"))
        self._push(node.orelse, context)
        self._push(node.body, (scope, depth + 1, name))
        if isinstance(node, ast.While):
            self.stack.append((node.test, context))
        else:
            self.stack.append((node.iter, context))
            self.stack.append((node.target, context))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, context: Context
    ) -> None:
        lazy = isinstance(node, ast.GeneratorExp)
        kind = "generator expression" if lazy else "comprehension"
        (self.facts.generators if lazy else self.facts.comprehensions).append((node.lineno, kind))
        if len(node.generators) > 1:
            self.facts.nested_loops.append((node.lineno, f"{kind} with {len(node.generators)} for"))
        self._visit_children(node, (Scope(context[0]), context[1], context[2]))

    def _with(self, node: ast.With | ast.AsyncWith, context: Context) -> None:
        self.facts.withs.append((node.lineno, "with"))
        self._visit_children(node, context)

    _handlers: ClassVar[dict[type[ast.AST], Callable[..., None]]] = {
        **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), _function),
        ast.Lambda: _lambda,
        ast.ClassDef: _class,
        ast.Return: _return,
        **dict.fromkeys((ast.Yield, ast.YieldFrom), _visit_yield),
        ast.Name: _name,
        **dict.fromkeys((ast.MatchAs, ast.MatchStar, ast.MatchMapping), _pattern),
        **dict.fromkeys((ast.Import, ast.ImportFrom), _import),
        ast.Attribute: _attribute,
        ast.Assign: _assign,
        ast.AnnAssign: _visit_annotation,
        ast.NamedExpr: _walrus,
        ast.Dict: _dict,
        ast.Compare: _compare,
        ast.Call: _call,
        ast.If: _if,
        ast.Assert: _assert,
        **dict.fromkeys((ast.Try, ast.TryStar), _try),
        ast.ExceptHandler: _handler,
        **dict.fromkeys((ast.For, ast.AsyncFor, ast.While), _loop),
        **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _comprehension),
        **dict.fromkeys((ast.With, ast.AsyncWith), _with),
    }


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a node type that may hold nodes worth visiting, last first (the stack turns them)."""
    return tuple(name for name in reversed(kind._fields) if name not in ("ctx", "op", "ops", "type_comment", "names"))
