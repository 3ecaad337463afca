"""Foreign words made harmless where they are shown: terminal, Markdown, CSV, XML, a script's data.

Whatever a model, a benchmark or a file name says is hostile until it has gone through here. HTML is escaped by the
templates themselves (jinja2 with autoescape) after `visible`.
"""

from __future__ import annotations

import os
import re
import unicodedata

# Keeping secrets out of what is written: reports, journals, logs, messages.

INSTEAD = "[redacted]"
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_LEAST = 8
"""Shorter values stand in too many ordinary texts to be taken for secrets."""
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|hf|xox[abeprs])[-_][A-Za-z0-9_-]{12,}"  # keys that say what they are
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\b(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}"
    r"|(?<=//)[^/@\s:]+:[^/@\s]*(?=@)"  # user and password of an address
)


def redact(text: str) -> str:
    """Return the text without secrets: values of variables named like keys, and what has the shape of one.

    A server may put the key that it refused into its error message; this stands wherever foreign words about a request
    are kept.
    """
    values = {value for name, value in os.environ.items() if len(value) >= _LEAST and _NAMES.search(name)}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, INSTEAD)
    return _SHAPES.sub(INSTEAD, text)


_JOINERS = "\u200c\u200d"
"""Invisible, and needed to write Persian and to join emoji."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
"""Controls, direction changes (`evil<U+202E>gnp.exe` reads as another name), half characters, odd line ends, and what
this Python's Unicode does not know yet: a terminal may know it as any of these."""

_INTERVAL = r"(?<![\]\[!\\])\[[-+]?\d[\d.]*%?, [-+]?\d[\d.]*%?\](?![(\[:])"
"""Two numbers in brackets: no link, and easier to read as they are."""
_MARKDOWN = re.compile(
    _INTERVAL
    + r"|(?<=\w)@\d+(?![\w.])|[\\`*\[\]<>|~$@#]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,32};)|(?<=\w):(?=//)|(?<=www)\."
)
_MARKDOWN_START = re.compile(r"^(\s*)(?:([-+](?=[ \t]|$)|[-=](?=[-= \t]*$))|(\d{1,9})([.)])(?=[ \t]|$))")
"""What begins a list, a rule or a heading's underline; `-0.5` and `85.0` do not."""
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_FORMULA_WITHIN = re.compile('(?<=[;\t\n])(?="*[=+\\-@\uff1d\uff0b\uff0d\uff20])')
"""Where a formula begins for a spreadsheet that separates cells by something else than commas, which goes past our own quotes."""
_RIGHT_TO_LEFT = re.compile("(?: *[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)+")
_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # compiled where it is first used: it takes 4 ms


def visible(text: str) -> str:
    r"""Return the text with controls, direction changes and half characters spelled out, such as `\x1b`.

    Newlines and tabs stay.
    """
    if text.isprintable():
        return text
    hidden = {}
    for char in set(text).difference("\n\t" + _JOINERS):
        if unicodedata.category(char) in _HIDDEN:
            code = ord(char)
            spelled = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
            hidden[code] = f"\\x{code:02x}" if code < 0x100 else spelled
    return text.translate(hidden) if hidden else text


def keep_order(text: str) -> str:
    """Return the text with a mark behind words written from right to left, so that what follows them stays behind them."""
    return text if text.isascii() else _RIGHT_TO_LEFT.sub("\\g<0>\u200e", text)


def terminal(text: str, *, limit: int | None = None) -> str:
    """Return foreign words as one line of `limit` characters at most that cannot move the cursor or change colours or a title."""
    line = visible(text.replace("\r\n", "\n")).replace("\n", " ").replace("\t", " ")
    return cut(line, limit)


def cut(text: str, limit: int | None) -> str:
    """Return at most `limit` characters of the text, the last one an ellipsis if something was cut."""
    return text if limit is None or len(text) <= limit else text[: max(0, limit - 1)] + "…"


def markdown(text: str, *, limit: int | None = None) -> str:
    """Return the text as words of one Markdown line or table cell: no markup, link, mention, HTML or second line.

    Ordinary names such as `gpt-4_turbo` come out unchanged.
    """
    line = _MARKDOWN.sub(_markdown_char, terminal(text, limit=limit))
    return _MARKDOWN_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", line)


def _markdown_char(match: re.Match[str]) -> str:
    char = match.group()
    if len(char) > 1:
        return char  # an interval, or pass@1, which is nobody's name
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(char, "\\" + char)


def markdown_code(text: str, *, limit: int | None = None) -> str:
    """Return the text as inline code that also holds inside a table cell."""
    line = terminal(text, limit=limit)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))  # longer than any in the text
    inside = line.replace("|", "\\|")  # GFM splits cells before it reads code, and takes this backslash away again
    pad = " " if not line or line.startswith(("`", " ")) or line.endswith(("`", " ")) else ""
    return f"{fence}{pad}{inside}{pad}{fence}"


def csv_cell(value: object) -> object:
    """Return the value for a CSV cell: what a spreadsheet would run as a formula gets a quote before it.

    Also behind a semicolon, a tab or a line's end, where a cell begins for one that does not separate by commas. Numbers and
    None stay as they are. Quoting commas and newlines is the csv module's work.
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    guarded = _FORMULA_WITHIN.sub("'", text)
    return "'" + guarded if value.startswith(_FORMULA) else guarded


def xml(text: str) -> str:
    """Return the text without characters that XML 1.0 cannot hold; escaping is the XML writer's work."""
    return re.sub(_NOT_XML, "\ufffd", visible(text))


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "\u2212": "$-$", "\u2013": "--", "[": "{[}", "]": "{]}", "@": "{@}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": "{-}",
}  # fmt: skip
_LATEX_SIGN = re.compile("|".join(map(re.escape, _LATEX)))


def latex(text: str) -> str:
    """Return words as one line of LaTeX that says them and does nothing (needs `textcomp` and `fontenc` T1)."""
    return _LATEX_SIGN.sub(lambda match: _LATEX[match.group()], terminal(text))
