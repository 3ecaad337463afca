"""Who stops reading, a full disk behind standard output, a closed stream, odd encodings: through the command as a process."""

import json
import os
import subprocess
import sys

import pytest
from support.exam_kit import answer, hold, problem, write_rows
from support.load import PATIENCE

MARKBOOK = f"{sys.executable} -m markbook"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a finished exam of two models and rows to mark."""
    folder = tmp_path_factory.mktemp("streams")
    answers = [answer("a", "def f(x):\n    return x", model) for model in ("first", "second")]
    hold(folder, [problem("a"), problem("b")], answers)
    write_rows(folder / "rows.jsonl", [{"candidate": "a", "reference": "a"}] * 3)
    return folder


def shell(place, line, **more):
    """Run a line of a shell in which a broken pipe counts, and return what came out."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("markbook", MARKBOOK)], cwd=place, capture_output=True,
        text=True, check=False, env={**os.environ, **more}, timeout=PATIENCE,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command", ["compare out/latest", "list metrics", "show out/latest a", "compare out/latest --json"]
)
def test_a_reader_that_leaves_is_no_failed_gate(place, command):
    done = shell(place, f"markbook {command} | true")

    assert done.returncode == 0
    assert done.stderr == ""


def test_a_gate_is_held_whoever_reads(place):
    done = shell(place, "markbook compare out/latest --fail-under first=90% | true")

    assert done.returncode == 1
    assert "first" in done.stderr


def test_a_run_goes_on_when_nobody_reads_its_progress(place, tmp_path):
    more = f"--isolation weak --workers 1 --output {tmp_path}"
    done = shell(place, f"markbook exam --benchmark in/benchmark.jsonl --solutions in/answers.jsonl {more} 2>&1 | true")

    (folder,) = tmp_path.iterdir()
    assert done.returncode == 0
    assert json.loads((folder / "run.json").read_text())["status"] == "done"


@pytest.mark.parametrize(
    "command", ["compare out/latest", "score exact_match rows.jsonl", "report out/latest --format csv --output -"]
)
def test_a_full_disk_behind_standard_output_is_74(place, command):
    done = shell(place, f"markbook {command} > /dev/full")

    assert done.returncode == 74, done.stderr
    assert "standard output cannot be written: No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_harm_nothing(place, closed, tmp_path):
    more = f"--isolation weak --workers 1 --output {tmp_path}"
    done = shell(place, f"markbook exam --benchmark in/benchmark.jsonl --solutions in/answers.jsonl {more} {closed}")

    (folder,) = tmp_path.iterdir()
    assert (done.returncode, done.stderr) == (0, "" if "2>" in closed else done.stderr)
    assert json.loads((folder / "run.json").read_text())["status"] == "done"


def test_odd_names_and_small_encodings_are_written_by_number(place):
    write_rows(place / os.fsdecode(b"odd\xff.jsonl"), [{"candidate": "a", "reference": "a"}])
    odd = shell(place, "markbook score exact_match $'odd\\xff.jsonl' --json")
    table = shell(place, "markbook compare out/latest", PYTHONIOENCODING="ascii")

    assert odd.returncode == 0, odd.stderr
    assert json.loads(odd.stdout)["file"] == "odd\udcff.jsonl"
    assert table.returncode == 0, table.stderr
    assert "first" in table.stdout


def test_a_message_cannot_move_the_cursor(place):
    done = shell(place, "markbook report $'evil\\e]0;owned\\a'")

    assert done.returncode == 2
    assert "\\x1b]0;owned\\x07" in done.stderr
    assert "\x1b" not in done.stderr
