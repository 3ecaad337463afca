"""Running a Python file beside a task file, where the user said so with `--allow-code`; never otherwise."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from markbook.config import Function
from markbook.errors import ConfigError
from markbook.load.foreign_rows import Rows
from markbook.load.rows import Row

Find = Callable[[Function], "Callable[..., Any] | None"]
"""From a `!function` to what may be called; None where it stays a registered name."""


class ForeignError(Exception):
    """What a function of the user's own raised, for a person to read."""


def nothing(_function: Function) -> None:
    """Find nothing: what stands for every function where no code of a task's own may be run."""


class Finder:
    """Imports what `!function` names stand for, in the Python file beside the YAML file that names it."""

    def __init__(self) -> None:
        """Import nothing yet."""
        self._modules: dict[Path, ModuleType | None] = {}

    def __call__(self, function: Function) -> Callable[..., Any] | None:
        """Return a function; None if there is no such file, so that the name is a registered one.

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
        return attribute_value  # type: ignore[no-any-return]  # callable, checked above


@contextlib.contextmanager
def seed_generators() -> Iterator[None]:
    """Draw the same numbers in every run, by the seeds of lm-evaluation-harness; the caller's state is restored.

    PyTorch is seeded where it is already imported; importing it takes seconds.
    """
    import numpy as np

    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - tasks draw from this one
    torch = sys.modules.get("torch")
    torch_state = None if torch is None else torch.get_rng_state()
    random.seed(0)
    np.random.seed(1234)  # noqa: NPY002 - as above
    if torch is not None:
        torch.manual_seed(1234)
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 - as above
        if torch is not None and torch_state is not None:
            torch.set_rng_state(torch_state)


def call_user_function(function: Function, found: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return what a function of the user's own gives.

    Raises:
        ForeignError: it raised.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):  # our standard output is data
            return found(*given, **options)
    except Exception as error:  # the plugin border: whatever foreign code raises is its author's to read
        raise ForeignError(f"{function.name} raises {type(error).__name__}: {error}"[:500]) from error


def select_rows(function: Function, user_function: Callable[..., Any], rows: Sequence[Row]) -> list[Row]:
    """Return the rows that a `process_docs` function makes of a data set.

    Raises:
        ConfigError: it raised, or gives something else.
    """
    try:
        chosen = list(call_user_function(function, user_function, Rows(dict(row) for row in rows)))
    except (ForeignError, TypeError) as error:
        raise ConfigError(f"the row function {error}", at=function.at) from error
    if not all(isinstance(row, Mapping) for row in chosen):
        raise ConfigError(f"the row function {function.name} gives no rows", at=function.at)
    return chosen


def filter_replies(
    function: Function, user_function: Callable[..., Any], texts: str | list[str], row: Row
) -> str | list[str]:
    """Return what a filter function leaves of the replies to one row.

    Raises:
        ForeignError: it raised, or gives something else.
    """
    try:
        texts_given = texts if isinstance(texts, str) else list(texts)
        filtered_text = next(iter(call_user_function(function, user_function, [texts_given], [dict(row)])))
    except (StopIteration, TypeError) as error:
        raise ForeignError(f"{function.name} gives nothing for a row") from error
    if isinstance(filtered_text, str):
        return filtered_text
    try:
        return [str(text) for text in filtered_text]
    except TypeError:
        return str(filtered_text)  # a number, say, which stands for itself


def _import(path: Path, name: str, function: Function) -> ModuleType | None:
    """Return a Python file as a module, None if there is none of this name."""
    if not path.is_file():
        return None
    if not path.resolve().is_relative_to(function.folder.resolve()):
        raise ConfigError(f"{name}.py leads out of the task's folder", at=function.at)
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    module_name = f"_markbook_foreign_{name.replace('.', '_')}_{digest}"  # two folders may each have a utils.py
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file", at=function.at)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # records of a class look their module up while it is read
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except Exception as error:  # the plugin border: whatever foreign code raises at import is its author's to read
        sys.modules.pop(module_name, None)
        raise ConfigError(f"{path.name} fails: {type(error).__name__}: {error}", at=function.at) from error
    return module
