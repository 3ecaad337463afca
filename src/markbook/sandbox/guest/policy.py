"""What either side may ask of the other's objects."""

from __future__ import annotations

import types

from .objects import CALLABLE
from .standin import SPECIAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STEPPED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_STEPS = frozenset(("iter", "n", "send", "close", "throw", "await"))
_STEP_METHODS = frozenset(
    [
        "__iter__",
        "__next__",
        "__aiter__",
        "__anext__",
        "__await__",
        "send",
        "close",
        "throw",
        "asend",
        "athrow",
        "aclose",
    ]
)
_SPECIAL = frozenset(SPECIAL)


class Policy:
    """Which operators of the candidate may take part in one test, as the canonical solution's run showed."""

    def __init__(self, allowed: list[str] | None) -> None:
        self.learning = allowed is None
        self.allowed = set(allowed or ())
        self.own = False
        """Whether an operator of the candidate's own classes took part in a comparison."""
        self.refused = False
        """Whether an operator was answered without asking the candidate."""

    def may(self, kind: str, *, is_handle: bool) -> bool:
        """Whether the candidate is asked; a run that learns asks always and takes a note."""
        key = f"{kind}:{'handle' if is_handle else 'plain'}"
        if self.learning:
            self.allowed.add(key)
        if key not in self.allowed:
            self.refused = True
            return False
        if kind in ("eq", "order", "in", "isinstance"):
            self.own = True
        return True


def check_use(operation: str, target: Any, arguments: list[Any]) -> None:
    """Let the candidate use what a test gave it as its author would: no attribute that begins with `_`.

    Raises:
        AttributeError: it asked for more.
    """
    if operation == "c":
        return
    if isinstance(target, CALLABLE):
        raise AttributeError("a function of the test's can only be called")  # noqa: TRY004 - as for a missing attribute
    name = arguments[1] if len(arguments) > 1 else ""
    if isinstance(target, _STEPPED):
        if operation in _STEPS or (operation in ("g", "d") and name in _STEP_METHODS):
            return
        raise AttributeError("a generator of the test's can only be advanced")
    if operation in ("g", "s", "x") and (type(name) is not str or name.startswith("_")):
        raise AttributeError(f"{name!r} of the test's objects is private")
    if operation in ("class", "import", "copy") or (operation == "d" and name not in _SPECIAL):
        raise AttributeError(operation)
