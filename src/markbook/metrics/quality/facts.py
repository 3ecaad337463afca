"""What one walk over a program's tree finds: everything the four quality scores decide on."""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[int, str]
"""A line of the tree, and what stands there."""


@dataclass(slots=True)
class Facts:
    """What one walk found, in the order of the source."""

    statements: int = 0
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
