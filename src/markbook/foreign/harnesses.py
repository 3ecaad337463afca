"""Results of benchmarks' harnesses: EvalPlus, human-eval, HELM, and Every Eval Ever, the format in which several are published."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from markbook.errors import DataError
from markbook.foreign.reading import (
    ABSENT,
    PLACE,
    TEMPLATE,
    Marked,
    MarkedRows,
    Prompts,
    ResultsProbe,
    RightAnswers,
    collect_columns,
    contradiction_error,
    cut_text,
    digest_input,
    file_stem,
    lower_name,
    mapping,
    missing_failure,
    names_apart,
    objects,
    read_records,
    read_value,
    sign_answers,
    sign_facts,
    sign_measure,
    sign_metrics,
    words,
)
from markbook.marks import Row
from markbook.measurements import find_direction, note_direction
from markbook.row_keys import find_failure
from markbook.types import Direction, Missing, MissingKind, digest_text

# EvalPlus's `*_eval_results.json` and human-eval's `*_results.jsonl`: neither names the model, so their file does.


class EvalPlusResults:
    """Reads base and plus: as EvalPlus counts it, plus is passed where the base tests are passed too."""

    name = "evalplus"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an object with `eval` and statuses, or the pairs of lists of the first releases."""
        if probe.opening != "{" or not probe.has("eval"):
            return 0
        return 90 if probe.has("base_status") or probe.has("nfiles", "base") else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each solution."""
        model = file_stem(probe.path, "_eval_results.json", ".eval_results.json", "-eval_results.json")
        if model == "eval_results":  # the results of a folder of samples
            model = probe.path.parent.name or model
        tasks = mapping(mapping(probe.document).get("eval"))
        is_old = any(isinstance(tries, dict) for tries in tasks.values())
        rows = []
        for task, tried in tasks.items():
            if isinstance(tried, dict):
                plus = tried.get("plus") or []
                for index, statuses in enumerate(tried.get("base") or []):
                    extra = plus[index][0] if index < len(plus) else None
                    rows.append(Row(model, task, _statuses(statuses[0], extra), index))
                continue
            for index, attempt in enumerate(tried if isinstance(tried, list) else []):
                scores = _statuses(attempt.get("base_status"), attempt.get("plus_status"))
                rows.append(Row(model, task, scores, index, text=cut_text(attempt.get("solution"))))
        version = "lists (0.1)" if is_old else "records"
        signatures = {"": sign_measure("evalplus", {"data set": mapping(probe.document).get("hash")})}
        columns = collect_columns(rows, first=("plus", "base"), are_verdicts=True)
        return Marked(rows, columns, version, signatures=signatures)


def _statuses(base: object, plus: object) -> dict[str, float | Missing]:
    scores: dict[str, float | Missing] = {"base": _score_status(base)}
    if plus is not None:
        both = [_score_status(base), _score_status(plus)]
        lost = next((score for score in both if isinstance(score, Missing)), None)
        # A solution that failed one side failed plus, whatever became of the other.
        scores["plus"] = lost if lost is not None and 0.0 not in both else float(all(both))
    return scores


def _score_status(status: object) -> float | Missing:
    if status in ("pass", "success"):
        return 1.0
    if status in ("fail", "failed", "timeout", "timed out"):
        return 0.0
    return Missing(MissingKind.FAILED, f"EvalPlus gives the status {status!r}")


class HumanEvalResults:
    """Reads rows of task_id, passed and result; a task's rows are its attempts, in their order."""

    name = "human-eval"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for lines with `task_id`, `passed` and `result`."""
        return 90 if {"task_id", "passed", "result"} <= probe.first.keys() else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each completion."""
        model = file_stem(probe.path, "_results.jsonl", "_samples.jsonl_results.jsonl").removesuffix(".jsonl")
        lost: Counter[str] = Counter()
        rows = MarkedRows(counts=True)
        for record in read_records(probe.path, lost):
            passed = read_value(record.get("passed"))
            if isinstance(passed, Missing):
                passed = Missing(MissingKind.FAILED, f"no verdict: {record.get('result')!r}")
            text = cut_text(record.get("completion"))
            rows.append(Row(model, words(record.get("task_id")), {"passed": passed}, text=text))
        return Marked(rows, collect_columns(rows, are_verdicts=True), "", dict(lost))


# Every Eval Ever: instance-level rows in JSON Lines, and what the aggregate record beside them says of the metric.

_MEASURES = (
    "score_type",
    "min_score",
    "max_score",
    "level_names",
    "metric_id",
    "metric_name",
    "metric_kind",
    "metric_unit",
)
_ASKED = re.compile(r"shot|prompt|template|instruction|agentic|attempts", re.IGNORECASE)
"""In the names of details that say what was asked."""
_KEYS = {"evaluation_id", "model_id", "sample_id", "evaluation"}


class EveryEvalEver:
    """Reads one row for each instance; each evaluation of a file is a part of its samples' names."""

    name = "every-eval-ever"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 95 for instance rows, 40 for an aggregate record, which points to them."""
        if probe.first.keys() >= _KEYS:
            return 95
        is_record = probe.opening == "{" and probe.has("evaluation_id", "model_info", "schema_version")
        return 40 if is_record and _instances(probe) else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return the rows.

        Raises:
            DataError: an aggregate record has no instances beside it.
        """
        path = probe.path
        if not probe.first.keys() >= _KEYS:
            beside = _instances(probe)
            if beside is None:
                raise DataError(
                    "this record has no instances beside it, and a mean alone cannot be compared", at=str(path)
                )
            path = beside
        lost: Counter[str] = Counter()
        about = mapping(_beside(_record(path)))
        ids_by_name, metrics, results = _survey(path, objects(about.get("evaluation_results")))
        has_models = any(model for model, _ in ids_by_name)
        part = _metric if metrics else _name
        lower, mixed, notes = _lower(path, results, set(metrics.values()) or {name for _, name in ids_by_name}, part)
        # Rows of one model that only the evaluation's id tells apart are of several; by one name they are repeats.
        is_nameless = any(len(ids) > 1 for (_, name), ids in ids_by_name.items() if not name)
        notes += [
            f"{model}: rows of {len(ids)} evaluations called {name} are attempts at the same samples."
            for (model, name), ids in ids_by_name.items()
            if name and len(ids) > 1
        ]
        with_unknown = {
            part(result) for result in results if mapping(result.get("metric_config")).get("has_unknown_level")
        }
        rows, version = MarkedRows(counts=True), ""
        answers: RightAnswers = []
        prompts: Prompts = {}
        for record in read_records(path, lost):
            model = words(record.get("model_id"))
            if has_models and not model.strip():
                lost["no model"] += 1
                continue
            entry = mapping(record.get("input"))
            question, right = entry.get("raw"), entry.get("reference")
            name, sample = str(record.get("evaluation_name") or ""), words(record.get("sample_id"))
            prefix = name or (words(record.get("evaluation_id")) if is_nameless else "")
            reply, digest, error = (
                mapping(record.get("output")).get("raw"),
                record.get("sample_hash"),
                record.get("error"),
            )
            grades = mapping(record.get("evaluation"))
            answer = reply or record.get("messages") or record.get("interactions")
            is_failed = find_failure({**grades, "answer": answer, "error": error}, ["answer"])
            value = missing_failure(error) if is_failed else read_value(grades.get("score"))
            metric = metrics.get(words(record.get("evaluation_result_id")), "score")
            if value == -1 and (metric if metrics else name) in with_unknown:
                value = Missing(MissingKind.UNDEFINED, "the level is unknown")
            content = (
                f"{self.name}:{digest}" if isinstance(digest, str) and digest else digest_input(self.name, question)
            )
            called = f"{prefix}/{sample}" if prefix and sample.strip() else sample
            answers.append(((called, content), right if isinstance(right, list) else [right]))
            prompts[called, content] = digest_prompt(entry)
            rows.append(
                Row(
                    model or file_stem(path), called,
                    {lower_name("score") if mixed and not metrics and name in lower else metric: value},
                    0, cut_text(question), cut_text(reply[0] if isinstance(reply, list) and reply else reply), content,
                )
            )  # fmt: skip
            version = version or str(record.get("schema_version", ""))
        directions: dict[str, Direction] = {
            lower_name("score"): "lower",
            "score": "lower" if lower and not mixed else "higher",
        }
        if metrics:
            directions = {name: "lower" if name in lower else "higher" for name in rows.inside}
        columns = collect_columns(rows, first=["score"], directions=directions)
        signatures, signed = _sign_results(about, results, {name for _, name in ids_by_name}, by_metric=bool(metrics))
        signatures |= sign_answers("every-eval-ever", answers, prompts)
        return Marked(rows, columns, version, dict(lost), tuple(notes), signatures, signed)


def digest_prompt(entry: Mapping[str, object]) -> dict[str, str]:
    """Return what is known of what a sample asked: its text and its choices, each as a digest."""
    formatted, choices, right = words(entry.get("formatted")), entry.get("choices"), entry.get("reference")
    # Each model has a template of its own.
    texts_by_kind = {} if not formatted or TEMPLATE.search(formatted) else {"prompt": formatted}
    if isinstance(choices, list) and choices:
        # A letter or a number names a choice by its place; otherwise their order says nothing.
        is_ordered = any(answer not in choices for answer in (right if isinstance(right, list) else [right]))
        texts = list(map(words, choices))
        texts_by_kind["choices"] = json.dumps(texts if is_ordered else sorted(texts))
    return {kind: f"#{digest_text(text)[:8]}" for kind, text in texts_by_kind.items()}


def _sign_results(
    about: Mapping[str, object], results: Sequence[Mapping[str, object]], names: Collection[str], *, by_metric: bool
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return what a record says of how each evaluation was measured, and of each metric where they have several."""
    settings: dict[str, dict[str, object]] = {name: {} for name in names}
    is_ours = mapping(about.get("eval_library")).get("name") == "markbook"  # which describes a metric by its name
    signed: dict[str, dict[str, str]] = {}
    for result in results:
        own = {} if by_metric else settings.setdefault(_name(result), {})
        metric, generation = mapping(result.get("metric_config")), mapping(result.get("generation_config"))
        more, details = mapping(generation.get("generation_args")), generation.get("additional_details")
        prompting = {**more, **(details if isinstance(details, dict) else {"prompt details": details})}
        own |= {
            **{name: metric.get(name) for name in _MEASURES},
            **{f"parameter {name}": value for name, value in mapping(metric.get("metric_parameters")).items()},
            **{f"metric {name}": value for name, value in mapping(metric.get("additional_details")).items()},
            **{f"judge {name}": value for name, value in mapping(metric.get("llm_scoring")).items()},
            # How the model drew its answers is the model's affair.
            **{name: value for name, value in prompting.items() if _ASKED.search(name)},
            "metric": metric.get("evaluation_description") if is_ours else None,
        }
        if by_metric:
            signed.setdefault(_metric(result), {})[_name(result)] = sign_facts(own)
    return {name: sign_measure("every-eval-ever", facts) for name, facts in settings.items()}, signed


def _name(record: Mapping[str, object]) -> str:
    return str(record.get("evaluation_name") or "")


def _metric(result: Mapping[str, object]) -> str:
    """Return what the metric of a result is called, by its id where it has no name; with its parameters, such as k."""
    about, result_id = mapping(result.get("metric_config")), result.get("evaluation_result_id")
    parameters = ", ".join(f"{name}={words(value)}" for name, value in mapping(about.get("metric_parameters")).items())
    name = words(about.get("metric_name") or about.get("metric_id") or result_id) or "score"
    return f"{name} ({parameters})" if parameters else name


def _survey(
    path: Path, stated_results: Sequence[Mapping[str, object]]
) -> tuple[dict[tuple[str, str], set[str]], dict[str, str], list[Mapping[str, object]]]:
    """Return the ids of the evaluations of each model and name, the metric of each result where a sample has rows of several, and the results.

    Two metrics of one name in one evaluation have their descriptions behind it, or the ids where these are equal.
    """
    names = [(_name(result), _metric(result)) for result in stated_results]
    configs = [mapping(result.get("metric_config")) for result in stated_results]
    results: list[Mapping[str, object]] = []
    for result, own, config in zip(stated_results, names, configs, strict=True):
        twins = [about.get("evaluation_description") for name, about in zip(names, configs, strict=True) if name == own]
        text = config.get("evaluation_description")
        detail = text if text and twins.count(text) == 1 else result.get("evaluation_result_id")
        metric_name = f"{config.get('metric_name') or config.get('metric_id') or 'score'} ({words(detail)})"
        apart = {"metric_name": metric_name} if len(twins) > 1 else {}
        results.append({**result, "metric_config": {**config, **apart}})
    named = {words(result.get("evaluation_result_id")): _metric(result) for result in results}
    ids_by_name: dict[tuple[str, str], set[str]] = {}
    metrics: dict[tuple[str, ...], dict[str, str]] = {}
    for record in read_records(path, Counter()):
        at, evaluation = (words(record.get("model_id")).strip(), _name(record)), words(record.get("evaluation_id"))
        result_id = words(record.get("evaluation_result_id"))
        ids_by_name.setdefault(at, set()).add(evaluation)
        metrics.setdefault((*at, evaluation), {})[result_id] = named.get(result_id, result_id) or "score"
    is_several = any(len(set(own.values())) > 1 for own in metrics.values())
    by_id = {result_id: name for own in metrics.values() for result_id, name in own.items() if is_several}
    return ids_by_name, by_id, results


def _instances(probe: ResultsProbe) -> Path | None:
    """Return the file of instances beside an aggregate record: the same name, or its name with `_samples`."""
    for name in (f"{probe.path.stem}.jsonl", f"{probe.path.stem}_samples.jsonl"):
        beside = probe.path.with_name(name)
        if beside.is_file() and not beside.is_symlink():
            return beside
    return None


def _record(path: Path) -> Path:
    """Return where the aggregate record of a file of instances lies, if there is one."""
    return path.with_name(path.name.removesuffix(".jsonl").removesuffix("_samples") + ".json")


def _lower(
    path: Path,
    results: Sequence[Mapping[str, object]],
    names: Collection[str],
    part: Callable[[Mapping[str, object]], str],
) -> tuple[frozenset[str], bool, list[str]]:
    """Return the evaluations of which less is better, whether of others more is, and what was taken from names.

    `part` says what a result is called: by its evaluation or its metric.
    The aggregate record beside says it; where it does not, the evaluation's name does, or else all that the record names.

    Raises:
        DataError: the record says both of one evaluation, so that nothing tells which of its rows are which.
    """
    ways: dict[str, bool] = {}
    notes: set[str] = set()
    for result in results:
        name, config = part(result), mapping(result.get("metric_config"))
        metric, is_lower = words(config.get("metric_name")), config.get("lower_is_better")
        if not isinstance(is_lower, bool):
            telling_name = name if metric.lower() == "score" or find_direction(metric) is None else metric
            is_lower = find_direction(telling_name) == "lower"
            notes |= {note_direction(telling_name)} - {""}
        if ways.setdefault(name, is_lower) != is_lower:
            raise DataError(f"less is better and more is better of one evaluation, {name!r}", at=str(_record(path)))
    is_all_lower = bool(ways) and all(ways.values())
    for name in {*names} - ways.keys():
        ways[name] = is_all_lower if find_direction(name) is None else find_direction(name) == "lower"
        assumed = f"{name}: lower is assumed to be better, as for all evaluations of the record." if name else ""
        notes |= {assumed if ways[name] and find_direction(name) is None else note_direction(name)} - {""}
    return frozenset(name for name, is_lower in ways.items() if is_lower), len({*ways.values()}) > 1, sorted(notes)


# HELM: `per_instance_stats.json`, with `run_spec.json` and `instances.json` beside it.

_NO_MEASURE = frozenset(
    ("model", "model_deployment", "random", "temperature", "max_tokens", "num_outputs", "max_eval_instances",
     "num_train_trials", "num_trials", "image_generation_parameters", "eval_splits")
)  # fmt: skip
"""What a specification says of the model, and of how many instances and answers there are, and not of how they were measured."""
_FIRST = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "f1_score", "rouge_l")
_BESIDES = (
    "num_", "max_prob", "inference_", "training_", "finish_reason", "batch_size", "estimated_", "prompt_", "logprob",
    "ece", "platt", "selective", "predicted_index", "none",
)  # fmt: skip
"""Beginnings of the names of what HELM notes of a request; no marks."""
_MOVED = re.compile(r"^helm\.benchmark\.(?:metrics\.)?")
"""Where HELM's own classes of metrics lie, earlier and now."""


class Helm:
    """Reads one row for each instance and trial; a perturbed instance is a sample of its own."""

    name = "helm"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an array of instances with stats."""
        return 90 if probe.opening == "[" and probe.has("instance_id", "train_trial_index", "stats") else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return the rows, absent ones for instances that were asked about and have no stats.

        Every metric of a run notes its stats of an instance by themselves: they are brought together here.
        """
        folder = probe.path.parent
        spec = mapping(_beside(folder / "run_spec.json"))
        about = mapping(spec.get("adapter_spec"))
        model = str(about.get("model") or about.get("model_deployment") or folder.resolve().name)
        stats = objects(probe.document)
        # One method of perturbation may be there with several settings, which only all that is said of it tells apart.
        by_instance: dict[str, dict[str, str]] = {}
        for stat in stats:
            if perturbed := mapping(stat.get("perturbation")).get("name"):
                by_instance.setdefault(str(stat.get("instance_id")), {})[_perturbation(stat)] = str(perturbed)
        called = {name: names_apart(perturbations) for name, perturbations in by_instance.items()}
        # What was asked, as `helm-summarize` writes it, else out of the state of the scenario
        instances = objects(_beside(folder / "instances.json"))
        if not instances:
            states = objects(mapping(_beside(folder / "scenario_state.json")).get("request_states"))
            instances = [mapping(state.get("instance")) for state in states if isinstance(state.get("instance"), dict)]
        questions = {_instance(instance, called): mapping(instance.get("input")).get("text") for instance in instances}
        metrics: dict[tuple[_Instance, int], dict[str, float | Missing]] = {}
        for stat in stats:
            if not isinstance(stat.get("instance_id"), str):
                raise DataError("an instance without an id", at=str(probe.path))
            trial = stat.get("train_trial_index")
            at = _instance(stat, called), trial if isinstance(trial, int) and trial > 0 else 0
            values = metrics.setdefault(at, {})
            for summary in objects(stat.get("stats")):
                name, count, total = mapping(summary.get("name")).get("name"), summary.get("count"), summary.get("sum")
                name = str(name)
                if name.startswith(_BESIDES):
                    continue
                value: float | Missing = Missing(MissingKind.UNDEFINED, "HELM counted no value for this instance")
                if isinstance(count, int | float) and count > 0 and isinstance(total, int | float):
                    value = read_value(total / count)
                earlier = values.setdefault(name, value)
                if isinstance(earlier, Missing):
                    values[name] = value
                elif not isinstance(value, Missing) and value != earlier:
                    attempt = f"item {at[0][0]!r}, trial {at[1]}, {name} {earlier:g} and {value:g}"
                    raise contradiction_error(attempt, str(probe.path))
        names = list(dict.fromkeys(name for metrics in metrics.values() for name in metrics))
        lacking = Missing(MissingKind.UNDEFINED, "HELM notes no value of this instance, as it does of what is NaN")
        rows = [
            _row(model, at, {name: metrics.get(name, lacking) for name in names}, questions.get(at[0]))
            for at, metrics in metrics.items()
            if metrics
        ]
        have = {at for (at, _), metrics in metrics.items() if metrics}
        rows += [
            _row(model, (at, 0), dict.fromkeys(names, ABSENT), text) for at, text in questions.items() if at not in have
        ]
        columns = collect_columns(rows, first=_FIRST)
        scenario = mapping(spec.get("scenario_spec"))
        arguments = mapping(scenario.get("args")).items()
        settings = {
            **{name: value for name, value in about.items() if name not in _NO_MEASURE},
            "scenario": scenario.get("class_name"),
            **{f"scenario {name}": value for name, value in arguments if not PLACE.fullmatch(name)},
        }
        signed = sign_metrics(_list_options(spec, columns))
        named = {_instance(instance, called): instance for instance in instances}
        pairs = ((_row(model, (at, 0), {}, questions[at]), record) for at, record in named.items())
        answers: RightAnswers = [
            ((row.id, row.content),
             [mapping(reference.get("output")).get("text", reference.get("output"))
              for reference in objects(record.get("references")) if "'correct'" in str(reference.get("tags"))])
            for row, record in pairs
        ]  # fmt: skip
        signatures = {"": sign_measure("helm", settings), **sign_answers("helm", answers)}
        return Marked(rows, columns, str(spec.get("name") or ""), signatures=signatures, metric_signatures=signed)


def _list_options(spec: Mapping[str, object], columns: Collection[str]) -> dict[str, dict[str, object]]:
    """Return by metric what a specification says of how it is computed; who annotates is told to those that none names."""
    options: dict[str, tuple[object, Any]] = {"annotators": (spec.get("annotators") or None, ())}
    count: Counter[str] = Counter()
    classes: dict[str, list[str]] = {}
    for metric in objects(spec.get("metric_specs")):
        name, arguments = (f"metric {_MOVED.sub('', str(metric.get('class_name')))}", dict(mapping(metric.get("args"))))
        count[name] += 1
        # Under `names` stands which numbers there are, and not how each is measured.
        names: Any = arguments.pop("names", None) or ()
        options[name if count[name] == 1 else f"{name} {count[name]}"] = arguments, names
        for column in names:
            classes.setdefault(str(column), []).append(name.removeprefix("metric "))
    named = {name for _, names in options.values() for name in names}
    return {
        column: {kind: facts for kind, (facts, names) in options.items() if column in (names or {column} - named)}
        | ({"metric class": sorted(classes[column])} if column in classes else {})
        for column in columns
    }


_Instance = tuple[str, str]
"""An instance's id, and what it was perturbed by."""


def _instance(record: Mapping[str, object], called: Mapping[str, Mapping[str, str]]) -> _Instance:
    name = str(record.get("instance_id", record.get("id")))
    perturbed = str(mapping(record.get("perturbation")).get("name") or "")
    return name, called.get(name, {}).get(_perturbation(record), perturbed)


def _perturbation(record: Mapping[str, object]) -> str:
    """Return all that is said of what perturbed an instance, as text; not on which of the texts a stat was computed."""
    return words({key: value for key, value in mapping(record.get("perturbation")).items() if key != "computed_on"})


def _beside(path: Path) -> Any:
    """Return the file beside it, None if there is none."""
    return ResultsProbe(path).document if path.is_file() and not path.is_symlink() else None


def _row(model: str, at: tuple[_Instance, int], metrics: Mapping[str, float | Missing], question: Any) -> Row:
    (name, perturbed), trial = at
    called = f"{name} ({perturbed})" if perturbed else name
    return Row(
        model, called, metrics, trial, cut_text(question), "", "" if perturbed else digest_input("helm", question)
    )
