"""`markbook doctor`: how well this machine isolates solutions, and what is installed."""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass, field

import click

from markbook.cli.options import json_option
from markbook.errors import EnvironmentUnfitError, MarkbookError
from markbook.installed import count_processors
from markbook.languages import language, versions
from markbook.sandbox import Layer, Sandbox

# What this machine can do for Markbook: how well solutions are isolated, and which optional parts are installed.

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
class MachineFinding:
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

    @property
    def is_fit(self) -> bool:
        """Whether solutions can be run as isolated as `--isolation auto` wants it."""
        return self.isolation in ("A", "B") and all(self.writable.values())


def examine() -> MachineFinding:
    """Try everything once and return what came of it; starts and ends one worker of the sandbox."""
    problem, level = "", ""
    layers: tuple[Layer, ...] = ()
    try:
        # With whatever there is: the command reports the level, and refuses none.
        with Sandbox(workers=1, isolation="weak") as box:
            level, layers = str(box.level), tuple(box.layers())
    except EnvironmentUnfitError as error:
        problem = str(error)
    return MachineFinding(
        python=f"{platform.python_version()} ({sys.executable})",
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processors=count_processors(),
        isolation=level,
        layers=layers,
        extras={name: all(map(_is_there, packages)) for name, packages in _EXTRAS.items()},
        writable={"working directory": _can_write("."), "temporary files": _can_write(None)},
        problem=problem,
        languages=versions(),
    )


def _is_there(package: str) -> bool:
    try:
        # Looked for and not imported: some of these take long to load, and one that is broken would end the command.
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it would be part of
        return False


def _can_write(folder: str | None) -> bool:
    """Whether a file can be made in a folder, or in the one for temporary files; neither need be there at all."""
    try:
        # Tried by doing: permission bits say nothing of a file system that is full or mounted read-only.
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


# `markbook doctor`.


_LEVELS = {
    "A": "namespaces, read-only root, landlock, seccomp, resource limits",
    "B": "landlock, seccomp, resource limits",
    "C": "seccomp, resource limits: files of the user can be read and deleted",
    "D": "resource limits only: protects against accidents",
    "": "the sandbox does not start",
}


@click.command("doctor")
@json_option
def command(*, as_json: bool) -> int:
    """Check sandbox support layer by layer, and list installed extras.

    Exits with code 4 if `--isolation auto` would refuse to run.
    """
    finding = examine()
    if as_json:
        click.echo(json.dumps({**asdict(finding), "fit": finding.is_fit}, indent=2, ensure_ascii=False))
    else:
        click.echo(f"Python      {finding.python}")
        click.echo(f"System      {finding.system}, {finding.processors} usable processors")
        click.echo(f"Isolation   {finding.isolation or 'none'}: {_LEVELS[finding.isolation]}")
        for layer in finding.layers:
            click.echo(
                f"  {'ok    ' if layer.ok else 'FAILED'}  {layer.name}{f'  ({layer.detail})' if layer.detail else ''}"
            )
        if finding.problem:
            click.echo(f"  FAILED  {finding.problem}")
        click.echo("Extras")
        for name, is_there in finding.extras.items():
            click.echo(
                f"  {'ok    ' if is_there else 'absent'}  {name}"
                + ("" if is_there else f"  (pip install 'markbook[{name}]')")
            )
        click.echo("Languages")
        for name, version in finding.languages.items():
            try:
                about = version or f"apt install {language(name).package}"
            except MarkbookError as error:
                about = error.message
            click.echo(f"  {'ok    ' if version else 'absent'}  {name}  ({about})")
        click.echo("Write access")
        for name, can in finding.writable.items():
            click.echo(f"  {'ok    ' if can else 'FAILED'}  {name}")
    return 0 if finding.is_fit else EnvironmentUnfitError.exit_code
