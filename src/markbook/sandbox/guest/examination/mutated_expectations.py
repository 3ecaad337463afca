"""Mutation of expectations: where in a test an expected value stands, and what it is changed to.

Theory of operation. A test that runs in the solution's process can be forged: the solution could overwrite the result. So a
pass there is believed only if mutated copies of the same test fail. An honest answer fails a copy that expects something else.
A solution that forges its result passes the copy too, unless it can tell the copy from the test. Hence a mutant must look
like a test that somebody wrote, and this is what most of the code is about. The parts, each used by the next:

- `expressions`: what a piece of a test's syntax tree says (literal, called name, data flow).
- `mutated_values`: plausible wrong values, and the messages and docstrings that would give the right one away.
- `mutation_operators`: how one literal, bound, class or argument is exchanged. A `MutationSite` is one place with its rank:
  how much a pass with it says. SURE: no right answer passes. LIKELY, ORDER, INPUT, OPERATOR: a right answer may.
- this module: `ExpectationFinder` walks the test and collects its sites, each with the claim (assertion) it belongs to.
- `mutation_canary`: one test with its sites; compiles the mutant for a site and a seed.
- `mutation_canary`: which tests are mutated in which run, and what the outcomes prove.
- `in_process_tests`: runs the true test and the mutants in fresh children, in an order drawn by lot, and labels the pass.

What crosses into the solution's process is compiled code without columns, one test at a time. Which run is mutated stays
with the examiner, as do seeds and order. The sites depend on the test's text alone, so they can be found once per problem.

Why a label can be trusted: the reference's run is tried with the same mutants first. Only mutants that make the reference
fail count as evidence; a mutant that the reference passes proves nothing and is dropped. What cannot be mutated, or was mutated
too seldom, is `unchecked`, never `in_process`.
"""

from __future__ import annotations

import ast
from functools import partial

from . import expressions, mutated_values
from .expressions import (
    LOOKS_UP,
    TOLERANCE,
    assignments,
    cases,
    collect_traced,
    difference,
    distance,
    expression_key,
    flows,
    get_called_name,
    is_computed,
    is_literal,
    keeps_values,
    mentions,
    trace_names,
)
from .mutated_values import MESSAGE_THIRD
from .mutation_operators import (
    INPUT,
    LIKELY,
    OPERATOR,
    ORDER,
    SURE,
    ExpectedValues,
    MutationSite,
    Near,
    denied_order,
    find_conjuncts,
    is_choice,
    make_other,
    rename,
    replace,
    replace_all,
    swap_error,
    swap_type,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from .mutation_operators import Put

    Operands = tuple[ast.expr, ast.expr]

_EQUAL = frozenset(
    [
        "assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual",
        "assertCountEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertAlmostEqual", "assertIs",
        "assert_equal", "assert_array_equal", "assert_almost_equal", "assert_array_almost_equal", "assert_allclose",
        "assert_frame_equal", "assert_series_equal", "assert_index_equal", "isclose", "allclose", "array_equal",
    ]
)  # fmt: skip
"""Calls that say that two things are equal."""
_UNORDERED = frozenset(("assertCountEqual", "assertSetEqual"))
_MORE = {"assertGreater": True, "assertGreaterEqual": True, "assertLess": False, "assertLessEqual": False}
_RAISE = frozenset(("assertRaises", "assertRaisesRegex", "raises"))
_OPPOSITE = {"assertTrue": "assertFalse", "assertFalse": "assertTrue", "assertIsNone": "assertIsNotNone"}
_MATCHING = frozenset(("assertRegex", "findall", "finditer", "fullmatch", "match", "search"))
"""Calls that look for a pattern."""
_VARIED = 3
"""So many arguments are varied of what makes an expected object."""
_STEPS = 3
"""So many assignments are followed from an expectation to its literal."""


class ExpectationFinder:
    """Finds the sites of one test, in an order that only depends on its text."""

    def __init__(
        self, trees: list[ast.AST], entry: set[str], parts: Sequence[ast.stmt] = (), pool: ExpectedValues | None = None,
        makers: Collection[str] = (),
    ) -> None:  # fmt: skip
        """Prepare.

        Args:
            trees: those of the test, which changes are made in.
            entry: the names of what is tested.
            parts: the statements of a program that report, in the order of their numbers.
            pool: takes in what is expected, beside what other tests expect.
            makers: names of the solution's by which a test makes what it expects.
        """
        self._makers = makers
        self._part_of: dict[int, int] = {}
        for number, part in enumerate(parts):
            # what is done within a `with` are parts of their own
            own = part.items if isinstance(part, ast.With | ast.AsyncWith) else [part]
            self._part_of[id(part)] = number
            self._part_of |= {id(node): number for tree in own for node in ast.walk(tree)}
        self._part: int | None = None
        self.sites: list[MutationSite] = []
        self._claim = 0
        self._of = ""
        self._near: Near | None = None
        """What is known of the expectation that is being looked at; None where none is."""
        self._pool, self._members = pool or ExpectedValues(), ExpectedValues()
        self._entry = entry
        self._nodes = [node for tree in trees for node in expressions.nodes(tree)]
        self._sets_equality = any(map(expressions.sets_equality, self._nodes))
        self._made = assignments(self._nodes)
        self._flows = flows(self._nodes) if makers else {}
        self._made_by: dict[tuple[str, int], set[str]] = {}
        # the names of what is tested, and of whatever is computed from it
        # until no further name joins: one may be computed from another that stands behind it
        self._told, size = set(entry), -1
        while size != len(self._told):
            size = len(self._told)
            self._told |= {name for name, values in self._made.items() if any(map(self._is_told, values))}
        self._cases = cases(self._nodes, self._made)
        # a message is read only where the assertion has failed already
        strings = {
            id(part) for node in self._nodes if isinstance(node, ast.Assert) and node.msg for part in ast.walk(node.msg)
        }
        used = (node for node in self._nodes if isinstance(node, ast.Name | ast.Attribute) and id(node) not in strings)
        loads = [expression_key(node) for node in used if isinstance(node.ctx, ast.Load)]
        calls = (node for node in self._nodes if isinstance(node, ast.Call) and get_called_name(node) in _MATCHING)
        self._patterns = set(map(id, trace_names([side for call in calls for side in call.args], self._made)))
        self._uses = {name: loads.count(name) for name in self._made}
        self._optional = {id(part) for node in self._nodes if is_choice(node) for part in ast.walk(node)}
        """What need not be true if something else is."""
        self._denied = {id(node.operand) for node in self._nodes if isinstance(node, ast.UnaryOp)}
        self._settled: set[int] = set()
        """The comparisons that are what is claimed, and which no right answer can pass with another value."""
        self._known: dict[int, tuple[bool, list[str]]] = {}
        for node in self._nodes:
            self._visit(node)
        for tree in () if self.sites else trees:  # only whether what stands behind a call is reached says anything
            self._inputs(tree)

    def _visit(self, node: ast.AST) -> None:
        before = len(self.sites)
        self._look_at(node)
        if not self._makers or len(self.sites) == before:
            return
        # looked for by a method, what the solution makes is equal to it or not, unasked
        sides = [
            side
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and get_called_name(call) in LOOKS_UP
            for side in call.args
        ]
        if any(map(self._is_made, sides)):
            for site in self.sites[before:]:
                site.is_circular = True

    def _is_made(self, node: ast.expr) -> bool:
        """Whether the solution makes an expression, or what a name in it was given."""
        if not self._makers:
            return False
        return bool(
            collect_traced(
                node, self._flows, lambda part: {expression_key(part)}.intersection(self._makers), self._made_by
            )
        )

    def _look_at(self, node: ast.AST) -> None:
        self._claim += 1
        self._part = self._part_of.get(id(node))
        if isinstance(node, ast.Compare) and id(node) not in self._settled and self._is_told(node):
            self._operator(node)
        if isinstance(node, ast.Assert):
            self._truth(node.test, partial(setattr, node, "test"))
        elif isinstance(node, ast.Expression):
            self._truth(node.body, partial(setattr, node, "body"))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._call(node.value)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if isinstance(item.context_expr, ast.Call) and get_called_name(item.context_expr) in _RAISE:
                    self._call(item.context_expr)
        elif isinstance(node, ast.Try) and any(self._is_told(part) for part in node.body):
            for handler in node.handlers:
                if isinstance(handler.type, ast.Name) and handler.type.id not in ("Exception", "BaseException"):
                    self._add(swap_error(handler, "type"), sure=False)

    # what comes from the candidate

    def _is_told(self, node: ast.AST) -> bool:
        return mentions(node, self._told)

    def _split_operands(self, pair: Operands) -> tuple[ast.expr, ast.expr]:
        """Return of two operands what is expected and what is tested."""
        first, second = pair
        if self._is_told(first) != self._is_told(second):
            return (second, first) if self._is_told(first) else pair
        return pair if is_literal(first) and not is_literal(second) else (second, first)

    def _site(
        self, change: Callable[[], object], rank: int, *, is_shown: bool = False, node: ast.expr | None = None,
        is_circular: bool = False,
    ) -> None:  # fmt: skip
        rank = LIKELY if rank == SURE and self._sets_equality else rank
        site = MutationSite(
            change, rank, self._claim, is_shown=is_shown, part=self._part, of=self._of, node=node, is_circular=is_circular,
        )  # fmt: skip
        self.sites.append(site)

    def _add(self, change: Callable[[], object], *, sure: bool) -> None:
        self._site(change, SURE if sure else LIKELY)

    # what is expected

    def _truth(self, node: ast.expr, put: Callable[[ast.expr], None] | None = None) -> None:
        """Find the sites of an expression that is to be true; it stands where `put` puts another."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for position, value in enumerate(node.values):
                self._claim += 1
                self._truth(value, partial(node.values.__setitem__, position))
        elif isinstance(node, ast.Compare):
            self._compare(node)
        elif isinstance(node, ast.Call) and (parts := find_conjuncts(node)) is not None:
            for part in parts:
                self._truth(part)
        elif isinstance(node, ast.Call) and (get_called_name(node) in _EQUAL or get_called_name(node) == "equals"):
            self._call(node)
        elif isinstance(node, ast.Call) and get_called_name(node) == "isinstance" and len(node.args) == 2:
            self._add(swap_type(node.args, 1), sure=False)
        elif (denied := denied_order(node)) is not None:
            self._order(denied, denied=True)
        elif self._is_told(node):
            bare = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else node
            # the answer itself is what is true or not: a literal left out
            if put is not None and self._is_answer(bare):
                other = ast.UnaryOp(ast.Not(), node, lineno=node.lineno, col_offset=node.col_offset)
                self._add(partial(put, other if bare is node else bare), sure=True)
            # functions of the test's own may compare an answer with what stands first beside it
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and not self._is_told(call.func) and any(map(self._is_told, call.args)):
                    for value in [value for value in call.args if not self._is_told(value)][:1]:
                        self._literals(value, sure=False)
                        self._indices(value)
            self._inputs(node)

    def _is_answer(self, node: ast.expr) -> bool:
        """Whether an expression is what the candidate's function returned, with nothing of its own asked."""
        if isinstance(node, ast.Await):
            node = node.value
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._entry

    def _compare(self, node: ast.Compare) -> None:
        operator, left_side, right = node.ops[0], node.left, node.comparators[-1]
        if len(node.ops) == 1 and isinstance(operator, ast.Eq | ast.Is):
            before = len(self.sites)
            self._equal((left_side, right), sure=True, far=0.0)
            if self._is_told(node):
                if not is_literal(self._split_operands((left_side, right))[0]):
                    for site in self.sites[before:]:
                        site.claim = -site.claim
                self._settled.add(id(node))
                self._other(partial(node.comparators.__setitem__, 0), right, SURE)
                self._arguments(self._split_operands((left_side, right))[0])
            return
        if len(node.ops) == 1 and isinstance(operator, ast.NotEq | ast.IsNot) and self._is_told(left_side):
            self._add(partial(node.comparators.__setitem__, -1, left_side), sure=False)
        if len(node.ops) == 1 and isinstance(operator, ast.Lt | ast.LtE) and self._near_by(left_side, right):
            return
        if len(node.ops) == 1 and isinstance(operator, ast.Gt | ast.GtE) and self._near_by(right, left_side):
            return
        if isinstance(operator, ORDER):
            self._order(node)
        elif isinstance(operator, ast.In):
            self._member(left_side, right)
        if self._is_told(node):
            self._inputs(node)

    def _member(self, left_side: ast.expr, right: ast.expr) -> None:
        """Find what is to be in something, or what something is to be in."""
        for side, other in ((left_side, right), (right, left_side)):
            if is_literal(side):
                of = ast.dump(other)
                self._members.add(of, side)
                self._add(partial(replace_all, side, Near(self._members, of, self._list_arguments(other))), sure=False)

    def _operator(self, node: ast.Compare) -> None:
        """Find an operator that what is tested may answer, wherever it stands."""
        operator, first, second = node.ops[0], partial(setattr, node, "left"), partial(node.comparators.__setitem__, 0)
        if len(node.ops) > 1:
            return
        # what says that two things differ may pass by another one too: whether it does is to be seen
        differs = isinstance(operator, ast.NotEq | ast.NotIn) != (id(node) in self._denied)
        rank = INPUT if differs or id(node) in self._optional else OPERATOR
        if isinstance(operator, ast.Eq | ast.NotEq):
            self._note_judge((node.left, node.comparators[0]), (first, second), rank)
        elif isinstance(operator, ast.In | ast.NotIn):
            self._other(first, node.left, rank)

    def _note_judge(self, pair: Operands, puts: tuple[Put, Put], rank: int = OPERATOR) -> None:
        """Note that what is tested may say itself whether it is equal to what is expected, wherever these stand."""
        if any(map(self._is_told, pair)):
            expected = self._split_operands(pair)[0]
            self._other(puts[expected is pair[1]], expected, rank)
            if rank == OPERATOR:
                self._arguments(expected)

    def _other(self, put: Put, value: ast.expr, rank: int) -> None:
        """Note that something equal to nothing may stand in the place of a value."""
        self._site(partial(make_other, put, value), rank, is_shown=True, is_circular=self._is_made(value))

    def _arguments(self, expected: ast.expr) -> None:
        """Note that what the solution makes, and the test expects, may be made of something else."""
        if not self._makers:
            return
        for call in [part for expression in trace_names([expected], self._flows) for part in ast.walk(expression)]:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self._makers:
                for position, value in enumerate(call.args[:_VARIED]):
                    if not isinstance(value, ast.Starred):
                        put = partial(call.args.__setitem__, position)
                        self._site(partial(make_other, put, value, near=True), OPERATOR, is_shown=True)
                for keyword in call.keywords[:_VARIED]:
                    change = partial(make_other, partial(setattr, keyword, "value"), keyword.value, near=True)
                    self._site(change, OPERATOR, is_shown=True)

    def _near_by(self, size: ast.expr, bound: ast.expr) -> bool:
        """Find what is expected where the size of a difference has a bound; return whether this is such a place."""
        difference_found = difference(size)
        if difference_found is None:
            return False
        node, is_exact = difference_found
        limit = bound.value if isinstance(bound, ast.Constant) else None
        far = float(limit) if is_exact and isinstance(limit, int | float) else None
        sure = far is not None and far <= 0.5
        self._equal((node.left, node.right), sure=sure, far=far)
        if sure:
            self._note_judge((node.left, node.right), (partial(setattr, node, "left"), partial(setattr, node, "right")))
        return True

    def _order(self, node: ast.Compare, *, denied: bool = False) -> None:
        more = isinstance(node.ops[0], ast.Gt | ast.GtE) != denied
        self._of = " ".join(ast.dump(part) for part in (node.left, *node.comparators) if self._is_told(part))
        self._bounds([(node.comparators[-1], more), (node.left, not more)])
        self._of = ""

    def _bounds(self, bounds: list[tuple[ast.expr, bool]]) -> None:
        """Find numbers that something is compared with, each with whether it becomes wrong upwards."""
        for part, up in bounds:
            if isinstance(part, ast.Constant) and type(part.value) in (int, float):
                self._site(partial(mutated_values.shift, part, up=up), LIKELY, node=part)

    def _equal(self, pair: Operands, *, sure: bool, far: float | None, ordered: bool = True) -> None:
        expected, tested = self._split_operands(pair)
        # nothing of the solution's is in it, so it says nothing of the solution
        if isinstance(expected, ast.Constant) and isinstance(tested, ast.Constant):
            return
        for call in ast.walk(expected):
            if isinstance(call, ast.Call) and get_called_name(call) == "approx" and not keeps_values(call):
                far = distance(call, exact=False)
        before = len(self.sites)
        self._of = ast.dump(tested)
        self._near = Near(self._pool, self._of, self._list_arguments(tested), ordered=ordered, far=far)
        self._literals(expected, sure=sure)
        self._of, self._near = "", None
        if len(self.sites) == before or self.sites[-1].rank != SURE:
            self._indices(expected)
            self._inputs(tested)

    def _indices(self, node: ast.expr) -> None:
        """Find where an expectation is taken from: another place of the same list has another one."""
        for part in ast.walk(node):
            if (
                isinstance(part, ast.Subscript)
                and isinstance(part.slice, ast.Constant)
                and type(part.slice.value) is int
            ):
                self._add(partial(mutated_values.neighbour, part.slice), sure=False)

    def _literals(self, node: ast.expr, *, sure: bool, steps: int = _STEPS, names_seen: set[str] | None = None) -> None:
        """Find the literals that an expectation is made of: its own, or those of the names in it."""
        literal, names = self._explain_literal(node)
        if id(node) in self._patterns and isinstance(node, ast.Constant) and type(node.value) is str:
            if "|" not in node.value and not node.value.startswith("(?"):  # else nothing is known to be wrong
                self._site(partial(mutated_values.prefix, node), LIKELY, node=node)
            return
        if literal:
            sure = sure and not is_computed(node) and keeps_values(node)
            rank = SURE if sure else LIKELY if steps == _STEPS else INPUT
            if self._near is not None:
                self._pool.add(self._of, node)
            self._site(partial(replace, node, self._near), rank, node=node)
            return
        names_seen = set() if names_seen is None else names_seen
        if not steps:
            return
        for name in names:
            if name in names_seen:  # a name that is given many values in terms of each other would be followed for ever
                continue
            names_seen.add(name)
            for value in self._made[name]:
                once = len(self._made[name]) == 1 or name in self._cases
                is_sure = sure and self._uses[name] == 1 and once and bool(expression_key(node))
                self._literals(value, sure=is_sure, steps=steps - 1, names_seen=names_seen)

    def _list_arguments(self, tested: ast.expr) -> list[Any]:
        """Return the constants that a call of what is tested is given, by itself or by a name."""
        names = {expression_key(part) for part in ast.walk(tested)} & self._made.keys()
        nodes = [tested, *(value for name in sorted(names) for value in self._made[name])]
        return [part.value for node in nodes for part in ast.walk(node) if isinstance(part, ast.Constant)]

    def _explain_literal(self, node: ast.expr) -> tuple[bool, list[str]]:
        """Return whether an expression is a literal, and which names that are given values in the test are in it."""
        entry = self._known.get(id(node))
        if entry is None:
            names = {key for part in ast.walk(node) if (key := expression_key(part)) in self._made} - self._told
            entry = self._known[id(node)] = is_literal(node), sorted(names)
        return entry

    def _inputs(self, node: ast.AST, steps: int = _STEPS) -> None:
        """Find the arguments of the calls that are tested."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and mentions(part.func, self._told):
                for position, value in enumerate(part.args):
                    if isinstance(value, ast.Name) and value.id.endswith("Error"):
                        self._site(swap_error(part.args, position), INPUT)
                for value in [*part.args, *(keyword.value for keyword in part.keywords)]:
                    inner = value.value if isinstance(value, ast.Starred) else value
                    if not self._is_told(inner):
                        self._literals(inner, sure=False, steps=1)
            elif steps and (key := expression_key(part)) in self._made and key in self._told - self._entry:
                for value in self._made[key]:
                    self._inputs(value, steps - 1)

    def _call(self, node: ast.Call) -> None:
        """Find the sites of a call that asserts something."""
        name, arguments = get_called_name(node), node.args
        if name in _RAISE and arguments:
            self._add(swap_error(arguments, 0), sure=False)  # an error may be of two kinds
        elif name in _EQUAL and len(arguments) >= 2:
            exact = len(arguments) == 2 or (len(arguments) == 3 and name in MESSAGE_THIRD)
            exact = exact and not any(keyword.arg in TOLERANCE for keyword in node.keywords)
            far = distance(node, exact=exact)
            self._equal((arguments[0], arguments[1]), sure=exact, far=far, ordered=name not in _UNORDERED)
            if exact:
                puts = partial(arguments.__setitem__, 0), partial(arguments.__setitem__, 1)
                self._note_judge((arguments[0], arguments[1]), puts)
        elif name == "equals" and len(arguments) == 1 and isinstance(node.func, ast.Attribute):
            pair = node.func.value, arguments[0]
            self._equal(pair, sure=True, far=0.0)
            self._note_judge(pair, (partial(setattr, node.func, "value"), partial(arguments.__setitem__, 0)))
        elif name in _MORE and len(arguments) >= 2:
            self._bounds([(arguments[1], _MORE[name]), (arguments[0], not _MORE[name])])
            self._inputs(node)
        # an answer that is to be true by itself is claimed by the opposite assertion, below
        elif name == "assertTrue" and arguments and not self._is_answer(arguments[0]):
            self._truth(arguments[0])
        elif name in _OPPOSITE and arguments:
            if name == "assertIsNone" or self._is_answer(arguments[0]):
                self._add(partial(rename, node, _OPPOSITE[name]), sure=True)
            self._inputs(arguments[0])
        elif name == "assertIsInstance" and len(arguments) >= 2:
            self._add(swap_type(arguments, 1), sure=False)
        elif name == "assertIn" and len(arguments) >= 2:
            self._member(arguments[0], arguments[1])
            self._inputs(node)
        elif name in ("assertNotEqual", "assertNotIn", "assertIsNot") and len(arguments) >= 2:
            other = ast.copy_location(ast.Tuple(arguments[:1], ast.Load()), arguments[1])
            self._add(partial(arguments.__setitem__, 1, other if name == "assertNotIn" else arguments[0]), sure=False)
            self._inputs(node)
        elif name.startswith("assert"):
            for part in arguments:
                if not self._is_told(part):
                    self._literals(part, sure=False)
            self._inputs(node)
