"""lm-evaluation-harness: `results_*.json` with the `samples_*.jsonl` beside it, or one file of samples alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markbook.errors import DataError
from markbook.files.spool import Spool
from markbook.foreign.reading import (
    ABSENT,
    TEMPLATE,
    Marked,
    MarkedRows,
    Prompts,
    ResultsProbe,
    RightAnswers,
    check_plan,
    collect_columns,
    cut_text,
    digest_input,
    file_stem,
    lower_name,
    mapping,
    objects,
    read_records,
    read_value,
    sign_answers,
    sign_facts,
    sign_measure,
    words,
)
from markbook.marks import Row
from markbook.types import Direction, Missing, digest_text

_STAMP = r"_(\d{4}-\d\d-\d\dT[\d.:-]+)"
_RESULTS = re.compile(r"results(?:" + _STAMP + r")?\.json")
_SAMPLES = re.compile(r"samples_(.+?)(?:" + _STAMP + r")?\.jsonl(?:\.gz)?")
_OWN = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
     "target_hash", "bypass", "prompt", "schema", "logit_0", "missing", "index", "text")
)  # fmt: skip
"""Fields of a sample that are not a metric."""
_MEASURE = (
    "description", "doc_to_text", "doc_to_target", "doc_to_choice", "target_delimiter", "gen_prefix", "use_prompt",
    "output_type", "process_docs", "process_results", "filter_list", "repeats",
)  # fmt: skip
"""Settings of a task that say how its numbers were measured; how the model drew its answers is the model's affair."""


class LmEval:
    """Reads the samples of every task of a run; an aggregate without samples compares nothing and is refused."""

    name = "lm-eval"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for a results file, and for samples whose results file is not there."""
        if (
            _RESULTS.fullmatch(probe.path.name)
            and probe.has("results")
            and ("config" in probe.head or "versions" in probe.head)
        ):
            return 90
        match = _SAMPLES.fullmatch(probe.path.name)
        if match and {"doc_id", "filtered_resps"} <= probe.first.keys():
            # With its results beside it it is a part of them: known only to be refused in words where it is named alone.
            return 1 if _results_beside(probe.path, match.group(2)) else 90
        return 40 if {"doc_id", "resps", "filtered_resps"} <= probe.first.keys() else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each document and filter's worth of metrics.

        Raises:
            DataError: the results have no samples beside them.
        """
        stamp = _RESULTS.fullmatch(probe.path.name)
        if stamp is None:
            match = _SAMPLES.fullmatch(probe.path.name)
            if match and _results_beside(probe.path, match.group(2)):
                results = f"results_{match.group(2)}.json" if match.group(2) else "results.json"
                raise DataError(
                    "these samples belong to the results beside them", at=str(probe.path), hint=f"name {results}"
                )
            task = match.group(1) if match else file_stem(probe.path)
            return _mark_samples({task: probe.path}, {}, probe.path.resolve().parent.name or "model", "samples alone")
        about = mapping(probe.document)
        # The files of samples of the same moment, by task
        files = {
            match.group(1): other
            for other in sorted(probe.path.parent.iterdir())
            if (match := _SAMPLES.fullmatch(other.name)) and match.group(2) == stamp.group(1) and not other.is_symlink()
        }
        if not files:
            raise DataError(
                "these results have no samples beside them, and two means without samples cannot be compared in pairs",
                at=str(probe.path),
                hint="run lm_eval with --log_samples",
            )
        model = str(
            about.get("model_name")
            or mapping(about.get("config")).get("model_args")
            or probe.path.resolve().parent.name
        )
        version = str(about.get("lm_eval_version") or ("0.4" if "n-samples" in about else "before 0.4.3"))
        return _mark_samples(files, about, model, version)


def _results_beside(path: Path, stamp: str | None) -> bool:
    return (path.parent / (f"results_{stamp}.json" if stamp else "results.json")).is_file()


def _mark_samples(files: Mapping[str, Path], about: Mapping[str, object], model: str, version: str) -> Marked:
    rows = MarkedRows()
    lost: Counter[str] = Counter()
    notes: list[str] = []
    answers: RightAnswers = []
    prompts: Prompts = {}
    measures = {task: _list_settings(task, about) for task in files}
    better = mapping(about.get("higher_is_better"))
    lower = {name for per in better.values() for name, higher in mapping(per).items() if higher is False}
    higher = {name for task in files for name, higher in mapping(better.get(task)).items() if higher is True}
    mixed = lower & higher  # one number cannot have both directions: the lower tasks' has a name of its own
    for task, path in files.items():
        turned = {name for name in mixed if mapping(better.get(task)).get(name) is False}
        # How many documents were to be answered; 0 where nothing says it. With --samples the first of the counts is, in
        # older versions, the number of all documents, and only the others of those chosen.
        effective = mapping(mapping(about.get("n-samples")).get(task)).get("effective")
        results = mapping(mapping(about.get("results")).get(task))
        counts = (effective, results.get("samples"), results.get("sample_len"))
        planned = min((count for count in counts if isinstance(count, int)), default=0) if effective else 0
        for row in _task(task, path, model, planned, (lost, notes, measures[task], answers, prompts)):
            metrics: dict[str, float | Missing] = {}
            for name, value in row.metrics.items():
                own, comma, of = name.partition(",")
                metrics[f"{lower_name(own)}{comma}{of}" if own in turned else name] = value
            rows.append(replace(row, metrics=metrics) if turned else row)
    stated: dict[str, Direction] = {
        **dict.fromkeys(higher, "higher"), **dict.fromkeys(lower - mixed, "lower"),
        **{lower_name(name): "lower" for name in mixed},
    }  # fmt: skip
    # Behind the comma stands a filter, whose name says nothing of the metric.
    plain = {name: name.partition(",")[0] for name in rows.inside}
    directions = {name: stated[own] for name, own in plain.items() if own in stated}
    columns = collect_columns(rows, directions=directions, plain=plain.__getitem__)
    # A metric that is not of every task says so: its mean says nothing of the others.
    covered: dict[str, set[str]] = defaultdict(set)
    for row in rows if len(files) > 1 else ():
        # A task's name may begin with another's name and a slash: the longest that fits is the row's.
        task = max((task for task in files if row.id.startswith(f"{task}/")), key=len, default="")
        for name in row.metrics:
            covered[name].add(task)
    for name, tasks in covered.items():
        if others := set(files) - tasks:
            notes.append(f"{name}: of the tasks {', '.join(sorted(tasks))}, not of {', '.join(sorted(others))}.")
    options: dict[str, dict[str, str]] = defaultdict(dict)
    configs = {task: mapping(mapping(about.get("configs")).get(task)) for task in files}
    for at, entry in ((at, entry) for at, config in configs.items() for entry in objects(config.get("metric_list"))):
        called = str(entry.get("metric"))
        facts = {f"metric {called}": {name: value for name, value in entry.items() if name != "metric"}}
        for name in (name for name, own in plain.items() if own in (called, lower_name(called))):
            options[name][at] = sign_facts(facts)
    signatures = {task: sign_measure("lm-eval", settings) for task, settings in measures.items()}
    signatures |= sign_answers("lm-eval", answers, prompts)
    return Marked(rows, columns, version, dict(lost), tuple(notes), signatures, options)


def _list_settings(task: str, about: Mapping[str, object]) -> dict[str, object]:
    """Return what the results say of how a task was measured."""
    config = mapping(mapping(about.get("configs")).get(task))
    version = mapping(about.get("versions")).get(task, mapping(config.get("metadata")).get("version"))
    shots = mapping(about.get("n-shot")).get(task, config.get("num_fewshot"))
    settings: dict[str, object] = {"num_fewshot": shots, **{name: config.get(name) for name in _MEASURE}}
    # Where a task has no version the harness writes a word. One number may stand there as text.
    settings["version"] = re.sub(r"^(\d+)\.0$", r"\1", str(version)) if re.search(r"\d", str(version)) else None
    # Which examples are shown, where any are, and where an answer ends; a newer version says more of them in other words.
    examples = {"split": config.get("fewshot_split"), **mapping(config.get("fewshot_config"))}
    settings |= {f"fewshot {name}": value for name, value in examples.items() if shots != 0}
    ends = mapping(config.get("generation_kwargs")).get("until")
    settings["until"] = [ends] if isinstance(ends, str) else ends
    if "chat_template" in about:  # every model has a template of its own: whether it was applied is the task's affair
        settings["chat_template"] = bool(about["chat_template"])
        settings["system_instruction"] = about.get("system_instruction") or ""
        settings["fewshot_as_multiturn"] = about.get("fewshot_as_multiturn") if shots else None
    return settings


_Findings = tuple[Counter[str], list[str], dict[str, object], RightAnswers, Prompts]
"""What was lost, what a reader has to know, how the task was measured, and each sample's right answers and bare prompt."""


def _task(task: str, path: Path, model: str, effective: int, findings: _Findings) -> Iterator[Row]:
    """Yield a task's rows: the filters of one document together, and an absent one for each that was planned."""
    lost, notes, settings, answers, prompts = findings
    docs: dict[str, list[int]] = defaultdict(list)
    samples: Spool[_Sample] = Spool()
    filters: dict[str, dict[str, None]] = defaultdict(dict)
    bare: Prompts = {}
    is_alone, is_templated = not any(value is not None for value in settings.values()), True
    for record in read_records(path, lost):
        question = requests = record.get("arguments")
        if isinstance(requests, dict):  # since 0.4.4: {"gen_args_0": {"arg_0": ...}}
            requests = [list(mapping(request).values()) for request in requests.values()]
        further: list[str] = []
        if isinstance(requests, list) and requests and isinstance(requests[0], list):
            question = requests[0][0] if requests[0] else ""
            # Every other text of the requests, such as the choices. How a model draws its answer is its own affair.
            parts = [part for request in requests if isinstance(request, list) for part in request]
            further = [words(part) for part in parts[1:] if isinstance(part, str | list)]
        reply, doc_hash = record.get("filtered_resps"), record.get("doc_hash")
        text = cut_text(reply[0] if isinstance(reply, list) and len(reply) == 1 else reply)
        content = f"lm-eval:{doc_hash}" if isinstance(doc_hash, str) else digest_input("lm-eval", record.get("doc"))
        # lists are what a corpus metric is computed from, and no score of one sample
        numbers = {name: value for name, value in record.items() if isinstance(value, bool | int | float | None)}
        values = {name: value for name, value in numbers.items() if name not in _OWN}
        sample = _Sample(str(record.get("filter", "")), cut_text(question), text, content, values)
        doc = words(record.get("doc_id"))
        target = record.get("target")
        answers.append(((f"{task}/{doc}", content), target if isinstance(target, list) else [target]))
        prompt = words(question)
        digest = digest_text(prompt) if prompt else words(record.get("prompt_hash"))
        asks = {"prompt": f"#{digest[:8]}" if digest else "", "requests": digest_input("lm-eval", further or None)}
        bare.setdefault(answers[-1][0], asks)
        is_templated = is_templated and bool(TEMPLATE.search(prompt))
        docs[doc].append(len(samples))
        samples.append(sample)
        filters[sample.filter].update(dict.fromkeys(sample.values))
    # Of samples alone the prompts say whether a template was applied. Each model's own words a prompt anew.
    if is_alone and any(asks["prompt"] for asks in bare.values()):
        settings["chat_template"] = is_templated
    if settings.get("chat_template") is False:
        prompts |= bare
    names = [_metric_name(name, of, filters) for of, values in filters.items() for name in values]
    if len(filters) == 1 and (only := next(iter(filters))):
        settings["filter"] = only
        notes += [f"{task}: scored after the filter {only}."] if only != "none" else []
    for doc, places in docs.items():
        yield from _rows(task, doc, [samples[index] for index in places], model, filters)
    absent = effective - len(docs)
    check_plan(absent, path)
    if absent > 0 and not _counts_from_0(docs, effective):
        notes.append(
            f"{task}: {len(docs)} of {effective} samples have rows; the file does not say whether the others were to be answered."
        )
        return
    for number in range(effective if absent > 0 else 0):
        if absent > 0 and str(number) not in docs:
            absent -= 1
            yield Row(model, f"{task}/{number}", dict.fromkeys(names, ABSENT))


def _counts_from_0(docs: Collection[str], planned: int) -> bool:
    """Whether the documents that are not there can be named: the others are the first of the plan, or most of it.

    Else they were chosen by --samples, of which older versions do not write how many there are.
    """
    numbers = {int(doc) for doc in docs if doc.isdecimal() and len(doc) < 10}
    if len(numbers) < len(docs) or not numbers or max(numbers) >= planned:
        return not docs
    return 2 * len(numbers) >= planned or max(numbers) == len(numbers) - 1


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is kept of a sample, so that memory does not follow the documents' length."""

    filter: str
    prompt: str
    text: str
    content: str
    values: Mapping[str, object]


def _metric_name(name: str, of: str, filters: Collection[str]) -> str:
    """Return what a metric is called: with its filter's name where there are several."""
    return f"{name},{of}" if len(filters) > 1 else name


def _rows(task: str, doc: str, several: Sequence[_Sample], model: str, filters: Collection[str]) -> Iterator[Row]:
    """Yield a document's rows: one, with the metrics of every filter; more where a filter answered it twice."""
    count: Counter[str] = Counter()
    together: dict[int, list[_Sample]] = defaultdict(list)
    for sample in several:
        # The n-th row of each filter is of the n-th answer to the document.
        together[count[sample.filter]].append(sample)
        count[sample.filter] += 1
    for index, parts in together.items():
        metrics: dict[str, float | Missing] = {}
        for part in parts:
            for name, value in part.values.items():
                metrics[_metric_name(name, part.filter, filters)] = read_value(value)
        first, called = parts[0], f"{task}/{doc}" if doc.strip() else ""
        yield Row(model, called, metrics, index, first.prompt, first.text, first.content)
