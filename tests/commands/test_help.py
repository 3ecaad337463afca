"""Help pages fit 80 columns, their examples keep their lines, and shells complete what a word may be."""

import ast
import contextlib
import dataclasses
import shlex
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from support.docs_checks import takes
from support.paths import ROOT
from support.review_kit import markbook

from markbook.cli import _COMMANDS, cli
from markbook.judge.judge_options import JudgeOptions
from markbook.option import declaration, parameter_name, place_in_record
from markbook.runs.exam.exam_options import ExamOptions
from markbook.runs.reviews.review_options import ReviewOptions
from markbook.runs.tasks.task_options import TaskOptions


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
    assert "INTEGER" not in out
    assert "FLOAT" not in out
    if path:
        examples = (COMMANDS[path].epilog or "").partition("Examples:")[2].strip("\n").splitlines()
        assert [line for line in examples if line.strip() and line.strip() not in out] == []
        for line in "\n".join(examples).replace("\\\n", " ").splitlines():
            assert " (" not in line.partition(" #")[0], "a shell would read the words in brackets"
            words = shlex.split(line.partition(" > ")[0], comments=True)
            if words[:1] == ["markbook"]:
                with contextlib.suppress(click.BadParameter):  # its files are not here
                    takes(words)


@pytest.mark.parametrize("name", ["exam", "run", "review"])
def test_every_option_of_a_long_page_stands_in_a_section(name):
    command = COMMANDS[name,]
    grouped = [one for names in command.sections.values() for one in names]
    own = {one.name for one in command.params if isinstance(one, click.Option)}

    assert own <= set(grouped)
    assert len(own & set(grouped)) == len([one for one in grouped if one in own]), "none stands twice"


def test_o_is_the_output_wherever_it_is_an_option():
    meant = {option.name for _, found in _commands() for option in found.params if "-o" in option.opts}

    assert meant == {"output"}


def test_an_option_of_judges_has_one_name_in_every_command():
    names = {flag for field in dataclasses.fields(JudgeOptions) for flag in declaration(field).flags}

    assert {name for name in names if not name.startswith("--judge-")} == {"--base-url", "--cassette"}
    in_run = {flag for field in dataclasses.fields(TaskOptions) for flag in declaration(field).flags}
    assert names <= in_run


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


RECORDS = {
    "exam": (ExamOptions,),
    "run": (TaskOptions,),
    "review": (ReviewOptions, JudgeOptions),
    "score": (JudgeOptions,),
    "judge check": (JudgeOptions,),
}
"""What each command states the options of."""
OF_COMMANDS = {
    "as_json",
    "verbose",
    "fail_under",
    "fail_if_worse",
    "check_benchmark",
    "log_file",
    "allow_different_measures",
}
"""Parameters that are none of the run: what is printed, and which gates are held."""


def declared_in(path):
    return {one.name: one.declared for one in COMMANDS[path].params if getattr(one, "declared", None)}


@pytest.mark.parametrize("name", RECORDS)
def test_every_option_of_a_run_is_made_of_its_declaration(name):
    path = tuple(name.split())
    declared = {
        parameter_name(field): declaration(field)
        for record in RECORDS[name]
        for field in dataclasses.fields(record)
        if declaration(field).flags
    }

    assert {key: one for key, one in declared_in(path).items() if one.flags and key in declared} == declared
    if name in ("exam", "run", "review"):
        assert {one.name for one in COMMANDS[path].params} - declared.keys() <= OF_COMMANDS


@pytest.mark.parametrize("name", ["exam", "run", "review"])
def test_a_command_of_a_run_states_no_flag_that_is_declared(name):
    """A second copy of an option would be a flag in the command's module."""
    source = ast.parse((ROOT / "src" / "markbook" / "cli" / f"{name}.py").read_text(encoding="utf-8"))
    flags = {
        flag for record in RECORDS[name] for field in dataclasses.fields(record) for flag in declaration(field).flags
    }
    decorators = [one for node in source.body if isinstance(node, ast.FunctionDef) for one in node.decorator_list]
    stated = {one.value for node in decorators for one in ast.walk(node) if isinstance(one, ast.Constant)}

    assert len(decorators) > 3
    assert stated & flags == set()


@pytest.mark.parametrize("name", ["exam", "run", "review"])
def test_what_can_change_a_result_is_kept_for_who_goes_on_with_the_run(name):
    kept = {key for key, one in declared_in((name,)).items() if place_in_record(key, one)}
    changing = {key for key, one in declared_in((name,)).items() if one.changes_results}

    assert changing <= kept
    assert {"model", "max_cost", "against"} <= kept or name == "review"
    assert not kept & {"resume", "output", "workers", "engine", "as_json", "strict"}


def test_declarations_do_not_import_what_only_the_command_line_needs():
    script = "import sys, markbook, markbook.runs.exam.exam_options, markbook.runs.tasks.task_options, markbook.runs.reviews.review_options\n"
    script += "print(sorted({'click', 'rich', 'numpy', 'pydantic'} & sys.modules.keys()))"

    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert out.strip() == "[]"
