"""Words and tables for people: foreign text made harmless, and one table record that every renderer lays out."""

from __future__ import annotations

from markbook.text.escape import csv_cell, cut, keep_order, markdown, markdown_code, redact, terminal, visible, xml
from markbook.text.table import Table, markdown_table

__all__ = [
    "Table",
    "csv_cell",
    "cut",
    "keep_order",
    "markdown",
    "markdown_code",
    "markdown_table",
    "redact",
    "terminal",
    "visible",
    "xml",
]
