"""Finished runs side by side: read, aligned by sample, compared in pairs, and held against a gate.

The package is not called `compare` because `markbook.compare` is the function.
"""

from __future__ import annotations

from markbook.comparison.gates import check_worse
from markbook.comparison.runs import compare, sheet_of

__all__ = ["check_worse", "compare", "sheet_of"]
