"""Where the bundled examples lie, in a checkout and in an installed package."""

from __future__ import annotations

from pathlib import Path

from markbook.errors import DataError


def example(name: str) -> Path:
    """Return the folder of a bundled example.

    Raises:
        DataError: this installation carries no examples.
    """
    here = Path(__file__).resolve().parent
    for root in (here / "examples_data", here.parents[1] / "examples"):
        if (root / name).is_dir():
            return root / name
    raise DataError(f"this installation carries no example {name!r}", hint="get a checkout of the project")
