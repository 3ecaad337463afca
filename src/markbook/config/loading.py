"""Task files: read strictly, with every mistake at its place, and without running anything in them."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from markbook import config as spec, plugins
from markbook.config import lmeval, native
from markbook.config.lmeval import TASK_KEYS
from markbook.config.tree import Node, Twice, plain, read_tree
from markbook.errors import ConfigError, UsageError, suggest, suggest_path

# Which YAML files of a folder give themselves which names and tags, found without reading them as YAML.

SUFFIXES = (".yaml", ".yml")
_MOST_FILES = 20_000
_MOST_ENTRIES = 100_000
_MOST_CHARACTERS = 1 << 20
_MOST_INCLUDES = 8
_NAMED = re.compile(r"^(name|task|group):[ \t]*[\"']?([^\s\"'#\[{]+)", re.MULTILINE)
_KEY = re.compile(r"^([a-z_]+):", re.MULTILINE)
_INCLUDED = re.compile(r"^include:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_TAGS = re.compile(
    r"^(tag|group):[ \t]*(?:\[([^\]]*)\]|([^\s#\[][^\n#]*)|((?:#[^\n]*)?(?:\n[ \t]*-[^\n]*)+))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class FolderIndex:
    """Names and tags of a folder's files."""

    names: dict[str, Path] = field(default_factory=dict)
    tags: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))


def named_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names that the files of a folder give themselves, not those of its own folders."""
    if not folder.is_dir():
        return
    for number, path in enumerate(sorted(folder.iterdir())):
        if number >= _MOST_FILES:
            return
        if path.suffix in SUFFIXES and path.is_file():
            name = _name(_text(path))
            if name:
                yield name, path


@functools.lru_cache(maxsize=8)
def index_folder(folder: Path) -> FolderIndex:
    """Return the names and tags of all files in a folder and its own folders; of two equal names the first counts."""
    folder_index = FolderIndex()
    for path in _files(folder):
        text = _text(path)
        name = _name(text)
        if name:
            folder_index.names.setdefault(name, path)
            for tag in _tags(path, text):
                if tag != name:
                    folder_index.tags[tag].append(path)
    return folder_index


def _name(text: str) -> str:
    """Return what a file calls itself, empty if it has no name. In a task's file `group` is a tag."""
    named = dict(reversed(_NAMED.findall(text)))
    naming = ("name", "task", "group") if _is_task(text) else ("name", "group", "task")
    return next((named[key] for key in naming if key in named), "")


def _is_task(text: str) -> bool:
    """Whether a file of lm-evaluation-harness with both `group` and `task` is a task: what a task is made of tells."""
    return bool((TASK_KEYS | {"include"}).intersection(_KEY.findall(text)))


def _files(folder: Path) -> Iterator[Path]:
    files = entries = 0
    for directory, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            entries += 1
            path = Path(directory, name)
            if path.suffix in SUFFIXES and path.is_file():
                files += 1
                yield path
        if files >= _MOST_FILES or entries >= _MOST_ENTRIES:
            return


def _tags(path: Path, text: str) -> list[str]:
    """Return a task's tags: its own, else those of what it includes; none of a file that is a group itself."""
    for _ in range(_MOST_INCLUDES):
        matches = [match for match in _TAGS.finditer(text) if match[1] == "tag" or _is_task(text)]
        if matches:
            parts = [part for match in matches for part in re.split(r"[,\n]", match[2] or match[3] or match[4])]
            tags = (part.partition("#")[0].strip().removeprefix("-").strip(" \t\"'") for part in parts)
            return list(dict.fromkeys(tag for tag in tags if tag))
        included = _INCLUDED.search(text)
        if included is None:
            break
        path = path.parent / included[1]
        text = _text(path) if path.is_file() else ""
    return []


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_CHARACTERS)
    except OSError:
        return ""


# From a path or a name to a task or group, with `extends` and `include` merged in.

_MAX_CHAIN = 8
_DATA = (".jsonl", ".csv", ".parquet", ".arrow")


def ready_folder() -> Path:
    """Return the folder of the ready tasks: inside the installed package, or beside the sources of a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "tasks"
    return installed if installed.is_dir() else package.parents[1] / "tasks"


@functools.cache
def _folders_of_others() -> dict[str, Path]:
    """Return the folders of tasks that installed packages bring, by the names that they are registered under."""
    return {name: Path(folder) for name, folder in plugins.load_all("tasks").items()}


def ready_tasks() -> dict[str, Path]:
    """Return the ready tasks and groups by name, sorted; of two equal names ours counts, then that of the first package."""
    paths: dict[str, Path] = {}
    for folder in reversed(_folders_of_others().values()):
        paths |= index_folder(folder).names
    return dict(sorted((paths | dict(named_in(ready_folder()))).items()))


def load(target: str | Path) -> spec.Task | spec.TaskGroup:
    """Return the task or group of a file, or a ready one by name.

    Raises:
        ConfigError: the file cannot be honoured, with `file:line:column`.
        UsageError: neither a file nor the name of a ready task.
    """
    path = Path(target)
    if path.suffix in SUFFIXES or path.is_file():
        if not path.is_file():
            raise ConfigError("there is no such file", at=str(path), hint=suggest_path(path))
        if path.name.removesuffix(".gz").endswith(_DATA):
            raise ConfigError(
                "this holds data, and a task is a YAML file", at=str(path), hint="the task's `data` names it"
            )
        return _read(path)
    ready = ready_tasks()
    if str(target) not in ready:
        harness = "a YAML file, such as a task of lm-evaluation-harness: lm_eval/tasks/hellaswag/hellaswag.yaml"
        raise UsageError(f"unknown task {str(target)!r}", hint=f"{suggest(str(target), list(ready))}, or {harness}")
    return _read(ready[str(target)])


@dataclass(frozen=True, slots=True)
class Loaded:
    """A task beside the groups that brought it in."""

    task: spec.Task
    alias: str = ""


def load_all(targets: list[str]) -> tuple[list[Loaded], list[tuple[spec.TaskGroup, list[str]]]]:
    """Return the tasks of all targets, each once, in order, and the groups with their tasks' names.

    Raises:
        ConfigError: as `load`; also two different tasks of one name, a group that holds itself, an unknown member.
    """
    index_folder.cache_clear()  # files may have changed since
    tasks: dict[str, Loaded] = {}
    groups: list[tuple[spec.TaskGroup, list[str]]] = []
    gathering = _Gathering(tasks, groups)
    for target in targets:
        gathering.add(load(target), "", ())
    return list(tasks.values()), groups


@dataclass(frozen=True, slots=True)
class _Gathering:
    """The tasks and groups met so far. A file that several groups name is read once: groups of groups would else double."""

    tasks: dict[str, Loaded]
    groups: list[tuple[spec.TaskGroup, list[str]]]
    read: dict[tuple[Path, str], list[str]] = field(default_factory=dict)
    """The tasks' names of each file, under what a group set over it."""

    def add(self, found: spec.Task | spec.TaskGroup, alias: str, above: tuple[str, ...]) -> list[str]:
        """Add what was found, and return the names of its tasks."""
        if isinstance(found, spec.Task):
            loaded = self.tasks.setdefault(found.name, Loaded(found, alias or found.alias))
            if loaded.task.file.resolve() != found.file.resolve() or loaded.task.resolved != found.resolved:
                raise ConfigError(f"two tasks are named {found.name!r}", at=str(found.file), hint=str(loaded.task.file))
            return [found.name]
        if found.name in above:
            raise ConfigError(f"group {found.name!r} holds itself", at=str(found.file))
        members: list[str] = []
        self.groups.append((found, members))
        for member in found.members:
            members += self._member(found, member, (*above, found.name))
        members[:] = list(dict.fromkeys(members))
        return members

    def _member(self, group: spec.TaskGroup, member: spec.Member, above: tuple[str, ...]) -> list[str]:
        """Add what a group names: a group in place, a file beside it, a task, a group or a tag by its name."""
        if member.inline is not None:
            return self.add(member.inline, member.alias, above)
        names: list[str] = []
        for path in _find_member_files(group, member):
            key = path.resolve(), "" if member.over is None else repr(plain(member.over))
            if key not in self.read:
                self.read[key] = self.add(_read(path, member.over), member.alias, above)
            names += self.read[key]
        return names


def _find_member_files(group: spec.TaskGroup, member: spec.Member) -> list[Path]:
    """Return the files that a group's member means: beside it, ready, below its folder, or beside and below that."""
    folder = group.file.parent
    if member.name.endswith(SUFFIXES):
        named = folder / member.name
        if not named.is_file():
            raise ConfigError(f"no such file: {member.name}", at=member.at)
        return [named]
    beside = dict(named_in(folder))
    ready = ready_tasks()
    path: Path | None = beside.get(member.name) or ready.get(member.name)
    if path is not None:
        return [path]
    if group.format == "lm-eval":
        for directory in (folder, folder.resolve().parent):
            folder_index = index_folder(directory)
            if member.name in folder_index.names:
                return [folder_index.names[member.name]]
            if member.name in folder_index.tags:
                return folder_index.tags[member.name]
    candidates = sorted({*beside, *ready} - {group.name})
    raise ConfigError(
        f"group {group.name!r} names an unknown task {member.name!r}",
        at=member.at,
        hint=suggest(member.name, candidates),
    )


def _read(path: Path, over: Node | None = None) -> spec.Task | spec.TaskGroup:
    twice: list[Twice] = []
    node = _merge_parents(path, (), twice, {})
    node = node if over is None else _over(node, over, deep=False)
    if lmeval.is_lm_eval(node):
        imported = lmeval.read_lm_eval(node, path)
        notes = tuple(duplicate.note for duplicate in twice)
        return replace(imported, notes=(*imported.notes, *notes)) if isinstance(imported, spec.Task) else imported
    if twice:
        raise twice[0].error
    return native.read_native(node, path)


def _merge_parents(path: Path, above: tuple[Path, ...], twice: list[Twice], merged: dict[Path, Node]) -> Node:
    """Return a file's tree with what it extends or includes under it, `merged` for the next that does so.

    Each file is read once: where each of a few names the next ten times, they would be read millions of times.
    """
    real = path.resolve()
    if real in merged:
        return merged[real]
    if real in above:
        raise ConfigError(
            "it extends itself, by way of " + " -> ".join(ancestor.name for ancestor in (*above, real)), at=str(path)
        )
    if len(above) >= _MAX_CHAIN:
        raise ConfigError(f"the chain of `extends` is longer than {_MAX_CHAIN} files", at=str(path))
    node = read_tree(path, twice)
    if not isinstance(node.value, dict):
        raise ConfigError("a task file holds a mapping of keys", at=node.at)
    key = "include" if "include" in node.value else "extends"
    parents = node.value.get(key)
    if parents is None:
        merged[real] = node
        return node
    values = parents.value if isinstance(parents.value, list) else [parents]
    result: Node | None = None
    for value in values:
        if not isinstance(value.value, str) or not value.value:
            raise ConfigError("the name of a file is needed here", at=value.at)
        beside = path.parent / value.value
        parent = beside if beside.is_file() else ready_tasks().get(value.value)
        if parent is None:
            raise ConfigError(f"no such file or built-in task: {value.value}", at=value.at)
        base = _merge_parents(parent, (*above, real), twice, merged)
        result = base if result is None else _over(result, base, deep=key == "extends")
    own = {name: value for name, value in node.value.items() if name != key}
    child = replace(node, value=own)
    merged[real] = child if result is None else _over(result, child, deep=key == "extends")
    return merged[real]


def _over(base: Node, child: Node, *, deep: bool) -> Node:
    """Return a mapping with the child's keys over the base's; mappings inside are merged too where `deep`."""
    assert isinstance(base.value, dict)
    assert isinstance(child.value, dict)
    merged = dict(base.value)
    for name, value in child.value.items():
        below = merged.get(name)
        both = below is not None and isinstance(below.value, dict) and isinstance(value.value, dict)
        merged[name] = _over(below, value, deep=True) if deep and both and below is not None else value
    return replace(child, value=merged, keys=base.keys | child.keys)
