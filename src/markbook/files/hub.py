"""Data sets of the Hugging Face hub, fetched through its own client where the user said so by name; never otherwise.

The client asks `HF_ENDPOINT` (by default huggingface.co), keeps what it fetched in its own cache (`HF_HOME`), and sends the
token of whoever is logged in, which data sets with terms to accept want.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from markbook.errors import DataError, IncompleteError, UsageError, suggest
from markbook.files.jsonl import Line, Rejection
from markbook.files.tables import read_table, suffix
from markbook.plugins import need
from markbook.text import terminal

_T = TypeVar("_T")
MAX_BYTES = 4 << 30
"""A data set that is larger is not fetched: name its files yourself."""
_NAME = re.compile(r"[\w.-]{1,96}(?:/[\w.-]{1,96})?")
_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class HubData:
    """A split of a data set, as it lies on the hub."""

    repository: str
    config: str
    """Its part of that name; empty for the only one."""
    split: str
    revision: str
    """The commit, so that the same rows can be fetched again."""
    licence: str
    """As its card states it; empty where it states none."""
    files: tuple[str, ...]

    @property
    def address(self) -> str:
        """Where a person reads about it."""
        return f"{endpoint()}/datasets/{self.repository}"

    def fetch(self) -> list[Path]:
        """Return its files on this machine, fetched if the client has not kept them.

        Raises:
            IncompleteError: the hub cannot be reached, or refuses.
            DataError: a file is larger than what is fetched unasked for its size.
        """
        hub = need("huggingface_hub", extra="hub")
        how = {"repo_type": "dataset", "revision": self.revision, "endpoint": endpoint()}
        download = functools.partial(hub.hf_hub_download, self.repository, **how)
        return _ask_hub(self.repository, lambda: [Path(download(name)) for name in self.files])

    def rows(self) -> Iterator[Line | Rejection]:
        """Yield its rows, fetched.

        Raises:
            IncompleteError: the hub cannot be reached, or refuses.
            DataError: a file is damaged.
            ExtraMissingError: Parquet without the extra `hub`.
        """
        for name, path in zip(self.files, self.fetch(), strict=True):
            for row in read_table(path):
                yield replace(row, at=row.at.replace(str(path), f"{self.repository}/{name}", 1))


def endpoint() -> str:
    """Return the hub's address."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def find(repository: str, config: str = "", split: str = "test") -> HubData:
    """Return where a split of a data set lies; its rows are not fetched yet.

    Raises:
        UsageError: no name of a data set, or it has no such part.
        IncompleteError: the hub cannot be reached, or refuses.
        ExtraMissingError: the client is not installed.
    """
    if not _NAME.fullmatch(repository) or ".." in repository:
        raise UsageError(f"{terminal(repository, limit=100)!r} is not a name of a data set", hint="OWNER/NAME")
    hub = need("huggingface_hub", extra="hub")
    api = hub.HfApi(endpoint=endpoint())
    info = _ask_hub(repository, lambda: api.dataset_info(repository, files_metadata=True, timeout=_TIMEOUT))
    sizes = {str(file.rfilename): file.size or 0 for file in info.siblings or ()}
    files = _list_split_files([*sizes], config, split)
    if not files:
        readable = [terminal(name, limit=80) for name in sizes if suffix(Path(name))][:8]
        raise UsageError(
            f"the data set {repository!r} has no {_part(config, split)} in files that are read",
            at=f"{endpoint()}/datasets/{repository}",
            hint=f"it holds {', '.join(readable)}" if readable else "it holds none",
        )
    if (total := sum(sizes[name] for name in files)) > MAX_BYTES:
        raise DataError(
            f"{_part(config, split)} of {repository!r} is {total >> 30} GiB; up to {MAX_BYTES >> 30} are fetched",
            hint="fetch its files yourself and name them",
        )
    licence = getattr(info.card_data, "license", None) or ""
    name = licence if isinstance(licence, str) else ", ".join(map(str, licence))
    return HubData(repository, config, split, str(info.sha), terminal(name, limit=100), tuple(files))


def _list_split_files(names: Sequence[str], config: str, split: str) -> list[str]:
    """Return the files of a split: `CONFIG/SPLIT-00000-of-00001.parquet`, `data/SPLIT-...`, `SPLIT.jsonl` and the like."""
    begins = re.compile(rf"{re.escape(split)}(?:[-_.].*)?\.(?:parquet|jsonl|json|csv|tsv)(?:\.gz)?")
    folders = [config] if config else ["", "data", "default", "main", "plain_text"]
    for folder in folders:
        inside = [name for name in names if name.rpartition("/")[0] == folder]
        matching = sorted(name for name in inside if begins.fullmatch(name.rpartition("/")[2]) and suffix(Path(name)))
        kinds = {suffix(Path(name)) for name in matching}
        if matching:
            kind = ".parquet" if ".parquet" in kinds else min(kinds)
            return [name for name in matching if suffix(Path(name)) == kind]
    parts = {name.partition("/")[0] for name in names if name.endswith(".parquet") and "/" in name}
    if not config and len(parts) == 1 and parts - {*folders}:
        return _list_split_files(names, next(iter(parts)), split)
    return []


def _part(config: str, split: str) -> str:
    return f"split {split!r}" + (f" of {config!r}" if config else "")


def _ask_hub(repository: str, ask: Callable[[], _T]) -> _T:
    """Return what the hub's client gives.

    Raises:
        UsageError: the data set does not exist.
        IncompleteError: the hub cannot be reached, or refuses.
    """
    errors = need("huggingface_hub.errors", extra="hub")
    where = endpoint()
    try:
        return ask()
    except errors.GatedRepoError as error:
        hint = f"accept them at {where}/datasets/{repository}, and log in with `hf auth login`"
        raise IncompleteError(f"the dataset {repository!r} has terms that you must accept", hint=hint) from error
    except errors.RepositoryNotFoundError as error:
        repositories = [data.repository for data in KNOWN.values()]
        raise UsageError(
            f"there is no data set {repository!r} at {where}", hint=suggest(repository, repositories)
        ) from error
    except Exception as error:  # the plugin border: a client of somebody else's fails in its own ways
        why = terminal(str(error).partition("\n")[0] or type(error).__name__, limit=200)
        raise IncompleteError(
            f"the data set {repository!r} cannot be fetched from {where}: {why}",
            hint="is there a network? HF_ENDPOINT names another address; a file that you have is named as a path",
        ) from error


@dataclass(frozen=True, slots=True)
class KnownData:
    """A benchmark that `markbook get` knows by name."""

    repository: str
    config: str
    split: str
    about: str
    command: str
    """What reads its rows; {} is the file."""


_TASK = "markbook run TASK.yaml --data {} --model PROVIDER:NAME"
_EXAM = "markbook exam --benchmark {} --model PROVIDER:NAME"
KNOWN = {
    "humaneval": KnownData("openai/openai_humaneval", "openai_humaneval", "test", "164 Python functions", _EXAM),
    "humanevalplus": KnownData("evalplus/humanevalplus", "", "test", "HumanEval with many more tests", _EXAM),
    "mbpp": KnownData("google-research-datasets/mbpp", "full", "test", "500 short Python problems", _EXAM),
    "mbpp-sanitized": KnownData(
        "google-research-datasets/mbpp", "sanitized", "test", "257 of them, corrected by hand", _EXAM
    ),
    "gsm8k": KnownData("openai/gsm8k", "main", "test", "1,319 grade-school math problems", _TASK),
    "mmlu": KnownData("cais/mmlu", "all", "test", "multiple choice in 57 subjects", _TASK),
}
"""What `markbook get` knows by a short name; any other is given as OWNER/NAME."""


def save(data: HubData, target: Path) -> tuple[int, str]:
    """Write a split as JSON Lines and return how many rows there are and the SHA-256 of the file.

    Raises:
        IncompleteError: the hub cannot be reached, or refuses.
        DataError: a row cannot be kept as JSON.
        OSError: the file cannot be written.
    """
    import json

    digest, count = hashlib.sha256(), 0
    beside = target.with_name(target.name + ".part")
    try:
        with beside.open("wb") as file:
            for row in data.rows():
                if isinstance(row, Rejection):
                    raise DataError(row.reason, at=row.at)
                line = json.dumps(row.record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
                digest.update(line)
                file.write(line)
                count += 1
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return count, digest.hexdigest()
