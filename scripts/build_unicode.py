"""Build the table of character classes from the installed `regex` package, which NLTK and sacrebleu tokenise with.

    python scripts/build_unicode.py

Writes src/markbook/metrics/text/data/unicode.txt: the Unicode version, then one class a line: its name and its ranges of code
points in hexadecimal digits. The result is the same for the same version of `regex`, byte by byte.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

import regex

CLASSES = {"word": r"\w", "space": r"\s", "digit": r"\d", "number": r"\p{N}", "mark": r"\p{P}", "symbol": r"\p{S}"}
OUT = Path(__file__).resolve().parents[1] / "src" / "markbook" / "metrics" / "text" / "data" / "unicode.txt"


def ranges(pattern: str) -> str:
    """Return the ranges of code points that match."""
    matches = regex.compile(pattern).fullmatch
    found: list[list[int]] = []
    for point in range(sys.maxunicode + 1):
        if matches(chr(point)):
            if found and found[-1][1] == point - 1:
                found[-1][1] = point
            else:
                found.append([point, point])
    return " ".join(f"{low:x}" if low == high else f"{low:x}-{high:x}" for low, high in found)


def main() -> None:
    """Write the table."""
    said = re.search(
        r"Unicode (\d+\.\d+)",
        str(metadata.metadata("regex")["Description"] or metadata.metadata("regex").get_payload()),
    )
    assert said is not None
    lines = [f"unicode {said[1]}", *(f"{name} {ranges(pattern)}" for name, pattern in CLASSES.items())]
    OUT.write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
