"""Every Eval Ever: instance-level rows in JSON Lines, and what the aggregate record beside them says of the metric."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from markbook.errors import DataError
from markbook.files.jsonl import Rejection, read_jsonl
from markbook.foreign.reading import (
    Marked,
    MarkedRows,
    ResultsProbe,
    collect_columns,
    cut_text,
    digest_input,
    file_stem,
    lower_name,
    mapping,
    missing_failure,
    objects,
    read_value,
    words,
)
from markbook.marks import Row

_KEYS = {"evaluation_id", "model_id", "sample_id", "evaluation"}


class EveryEvalEver:
    """Reads one row for each instance; each evaluation of a file is a part of its samples' names."""

    name = "every-eval-ever"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 95 for instance rows, 40 for an aggregate record, which points to them."""
        if probe.first.keys() >= _KEYS:
            return 95
        is_record = probe.head.lstrip()[:1] == "{" and probe.has("evaluation_id", "model_info", "schema_version")
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
        lower, mixed = _lower(path)
        rows, version = MarkedRows(counts=True), ""
        for line in read_jsonl(path, numbers="open"):
            if isinstance(line, Rejection):
                lost[line.reason] += 1
                continue
            record, question = line.record, mapping(line.record.get("input")).get("raw")
            name, sample = str(record.get("evaluation_name") or ""), words(record.get("sample_id"))
            value = read_value(mapping(record.get("evaluation")).get("score"))
            reply, digest = mapping(record.get("output")).get("raw"), record.get("sample_hash")
            is_hashed = isinstance(digest, str) and digest
            rows.append(
                Row(
                    words(record.get("model_id")) or file_stem(path), f"{name}/{sample}" if name and sample.strip() else sample,
                    {lower_name("score") if mixed and name in lower else "score":
                        missing_failure(record["error"]) if record.get("error") else value},
                    0, cut_text(question), cut_text(reply[0] if isinstance(reply, list) and reply else reply),
                    f"every-eval-ever:{digest}" if is_hashed else digest_input("every-eval-ever", question),
                )
            )  # fmt: skip
            version = version or str(record.get("schema_version", ""))
        less = [lower_name("score")] if mixed else ["score"] if lower else []
        return Marked(rows, collect_columns(rows, first=["score"], lower=less), version, dict(lost))


def _instances(probe: ResultsProbe) -> Path | None:
    """Return the file of instances beside an aggregate record: the same name, or its name with `_samples`."""
    for name in (f"{probe.path.stem}.jsonl", f"{probe.path.stem}_samples.jsonl"):
        beside = probe.path.with_name(name)
        if beside.is_file() and not beside.is_symlink():
            return beside
    return None


def _lower(path: Path) -> tuple[frozenset[str], bool]:
    """Return the evaluations of which less is better, by the aggregate record beside, and whether of others more is.

    Raises:
        DataError: the record says both of one evaluation, so that nothing tells which of its rows are which.
    """
    beside = path.with_name(path.name.removesuffix(".jsonl").removesuffix("_samples") + ".json")
    if not beside.is_file() or beside.is_symlink():
        return frozenset(), False
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for result in objects(mapping(ResultsProbe(beside).document).get("evaluation_results")):
        is_lower = mapping(result.get("metric_config")).get("lower_is_better") is True
        names[is_lower].add(str(result.get("evaluation_name") or ""))
    if both := sorted(names[True] & names[False]):
        raise DataError(f"less is better and more is better of one evaluation, {both[0]!r}", at=str(beside))
    return frozenset(names[True]), bool(names[True] and names[False])
