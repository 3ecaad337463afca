"""Help pages fit 80 columns, their examples keep their lines, and shells complete what a word may be."""

import click
import pytest
from click.shell_completion import ShellComplete
from support.review_kit import markbook

from markbook.cli import _COMMANDS, cli


def _commands():
    for name in _COMMANDS:
        found = cli.get_command(click.Context(cli), name)
        yield (name,), found
        if isinstance(found, click.Group):
            for inner in found.list_commands(click.Context(found)):
                yield (name, inner), found.get_command(click.Context(found), inner)


COMMANDS = dict(_commands())


@pytest.mark.parametrize("path", [(), *COMMANDS], ids=" ".join)
def test_a_help_page_fits_eighty_columns_and_its_examples_keep_their_lines(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    code, out, _ = markbook(*path, "--help")

    assert code == 0
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert "\b" not in out
    assert "INTEGER RANGE" not in out or path not in (("exam",), ("run",), ("review",))
    if path:
        examples = (COMMANDS[path].epilog or "").partition("Examples:")[2].strip("\n").splitlines()
        assert [line for line in examples if line.strip() and line.strip() not in out] == []


@pytest.mark.parametrize("name", ["exam", "run", "review"])
def test_every_option_of_a_long_page_stands_in_a_section(name):
    command = COMMANDS[name,]
    grouped = [one for names in command.sections.values() for one in names]
    own = {one.name for one in command.params if isinstance(one, click.Option)}

    assert own <= set(grouped)
    assert len(own & set(grouped)) == len([one for one in grouped if one in own]), "none stands twice"


@pytest.mark.parametrize("name", ["demo", "exam", "get", "import", "report", "review", "run", "site"])
def test_the_output_has_a_short_form_wherever_a_folder_is_written(name):
    (output,) = (one for one in COMMANDS[name,].params if one.name == "output")

    assert output.opts == ["-o", "--output"]


NUMBERS = [
    (path, option.opts[0])
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option.type, click.types.FloatParamType)
]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize(("path", "option"), NUMBERS)
def test_no_number_of_a_command_may_be_nan_or_infinite(path, option, value):
    with pytest.raises(click.BadParameter) as refused:
        COMMANDS[path].make_context(path[-1], [option, value])

    assert refused.value.exit_code == 2
    assert f"Invalid value for '{option}'" in refused.value.format_message()


@pytest.mark.parametrize("seconds", ["1e5", "1e10", "1e300"])
@pytest.mark.parametrize("path", [("exam",), ("run",), ("serve",)])
def test_no_time_limit_is_longer_than_a_system_can_wait(path, seconds):
    with pytest.raises(click.BadParameter, match="86400"):
        COMMANDS[path].make_context(path[-1], ["--timeout", seconds])


def completed(*words):
    complete = ShellComplete(cli, {}, "markbook", "_MARKBOOK_COMPLETE")
    return {item.value for item in complete.get_completions(list(words[:-1]), words[-1])}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("sco",), "score"),
        (("score", "rougeL,ble"), "rougeL,bleu"),
        (("run", "python_code_re"), "python_code_repair"),
        (("list", "met"), "metrics"),
        (("schema", "ben"), "benchmark"),
        (("get", "human"), "humaneval"),
        (("report", "latest", "--format", "jun"), "junit"),
        (("exam", "--format", "humane"), "humaneval"),
        (("exam", "--engine", "ra"), "ray"),
        (("report", "lat"), "latest"),
        (("compare", "generated/evaluation_1"), "generated/evaluation_17"),
        (("exam", "--resume", "generated/"), "generated/evaluation_17"),
        (("exam", "--fail-if-worse", "la"), "latest"),
    ],
)
def test_a_shell_completes(tmp_path, monkeypatch, words, value):
    folder = tmp_path / "generated" / "evaluation_17"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"schema": 1, "command": "exam", "status": "done", "config": {}}')
    monkeypatch.chdir(tmp_path)

    assert value in completed(*words)
