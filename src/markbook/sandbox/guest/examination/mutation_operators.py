"""How one place in a test is changed to something else that looks as likely to a solution; the theory is in `mutated_expectations`."""

from __future__ import annotations

import ast
import copy
import itertools
from functools import partial

from ..marking import OTHER
from . import mutated_values
from .expressions import constants, get_called_name, is_computed
from .mutated_values import draw, fresh, way

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    Put = Callable[[ast.expr], None]
    """Puts another expression in the place of one."""
    Slot = tuple[list[Any], int]
    """A list of expressions and a place in it."""

OUTER, INNER, ASKED, WANTED, EXCHANGED, FRESH = range(6)
"""Ways of making a literal wrong: two of its parts, or parts of parts, change places; what is asked; what is expected
elsewhere; two expectations change places; anything else."""
WAYS = 6
_FAR = 50
"""A number of the test takes the place of another only if it is farther from it than this part of it: some tests round."""
_TRIES = 8
_KEEP_ORDER = frozenset(("array", "DataFrame", "Index", "Series", "asarray", "deque", "list", "tuple"))
"""What is made of a list and in which the order of the list is seen by whatever it is compared with."""


class ExpectedValues:
    """What a test expects, from which wrong values are taken that look right."""

    def __init__(self, elsewhere: Iterable[Any] = ()) -> None:
        """Begin with what other tests expect."""
        self.values: list[Any] = [*elsewhere]
        """The constants of all that it expects."""
        self.wholes: list[tuple[str, ast.expr]] = []
        """All that it expects, each with what is compared with it."""

    def add(self, of: str, node: ast.expr) -> None:
        """Take in what is expected of something in one place."""
        self.values += [part.value for part in constants(node)]
        self.wholes.append((of, node))


class Near:
    """What is known of one literal beside its text."""

    def __init__(
        self, pool: ExpectedValues, of: str = "", arguments: Sequence[Any] = (), *, ordered: bool = False,
        far: float | None = None,
    ) -> None:  # fmt: skip
        """Note it.

        Args:
            pool: what the test expects anywhere.
            of: what is compared with it.
            arguments: the constants of what is asked here.
            ordered: whether the order of its parts counts.
            far: within which distance of a number another one is as good; None where nobody knows.
        """
        self.pool = pool
        self.of = of
        self.asked = arguments
        self.ordered = ordered
        self.far = far


def replace(node: ast.expr, near: Near | None = None) -> bool:
    """Make a literal another one: one of its constants, all of them where it computes with them.

    What takes the place of one stands nowhere else in the literal: sorted or as a set it would be the same one else. As
    often as not it is a value that an answer could be taken in by: one that the test expects elsewhere, or a piece of
    what it asks; two parts that have changed places; or two expectations of the test that have.

    Args:
        node: the literal.
        near: what is known of it; None where it is not an expectation.

    Returns:
        Whether it became such a likely value, which an answer with an `==` of its own may rightly take for the same.
    """
    constants_found = constants(node)
    useful = [part for part in constants_found if part.value is not None] or constants_found
    if useful and (near is None or is_computed(node)):
        values = [part.value for part in constants_found]
        for part in useful if is_computed(node) else [useful[draw(len(useful))]]:
            part.value = fresh(part.value, values, near.far if near else None)
        return False
    if not useful:
        return _fill(node, near)
    assert near is not None
    turn = way()
    if (turn in (OUTER, INNER) and _swap(node, near, inner=turn == INNER)) or (
        turn == EXCHANGED and exchange(node, near)
    ):
        return True
    values = [constant.value for constant in constants_found]
    part = useful[draw(len(useful))]
    sources = {ASKED: (near.asked,), FRESH: (), WANTED: (near.pool.values, near.asked)}.get(turn, (near.pool.values,))
    found_likely = (_likely(part.value, values, source, near.far) for source in sources)
    likely = next(filter(None, found_likely), [])
    part.value = likely[draw(len(likely))] if likely else fresh(part.value, values, near.far)
    return bool(likely)


def replace_all(node: ast.expr, near: Near) -> bool:
    """Make every constant of a literal another one that stands nowhere in it: what was in it is not in what comes.

    Returns:
        Whether it became what the test looks for in another place, or a piece of what it asks in this one.
    """
    turn = way()
    if turn in (OUTER, EXCHANGED) and exchange(node, near):
        return True
    constants_found = constants(node)
    values = [part.value for part in constants_found]
    if (
        turn in (INNER, ASKED)
        and len(constants_found) == 1
        and (likely := _likely(values[0], values, near.asked, near.far))
    ):
        constants_found[0].value = likely[draw(len(likely))]
        return True
    for part in constants_found:
        part.value = fresh(part.value, values)
    return False


def _likely(value: Any, values: list[Any], source: Iterable[Any], far: float | None) -> list[Any]:
    """Return those of the values of a test that may stand for this one: of its type, and none of these."""
    candidates: list[Any] = []
    for other in source:
        if type(other) is not type(value):
            continue
        if type(value) is str:
            candidates += [other, *other.split()]
        elif type(value) is bytes or _is_far(value, other, far):
            candidates.append(other)
    return [
        candidate
        for candidate in dict.fromkeys(candidates)
        if candidate not in (*values, "") and not (isinstance(candidate, str | bytes) and set(candidate) == set(value))
    ]


def _is_far(first: Any, other: Any, far: float | None) -> bool:
    """Whether two numbers are told apart by whatever compares them."""
    if type(first) is int and type(other) is int and far is None:
        return abs(other - first) > abs(first) // _FAR
    if not all(type(value) in (int, float) for value in (first, other)) or far is None:
        return False
    distance = abs(other - first)
    return bool(distance > 2 * far and distance > abs(first) / _FAR and distance < float("inf"))


def _fill(node: ast.expr, near: Near | None) -> bool:
    """Put into an empty literal what is expected elsewhere, or a number."""
    position = {name: getattr(node, name) for name in ("lineno", "col_offset")}
    values_near = (*near.pool.values, *near.asked) if near else ()
    values = [value for value in values_near if type(value) in (int, str) and value != ""]
    extra: ast.expr = ast.Constant(values[draw(len(values))] if values else 2 + draw(7), **position)
    key: ast.expr = extra
    same = [
        literal
        for _, literal in (near.pool.wholes if near else ())
        if type(literal) is type(node) and literal is not node
    ]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = [item for literal in same for item in literal.elts]  # type: ignore[attr-defined]  # of the same class
        node.elts.append(_copy_at(items[draw(len(items))], node) if items else extra)
    elif isinstance(node, ast.Dict):
        pairs = [pair for literal in same for pair in zip(literal.keys, literal.values, strict=True) if pair[0]]  # type: ignore[attr-defined]
        if pairs:
            key, extra = (_copy_at(part, node) for part in pairs[draw(len(pairs))])
        node.keys.append(key)
        node.values.append(extra)
    return False


def _copy_at(part: ast.expr, node: ast.expr) -> ast.expr:
    """Return a copy of an expression that stands where another one does."""
    duplicate = copy.deepcopy(part)
    # with its own place in the text it would be seen to come from elsewhere
    for inner in ast.walk(duplicate):
        if isinstance(inner, ast.expr):
            ast.copy_location(inner, node)
    return duplicate


def exchange(node: ast.expr, near: Near) -> bool:
    """Have it and what the test expects of something else change places, so that nothing stands there twice."""
    others = [literal for of, literal in near.pool.wholes if of != near.of and type(literal) is type(node)]
    others = [literal for literal in others if not _are_like(node, literal) and _may_change(node, literal, near.far)]
    if not others:
        return False
    other = others[draw(len(others))]
    mine, theirs = _copy_at(other, node), _copy_at(node, other)
    # in place, since the tree and the sites hold these very nodes
    for name in node._fields:
        setattr(node, name, getattr(mine, name))
        setattr(other, name, getattr(theirs, name))
    return True


def _are_like(first: ast.expr, other: ast.expr) -> bool:
    return ast.dump(first) == ast.dump(other)


def _swap(node: ast.expr, near: Near, *, inner: bool) -> bool:
    """Have two unequal parts of a literal, or of a text, change places; return whether there are such."""
    if isinstance(node, ast.Constant):
        # Have two words, or two letters, of a text change places
        text = node.value
        if type(text) is not str:
            return False
        words = text.split(" ")
        parts: list[str] = words if len({*words} - {""}) > 1 else list(text)
        glue = " " if parts is words else ""
        pairs = [
            index
            for index, (first, other) in enumerate(itertools.pairwise(parts))
            if first != other and first.strip() and other.strip()
        ]
        if not pairs:
            return False
        index = pairs[draw(len(pairs))]
        parts[index], parts[index + 1] = parts[index + 1], parts[index]
        node.value = glue.join(parts)
        return True
    slots = list(_slots(node, ordered=near.ordered))
    outer = [slot for slot in slots if slot[0] is slots[0][0]]
    if not inner and len(outer) > 1:
        slots = outer
    for _ in range(_TRIES if len(slots) > 1 else 0):
        (first, here), (second, there) = slots[draw(len(slots))], slots[draw(len(slots))]
        if not _are_like(first[here], second[there]) and _may_change(first[here], second[there], near.far):
            first[here], second[there] = second[there], first[here]
            return True
    return False


def _slots(node: ast.expr, *, ordered: bool) -> Iterator[Slot]:
    """Yield where parts stand in a literal that another literal is told from if they change places."""
    if isinstance(node, ast.List | ast.Tuple):
        yield from ((node.elts, index) for index in range(len(node.elts)) if ordered)
    elif isinstance(node, ast.Dict):
        yield from ((node.values, index) for index in range(len(node.values)) if node.keys[index] is not None)
    elif isinstance(node, ast.Call) and node.args:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        yield from _slots(node.args[0], ordered=ordered and name in _KEEP_ORDER)
        return
    for item in getattr(node, "elts", getattr(node, "values", ())):
        yield from _slots(item, ordered=True)


def _may_change(first: ast.expr, second: ast.expr, far: float | None) -> bool:
    """Whether two parts are of one kind, none within the other, and told apart by what compares them."""
    if isinstance(first, ast.List | ast.Tuple | ast.Set | ast.Dict) and type(first) is type(second):
        return not any(
            part in (first, second) for container in (first, second) for part in list(ast.walk(container))[1:]
        )
    values = [_number_or_text(part) for part in (first, second)]
    if None in values or type(values[0]) is not type(values[1]):
        return False
    return isinstance(values[0], str | bytes | bool) or _is_far(values[0], values[1], far)


def _number_or_text(node: ast.expr) -> Any:
    """Return the value of a constant or of a negative number; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number_or_text(node.operand)
        return -value if type(value) in (int, float) else None
    return node.value if isinstance(node, ast.Constant) else None


def copy_values(changed: ast.expr, node: ast.expr) -> None:
    """Make of a literal, which was as another one, what was made of that; where it stands is left as it is."""
    if _shape(changed) == _shape(node):
        for changed_node, same in zip(ast.walk(changed), ast.walk(node), strict=True):
            if isinstance(changed_node, ast.Constant) and isinstance(same, ast.Constant):
                same.value = changed_node.value
        return
    replacement = _copy_at(changed, node)
    for name in node._fields:
        setattr(node, name, getattr(replacement, name))


def _shape(node: ast.expr) -> list[type]:
    return [type(part) for part in ast.walk(node)]


# One place in a test that can be made wrong.

SURE, LIKELY, INPUT, OPERATOR = range(4)
"""No right answer passes then (another literal is compared for equality, for one); hardly any does; it depends."""


class MutationSite:
    """One thing in a test that can be made wrong."""

    def __init__(
        self, change: Callable[[], object], rank: int, claim: int, *, is_shown: bool, part: int | None = None, of: str = "",
        node: ast.expr | None = None, is_circular: bool = False,
    ) -> None:  # fmt: skip
        self.change = change
        """Makes it wrong, in the tree in which it was found, by the values that are drawn then; it returns True where an
        answer with an `==` of its own may rightly take the wrong value for the right one."""
        self.claim = claim
        """The number of what is claimed there: each assertion, and each part of one that is joined by `and`; negative
        where it is what an expectation is made of, as against its comparison."""
        self.rank = rank
        """`SURE`, `LIKELY` or `INPUT`: how much it says that a solution passes then. `OPERATOR`: something is compared
        with what is equal to nothing, so that an answer that judges for itself is told from one that is compared."""
        self.part = part
        """The number of the part of the program that it stands in, None where it stands in none that reports."""
        self.of = of
        """What is compared with it; empty where nobody knows."""
        self.node: ast.expr | None = node
        """The literal or the bound that is made wrong; None where something else is."""
        # of a literal that stands beside nothing no other place is looked for; long inputs are many such
        self._before = ast.dump(node) if node is not None and of else ""
        self._value = getattr(node, "value", None)
        self.is_circular = is_circular
        """Whether what is made wrong is the solution's own, so that another thing in its place may be refused unasked: to
        fail then says nothing."""
        self.is_shown = is_shown
        """Whether it is made wrong by a call of ours, which a solution beside it can see: where that does not happen
        it may answer what it likes, so that only to pass says something, and to fail does not."""

    @property
    def says(self) -> str:
        """What is said of what, where another place may say the same; empty where none is looked for."""
        return f"{self.of} {'bound' if self._is_bound() else self._before}" if self.of and self.node is not None else ""

    def says_as(self, other: MutationSite) -> bool:
        """Whether this says of the same what another one says: the same literal, or a bound on the other side."""
        return bool(self.says) and self.says == other.says and self.node is not other.node

    def _is_bound(self) -> bool:
        return isinstance(self.change, partial) and self.change.func is mutated_values.shift

    def follow(self, other: MutationSite) -> None:
        """Make it wrong by as much as another one that has been."""
        if self._is_bound():
            self.node.value += other.node.value - other._value  # type: ignore[union-attr]  # both are numbers
        elif self.node is not None and other.node is not None:
            copy_values(other.node, self.node)


# What stands in a test: its kinds of claims, and how each is turned into a wrong one.

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def is_choice(node: ast.AST) -> bool:
    """Whether one of several things is enough."""
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)


def denied_order(node: ast.expr) -> ast.Compare | None:
    """Return the `f(x) < 5` of `not f(x) < 5` where it has a number for a bound."""
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None
    if not isinstance(inner, ast.Compare) or len(inner.ops) > 1 or not isinstance(inner.ops[0], ORDER):
        return None
    ends = (inner.left, inner.comparators[0])
    return inner if any(isinstance(end, ast.Constant) and type(end.value) in (int, float) for end in ends) else None


def find_conjuncts(node: ast.Call) -> Sequence[ast.expr] | None:
    """Return what all is to be true by `all([.., ..])`, `all(.. for ..)` and `(.. == ..).all()`; None for anything else."""
    if get_called_name(node) != "all" or len(node.args) > 1:
        return None
    owner = getattr(node.func, "value", None)
    inner = node.args[0] if node.args else owner
    if isinstance(inner, ast.GeneratorExp | ast.ListComp):
        return [inner.elt]
    if isinstance(inner, ast.Compare) or (not node.args and isinstance(inner, ast.Call)):
        return [inner]
    return getattr(inner, "elts", ()) if node.args else None


def swap_error(holder: ast.ExceptHandler | list[ast.expr], position: str | int) -> Callable[[], None]:
    """Return what puts another exception in the place of one."""
    return partial(_swap_name, holder, position, mutated_values.other_error)


def swap_type(holder: list[ast.expr], position: int) -> Callable[[], None]:
    """Return what puts another class in the place of one."""
    return partial(_swap_name, holder, position, mutated_values.other_type)


def _swap_name(holder: ast.ExceptHandler | list[ast.expr], position: str | int, name: Callable[[str], str]) -> None:
    old = holder[int(position)] if isinstance(holder, list) else holder.type
    if old is None:
        return
    new = ast.copy_location(ast.Name(name(get_name(old)), ast.Load()), old)
    if isinstance(holder, list):
        holder[int(position)] = new
    else:
        holder.type = new


def get_name(node: ast.expr) -> str:
    """Return a name; empty for what is none."""
    return node.id if isinstance(node, ast.Name) else ""


def make_other(put: Put, value: ast.expr, *, near: bool = False) -> None:
    """Put in the place of a value something of its type that is not equal to it, where `near` says so one near by."""
    position = {name: getattr(value, name) for name in ("lineno", "col_offset")}
    by = ast.Constant(mutated_values.step(near=near), **position)
    put(ast.Call(ast.Name(OTHER, ast.Load(), **position), [value, by], [], **position))


def rename(node: ast.Call, name: str) -> None:
    """Have a call call something else."""
    if isinstance(node.func, ast.Attribute):
        node.func.attr = name
    elif isinstance(node.func, ast.Name):
        node.func.id = name
