"""What documentation shows and the suite does not run is held against the project: installing, making, files of other programs."""

import ast
import configparser
import re
import shlex
import subprocess
import tomllib

import click
from ruamel.yaml import YAML

from markbook import cli
from support.paths import ROOT


def takes(words):
    """Parse a command line of `markbook` without running it; click's error is the test's."""
    context = click.Context(click.Command("markbook"))
    command = cli.cli.get_command(context, words[1])
    assert command is not None, f"markbook {words[1]}: no such command"
    args = words[2:]
    while isinstance(command, click.Group):
        command, args = command.get_command(context, args[0]), args[1:]
    command.make_context(words[1], list(args))


def _check_pip(words):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for word in words[1:]:
        for extra in re.findall(r"\[(.*?)\]", word):
            unknown = set(extra.split(",")) - {*project["optional-dependencies"]}
            assert not unknown, f"no extra {unknown}"
    if "-c" in words:
        assert (ROOT / words[words.index("-c") + 1]).is_file()
    if "markbook" in words[:-1]:
        takes(words[words.index("markbook") :])


def _check_make(words):
    done = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


CHECKS = {"pip": _check_pip, "pipx": _check_pip, "uvx": _check_pip, "make": _check_make}
"""What installs, or takes minutes, is held against the project instead of being run."""


def check_file(name, text):
    """Hold a file against what it is for: its syntax, and the command lines in it against the commands."""
    if name.endswith((".yaml", ".yml")):
        _check_values(YAML(typ="safe").load(text))
    elif name.endswith(".toml"):
        tomllib.loads(text)
    elif name.endswith((".ini", ".service")):
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        words = shlex.split(parser["Service"]["ExecStart"])
        takes(["markbook", *words[1:]])
    elif name.endswith(".py"):
        ast.parse(text)


def _check_values(value):
    if isinstance(value, dict):
        if str(value.get("uses", "")).startswith("./markbook"):
            action = YAML(typ="safe").load((ROOT / "action.yml").read_text(encoding="utf-8"))
            assert set(value["with"]) <= set(action["inputs"]), value["with"]
        for each in value.values():
            _check_values(each)
    elif isinstance(value, list):
        if value[:1] == ["markbook"]:
            takes([str(word) for word in value])
        for each in value:
            _check_values(each)
    elif isinstance(value, str):
        for line in value.splitlines():
            if line.startswith("markbook "):
                takes(shlex.split(line))


def unknown(text):
    """Return what a text names and there is not: commands and options of `markbook ...` in backticks, benches."""
    found = []
    for said in re.findall(r"`markbook ([a-z][^`]*)`", text.replace("\n", " ")):
        words = said.replace("\\|", "|").split()
        for name in words[0].split("|"):
            command, rest = cli.cli.get_command(click.Context(cli.cli), name), words[1:]
            while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
                command, rest = command.get_command(click.Context(command), rest[0]), rest[1:]
            known = {option for each in command.params for option in each.opts} | {"--help"} if command else set()
            asked = [part for word in rest for part in re.findall(r"--[a-z][a-z-]*", word)]
            if command is None or not known.issuperset(asked):
                found.append(f"markbook {said}")
    subjects = re.findall(r"python -m bench\.(\w+)", text)
    return found + [f"bench.{name}" for name in subjects if not (ROOT / "bench" / f"{name}.py").is_file()]
