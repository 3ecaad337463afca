"""Where a reply's answer begins: behind what its model thought aloud, between `<think>` and `</think>`."""

from __future__ import annotations

import re

_END = "</think>"
_SIGNS = re.compile(
    r"(?:^[ \t]{0,3}|(?<=</think>)[ \t]*)(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n]*+)$"
    r"|(?:^|(?<=</think>))[ \t]*+(?P<begin><think>)"
    r"|(?<![^\s(\[{=,:+])(?P<quote>[\"'`])(?:(?!(?P=quote))[^\n]){0,200}</think>(?=[^\n]{0,200}(?P=quote))"
    r"|(?P<end></think>)",
    re.MULTILINE,
)
"""A line that opens or closes a block, a tag that begins a thought, one that is only quoted, and one that ends a thought."""


def without_thoughts(reply: str) -> str:
    """Return a reply from where its last thought ends; a thought that does not end, and what is behind it, is left out.

    Servers often begin the thought in the prompt, so what stands before a lone `</think>` is a thought too. A tag is none
    where it stands in quotes, or in a fenced block that is closed behind it: there it is part of a program.

    >>> without_thoughts("<think>two and two</think>4")
    '4'
    """
    if _END not in reply and "<think>" not in reply:
        return reply
    start = cut = 0
    is_thinking = False
    block = ""  # the fence that is open
    waiting = 0  # behind a tag in a block, of which it is not known yet whether it is closed
    for sign in _SIGNS.finditer(reply):
        if sign["fence"] and not is_thinking:
            is_closed = bool(block) and sign["fence"].startswith(block) and not sign["info"].strip()
            if waiting and not is_closed and sign["info"].strip():
                start, block = waiting, ""
            block, waiting = ("" if is_closed else block or sign["fence"]), 0 if is_closed else waiting
        elif sign["begin"] and not (is_thinking or block):
            is_thinking, cut = True, sign.start()
        elif sign["end"] or (sign["quote"] and is_thinking):
            if block:
                waiting = sign.end()
            else:
                start, is_thinking = sign.end(), False
    return reply[start:cut] if is_thinking else reply[start:]
