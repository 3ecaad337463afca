"""What the tests of CodeBLEU share."""

import markbook

ADD = "def add(a, b):\n    total = a + b\n    return total\n"


def score(candidate, references, **options):
    return markbook.measure("codebleu", [candidate], [references], **options)[0]
