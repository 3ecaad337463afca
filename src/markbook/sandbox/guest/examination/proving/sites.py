"""One place in a test that can be made wrong."""

from __future__ import annotations

import ast
from functools import partial

from . import replacing, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SURE, LIKELY, INPUT, OPERATOR = range(4)
"""No right answer passes then (another literal is compared for equality, for one); hardly any does; it depends."""


class Site:
    """One thing in a test that can be made wrong."""

    def __init__(
        self,
        change: Callable[[], object],
        rank: int,
        claim: int,
        *,
        is_shown: bool,
        part: int | None = None,
        of: str = "",
        node: ast.expr | None = None,
        is_circular: bool = False,
    ) -> None:
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
        self._before = ast.dump(node) if node is not None else ""
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

    def says_as(self, other: Site) -> bool:
        """Whether this says of the same what another one says: the same literal, or a bound on the other side."""
        return bool(self.says) and self.says == other.says and self.node is not other.node

    def _is_bound(self) -> bool:
        return isinstance(self.change, partial) and self.change.func is wrong.shift

    def follow(self, other: Site) -> None:
        """Make it wrong by as much as another one that has been."""
        if self._is_bound():
            self.node.value += other.node.value - other._value  # type: ignore[union-attr]  # both are numbers
        elif self.node is not None and other.node is not None:
            replacing.copy_values(other.node, self.node)
