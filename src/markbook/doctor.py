"""What this machine can do for Markbook: how well solutions are isolated, and which optional parts are installed."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass, field

from markbook.errors import EnvironmentUnfitError
from markbook.languages import versions
from markbook.sandbox import Layer, Sandbox

_EXTRAS = {
    "agents": ("networkx", "opentelemetry", "rustworkx"),
    "bertscore": ("tokenizers",),
    "checks": ("jsonschema",),
    "code": ("tree_sitter", "tree_sitter_python"),
    "hub": ("huggingface_hub", "pyarrow"),
    "inspect": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",),
    "judge": ("pydantic_ai",),
    "lint": ("bandit", "ruff"),
    "loggers": ("mlflow", "wandb"),
    "notebook": ("pandas", "polars"),
    "parquet": ("duckdb", "pyarrow"),
    "ray": ("ray",),
    "report": ("vl_convert",),
    "serve": ("httpx", "starlette", "uvicorn"),
    "semantic": ("tokenizers", "torch", "transformers", "onnxruntime"),
    "translation": ("sacrebleu",),
}
"""The packages by which an installed extra is known."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about this machine."""

    python: str
    system: str
    processors: int
    isolation: str
    """The level that was reached; empty where the sandbox does not start at all."""
    layers: tuple[Layer, ...]
    """Each layer of the isolation, tried by doing; `detail` has the errno of what failed."""
    extras: dict[str, bool]
    writable: dict[str, bool]
    """Whether the working directory and the folder for temporary files can be written."""
    problem: str = ""
    """Why the sandbox does not start."""
    languages: dict[str, str | None] = field(default_factory=dict)
    """The version of each language's toolchain, None where it is not here."""

    def record(self) -> dict[str, object]:
        """Return everything as plain values."""
        return asdict(self)

    @property
    def is_fit(self) -> bool:
        """Whether solutions can be run as isolated as `--isolation auto` wants it."""
        return self.isolation in ("A", "B") and all(self.writable.values())


def examine() -> Finding:
    """Try everything once and return what came of it; starts and ends one worker of the sandbox."""
    problem, level = "", ""
    layers: tuple[Layer, ...] = ()
    try:
        with Sandbox(workers=1, isolation="weak") as box:
            level, layers = str(box.level), tuple(box.layers())
    except EnvironmentUnfitError as error:
        problem = str(error)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding(
        python=f"{platform.python_version()} ({sys.executable})",
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processors=usable,
        isolation=level,
        layers=layers,
        extras={name: all(map(_is_there, packages)) for name, packages in _EXTRAS.items()},
        writable={
            "working directory": _can_write("."),
            "temporary files": _can_write(None),
        },
        problem=problem,
        languages=versions(),
    )


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it would be part of
        return False


def _can_write(folder: str | None) -> bool:
    """Whether a file can be made in a folder, or in the one for temporary files; neither need be there at all."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
