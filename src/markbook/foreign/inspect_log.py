"""Inspect's logs: `.eval`, a zip packed by deflate or Zstandard, and `.json`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from markbook.errors import DataError
from markbook.files.archive import members
from markbook.files.jsonl import Rejection, parse_object
from markbook.foreign.reading import (
    ABSENT,
    PLACE,
    Marked,
    MarkedRows,
    ResultsProbe,
    RightAnswers,
    check_plan,
    collect_columns,
    cut_text,
    digest_input,
    mapping,
    missing_failure,
    objects,
    read_value,
    sign_answers,
    sign_measure,
    sign_metrics,
    words,
)
from markbook.marks import Row
from markbook.types import Missing

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What Inspect itself makes of words (`value_to_float`)."""

_NO_MEASURE = re.compile(rf"seed|limit|shuffle|sandbox|model|{PLACE.pattern}")
"""Arguments of a task that say on what it ran, and not how it was measured."""

_LIMITS = ("message_limit", "token_limit", "time_limit", "working_limit", "cost_limit")
"""What ends a sample before its solvers do."""

_UNGRADED = frozenset(("match", "includes", "pattern", "answer", "choice", "exact", "f1", "math"))
"""Inspect's own scorers that ask no model."""

_EVERY = ""
"""Stands for every metric of a sample that broke off: what the scorers would have given is known from the others."""


class InspectResults:
    """Reads the scores of every sample and epoch; each scorer is a metric, and so is each key of a score of several."""

    name = "inspect"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 60 for a zip called `.eval`, 90 for an object with `eval` and a plan or samples."""
        if probe.is_zip:
            # A zip has no head of text to look into, so its name decides.
            return 60 if probe.path.suffix == ".eval" else 20
        return 90 if probe.opening == "{" and probe.has("eval", "dataset", "model") and probe.has("status") else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each sample and epoch, an absent one for each that the log lacks.

        Raises:
            DataError: the zip is damaged, a bomb, or has no header.
        """
        lost: Counter[str] = Counter()
        if probe.is_zip:
            # A log that broke off has only the start of its journal.
            headers = (
                header for name in ("header.json", "_journal/start.json") for header in _objects(probe, name, Counter())
            )
            header = next(headers, None)
            if header is None:
                raise DataError("this zip is not an Inspect log: it has no header", at=str(probe.path))
            samples: Iterator[Mapping[str, Any]] = _objects(probe, "samples/", lost)
        else:
            header = mapping(probe.document)
            samples = iter(objects(header.get("samples")))
        about = mapping(header.get("eval"))
        model = str(about.get("model") or "model")
        scores = objects(mapping(header.get("results")).get("scores"))
        lone = [str(score.get("name")) for score in scores]
        lettered: dict[str, bool] = {}
        answers: RightAnswers = []
        rows = _whole(MarkedRows(_row(sample, model, lone, lettered, answers) for sample in samples), about, probe.path)
        # C is correct and I is not, whatever a scorer is called.
        columns = collect_columns(rows, directions=dict.fromkeys(filter(lettered.get, lettered), "higher"))
        steps = objects(mapping(header.get("plan")).get("steps"))
        # What `generate` is told is how the model draws its answers.
        options = [step.get("params") for step in steps if step.get("params") and step.get("solver") != "generate"]
        arguments = mapping(about.get("task_args")).items()
        settings = {
            "task_version": about.get("task_version"),
            "solver": "+".join(str(step.get("solver")) for step in steps) or about.get("solver"),
            "solver options": options if steps else about.get("solver_args"),
            **{name: mapping(about.get("config")).get(name) for name in _LIMITS},
            **{f"argument {name}": value for name, value in arguments if not _NO_MEASURE.fullmatch(name)},
        }
        stated = mapping(about.get("model_roles")).items()
        roles = {f"role {name}": mapping(role).get("model", role) for name, role in stated}
        grader = {"role grader": roles.pop("role grader", None)}
        scorers: dict[str, object] = {}
        count: Counter[str] = Counter()
        for scorer in objects(about.get("scorers")):
            name = str(scorer.get("name")).rpartition("/")[2]
            # Of one name the second is match1, as Inspect has it.
            scorers[f"{name}{count[name] or ''}"] = scorer.get("options")
            count[name] += 1
        if not scorers:  # earlier logs state them beside their results alone, by the names that scores have
            # of several of one kind each has a name of its own, and the first that of the kind
            stated_scores = [score for score in reversed(scores) if "params" in score]
            scorers = {
                str(score.get(key) or score.get("name")): score["params"]
                for key in ("scorer", "name")
                for score in stated_scores
            }
        own: dict[str, dict[str, object]] = {}
        for column in columns:
            name = column.partition("/")[0]
            named = {name: scorers[name]} if name in scorers else scorers
            own[column] = {f"scorer {name}": options for name, options in named.items()}
            own[column] |= {} if name in _UNGRADED else grader
            # By default the model that answers is the one that grades, too.
            if name in scorers and name.startswith("model_graded") and not mapping(scorers[name]).get("model"):
                own[column]["role grader"] = grader["role grader"] or model
        signatures = {"": sign_measure("inspect", settings | roles), **sign_answers("inspect", answers)}
        status = header.get("status")
        notes = () if status in (None, "success") else (f"Inspect says that this run ended as {status!r}.",)
        version = f"log {header.get('version', 1)}"
        return Marked(rows, columns, version, dict(lost), notes, signatures, sign_metrics(own))


def _objects(probe: ResultsProbe, start: str, lost: Counter[str]) -> Iterator[Mapping[str, object]]:
    for content in members(probe.path, lambda name: name.startswith(start) and name.endswith(".json")):
        parsed = parse_object(content, str(probe.path), numbers="open")
        if isinstance(parsed, Rejection):
            lost[parsed.reason] += 1
        else:
            yield parsed.record


def _row(
    sample: Mapping[str, object], model: str, lone: list[str], lettered: dict[str, bool], answers: RightAnswers
) -> Row:
    """Return a sample's row, and note its right answers, and of each metric whether all its values so far are letters."""
    epoch = sample.get("epoch")
    scores = mapping(sample.get("scores"))
    if not scores and isinstance(sample.get("score"), dict):
        scores = {lone[0] if lone else "score": sample["score"]}  # the first version of the log knew one scorer
    metrics: dict[str, float | Missing] = {}
    for name, score in scores.items():
        value = mapping(score).get("value")
        if isinstance(value, dict):
            parts = {f"{name}/{key}": part for key, part in value.items() if not isinstance(part, dict | list)}
        else:
            # What a list of values is reduced to is its metric's affair.
            parts = {} if isinstance(value, list) else {name: value}
        for part_name, part in parts.items():
            number: object = part
            if isinstance(part, str):
                try:
                    number = _LETTERS[part] if part in _LETTERS else float(part)
                except ValueError:
                    number = _LETTERS.get(part.lower(), part)
            metrics[part_name] = read_value(number)
            if part is not None:
                lettered[part_name] = lettered.get(part_name, True) and part in ("C", "P", "I", "N")
    if error := sample.get("error") or ("the sample was declared invalid" if sample.get("invalidation") else None):
        metrics = {_EVERY: missing_failure(mapping(error).get("message") or error)}
    output = mapping(sample.get("output"))
    reply = output.get("completion") or next(
        (mapping(choice.get("message")).get("content") for choice in objects(output.get("choices"))), ""
    )
    index = epoch - 1 if isinstance(epoch, int) and epoch > 0 else 0  # Inspect counts epochs from 1
    name, question = words(sample.get("id")), sample.get("input")
    row = Row(model, name, metrics, index, cut_text(question), cut_text(reply), digest_input("inspect", question))
    target, choices = sample.get("target"), sample.get("choices")
    # The letter of a choice is its place, which another order of the choices changes.
    lettered_choices = dict(zip(ascii_uppercase, choices if isinstance(choices, list) else [], strict=False))
    right = target if isinstance(target, list) else [target]
    answers.append(((name, row.content), [lettered_choices.get(words(entry), entry) for entry in right]))
    return row


def _whole(rows: MarkedRows, about: Mapping[str, object], path: Path) -> MarkedRows:
    """Return the rows with every scorer's metric in each, and those of the data set that the log lacks."""
    names = list(dict.fromkeys(name for row in rows for name in row.metrics if name != _EVERY)) or [
        str(scorer.get("name")) for scorer in objects(about.get("scorers"))
    ]
    unscored = missing_failure("the sample was not scored")
    filled = MarkedRows(
        replace(row, metrics={name: row.metrics.get(name, row.metrics.get(_EVERY, unscored)) for name in names})
        for row in rows
    )
    filled.nameless, filled.repeated, filled.contradiction = rows.nameless, rows.repeated, rows.contradiction
    ids = mapping(about.get("dataset")).get("sample_ids")
    epochs = mapping(about.get("config")).get("epochs")
    have = {(row.id, row.index) for row in filled}
    model = str(about.get("model") or "model")
    several = epochs if isinstance(epochs, int) else 1
    planned = ids if isinstance(ids, list) else []
    # Before the rows are made: a forged plan of a billion samples would be a billion rows.
    check_plan(len(planned) * several - len(have), path)
    filled.extend(
        Row(model, name, dict.fromkeys(names, ABSENT), epoch)
        for name in map(words, planned)
        for epoch in range(several)
        if (name, epoch) not in have
    )
    return filled
