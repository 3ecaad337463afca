"""Foreign words and tables in LaTeX: nothing in them is a command."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from markbook.text.escape import terminal
from markbook.text.table import Table

_FOREIGN = re.compile(r"[^A-Za-z0-9@_.:-]+")
_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "\u2212": "$-$", "\u2013": "--", "[": "{[}", "]": "{]}", "@": "{@}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": "{-}",
}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))


def latex(text: str) -> str:
    """Return words as one line of LaTeX that says them and does nothing (needs `textcomp` and `fontenc` T1)."""
    return _SIGN.sub(lambda match: _SIGNS[match.group()], terminal(text))


def latex_table(table: Table, label: str) -> str:
    """Return a table for a paper; it needs the package booktabs.

    Args:
        table: finished cells.
        label: to refer to it by; where it holds more than plain letters, digits and hyphens, a digest stands for the rest.
    """
    columns = "".join("r" if at in table.numeric else "l" for at in range(len(table.headers)))
    note = f" {latex(table.note)}" if table.note else ""
    lines = [
        r"\begin{table}[t]", r"\centering\small", rf"\caption{{{latex(table.title)}.{note}}}", rf"\label{{tab:{_label(label)}}}",
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _row(table.headers), r"\midrule", *map(_row, table.rows),
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    """Return a label that is no command, whatever a metric is called; names that differ get labels that differ."""
    plain = _FOREIGN.sub("-", name)
    return (
        plain
        if plain == name
        else f"{plain.strip('-')[:60]}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
    )


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"
