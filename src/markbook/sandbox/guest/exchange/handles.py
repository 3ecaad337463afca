"""What puts objects on the wire that are no values. For type checkers alone: nothing imports it to run."""

from __future__ import annotations

from typing import Any, Protocol

from .values import Transfer


class Handles(Protocol):
    """What puts objects that have no value form on the wire, and takes them off it."""

    def export(self, value: Any, transfer: Transfer, depth: int) -> Any:
        """Return the wire form of an object that is no plain value."""

    def resolve(self, form: list[Any], transfer: Transfer) -> Any:
        """Return the object for such a wire form."""

    def by_name(self, name: str) -> Any:
        """Return what the other side means by a name."""

    def refuse(self, what: str) -> Any:
        """Say that something stays on this side."""

    @property
    def examines(self) -> bool:
        """Whether this is the examiner's side."""
