"""How lm-evaluation-harness puts a question, the beginning of a reply and an answer together."""

from __future__ import annotations


def join_question(question: str, prefix: str, between: str) -> str:
    """Return a question with the beginning of its reply; white space already there stands for what comes between.

    >>> asked("2+2?", "Answer:", " ")
    '2+2? Answer:'
    """
    if not prefix:
        return question
    return question + (between if question and not (question[-1].isspace() or prefix[0].isspace()) else "") + prefix


def beside(first: str, second: str, between: str) -> str:
    """Return two texts one behind the other; white space at the seam stands for what comes between.

    >>> beside("Be brief.", "You add numbers.", "; ")
    'Be brief.; You add numbers.'
    """
    if not first or not second:
        return first or second
    return first + ("" if first[-1].isspace() or second[0].isspace() else between) + second


def join_example(question: str, prefix: str, answer: str, ends: tuple[str, str]) -> str:
    """Return a worked example; one without an answer is a question alone.

    >>> answered("2+2?", "Answer:", "4", (" ", ";"))
    '2+2? Answer: 4;'
    """
    between, after = ends
    if not answer:
        return join_question(question, prefix, between)
    if not prefix:
        return question + between + answer + after
    gap = "" if prefix[-1].isspace() or answer[0].isspace() else " "
    return join_question(question, prefix, between) + gap + answer + after
