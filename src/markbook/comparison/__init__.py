"""Finished runs side by side: read, aligned by sample, compared in pairs, and held against a gate.

The package is not called `compare` because `markbook.compare` is the function.
"""

from __future__ import annotations

from markbook.comparison.gates import check_under, check_worse, parse_threshold
from markbook.comparison.runs import compare, sheet_of

__all__ = ["check_under", "check_worse", "compare", "parse_threshold", "sheet_of"]
