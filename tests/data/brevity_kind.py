"""A kind of run of somebody else's, in one module: marks how short answers are. Nothing of Markbook knows it."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from markbook.errors import DataError
from markbook.files.jsonl import Rejection, read_jsonl
from markbook.option import option
from markbook.runs.kind import Kind, Planned, Progress, Skipped, Start, WorkEnd
from markbook.runs.options import RunOptions
from markbook.runs.rows import Column, Row, render_rows
from markbook.store import Manifest
from markbook.types import Missing, MissingKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BrevityOptions(RunOptions):
    """`words` can change a result; where the answers lie cannot, for what they hold is among the inputs."""

    words: int = 3
    answers: str | os.PathLike[str] = option("", changes_results=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrevityPlan(Planned):
    words: int
    answers: list


class Brevity(Kind[BrevityOptions, BrevityPlan]):
    def plan(self, request, _machines):
        path = Path(request.answers)
        read = list(read_jsonl(path))
        answers = [line.record for line in read if not isinstance(line, Rejection)]
        bad = [line for line in read if isinstance(line, Rejection)]
        if not answers:
            raise DataError("there is no answer to mark", at=str(path))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest = Manifest("brevity", request.identity(), {"answers/1": digest})
        skipped = Skipped(len(bad), bad[0] if bad else None)
        return BrevityPlan(manifest=manifest, skipped=skipped, words=request.words, answers=answers)

    def work(self, plan, journal, _machines, watch):
        keys = [(each["model"], each["id"]) for each in plan.answers]
        watch.on_start(journal.folder, Start(len(keys), sum(journal.has("words", key) for key in keys)))
        for key, each in zip(keys, plan.answers, strict=True):
            if not journal.has("words", key):
                journal.add("words", key, {"words": len(each["text"].split())})
                journal.commit()
                watch.did(Progress(" ".join(key)))
        counted = {row.key: row.data["words"] for row in journal.rows("words")}
        rows = [
            Row(each["model"], each["id"], {"brevity": mark(counted[key], plan.words)}, text=each["text"])
            for key, each in zip(keys, plan.answers, strict=True)
        ]
        return WorkEnd(files=render_rows(rows, {"brevity": Column()}), facts={"answers": len(rows)})


def mark(words, most):
    return min(1.0, most / words) if words else Missing(MissingKind.NO_COMPLETION, "nothing was said")


def write_answers(path, texts):
    rows = [{"model": model, "id": name, "text": text} for model, said in texts.items() for name, text in said.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
