"""What tests that run in a solution's process have by name."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MODULE = "solution"
"""The name of the module that a solution becomes."""
_NOTHING = object()


def rebinds(text: str) -> bool:
    """Whether a solution may give its own global names other values while its tests run."""
    return "global" in text  # the statement, or `globals()`


class Living(dict[str, "Any"]):
    """Names of a solution that gives them other values: each is what it is there now, unless it was given one here."""

    def __init__(self, visible: dict[str, Any], there: dict[str, Any], pythons: dict[str, Any]) -> None:
        super().__init__(visible)
        self._seen = dict(visible)
        self._there = there
        self._pythons = pythons

    def __getitem__(self, name: str) -> Any:
        value = self.get(name, _NOTHING)
        if value is self._seen.get(name, _NOTHING) and (value is not _NOTHING or name not in self._pythons):
            value = self._there.get(name, value)
        if value is _NOTHING:
            raise KeyError(name)
        return value


def namespace_of(
    there: dict[str, Any], pythons: dict[str, Any], text: str, entry: str, aliases: Sequence[str], before: Sequence[Any]
) -> dict[str, Any]:
    """Return where tests run: what they define does not reach the solution's own functions.

    What they call by a name of Python's own is Python's, as it is apart. Their classes say that they are of the
    solution's module, in which they are found by name from now on.

    Args:
        there: the names of the solution's module.
        pythons: Python's own.
        text: the solution.
        entry: what the tested object is called there.
        aliases: what else tests call it.
        before: helpers from the benchmark's prompt, compiled.
    """
    visible = {name: value for name, value in there.items() if name == entry or name not in pythons}
    namespace = Living(visible, there, pythons) if rebinds(text) else visible
    namespace.update({"__name__": MODULE, "__builtins__": pythons, "candidate_solution": text})

    def find(name: str) -> Any:
        try:
            return namespace[name]
        except KeyError:
            raise AttributeError(f"module {MODULE!r} has no attribute {name!r}") from None

    there.setdefault("__getattr__", find)
    if there.get(entry) is not None:
        namespace.update(dict.fromkeys(aliases, there[entry]))
    for code in before:
        exec(code, namespace)  # noqa: S102 - helpers from the benchmark's prompt
    return namespace
