"""Several runs' samples brought together: by their ids, or by what was asked where the ids are places only."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypedDict

from markbook.errors import DataError
from markbook.results.sheet import CLUSTER, Cell, Sheet
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


_Group = dict[int, str]
"""One sample: by the run's position what it is called there."""
_Bearer = tuple[int, str, bool]
"""A run's position, its name of a sample, and whether the content is what runs of ours know it by too."""


class _Pairing:
    """Which samples of several runs are one sample, by rules in which no run comes before another.

    Made with those of equal names and equal content; then `join_by_content`, then `join_by_name`. Where these leave more than
    one counterpart in a run, a sample has none.
    """

    def __init__(self, sheets: Sequence[Sheet], *, has_ids: bool) -> None:
        """Take the runs' samples, a sheet each; `has_ids`: places stand beside ids, so that equal names of ours say nothing."""
        self.differing = 0
        """Samples that bear the id of another with different content."""
        self._sheets = sheets
        self._has_ids = has_ids
        names = [sheet.samples for sheet in sheets]

        def describe(at: int) -> tuple[bool, bool, str, list[str], list[str]]:
            sheet = sheets[at]
            contents = [sheet.digests.get(name, "") for name in names[at]]
            return sheet.loose, sheet.by_place, sheet.task, names[at], contents

        # By what the runs are, so that whatever a rule leaves open is decided alike in any order of the arguments.
        self._order = sorted(range(len(sheets)), key=describe)
        self._groups: list[dict[str, _Group]] = [{} for _ in sheets]
        alike: dict[tuple[str, str], _Group] = {}
        for at in self._order:
            for name in names[at]:
                is_place, content = self._is_place(at, name), sheets[at].digests.get(name, "")
                self._groups[at][name] = group = {} if is_place else alike.setdefault((name, content), {})
                group[at] = name

    def name_samples(self, titles: Sequence[str]) -> list[dict[str, str]]:
        """Return the common name of each of every run's samples: that of the first run that has it; titles tell apart two of one name."""
        common_names: dict[int, str] = {}
        names_used: set[str] = set()
        for title, groups in zip(titles, self._groups, strict=True):
            for sample, group in groups.items():
                if id(group) in common_names:
                    continue
                name, number = sample, 1
                while name in names_used:
                    name = f"{sample} ({title})" if number == 1 else f"{sample} ({title} #{number})"
                    number += 1
                common_names[id(group)] = name
                names_used.add(name)
        return [{sample: common_names[id(group)] for sample, group in groups.items()} for groups in self._groups]

    def _is_place(self, at: int, name: str) -> bool:
        """Whether a run's name of a sample is a place, which names nothing among ours: its content says which it is."""
        sheet = self._sheets[at]
        return sheet.by_place and bool(self._has_ids or sheet.digests.get(name))

    def join_by_content(self) -> None:
        """Make one sample of those that are known by the same content; in one run equal ones stay apart, in their order."""
        # Two tasks may ask the same: what names the task says more.
        with_task: dict[tuple[str, int], list[_Bearer]] = {}
        without: dict[tuple[str, int], list[_Bearer]] = {}
        mixed = is_mixed(self._sheets)
        for at in self._order:
            sheet = self._sheets[at]
            if not mixed and not sheet.by_place:
                continue
            aliases = sheet.aliases() if mixed else {}
            occurrences: Counter[str] = Counter()
            for name in self._groups[at]:
                alias = aliases.get(name)
                bare = sheet.digests.get(name, "").rpartition(":")[2]
                keys = [key for key in (bare, alias.ours if alias else "") if key]
                if sheet.loose and bare and "/" in name:
                    keys = [in_task(name.partition("/")[0], bare), bare]
                for key in dict.fromkeys((*keys, *alias.others)) if alias else keys:
                    bearers = with_task if ":" in key or (alias and key == alias.ours) else without
                    bearers.setdefault((key, occurrences[key]), []).append((at, name, key in keys))
                    occurrences[key] += 1
        for bearers_of_key in itertools.chain(with_task.values(), without.values()):
            if len(bearers_of_key) == 1:
                continue
            own = [(at, name) for at, name, is_own in bearers_of_key if is_own]
            others = [(at, name) for at, name, is_own in bearers_of_key if not is_own]
            # What other tools know samples of ours by says nothing among ours, nor which of two it is.
            if own and self._join(own) and len({id(self._groups[at][name]) for at, name in others}) == 1:
                self._join([own[0], *others])

    def join_by_name(self) -> None:
        """Make one sample of those of one name of which nothing says that they are of two samples."""
        runs_by_name: dict[str, list[int]] = {}
        for at in self._order:
            for name in self._groups[at]:
                runs_by_name.setdefault(name, []).append(at)
        for name, runs in runs_by_name.items():
            groups = {id(group): group for group in (self._groups[at][name] for at in runs)}
            if len(groups) == 1:
                continue
            places = {at for at in runs if self._is_place(at, name)}
            contents = {self._sheets[at].digests.get(name, "") for at in set(runs) - places} - {""}
            # Only two digests of one maker can contradict each other: other tools ask the same in other words.
            makers = {content.rpartition(":")[0] for content in contents}
            if len(makers) == len(contents) and len({id(self._groups[at][name]) for at in places}) < 2:
                self._join([(at, name) for at in runs])
            elif len(places) < len(runs):
                alone = sum(len(group) == 1 for group in groups.values())
                self.differing += min(alone, len(groups) - 1)

    def _join(self, nodes: Iterable[tuple[int, str]]) -> bool:
        """Make one sample of these; return False where two of them would be of one run, which are never merged."""
        groups = {id(group): group for group in (self._groups[at][name] for at, name in nodes)}
        if len(groups) == 1:
            return True
        first, *others = groups.values()
        if len({at for group in groups.values() for at in group}) < sum(map(len, groups.values())):
            return False
        for group in others:
            for at, name in group.items():
                first[at] = name
                self._groups[at][name] = first
        return True


def in_task(task: str, content: str) -> str:
    """Return what content is known by in one of several tasks that may hold it."""
    return f"{task}:{content}"


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
    """Return one sheet of several runs' sheets by the same metric, each with its run's name.

    Samples with ids of their own are paired by these, unless their content is known to differ; those whose ids are
    places in a file by their content, equal ones in their order, and so are all of ours where one run has places and
    another ids, and another tool's whose id is unknown. What has no counterpart stays, by itself, and is counted. A
    run's name is put behind a model that occurs in two of them; `notes` are what else a reader has to know.

    Raises:
        DataError: the metrics or directions differ, or two runs put a sample into different clusters.
    """
    kinds = {(sheet.metric, sheet.direction) for _, sheet in sheets}
    if len(kinds) > 1:
        names = {metric for metric, _ in kinds}
        raise DataError(
            "the runs are marked by different metrics: "
            + ", ".join(sorted(names if len(names) > 1 else {f"{metric} ({way} is better)" for metric, way in kinds})),
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
    pairing = _Pairing([sheet for _, sheet in sheets], has_ids=has_both)
    pairing.join_by_content()
    pairing.join_by_name()
    named = pairing.name_samples([run for run, _ in sheets])
    titles = _titles(sheets)
    marks: dict[str, Mapping[str, Cell]] = {}
    origins = {}
    meta: dict[str, Mapping[str, str]] = {}
    for at, (_, sheet) in enumerate(sheets):
        for model, cells in sheet.marks.items():
            marks[titles[at, model]] = {named[at][sample]: cell for sample, cell in cells.items()}
            origins[titles[at, model]] = at, model
        for sample, about in sheet.meta.items():
            if (name := named[at].get(sample)) is None:
                continue
            earlier = meta.setdefault(name, about)
            others = {word: about[word] for word in earlier.keys() & about.keys() if about[word] != earlier[word]}
            if CLUSTER in others:
                clusters = " and ".join(map(repr, sorted((earlier[CLUSTER], others[CLUSTER]))))
                hint = "name the clusters alike in all files, or leave them out of all but one"
                raise DataError(f"the item {sample!r} is in two clusters, {clusters}", hint=hint)
            if earlier != about:  # of what two runs say differently nothing is said
                meta[name] = {**earlier, **about, **dict.fromkeys(others, "")}
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
        "n_same_id_other_content": pairing.differing,
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
