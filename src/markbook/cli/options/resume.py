"""`--resume RUN` alone: what the user does not give is what the run was started with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from markbook.cli.options import is_given

EXECUTED = "would be executed"


@dataclass(frozen=True, slots=True)
class KeptOption:
    """An option that a run keeps."""

    name: str
    place: str
    """Where run.json has it: `config.timeout`."""
    danger: Callable[[Any], str] = lambda _value: ""
    """What this value would do that no run folder may decide, such as `would be executed`; empty if nothing."""
    turned: Callable[[Any], Any] = lambda value: value
    """From what the record says to what the option says."""


def fill_from_run(options: dict[str, object], command: str, options_kept: Sequence[KeptOption]) -> None:
    """Set what the user did not give to what the run to go on with was started with; nothing without `--resume`.

    A run folder may come from anybody. What it says is checked as if the user had written it, and what it names is
    neither executed nor written nor sent anything unless the user names it too.

    Raises:
        UsageError: the run was made by another command.
        ConfigError: the run was started with what only the user may say.
        click.BadParameter: the record holds a value that the option does not take.
    """
    run = options["resume"]
    if run is None:
        return
    from markbook.errors import DataError, UsageError

    manifest = _manifest(str(run))
    if manifest is None:
        return  # killed before there was a record, or no run folder: that is said where it is resumed
    if (other := manifest.get("command")) != command:
        raise UsageError(
            f"this run cannot be resumed with these arguments; it was made by `markbook {other}`",
            at=str(run),
            hint=f"markbook {other} --resume RUN goes on with it",
        )
    context = click.get_current_context()
    parameters = {parameter.name: parameter for parameter in context.command.params}
    for option in options_kept:
        value = _read_recorded(manifest, option.place)
        if value is None or is_given(option.name):
            continue
        parameter = parameters[option.name]
        try:
            decoded = option.turned(value)
            checked = parameter.process_value(context, decoded)
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as error:  # no command line gives it
            at = str(Path(str(run)) / "run.json")
            raise DataError(f"run.json is damaged: {option.place!r} is not what stands there", at=at) from error
        value = decoded if decoded == checked else checked  # 7 stays 7: as 7.0 it would be another run's
        _check_trust(option.danger(value), parameter.opts[0], value, str(run))
        options[option.name] = value


def _manifest(run: str) -> dict[str, object] | None:
    """Return what the run.json of a folder holds; None if there is none yet."""
    from markbook.errors import UsageError, beside
    from markbook.store import open_manifest

    if not Path(run).is_dir():
        raise UsageError("there is no such run folder to resume", at=run, hint=beside(run))
    return open_manifest(run)


def _read_recorded(manifest: Mapping[str, object], key: str) -> Any:
    part, _, name = key.partition(".")
    section = manifest.get(part)
    return section.get(name) if isinstance(section, Mapping) else None


def _check_trust(danger: str, flag: str, value: object, at: str) -> None:
    from markbook.errors import ConfigError

    if danger:
        named = flag if value is True else f"{flag} {str(value)!r}"
        raise ConfigError(
            f"the run was started with {named}, which {danger}", at=at, hint=f"give {flag} again if you trust it"
        )


def sent_a_key(url: str) -> str:
    """Return what an address would get that is not this machine's own; empty for one that is."""
    try:
        host = urlsplit(url).hostname or ""
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    return "" if is_here or not url else "would be sent your key and all texts"


def judges_sent_a_key(judges: Sequence[str]) -> str:
    """Return what the servers of judges that have their own would get; empty if all are this machine's."""
    from markbook.judge.panel import split_judge

    servers = [server for _, server in map(split_judge, judges) if server is not None]
    return next((danger for server in servers if (danger := sent_a_key(server.url))), "")


def describe_overwrite(path: Path | None) -> str:
    """Return what would happen to a file that is not there."""
    return "" if path is None or path.is_file() else "would be written"


def collect_kept_options(options: Mapping[str, object], kept: Sequence[KeptOption], part: str) -> dict[str, object]:
    """Return what a run keeps of the options that it keeps in this part of its record."""
    from markbook.judge.panel import plain_judge
    from markbook.model.connect import without_secrets

    values: dict[str, object] = {}
    for option in kept:
        value = options[option.name]
        if option.place != f"{part}.{option.name}" or value is None:
            continue
        if option.name == "base_url" and isinstance(value, str):
            value = without_secrets(value)
        if option.name == "judges" and isinstance(value, tuple):
            value = tuple(map(plain_judge, value))
        values[option.name] = (
            list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
        )
    return values
