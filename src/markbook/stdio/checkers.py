"""What a checker or an output validator says by its exit status and its files, and how each is called.

A checker is a program of the benchmark. It reads hostile output, so what it says is bounded, and whatever is no verdict is
`JE`: a fault of the judge's, unless the judge is known to be right elsewhere. Then the output broke it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Result = Literal["AC", "WA", "TLE", "MLE", "RTE", "OLE", "CE", "JE"]
RESULTS: tuple[Result, ...] = ("AC", "WA", "TLE", "MLE", "RTE", "OLE", "CE", "JE")
MESSAGE_LENGTH = 300
ICPC_ACCEPTED, ICPC_REJECTED = 42, 43
FEEDBACK = ("judgemessage.txt", "teammessage.txt", "score.txt", "score_multiplier.txt", "nextpass.in")
"""The files of the feedback folder that mean something; what else lies there is ignored."""
_POINTS = re.compile(r"\s*(?:points\s+)?([+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?)(?![\w.])")
_TESTLIB: Mapping[int, Result] = {0: "AC", 1: "WA", 2: "WA", 3: "JE", 4: "WA", 8: "WA"}
"""Right, wrong, badly presented, the judge's fault, something behind the end, an end too early."""
_TESTLIB_POINTS = (5, 7)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a checker says of one output."""

    result: Result
    message: str = ""
    points: float | None = None
    """The points that it gives itself; None where it gives none."""
    multiplier: float | None = None
    """The share, 0..1, of a test's points that it gives; None where it does not say."""
    next_input: bytes | None = None
    """What the program is to read in a further pass; None if this was the last."""
    is_own_fault: bool = False
    """Whether a judge that failed says itself that no output is to blame, or met none."""


def testlib(status: int, output_bytes: bytes) -> Checked:
    """Return what a checker of testlib's conventions says.

    Args:
        status: its exit status; negative for a signal.
        output_bytes: what it wrote to standard error.
    """
    message = clean_message(output_bytes)
    if status in _TESTLIB_POINTS:
        match = _POINTS.match(message)
        if match is None:
            return Checked("JE", f"the checker gives points and does not say how many: {message}"[:MESSAGE_LENGTH])
        points = float(match[1])
        return Checked("AC" if points > 0 else "WA", message, points=points)
    if status in _TESTLIB:
        result = _TESTLIB[status]
        return Checked(result, message, is_own_fault=result == "JE")
    return _fault(status, message)


def icpc(status: int, feedback: Mapping[str, bytes] | None = None, *, passes_left: int = 0) -> Checked:
    """Return what an output validator of the ICPC's conventions says.

    Args:
        status: its exit status; negative for a signal.
        feedback: the files of its feedback folder, by name.
        passes_left: how many further passes the problem allows.
    """
    files = feedback or {}
    message = clean_message(files.get("judgemessage.txt", b""))
    if status not in (ICPC_ACCEPTED, ICPC_REJECTED):
        return _fault(status, message)
    numbers: dict[str, float | None] = {}
    for name in ("score.txt", "score_multiplier.txt"):
        numbers[name] = None
        if name in files:
            numbers[name] = _number(files[name])
            if numbers[name] is None:
                return Checked(
                    "JE", f"the validator's {name} is no number: {clean_message(files[name])}"[:MESSAGE_LENGTH]
                )
    if status == ICPC_REJECTED:
        return Checked("WA", message, numbers["score.txt"])
    multiplier = numbers["score_multiplier.txt"]
    if multiplier is not None and not 0 <= multiplier <= 1:
        return Checked("JE", f"the validator multiplies by {multiplier:g}, which is not between 0 and 1")
    following = files.get("nextpass.in")
    if following is not None and passes_left <= 0:
        return Checked("JE", "the validator wants another pass, and the problem allows no more")
    return Checked("AC", message, numbers["score.txt"], multiplier, following)


def python_function(returned: object) -> Checked:
    """Return what a checker that is a function says by what it returns: a truth, a share of 0..1, and perhaps a message."""
    message = ""
    if isinstance(returned, list | tuple) and len(returned) == 2:
        message = clean_message(str(returned[1]).encode("utf-8", "replace"))
        returned = returned[0]
    if isinstance(returned, bool):
        return Checked("AC" if returned else "WA", message)
    if isinstance(returned, int | float) and 0 <= returned <= 1:
        return Checked("AC" if returned > 0 else "WA", message, multiplier=float(returned))
    return Checked("JE", "the checker returned neither a truth nor a share between 0 and 1")


def testlib_arguments(input_path: str, output: str, answer: str) -> list[str]:
    """Return the arguments of a checker of testlib's conventions; its standard input is empty."""
    return [input_path, output, answer]


def icpc_arguments(input_path: str, answer: str, feedback: str, flags: Sequence[str] = ()) -> list[str]:
    """Return the arguments of an output validator; it reads the output on its standard input."""
    return [input_path, answer, f"{feedback.rstrip('/')}/", *flags]


def interactive(validator: Checked, program: Result, *, validator_first: bool, validator_hung: bool = False) -> Checked:
    """Return whose fault it is that an interactive run ended.

    Args:
        validator: what the validator said.
        program: what became of the program by itself; `AC` where nothing is to be said against it.
        validator_first: whether the validator ended first: what befalls the program after that is the end of its pipe.
        validator_hung: whether a limit ended the validator, for which the program may have waited.
    """
    if validator.result == "JE" and (validator_first or program == "AC" or validator_hung):
        return validator  # else it was the program's end that broke it
    if validator_first and validator.result == "WA":
        return validator  # whatever the program did after that
    if program != "AC":
        return Checked(program)
    return validator


def broken_by_output(failed: Checked) -> Checked:
    """Return what is to be said of an output that a judge could not take which takes what is known to be right."""
    what = "the judge ended in an error on this output and takes a right one"
    return Checked("WA", f"{what}: {failed.message}"[:MESSAGE_LENGTH])


def clean_message(output_bytes: bytes) -> str:
    """Return the first line of what a checker said, cut, without control characters."""
    line = output_bytes[: 4 * MESSAGE_LENGTH].decode("utf-8", "replace").strip().partition("\n")[0]
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line[:MESSAGE_LENGTH])


def _number(text: bytes) -> float | None:
    try:
        number = float(text[:100].decode("ascii").strip())
    except (UnicodeDecodeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _fault(status: int, message: str) -> Checked:
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return Checked("JE", f"the checker {how}, which is no verdict: {message}".rstrip(": ")[:MESSAGE_LENGTH])
