"""Whether numbers of several runs were measured alike: by the same judge and rubric, with the same options and profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markbook.errors import DataError
from markbook.results.sheet import Sheet

_NO_MATTER = ("seed:",)
"""Parts of a signature that say how often luck was drawn, not what was measured."""
_HINT = "measure both alike; `markbook compare --allow-different-measures` compares them all the same, with a note"


def check_signatures(sheets: Sequence[tuple[str, Sheet]], *, is_planned: bool = False) -> None:
    """Refuse runs whose numbers were measured differently.

    Args:
        sheets: each with its run's name.
        is_planned: whether the first run is yet to be measured.

    Raises:
        DataError: they were, by what is told.
    """
    if words := differences(sheets, is_planned=is_planned):
        raise DataError(words, hint=_HINT)


def differences(sheets: Sequence[tuple[str, Sheet]], *, is_planned: bool = False) -> str:
    """Return how the first two runs that were measured differently differ; empty where all were measured alike.

    A run that does not say how it was measured, such as another tool's, differs from none.
    """
    for index, (name, sheet) in enumerate(sheets):
        for other_name, other in sheets[index + 1 :]:
            if sheet.metric != other.metric:
                continue  # these are refused for that
            pair = differing(sheet.signatures, other.signatures, is_planned=is_planned)
            if pair is not None:
                only, other_only = (sorted(parts) or ["nothing"] for parts in pair)
                return (
                    f"{sheet.metric!r} was measured differently: {name} by {', '.join(only)}; "
                    f"{other_name} by {', '.join(other_only)}"
                )
    return ""


def differing(
    first: Mapping[str, str], second: Mapping[str, str], *, is_planned: bool = False
) -> tuple[set[str], set[str]] | None:
    """Return the parts of two runs' signatures that the other has not; None where they measure alike.

    Args:
        first: by task; under no name where there are none.
        second: likewise.
        is_planned: whether the first run's are those before the work: a metric that reads a model learns then only what
            else its signature says.
    """
    common = [task for task in first if task in second]
    pairs = [(first[task], second[task]) for task in common]
    if not common and len(set(first.values())) == len(set(second.values())) == 1:
        pairs = [(next(iter(first.values())), next(iter(second.values())))]
    for signature, other in pairs:
        parts, others = _parts(signature), _parts(other)
        if signature and other and parts != others and not (is_planned and parts < others):
            return parts - others, others - parts
    return None


def _parts(signature: str) -> set[str]:
    return {part for part in signature.split("|") if not part.startswith(_NO_MATTER)}
