"""Rows as a function of a task's own expects them: what it uses of a data set of the `datasets` library."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import itertools
import json
import os
import random
import re
import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from markbook.config.tree import Function
from markbook.datasets.rows import Row
from markbook.errors import ConfigError
from markbook.types import MissingKind, digest_text


class Rows(list[Any]):
    """A list of rows that can be filtered, mapped, drawn from and asked for a column."""

    def __getitem__(self, key: Any) -> Any:
        """Return a row by its place, a column by its name."""
        if isinstance(key, str):
            return [row[key] for row in self]
        if isinstance(key, slice):
            return Rows(super().__getitem__(key))
        return super().__getitem__(key)

    @property
    def column_names(self) -> list[str]:
        """The fields of the rows."""
        return list(dict.fromkeys(name for row in self for name in row))

    @property
    def features(self) -> dict[str, object]:
        """The fields of the rows; their types are not known."""
        return dict.fromkeys(self.column_names)

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self)

    def filter(self, function: Callable[..., object], *, with_indices: bool = False, **_hints: object) -> Rows:
        """Return the rows for which a function is true."""
        return Rows(row for n, row in enumerate(self) if (function(row, n) if with_indices else function(row)))

    def map(
        self,
        function: Callable[..., Any],
        *,
        with_indices: bool = False,
        remove_columns: Sequence[str] | str = (),
        fn_kwargs: Mapping[str, object] | None = None,
        batched: bool = False,
        **_hints: object,
    ) -> Rows:
        """Return the rows with what a function adds to each."""
        if batched:
            return self._map_batches(function, remove_columns, fn_kwargs or {})
        dropped = _names(remove_columns)
        rows = Rows()
        for n, row in enumerate(self):
            copy = dict(row)
            added = function(copy, *((n,) if with_indices else ()), **(fn_kwargs or {}))
            remaining = {name: value for name, value in copy.items() if name not in dropped}
            rows.append({**remaining, **(added or {})})
        return rows

    def _map_batches(
        self, function: Callable[..., Any], remove: Sequence[str] | str, arguments: Mapping[str, object]
    ) -> Rows:
        columns = {name: [row.get(name) for row in self] for name in self.column_names}
        added = dict(function(dict(columns), **arguments))
        dropped = _names(remove)
        columns_left = {
            name: values for name, values in {**columns, **added}.items() if name in added or name not in dropped
        }
        # A function of whole batches may give more or fewer rows than it was given.
        count = len(next(iter(columns_left.values()), []))
        return Rows({name: values[n] for name, values in columns_left.items()} for n in range(count))

    def select(self, indices: Iterable[int], **_hints: object) -> Rows:
        """Return the rows at these places."""
        return Rows(self[int(index)] for index in indices)

    def shuffle(self, seed: int | None = None, **_hints: object) -> Rows:
        """Return the rows in another order, the one that the library gives for a seed.

        Raises:
            ValueError: no seed, so that every run would have its own rows.
        """
        import numpy as np

        if seed is None:
            raise ValueError("shuffle without a seed gives different rows in each run")
        return self.select(np.random.default_rng(seed).permutation(len(self)))

    def sort(  # type: ignore[override]  # a data set's, which gives rows back
        self, column: str, *, reverse: bool = False, **_hints: object
    ) -> Rows:
        """Return the rows by the order of a field."""
        return Rows(sorted(self, key=lambda row: row[column], reverse=reverse))

    def take(self, n: int) -> Rows:
        """Return the first rows."""
        return Rows(self[:n])

    def rename_column(self, original_column_name: str, new_column_name: str) -> Rows:
        """Return the rows with a field under another name."""
        return self.rename_columns({original_column_name: new_column_name})

    def rename_columns(self, column_mapping: Mapping[str, str]) -> Rows:
        """Return the rows with fields under other names."""
        return Rows({column_mapping.get(name, name): value for name, value in row.items()} for row in self)

    def remove_columns(self, column_names: Sequence[str] | str) -> Rows:
        """Return the rows without these fields."""
        dropped = _names(column_names)
        return Rows({name: value for name, value in row.items() if name not in dropped} for row in self)

    def select_columns(self, column_names: Sequence[str] | str) -> Rows:
        """Return the rows with these fields alone."""
        columns = _names(column_names)
        return Rows({name: row[name] for name in columns} for row in self)

    def add_column(self, name: str, column: Sequence[Any], **_hints: object) -> Rows:
        """Return the rows with one more field."""
        return Rows({**row, name: value} for row, value in zip(self, column, strict=True))

    def unique(self, column: str) -> list[Any]:
        """Return the values of a field, each once."""
        return list(dict.fromkeys(self[column]))

    def to_list(self) -> list[Any]:
        """Return the rows."""
        return list(self)


def _names(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


# Running a Python file beside a task file, where the user said so with `--allow-code`; never otherwise.

Find = Callable[[Function], "Callable[..., Any] | None"]
"""From a `!function` to what may be called; None where it stays a registered name."""


class ForeignError(Exception):
    """What a function of the user's own raised, or why a filter has no answer, for a person to read."""

    def __init__(self, message: str, kind: MissingKind = MissingKind.FAILED) -> None:
        super().__init__(message)
        self.kind = kind


CODE = "code"
"""What the names of a task's own Python files begin with among the inputs of a run."""


_BY_NAME = re.compile(rb"\b(?:importlib|__import__|runpy|exec|spec_from_file_location)\b")
"""What can import files whose names do not stand in the text."""
_OTHERS = re.compile(r"/(?:\.|site-packages/)")
"""Folders that are not the task's own."""


def code_digest(path: Path) -> str:
    """Return the SHA-256 of a Python file, or of it and of the files beside it that it imports."""
    sources: dict[Path, bytes] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop().resolve()
        if file in sources or not file.is_file():
            continue
        sources[file] = file.read_bytes().replace(b"\r\n", b"\n")
        folders = {path.parent, file.parent}  # the task's, and that to which a link leads
        if _BY_NAME.search(sources[file]):
            beside = [(folder, other) for folder in folders for other in folder.rglob("*.py")]
            waiting += [other for folder, other in beside if not _OTHERS.search(f"/{other.relative_to(folder)}")]
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.walk(ast.parse(sources[file])):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
                if isinstance(node, ast.ImportFrom):
                    names = [".".join(filter(None, (node.module, name))) for name in names]
                level = getattr(node, "level", 0)
                for name in names:
                    parts = name.split(".")  # packages are run from the outermost in
                    around = {file.parents[min(level, len(file.parents)) - 1]} if level else folders
                    stems = [top.joinpath(*parts[:count]) for top in around for count in range(1, len(parts) + 1)]
                    waiting += [stem.with_name(f"{stem.name}.py") for stem in stems if stem.name]
                    waiting += [stem / "__init__.py" for stem in stems]
    digests = sorted(hashlib.sha256(source).hexdigest() for source in sources.values())
    return digests[0] if len(digests) == 1 else digest_text(" ".join(digests))


def nothing(_function: Function) -> None:
    """Find nothing: what stands for every function where no code of a task's own may be run."""


class Finder:
    """Imports what `!function` names stand for, in the Python file beside the YAML file that names it."""

    def __init__(self, modules: dict[Path, ModuleType | None] | None = None) -> None:
        """Import nothing yet; `modules` is what finders have imported and may import, by path: a file is run once for all tasks."""
        self._modules = {} if modules is None else modules
        self.digests: dict[str, str] = {}
        """The files whose functions were asked for, by name, with what each and what it imports beside it are known by."""
        self._names: set[tuple[Path, Path]] = set()

    def digest_opened(self) -> dict[str, str]:
        """Return the digests of the files beside the task that its code has read so far, by name; its Python files excepted."""
        digests = {}
        for name, folder in self._names:
            top = os.path.realpath(folder)
            for file in map(Path, tuple(_opened.get(name, ()))):
                if file.is_relative_to(top) and file.suffix not in (".py", ".pyc") and file.is_file():
                    with file.open("rb") as stream:
                        digests[file.relative_to(top).as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
        return digests

    def __call__(self, function: Function) -> Callable[..., Any] | None:
        """Return a function; None without such a file, so that the name is a registered one.

        Raises:
            ConfigError: a file leads outside its folder, fails to import, or lacks the function.
        """
        name, _, attribute = function.name.rpartition(".")
        if not name:
            return None
        path = function.folder.joinpath(*name.split(".")).with_suffix(".py")
        if path not in self._modules:
            self._modules[path] = _import(path, name, function)
        module = self._modules[path]
        if module is None:
            return None
        attribute_value = getattr(module, attribute, None)
        if not callable(attribute_value):
            raise ConfigError(f"{name}.py has no function {attribute!r}", at=function.at)
        self.digests[f"{CODE}/{name}.py"] = code_digest(path)
        self._names |= {(path, function.folder), (function.folder / function.name, function.folder)}
        return attribute_value  # type: ignore[no-any-return]  # callable, checked above


class _OneChange:
    """A change to what all threads share: the first one that enters makes it, and the last one that leaves undoes it.

    Were each to undo its own, one would put back what another had changed, and that would stay.
    """

    def __init__(self, change: Callable[[contextlib.ExitStack], None]) -> None:
        self._change, self._lock, self._count = change, threading.Lock(), 0
        self._restored = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._count == 0:
                self._change(self._restored)
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._restored.close()


@_OneChange
def kept_generators(restored: contextlib.ExitStack) -> None:
    """Give the caller's random state back, once for all seeds that are set inside: that takes ten times as long as one."""
    import numpy as np

    restored.callback(random.setstate, random.getstate())
    restored.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - tasks draw from this one
    if torch := sys.modules.get("torch"):
        restored.callback(torch.set_rng_state, torch.get_rng_state())


_drawing = threading.RLock()
"""Held where numbers are drawn: the generators are those of all threads."""


@contextlib.contextmanager
def seed_generators(row: str = "") -> Iterator[None]:
    """Draw the same numbers in every run, by the seeds of lm-evaluation-harness; the caller's state is restored.

    PyTorch is seeded where it is already imported; importing it takes seconds. Where rows are worked on one by one
    each `row` draws its own numbers, the same ones whatever was worked on before it.
    """
    import numpy as np

    offset = int(digest_text(row)[:7], 16) if row else 0
    with _drawing, kept_generators:
        random.seed(offset)
        np.random.seed(offset + 1234)  # noqa: NPY002 - tasks draw from this one
        if torch := sys.modules.get("torch"):
            torch.manual_seed(offset + 1234)
        yield


@_OneChange
def output_to_stderr(restored: contextlib.ExitStack) -> None:
    """Send to stderr what foreign code prints, also by itself or by a program that it starts: our standard output is data."""
    with contextlib.suppress(OSError, ValueError):  # a process without these descriptors has nothing to protect
        flush_output = sys.__stdout__.flush if sys.__stdout__ is not None else lambda: None
        flush_output()
        output = os.dup(1)
        restored.callback(os.close, output)
        os.dup2(2, 1)
        restored.callback(os.dup2, output, 1)
        restored.callback(flush_output)
    restored.enter_context(contextlib.redirect_stdout(sys.stderr))


def _describe_error(error: BaseException) -> str:
    """Return an exception of foreign code as text that can be written, whatever its own words hold."""
    message = str(traceback.TracebackException(type(error), error, None))  # also where `str(error)` raises
    return f"{type(error).__name__}: {message}".encode("utf-8", "backslashreplace").decode()


_running = threading.local()
"""What the code that runs in this thread is known by, in `name`."""
_opened: dict[Path, set[str]] = defaultdict(set)
"""The files that own code has opened for reading, by its Python file and, once that is imported, by its function."""


@lru_cache(maxsize=1)
def _watch_opened() -> None:
    def note(event: str, arguments: tuple[Any, ...]) -> None:
        name = getattr(_running, "name", None)
        if event != "open" or name is None or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        if not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
            _opened[name].add(os.path.realpath(os.fsdecode(arguments[0])))

    sys.addaudithook(note)  # which nothing takes away again


@contextlib.contextmanager
def _run_own(name: Path) -> Iterator[None]:
    """Note what is opened, and have all that is printed go to stderr."""
    _watch_opened()
    before, _running.name = getattr(_running, "name", None), name
    try:
        with output_to_stderr:
            yield
    finally:
        _running.name = before


def call_user_function(
    function: Function, user_function: Callable[..., Any], *arguments: Any, row: str | None = None
) -> Any:
    """Return what a function of the user's own gives.

    What is made of it by running more of its code, such as a list of what it yields, has to be made inside the call.
    Numbers are drawn by `row`, the row that it works on; if that is None, the caller has seeded the generators.

    Raises:
        ForeignError: it raised, or ended the program.
    """
    try:
        with (
            _run_own(function.folder / function.name),
            contextlib.nullcontext() if row is None else seed_generators(row),
        ):
            return user_function(*arguments)
    except KeyboardInterrupt:
        raise
    # The plugin border: whatever foreign code raises is its author's to read. `sys.exit(0)` would end a run as a success.
    except BaseException as error:
        raise ForeignError(f"{function.name} raises {_describe_error(error)}"[:500]) from error


def select_rows(function: Function, user_function: Callable[..., Any], rows: Sequence[Row]) -> list[Row]:
    """Return the rows that a `process_docs` function makes of a data set.

    Raises:
        ConfigError: it raised, or gives something else.
    """
    try:
        chosen = call_user_function(function, lambda: list(user_function(Rows(dict(row) for row in rows))))
    except ForeignError as error:
        raise ConfigError(f"the row function {error}", at=function.at) from error
    if not all(isinstance(row, Mapping) for row in chosen):
        raise ConfigError(f"the row function {function.name} gives no rows", at=function.at)
    rows_chosen: list[Row] = []
    for row in chosen:
        # Results hold the row, and are written after all the work: what cannot be written is refused before it.
        is_plain = _is_json(row) and all(isinstance(name, str) for name in row)
        rows_chosen.append(row if is_plain else {name: to_plain(value) for name, value in row.items()})
        for name, value in () if is_plain else rows_chosen[-1].items():
            if not isinstance(name, str) or not _is_json(value):
                raise ConfigError(
                    f"the row function {function.name} gives a field {name!r:.100} that cannot be written as JSON"
                    f" ({type(value).__name__})",
                    at=function.at,
                    hint="names must be texts; values must be texts, numbers, lists or mappings",
                )
    return rows_chosen


def to_plain(value: Any) -> Any:
    """Return numbers and arrays of numpy as Python's own, also in lists."""
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


_NONE = object()
_MOST_TEXTS = 100_000
"""So many texts may a filter give for one row: what yields without an end is an error."""


def _list_values(values: object, most: int) -> list[Any] | None:
    """Return what a filter gave in order; None where it has no order or is too long.

    The letters of a text and the names of a mapping are not answers, and a set has another order in every run.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | set | frozenset):
        return None
    listed = list(itertools.islice(values, most + 1))
    return None if len(listed) > most else listed


def filter_replies(
    function: Function, user_function: Callable[..., Any], texts: str | list[str], row: Row
) -> str | list[str]:
    """Return what a filter function leaves of the replies to one row.

    Raises:
        ForeignError: it raised, or gives something else.
    """
    texts_given = texts if isinstance(texts, str) else list(texts)

    def filter_row() -> object:
        rows = _list_values(user_function([texts_given], [dict(row)]), 1)
        if not rows:
            return _NONE
        # null stands for a reply without what was looked for: an empty answer, which is wrong and not missing
        (filtered_text,) = ["" if text is None else text for text in rows]
        if isinstance(filtered_text, str):
            return filtered_text
        if isinstance(filtered_text, Iterable):
            texts_left = _list_values(filtered_text, _MOST_TEXTS)
            return _NONE if texts_left is None else ["" if text is None else str(text) for text in texts_left]
        return str(filtered_text)  # a number, say, which stands for itself

    filtered: Any = call_user_function(function, filter_row, row=repr((texts_given, row)))
    if filtered is _NONE:
        raise ForeignError(f"{function.name} does not give one list of texts for a row")
    if not _is_json(filtered):
        raise ForeignError(f"{function.name} gives a text that holds half a character")
    return filtered  # type: ignore[no-any-return]  # a text or texts, as made above


def _import(path: Path, name: str, function: Function) -> ModuleType | None:
    """Return a Python file as a module, None if there is none of this name."""
    if not path.is_file():
        return None
    # A link may lead out of the folder, and only code beside the task file was allowed.
    if not path.resolve().is_relative_to(function.folder.resolve()):
        raise ConfigError(f"{name}.py leads out of the task's folder", at=function.at)
    digest = digest_text(str(path.resolve()))[:12]
    module_name = f"_markbook_foreign_{name.replace('.', '_')}_{digest}"  # two folders may each have a utils.py
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file", at=function.at)
    for key in [key for key in _opened if key == path or key == function.folder / f"{name}{key.suffix}"]:
        del _opened[key]  # of an earlier run in this process
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # records of a class look their module up while it is read
    try:
        with _run_own(path):
            spec.loader.exec_module(module)
    # The plugin border: whatever foreign code raises at import is its author's to read.
    except BaseException as error:
        # A module that failed half-way must not be what a later import finds.
        sys.modules.pop(module_name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ConfigError(f"{path.name} fails: {_describe_error(error)}", at=function.at) from error
    return module
