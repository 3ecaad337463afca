"""Keeping secrets out of what is written: reports, journals, logs, messages."""

from __future__ import annotations

import os
import re

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
