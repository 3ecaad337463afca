"""Finished runs side by side: read, aligned by sample, compared in pairs, and held against a gate."""

from __future__ import annotations

from markbook.compare.gates import check_under, check_worse, parse_threshold
from markbook.compare.runs import compare, sheet_of

__all__ = ["check_under", "check_worse", "compare", "parse_threshold", "sheet_of"]
