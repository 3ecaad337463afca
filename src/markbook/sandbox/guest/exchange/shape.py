"""What one side says to the other of a class of its own, of which a class is made there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Shape:
    """What is known of a class over there."""

    def __init__(
        self,
        name: str = "function",
        bases: tuple[type, ...] = (),
        base: type | None = None,
        methods: Sequence[str] = ("__call__",),
        own: Sequence[str] = (),
        claim: type | None = None,
        special: Sequence[str] = (),
        home: str = "",
    ) -> None:
        """Take it down.

        Args:
            name: its name.
            bases: stand-ins of its bases.
            base: the plain type or exception class that it extends.
            methods: its special methods; one that is None there begins with `!`.
            own: what a subclass of a plain type defines itself.
            claim: the class of Python's own that an instance says it is of.
            special: the special methods of its own class.
            home: the module and the name of a class that is not the solution's own.
        """
        self.name, self.bases, self.base, self.methods = name, bases, base, methods
        self.own, self.claim, self.special = own, claim, special
        self.kind = (home or "solution") + (f"<{base.__name__}" if base is not None else "")
