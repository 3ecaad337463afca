"""Answers that define a function where its tests call a method of `Solution`, or the other way round."""

from __future__ import annotations

from markbook.load.extraction import defines

SOLUTION = "Solution"
"""The class whose methods contest sites ask for."""


def callable_by_tests(text: str, entry_point: str, method: str) -> str:
    """Return an answer in which tests find what they call, as the benchmarks' own runners do: by what the answer defines.

    Args:
        text: the answer.
        entry_point: the name that the tests use: `Solution`, or the function's.
        method: the function's name; empty where an answer is to define just what the tests use.
    """
    if not method or defines(text, entry_point):
        return text
    if entry_point != SOLUTION:
        return f"{text}\n\n\n{method} = {SOLUTION}().{method}\n" if defines(text, SOLUTION) else text
    if not defines(text, method):
        return text
    return f"{text}\n\n\nclass {SOLUTION}:\n    {method} = staticmethod({method})\n"
