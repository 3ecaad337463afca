"""The run folder: a manifest, an append-only journal, and reports made from it.

evaluation_1790000000/
    run.json            what ran: command, config, digests of the inputs, versions, status, times
    journal/00000001.jsonl ...
    <reports>           pure functions of the journal, each written whole or not at all
"""

from markbook.store.disk import Disk, replace_file
from markbook.store.journal import StoredRow, encode
from markbook.store.reader import Run, find_run, find_runs, open_manifest, open_run
from markbook.store.run import Manifest, RunWriter

__all__ = [
    "Disk",
    "Manifest",
    "Run",
    "RunWriter",
    "StoredRow",
    "encode",
    "find_run",
    "find_runs",
    "open_manifest",
    "open_run",
    "replace_file",
]
