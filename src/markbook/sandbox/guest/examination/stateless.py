"""Which programs can leave nothing behind in their process for a later run of the same program: read off their source.

Tests of such a program run one after the other in one process (`stdin`), each with a module, streams and an input of its
own. A wrong yes here would let a program remember; a wrong no costs a fork. So whatever is not known to be harmless is not:

- Of modules only listed names are used, and a module is never a value: it stands before a dot.
- What a program may hold as a value and did not make itself cannot be changed: built-in functions, types that are fixed,
  texts and numbers (`_is_fixed`). What was written in Python may only be called (`Counter(x)`), but where the program has
  no class of its own and sets no attribute; names from `typing` stand in annotations. So no attribute is set on anything that
  outlives the run, and nothing listed keeps an argument or hands out what it keeps.
- Nothing reaches objects by their names as text or through special attributes, frames, code or caught exceptions.
- Nothing goes on after an error that says how much memory or stack there was: what is done once only takes less the next time.
- Nothing of the program's runs when its objects are freed: it has no `__del__`, no generator that catches or hands over,
  and sets nothing on a stream that closing it would call.

What stays observable are addresses of objects, by default representations and the order of sets of them: they tell the age
of the process, and a program that is made for it can leave bits in the order in which it frees what it has made.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import io
import re
from types import BuiltinFunctionType

from .expressions import nodes, parse

TYPE_CHECKING = False

_LISTED = {
    "array": "array",
    "ast": "literal_eval",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "Counter OrderedDict defaultdict deque",
    "copy": "copy deepcopy",
    "functools": "cache cmp_to_key lru_cache partial reduce",
    "heapq": "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
    "io": "BytesIO StringIO",
    "itertools": "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile"
    " filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest",
    "math": "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1"
    " fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10"
    " log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp",
    "operator": "abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv"
    " ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le"
    " length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
    "re": "A I L M S U X compile escape findall finditer fullmatch match search split sub subn",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation whitespace",
    "sys": "exit getrecursionlimit maxsize set_int_max_str_digits setrecursionlimit stderr stdin stdout",
    "typing": "Any Callable Counter DefaultDict Deque Dict FrozenSet Generator Iterable Iterator List Optional OrderedDict"
    " Sequence Set Tuple Union",
}
"""What of which modules a program may use. The child undoes what `sys` can set, and empties the cache of `re`.

Not here is what hands out an object that can be changed (`sys.modules`), what reads attributes by name (`attrgetter`), what
calls an argument when it is freed (`heapq.merge`), and what shows whether a text is known already (`namedtuple`). A `memo` of `deepcopy` is handed a list that stays; `re` asks the flags that it is
given by flags of its own, which stay, and keeps numbers that these are joined with."""
_STREAMS = ("stdin", "stdout", "stderr")
_PLAIN_BUILTINS = (
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float format"
    " frozenset hex input int isinstance issubclass iter len list map max min next object oct ord pow print property range"
    " repr reversed round set slice sorted staticmethod str sum super tuple zip Ellipsis NotImplemented"
)
_BUILTINS = frozenset(_PLAIN_BUILTINS.split())
_OPERATORS = (
    "name lt le gt ge eq ne hash repr str len getitem setitem delitem contains iter next call bool add sub mul truediv"
    " floordiv mod divmod pow lshift rshift and or xor radd rsub rmul rtruediv rfloordiv rmod rpow rand ror rxor iadd isub"
    " imul itruediv ifloordiv imod ipow iand ior ixor neg pos abs invert int float index missing"
)
_SPECIAL = frozenset(f"__{name}__" for name in _OPERATORS.split())
"""The names between underscores that a program may define, read or call: they are looked up on classes of its own."""
_OPAQUE = re.compile(r"(?:gi|cr|ag|f|tb|co)_|(?:add_note|cache_info|format_map|obj|with_traceback|_(?!_).*_)$")
"""Attributes that lead from a value to frames, code and tracebacks, to what an exception has met, or to what a class keeps."""
_OF_STREAMS = frozenset(
    name
    for kind in (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.FileIO, io.StringIO)
    for name in dir(kind)
)
"""Attributes of which freeing a stream calls some."""
_LOOKS_INSIDE = re.compile(r"\{[^{}:!]*[.\[]")
"""A template that reads attributes or items of what it formats."""
_FIXED_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def _is_fixed(value: object) -> bool:
    """Whether nothing can be set on a value, in it or on its class."""
    if isinstance(value, type):
        return bool(value.__flags__ & _FIXED_TYPE)
    return type(value) in (BuiltinFunctionType, int, float, str)


_ANNOTATION, _VALUE, _SETTABLE, _CALLED, _SINGLE, _PLAIN = range(6)
"""How a name may be used: in an annotation; as any value; as that in a plain program, to be called in others; to be called; to
be called with one argument; as any value in a plain program, in others not at all. Plain is one without classes that sets no
attribute."""
_USES: dict[tuple[str, str], int] = {}
for _module, _names in _LISTED.items():
    _loaded = None if _module == "typing" else importlib.import_module(_module)
    for _name in _names.split():
        if _loaded is None:
            # these two are called where `from typing import *` has put them in the place of the classes
            _USES[_module, _name] = _CALLED if _name in ("Counter", "OrderedDict") else _ANNOTATION
        elif hasattr(_loaded, _name):
            # the child has functions of its own for the limit of recursion
            _fixed = _is_fixed(getattr(_loaded, _name)) or (_module == "sys" and _name in _STREAMS)
            _fixed = _fixed and not _name.endswith("recursionlimit")
            _usual = _VALUE if _fixed else _SETTABLE
            # no class stands below one of `io`, whose methods freeing a stream would call
            _USES[_module, _name] = {"io": _CALLED, "ast": _SINGLE, "copy": _SINGLE, "re": _PLAIN}.get(_module, _usual)


@functools.cache
def _other_names(module: str) -> frozenset[str]:
    """Return what else `from module import *` binds."""
    loaded = importlib.import_module(module)
    return frozenset(getattr(loaded, "__all__", None) or dir(loaded)) - frozenset(_LISTED[module].split())


_REFUSED = frozenset(
    name
    for name, value in vars(builtins).items()
    if name not in _BUILTINS | _SPECIAL
    # a group of exceptions is a class that can be written to
    and not (isinstance(value, type) and issubclass(value, BaseException) and _is_fixed(value))
) | {"copyright", "credits", "exit", "help", "license", "quit"}
_HARMLESS = (
    "ArithmeticError AssertionError AttributeError EOFError IOError IndexError KeyError KeyboardInterrupt LookupError OSError"
    " OverflowError StopIteration SystemExit TypeError UnicodeDecodeError UnicodeError ValueError ZeroDivisionError"
)
_CAUGHT = frozenset(_HARMLESS.split())
"""What a program may catch: neither of the errors that tell how much memory or stack something takes, nor what becomes of them.

What is done once in a process (a codec, a module, a combination of flags) takes less of both the next time."""
_ANNOTATING = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.BinOp, ast.BitOr)
_NAMING = frozenset((
    ast.FunctionDef, ast.ClassDef, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Call,
    ast.Attribute, ast.Name, ast.ExceptHandler, ast.arg, ast.keyword, ast.alias,
))  # fmt: skip
"""What has a name, or says how one is used."""
_SYNTAX = _NAMING.union((
    ast.Module, ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Try,
    ast.Assert, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda,
    ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.Compare,
    ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Subscript, ast.Starred, ast.List, ast.Tuple, ast.Slice,
    ast.comprehension, ast.arguments,
), *(kind.__subclasses__() for kind in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)))  # fmt: skip


def leaves_nothing(text: str) -> bool:
    """Return whether a program, which is known to compile, can leave nothing behind for its next run."""
    tree = parse(text)
    if tree is None:
        return False
    program = nodes(tree)
    kinds = set(map(type, program))
    # what catches in a generator runs when that is freed; what is left at last may be left by `return`, whatever was raised
    if not kinds <= _SYNTAX or {ast.Yield, ast.Try} <= kinds or any(getattr(node, "finalbody", ()) for node in program):
        return False
    slots = {id(node.targets[0]) for node in program if isinstance(node, ast.Assign) and _names_slots(node)}
    naming = [node for node in program if type(node) in _NAMING and id(node) not in slots]
    source = _Source(has_classes=ast.ClassDef in kinds)
    is_known = all(map(_has_plain_names, naming)) and all(map(source.take, naming)) and source.has_one_meaning()
    return is_known and all(
        source.allows_name(node) if isinstance(node, ast.Name) else source.allows_attribute(node)
        for node in naming
        if isinstance(node, ast.Name | ast.Attribute)
    )


def _names_slots(node: ast.Assign) -> bool:
    """Whether it is a list of plain texts to `__slots__`: copying reads the attributes that these name."""
    texts = [getattr(part, "value", None) for part in getattr(node.value, "elts", [node.value])]
    is_slots = [getattr(target, "id", "") for target in node.targets] == ["__slots__"]
    return is_slots and all(isinstance(text, str) and text[:2] != "__" for text in texts)


def _has_plain_names(node: ast.AST) -> bool:
    """Whether no name in a node is special, but for those that a class of the program's own may have."""
    values = [name for value in vars(node).values() for name in (value if type(value) is list else (value,))]
    names = {name for name in values if type(name) is str and name[:2] == "__" and name[-2:] == "__"} - _SPECIAL
    if names == {"__init__"} and isinstance(node, ast.Attribute):
        above = node.value  # the class above alone: an error that Python keeps could be begun again
        return isinstance(above, ast.Call) and not above.args and getattr(above.func, "id", "") == "super"
    # a hash shows an address
    return names <= {"__init__"} and not (isinstance(node, ast.Attribute) and node.attr == "__hash__")


class _Source:
    """What a program's text says as a whole."""

    def __init__(self, *, has_classes: bool) -> None:
        self._modules: dict[str, str] = {}
        self._uses: dict[str, set[int]] = {}
        """How each imported name may be used: in all of these ways, where it may be one of several things."""
        self._bound: set[str] = set()
        """What else has a name."""
        self._classes: set[str] = set()
        """Names of its own classes."""
        self._caught: set[str] = set()
        self._unlisted: set[str] = set()
        """Names that may be something which is not listed."""
        self._called: set[int] = set()
        self._single: set[int] = set()
        """What is called with one argument."""
        self._based: set[int] = set()
        """What stands before a dot."""
        self._annotations: list[ast.expr] = []
        self._annotated: set[int] = set()
        self._opening: set[int] = set()
        self._has_classes = has_classes
        self._names_errors = self._sets_attributes = False

    def take(self, node: ast.AST) -> bool:
        """Take note of what a node binds, calls or is; False if no program with it is allowed."""
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self._bound.add(node.id)
        elif isinstance(node, ast.Attribute):
            self._based.add(id(node.value))
            self._sets_attributes = self._sets_attributes or not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.Call):
            self._called.add(id(node.func))
            first = node.args[0] if len(node.args) == 1 and not node.keywords else None
            if isinstance(first, ast.Constant) and first.value == 0 and type(first.value) is int:
                self._opening.add(id(node.func))
            if first is not None and not isinstance(first, ast.Starred):
                self._single.add(id(node.func))
        elif isinstance(node, ast.arg | ast.AnnAssign):
            self._bound.update([node.arg] if isinstance(node, ast.arg) else [])
            self._annotations += [node.annotation] if node.annotation else []
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            is_class = isinstance(node, ast.ClassDef) and not node.decorator_list
            (self._classes if is_class else self._bound).add(node.name)
            self._called.update(map(id, node.decorator_list))
            if isinstance(node, ast.FunctionDef):
                self._annotations += [node.returns] if node.returns else []
            elif node.keywords or any(isinstance(part, ast.Import | ast.ImportFrom) for part in nodes(node)):
                return False  # a metaclass, or a module that becomes an attribute
        elif isinstance(node, ast.Import | ast.ImportFrom):
            return self._import(node)
        elif isinstance(node, ast.ExceptHandler):
            self._bound.update([node.name] if node.name else [])
            self._names_errors = self._names_errors or bool(node.name)
            # anything but a name can be none of what may be caught
            self._caught.update(getattr(kind, "id", "") for kind in getattr(node.type, "elts", [node.type]))
        return True

    def _import(self, node: ast.Import | ast.ImportFrom) -> bool:
        for alias in node.names:
            bound = alias.asname or alias.name
            if isinstance(node, ast.Import):
                if alias.name not in _LISTED or self._modules.setdefault(bound, alias.name) != alias.name:
                    return False
            elif alias.name == "*" and node.module == "builtins":
                continue  # which are there anyway
            elif node.module not in _LISTED or node.level:
                return False
            elif alias.name == "*":
                self._unlisted |= _other_names(node.module)
                for (module, name), use in _USES.items():
                    if module == node.module:
                        self._uses.setdefault(name, set()).add(use)
            elif (node.module, alias.name) not in _USES:
                return False
            else:
                self._uses.setdefault(bound, set()).add(_USES[node.module, alias.name])
        return True

    def has_one_meaning(self) -> bool:
        """Whether what is allowed of a module, of `super` or in an annotation can be meant of nothing else."""
        others = self._uses.keys() | self._unlisted
        caught = (
            (_CAUGHT - self._classes | self._classes - vars(builtins).keys())
            - self._bound
            - others
            - self._modules.keys()
        )
        if not self._caught <= caught:
            return False
        self._bound |= self._classes
        typed = {name for name, uses in self._uses.items() if _ANNOTATION in uses}
        plain = (_BUILTINS - self._bound - self._uses.keys() - self._modules.keys()) | {"", *typed}
        plain |= {name for name, module in self._modules.items() if module == "typing"}
        for annotation in self._annotations if typed or "typing" in self._modules.values() else ():
            parts = nodes(annotation)
            # listed names and types of Python's own: what else stands behind `List` is kept as a key
            if all(isinstance(part, _ANNOTATING) and getattr(part, "id", "") in plain for part in parts):
                self._annotated.update(map(id, parts))
        return self._bound.isdisjoint({"super", *typed, *self._modules}) and others.isdisjoint(
            {"super", *self._modules}
        )

    def allows_name(self, node: ast.Name) -> bool:
        """Return whether a name is harmless where it stands."""
        name = node.id
        if name in self._modules:
            return id(node) in self._based
        if name in _REFUSED:  # first, since an import of that name may never be executed
            return id(node) in (self._called if name in ("exit", "quit") else self._opening if name == "open" else ())
        return name not in self._unlisted and all(self._is_used(node, use) for use in self._uses.get(name, ()))

    def _is_used(self, node: ast.expr, use: int) -> bool:
        is_plain = not (self._sets_attributes or self._has_classes)
        if use == _ANNOTATION:
            return id(node) in self._annotated
        if use == _SINGLE:
            return id(node) in self._single
        return (
            use == _VALUE or (use in (_SETTABLE, _PLAIN) and is_plain) or (use != _PLAIN and id(node) in self._called)
        )

    def allows_attribute(self, node: ast.Attribute) -> bool:
        """Return whether an attribute is harmless where it stands."""
        name, base = node.attr, node.value
        is_read = isinstance(node.ctx, ast.Load)
        if isinstance(base, ast.Name) and base.id in self._modules:
            module = self._modules[base.id]
            if not is_read:
                # `input` keeps silent about errors of a stream, which an object of its own may be
                is_stream = module == "sys" and name in _STREAMS and isinstance(node.ctx, ast.Store)
                return is_stream and not self._has_classes
            use = _USES.get((module, name))
            return use is not None and self._is_used(node, use)
        if not is_read:
            # of some errors Python keeps the object
            return not self._names_errors and name not in _OF_STREAMS and not _OPAQUE.match(name)
        if name == "format":
            template = base.value if isinstance(base, ast.Constant) else None
            return isinstance(template, str) and id(node) in self._called and not _LOOKS_INSIDE.search(template)
        return not _OPAQUE.match(name)
