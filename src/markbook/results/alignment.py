"""Several runs' samples brought together: by their ids, or by what was asked where the ids are places only."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict

from markbook.errors import DataError
from markbook.results.sheet import Cell, Sheet
from markbook.types import digest_text


def digest(content: object) -> str:
    """Return what a sample's content is known by: the same for equal JSON values in any order of keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return digest_text(text)


class AlignedRun(TypedDict):
    """One of several runs: its samples, and how many have no counterpart in every other run."""

    run: str
    n: int
    n_unpaired: int


class AlignmentRecord(TypedDict):
    """How the samples of several runs were paired."""

    by: Literal["content", "id"]
    n_common: int
    n_same_id_other_content: int
    runs: list[AlignedRun]


@dataclass(slots=True)
class _Register:
    """The samples met so far, and by what name."""

    is_mixed: bool = False
    """Whether the runs name their samples in ways of their own, as `is_mixed` tells."""
    has_ids: bool = False
    """Whether places stand beside ids, so that equal names say nothing."""
    digests: dict[str, str] = field(default_factory=dict)
    """By name; empty where the content is unknown."""
    names: dict[tuple[str, int], str] = field(default_factory=dict)
    """By content and its how-manieth occurrence in a run."""
    elsewhere: dict[tuple[str, int], str] = field(default_factory=dict)
    """The same of what other tools know a sample of ours by: two tasks may ask the same, so it says nothing among ours."""
    differing: int = 0
    """Samples that bear the id of another with different content."""

    def common_names(self, run: str, sheet: Sheet) -> dict[str, str]:
        """Return the common name of each of a run's samples; what has no counterpart yet gets one of its own."""
        occurrences: Counter[str] = Counter()
        names: dict[str, str] = {}
        names_used: set[str] = set()
        aliases = sheet.aliases() if self.is_mixed else {}
        for sample in sheet.samples:
            content = sheet.digests.get(sample, "")
            bare, alias, others = content.rpartition(":")[2], aliases.get(sample), tuple[str, ...]()
            if sheet.loose and bare and "/" in sample:
                # Another tool's sample of one of several tasks: two tasks may ask the same.
                ours = [in_task(sample.partition("/")[0], bare), bare]
            else:
                ours = list(dict.fromkeys(key for key in (bare, alias.ours if alias else "") if key))
                others = alias.others if alias else ()
            keys = [(own_key, occurrences[own_key]) for own_key in ours]
            places = [(other_key, occurrences[other_key]) for other_key in others]
            # Counted after the keys are made: the first sample of a content has the number 0 in every run.
            occurrences.update((*ours, *others))
            name = self._match_sample(sample, (*keys, *places), sheet)
            # Two samples of one run are never merged, however alike: the second gets a name of its own.
            if name in names_used:
                name = None  # another sample of this run is that one already
            if name is None:
                name, number = sample, 1
                while name in self.digests:
                    name = f"{sample} ({run})" if number == 1 else f"{sample} ({run} #{number})"
                    number += 1
                self.digests[name] = content
            for key in keys:
                # The run that comes first names a content; later ones are paired with it.
                self.names.setdefault(key, name)
            for key in places:
                self.elsewhere.setdefault(key, name)
            names[sample] = name
            names_used.add(name)
        return names

    def _match_sample(self, sample: str, keys: Sequence[tuple[str, int]], sheet: Sheet) -> str | None:
        content = sheet.digests.get(sample, "")
        known_in = (self.names, self.elsewhere) if sheet.loose else (self.names,)
        by_content = next((names[key] for key in keys for names in known_in if key in names), None)
        if sheet.by_place and (content or self.has_ids):
            return by_content
        by_content = by_content if sheet.loose or self.is_mixed else None
        digest = self.digests.get(sample)
        if digest is None:
            return by_content
        # Only two digests of one maker can contradict each other: other tools ask the same in other words.
        if digest and content and digest != content and _by(digest) == _by(content):
            self.differing += by_content is None
            return by_content
        # One tool's id may be another's place: equal content says more than that they are spelled alike.
        return sample if digest and digest == content else by_content or sample


def in_task(task: str, content: str) -> str:
    """Return what content is known by in one of several tasks that may hold it."""
    return f"{task}:{content}"


def _by(content: str) -> str:
    """Return who made a digest: two tools ask the same in other words, so that theirs differing says nothing."""
    return content.rpartition(":")[0]


def is_mixed(sheets: Sequence[Sheet]) -> bool:
    """Whether another tool's ids stand beside ours, or those of one task beside those of several."""
    own = {bool(sheet.task) for sheet in sheets if not sheet.loose}
    return any(sheet.loose for sheet in sheets) or len(own) > 1


def places_and_ids(sheets: Sequence[Sheet]) -> bool:
    """Whether some of our runs name their samples by places in a file and others by ids of their own.

    A table that does not say what was asked names them as its writer found them in the other run.
    """
    return len({sheet.by_place for sheet in sheets if not sheet.loose and any(sheet.digests.values())}) > 1


def merge_sheets(sheets: Sequence[tuple[str, Sheet]], notes: Sequence[str] = ()) -> Sheet:
    """Return one sheet of several runs' sheets by the same metric.

    Samples with ids of their own are paired by these, unless their content is known to differ; those whose ids are
    places in a file by their content, equal ones in their order, and so are all of ours where one run has places and
    another ids, and another tool's whose id is unknown. What has no counterpart stays, by itself, and is counted.

    Args:
        sheets: each with its run's name, which is put behind a model that occurs in two of them.
        notes: what else a reader has to know.

    Raises:
        DataError: the metrics or directions differ.
    """
    kinds = {(sheet.metric, sheet.direction) for _, sheet in sheets}
    if len(kinds) > 1:
        raise DataError(
            "the runs are marked by different metrics: "
            + ", ".join(sorted(f"{metric} ({direction} is better)" for metric, direction in kinds)),
            hint="name the metric of each with --metric, once for each name: --metric acc --metric match",
        )
    first = sheets[0][1]
    notes = (*notes, *dict.fromkeys(f"{run}: {note}" for run, sheet in sheets for note in sheet.notes))
    if len(sheets) == 1:
        origins = {model: (0, model) for model in first.models}
        own = first.metric, first.marks, first.range, first.direction, first.meta
        return Sheet(*own, origins, notes=notes, policy=first.policy)
    has_both = places_and_ids([sheet for _, sheet in sheets])
    if has_both:
        # A place in one run may be spelled as an id in another: their content alone says which are the same.
        sheets = [(run, sheet if sheet.loose else replace(sheet, by_place=True)) for run, sheet in sheets]
    register = _Register(is_mixed([sheet for _, sheet in sheets]), has_both)
    named = [register.common_names(run, sheet) for run, sheet in sheets]
    titles = _titles(sheets)
    marks: dict[str, Mapping[str, Cell]] = {}
    origins = {}
    meta: dict[str, Mapping[str, str]] = {}
    for at, (_, sheet) in enumerate(sheets):
        for model, cells in sheet.marks.items():
            marks[titles[at, model]] = {named[at][sample]: cell for sample, cell in cells.items()}
            origins[titles[at, model]] = at, model
        # What an earlier run says of a sample stands.
        meta = {**{named[at].get(sample, sample): about for sample, about in sheet.meta.items()}, **meta}
    ends = min(sheet.range[0] for _, sheet in sheets), max(sheet.range[1] for _, sheet in sheets)
    common = set.intersection(*(set(names.values()) for names in named))
    runs: list[AlignedRun] = [
        {"run": run, "n": len(names), "n_unpaired": len(set(names.values()) - common)}
        for (run, _), names in zip(sheets, named, strict=True)
    ]
    by_content = any(sheet.by_place and sheet.digests for _, sheet in sheets)
    alignment: AlignmentRecord = {
        "by": "content" if by_content else "id",
        "n_common": len(common),
        "n_same_id_other_content": register.differing,
        "runs": runs,
    }
    notes = *notes, *_list_warnings(sheets, alignment)
    renamed = {(at, name): own for at, names in enumerate(named) for own, name in names.items() if own != name}
    policy = first.policy if len({sheet.policy for _, sheet in sheets}) == 1 else "exclude"
    return Sheet(
        first.metric, marks, ends, first.direction, meta, origins, renamed, alignment=alignment, notes=notes, policy=policy
    )  # fmt: skip


def _titles(sheets: Sequence[tuple[str, Sheet]]) -> dict[tuple[int, str], str]:
    """Return each run's models by a name that no two of them share."""
    count = Counter(model for _, sheet in sheets for model in sheet.models)
    names: dict[tuple[int, str], str] = {}
    for at, (run, sheet) in enumerate(sheets):
        for model in sheet.models:
            name = model if count[model] == 1 else f"{model} ({run})"
            number = 2
            while name in names.values():
                name = f"{model} ({run} #{number})"
                number += 1
            names[at, model] = name
    return names


def _list_warnings(sheets: Sequence[tuple[str, Sheet]], alignment: AlignmentRecord) -> Iterator[str]:
    """Yield what a reader has to know: scores on two scales, as 0..1 and percent, and samples without a counterpart."""
    closed = {run: sheet.range for run, sheet in sheets if math.isfinite(sheet.range[1] - sheet.range[0])}
    open_ = [run for run, _ in sheets if run not in closed]
    if closed and open_:
        (run, (low, high)), *_ = closed.items()
        lie = f"The scores of {run} lie in {low:g}..{high:g}, those of {', '.join(open_)} do not"
        yield f"{lie}: unless both are of one scale, and none in percent, their differences mean nothing."
    lost = [run for run in alignment["runs"] if run["n_unpaired"]]
    if lost:
        counts = "; ".join(f"{run['n_unpaired']} of {run['n']} in {run['run']}" for run in lost)
        why = "the rows have no ids and are paired by their content" if alignment["by"] == "content" else "paired by id"
        yield f"Samples without a counterpart ({why}): {counts}."
        if count := alignment["n_same_id_other_content"]:
            yield f"{count} of them bear the id of a sample with other content, and were not paired with it."
