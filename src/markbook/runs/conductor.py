"""The one conductor: from a request to a finished run folder, whatever the kind of run.

Theory of operation
-------------------
A run is a folder: `run.json` (the manifest: what was asked, the digests of all inputs, how it ended), a journal of rows,
and files that are made from the journal. A kind of run (`kind.Kind`) knows what is measured; everything else is here:

1. `plan` reads and checks all inputs. Nothing is written and nothing is paid yet, so whatever can be refused is refused
   here; `--strict` ends the run here too, and the watcher may.
2. `start` starts what the work needs (sandbox, workers) and refuses what this machine cannot do. Still nothing is written,
   so a refusal leaves no half-made folder behind.
3. The folder is made, or opened to go on. `RunWriter` holds a lock, and refuses to go on under a manifest whose config or
   inputs differ: rows of two different runs can never come to lie in one journal.
4. `work` does what the journal lacks. Each piece has a key; a piece whose key is in the journal is not done again. A row
   is acknowledged by a commit before anything that depends on it happens, so what is paid for is never lost.
5. The files and reports are made from the journal and replace older ones as a whole, then the manifest's status is set.
   Results come back as the object that the work ended with, or are read from the folder by a worker, which yields the same
   bytes because both read the same journal.

What may go wrong: a kill at any point leaves a journal whose complete rows count, and a status other than `done`;
`resume` begins again at 1 and finds in 4 what is done. An interrupt is marked as one on the way out. Work that could not
be done for reasons of ours (a judge that was not reached) ends as `incomplete`, which a resumed run tries again; a run
that is `done` is opened and not touched. Machines are a context manager around all of it: no worker outlives the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.errors import MarkbookError, StrictDataError
from markbook.report.exports import render_report
from markbook.results.kind import Content, Results, get_seed, get_sheet
from markbook.runs.kind import Kind, Machines, P, R, Watcher, WorkEnd
from markbook.runs.options import RunOptions
from markbook.store import Manifest, Run, RunWriter, open_manifest, open_run
from markbook.text import cut

# What a run is called and what it came to, kept in run.json for lists of runs: nothing of it makes it another run.

_MOST_MODELS = 50
_MOST_TAGS = 20


def label_manifest(manifest: Manifest, request: RunOptions) -> Manifest:
    """Return the manifest with the run's name, tags and notes; a run that goes on keeps those that are not given anew."""
    labels: dict[str, Any] = {
        "name": cut(request.name.strip(), 200),
        "tags": [cut(tag.strip(), 60) for tag in request.tags if tag.strip()][:_MOST_TAGS],
        "notes": cut(request.notes.strip(), 2_000),
    }
    old = (open_manifest(request.resume) or {}) if request.resume is not None else {}
    merged = {name: value or old.get(name) for name, value in labels.items()}
    return replace(manifest, extra={**manifest.extra, **{name: value for name, value in merged.items() if value}})


def summarise_scores(results: Results) -> list[dict[str, object]]:
    """Return each model's mean by the run's main metric with its interval, best first; nothing where there is none."""
    from markbook.results.leaderboard import summaries

    try:
        sheet = get_sheet(results, None)
        summaries_by_model = summaries(sheet, seed=get_seed(results))
    except (MarkbookError, ValueError):
        return []  # no model, or tasks that share no metric
    return [
        {
            "model": model,
            "metric": sheet.metric,
            "value": summary.value,
            "low": summary.interval.low if summary.interval else None,
            "high": summary.interval.high if summary.interval else None,
            "n": summary.n,
            "n_missing": dict(summary.n_missing),
            "range": list(sheet.range) if all(map(math.isfinite, sheet.range)) else None,
        }
        for model, summary in list(summaries_by_model.items())[:_MOST_MODELS]
    ]


Scores = list[dict[str, Any]]


def conduct(kind: Kind[R, P] | str, request: R, watcher: Watcher | None = None) -> Run:
    """Do what is asked for, or go on with it, and return the finished run.

    A kind of run may be named as among the entry points `markbook.runs`; the watcher is told of progress.

    Raises:
        MarkbookError: what the kind refuses, before anything is written; an output that cannot be written; a run to
            resume that was made by other arguments; a disk that failed during the run, which can be resumed.
    """
    part: Kind[R, P] = plugins.create_typed("runs", kind) if isinstance(kind, str) else kind
    watch = watcher or Watcher()
    with Machines(request.engine, request.workers) as machines:
        plan = part.plan(request, machines)
        watch.on_plan(plan)
        if request.strict:
            skipped = plan.skipped
            if skipped.first is not None:
                raise StrictDataError(
                    f"{skipped.count} rows would be skipped; the first: {skipped.first.reason}",
                    at=skipped.first.at,
                    hint="mend them, or leave out --strict",
                )
        manifest = label_manifest(plan.manifest, request)
        # A run that is done is not done again: it stays as it was published.
        if request.resume is not None and is_finished(Path(request.resume), manifest):
            return open_run(request.resume)
        # Before the folder is made: what this machine cannot do leaves nothing behind.
        part.start(plan, machines)
        opened = (
            RunWriter.create(Path(request.output), manifest)
            if request.resume is None
            else RunWriter.resume(Path(request.resume), manifest)
        )
        with opened as writer:
            try:
                ended = part.work(plan, writer, machines, watch)
                reports = [name for name in request.reports if name not in ended.withheld]
                # Reports before the status: a kill in between leaves a run that `--resume` finishes, never a run that is done
                # and has no reports.
                scores = _publish(part, writer, machines, reports, ended)
                writer.finish(ended.status, {**ended.facts, **({"scores": scores} if scores else {})})
            except KeyboardInterrupt:
                watch.on_interrupt(writer.folder)
                raise
    return open_run(writer.folder)


def is_finished(folder: Path, manifest: Manifest) -> bool:
    """Whether a run to resume is done already; opening it checks that it is the same run."""
    if not (folder / "run.json").exists():
        return False
    with RunWriter.resume(folder, manifest) as writer:
        return writer.was_done


def _render(results: Results, names: Sequence[str]) -> tuple[dict[str, Content], Scores]:
    files: dict[str, Content] = {}
    for name in names:
        files |= render_report(name, results)
    return files, summarise_scores(results)


def _publish(
    kind: Kind[Any, Any], writer: RunWriter, machines: Machines, names: Sequence[str], ended: WorkEnd
) -> Scores:
    """Write the run's files and reports; return the scores that lists of runs show."""
    writer.publish(ended.files)
    results = ended.results
    if results is None:
        run = open_run(writer.folder)
        # its run.json does not say yet how it ended
        results = kind.results(replace(run, manifest={**run.manifest, **ended.facts}))
    files, scores = _render(results, names)
    writer.publish(files)
    return scores
