"""What the tests of CodeBLEU share."""

import markbook
from markbook.metrics.code.reading import Reader

ADD = "def add(a, b):\n    total = a + b\n    return total\n"


def score(candidate, references, **options):
    return markbook.measure("codebleu", [candidate], [references], **options)[0]


def by_both_parsers(code):
    """Return what each parser sees, numbered by one table."""
    ours, theirs = Reader("python", "ast"), Reader("python", "tree-sitter")
    theirs.shapes = ours.shapes
    return ours.candidate(code), theirs.candidate(code)
