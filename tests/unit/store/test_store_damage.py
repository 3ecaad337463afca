"""A finished run whose journal is not what was written is damaged: it is said where, and nothing is reported from it."""

import json
import logging
import random
import re
import shutil

import pytest
from support.exam_kit import answer, problem, write_rows
from support.review_kit import markbook, only_run

import markbook as api
from markbook.errors import StorageError
from markbook.report.browser import NotFound, RunSite
from markbook.store import journal
from markbook.testing import assert_marks

SEED = 20261121


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the command of an exam, and its folder with the finished run."""
    folder = tmp_path_factory.mktemp("finished")
    texts = ["def f(x):\n    return x\n", "def f(x):\n    return -x\n", "", "def f(x"]
    problems = [problem(f"p{n}") for n in range(8)]
    said = [answer(f"p{n}", texts[(n + shift) % 4], model) for shift, model in enumerate("ab") for n in range(8)]
    benchmark, solutions = write_rows(folder / "b.jsonl", problems), write_rows(folder / "s.jsonl", said)
    args = ["exam", "--benchmark", benchmark, "--solutions", solutions, "--isolation", "weak", "--workers", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "SEGMENT_BYTES", 3_000)
        patch.setattr(journal, "GROUP_ROWS", 5)
        assert markbook(*args, "--output", folder / "out")[0] == 0
    assert len(list((only_run(folder / "out") / "journal").iterdir())) >= 3
    return args, only_run(folder / "out")


@pytest.fixture
def run(finished, tmp_path):
    """Return a copy of the run that a test may damage."""
    return shutil.copytree(finished[1], tmp_path / "out" / finished[1].name)


def flip(run, rng):
    path = rng.choice(sorted((run / "journal").iterdir()))
    data = bytearray(path.read_bytes())
    place = rng.randrange(len(data))
    data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return path, data.rfind(b"\n", 0, place) + 1


def remove_line(run, rng):
    path = rng.choice(sorted((run / "journal").iterdir()))
    lines = path.read_bytes().splitlines(keepends=True)
    gone = rng.randrange(len(lines))
    path.write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
    return path, None


def twice(run, rng):
    path = rng.choice(sorted((run / "journal").iterdir()))
    lines = path.read_bytes().splitlines(keepends=True)
    again = rng.randrange(len(lines))
    path.write_bytes(b"".join(lines[: again + 1] + lines[again:]))
    return path, len(b"".join(lines[: again + 1]))


def swap(run, rng):
    path = rng.choice([path for path in sorted((run / "journal").iterdir()) if path.read_bytes().count(b"\n") > 1])
    lines = path.read_bytes().splitlines(keepends=True)
    place = rng.randrange(len(lines) - 1)
    lines[place], lines[place + 1] = lines[place + 1], lines[place]
    path.write_bytes(b"".join(lines))
    return path, None


def truncate(run, rng):
    path = rng.choice(sorted((run / "journal").iterdir()))
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])
    return path, None


def remove_segment(run, rng):
    path = rng.choice(sorted((run / "journal").iterdir()))
    path.unlink()
    return path, 0


def foreign_segment(run, rng):
    paths = sorted((run / "journal").iterdir())
    path = run / "journal" / "00000099.jsonl"
    path.write_bytes(rng.choice(paths).read_bytes())
    return path, 0


def torn_end(run, _rng):
    path = max((run / "journal").iterdir())
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b'{"crc":"0000')
    return path, size


KINDS = (remove_line, twice, swap, truncate, remove_segment, foreign_segment, torn_end)
WAYS = [(flip, number) for number in range(40)] + [(kind, number) for kind in KINDS for number in range(5)]


@pytest.mark.parametrize(("damage", "number"), WAYS, ids=[f"{kind.__name__} {number}" for kind, number in WAYS])
def test_a_damaged_run_is_named_and_nothing_is_reported_from_it(damage, number, run, tmp_path):
    before = {path.name for path in run.iterdir()}
    path, byte = damage(run, random.Random(SEED + number))

    code, out, told = markbook("report", run, "--format", "csv", "--output", tmp_path / "report")

    assert code == 74
    assert out == ""
    found = re.search(r"damaged at byte (\d+)", told)
    assert f"markbook: {path}: the journal of this finished run is damaged" in told
    assert byte is None or int(found[1]) == byte
    assert not (tmp_path / "report").exists()
    assert {path.name for path in run.iterdir()} == before


def test_nobody_reads_a_damaged_run(run, finished, tmp_path):
    whole = finished[1]
    flip(run, random.Random(SEED))

    assert markbook("compare", run)[0] == 74
    assert markbook("compare", whole, "--fail-if-worse", run)[0] == 74
    args = [*finished[0], "--output", tmp_path / "new", "--fail-if-worse", run]
    assert markbook(*args)[0] == 74
    assert not (tmp_path / "new").exists()
    with pytest.raises(StorageError, match="damaged at byte"):
        api.open_run(run)
    with pytest.raises(StorageError, match="damaged at byte"):
        assert_marks(run, at_least=0)
    site = RunSite(run.parent)
    (address,) = set(re.findall(r"/run/\d+", site.page("/", {})))
    with pytest.raises(NotFound, match="damaged at byte"):
        site.page(address, {})


@pytest.mark.parametrize(("damage", "number"), WAYS[::4], ids=[f"{kind.__name__} {n}" for kind, n in WAYS[::4]])
def test_a_resume_says_what_is_lost_and_gives_the_same_bytes(damage, number, run, finished, caplog):
    names = ("a/test_results.jsonl", "b/test_results_score.json", "model_comparison.json")
    before = [(run / name).read_bytes() for name in names]
    path, _ = damage(run, random.Random(SEED + number))
    for name in names:
        (run / name).write_text("stale")

    with caplog.at_level(logging.WARNING):
        code, _, told = markbook(*finished[0], "--resume", run)

    assert code == 0, told
    assert [(run / name).read_bytes() for name in names] == before
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert said[0].startswith(f"{path} was damaged at byte ")
    assert "rows are lost and done again" in said[0] or said[0].endswith("all its rows are whole")
    assert markbook("report", run)[0] == 0
    assert json.loads((run / "run.json").read_text())["status"] == "done"


def test_the_torn_end_of_a_killed_run_is_no_damage(run, finished, caplog):
    manifest = json.loads((run / "run.json").read_text())
    manifest["status"] = "running"
    del manifest["journal"]
    (run / "run.json").write_text(json.dumps(manifest))
    last = max((run / "journal").iterdir())
    last.write_bytes(last.read_bytes()[:-7])

    code, _, told = markbook("report", run, "--format", "csv")
    assert (code, "This run broke off: scored 15 of 16 attempts" in told) == (0, True)
    with caplog.at_level(logging.WARNING):
        assert markbook(*finished[0], "--resume", run)[0] == 0
    assert "broke off" in caplog.text
    assert "hold no whole row; what they held is done again" in caplog.text


def test_whole_rows_behind_a_damaged_one_of_a_killed_run_are_not_done_again(run, finished):
    manifest = json.loads((run / "run.json").read_text())
    manifest["status"] = "running"
    del manifest["journal"]
    (run / "run.json").write_text(json.dumps(manifest))
    path = min((run / "journal").iterdir())
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = lines[2].replace(b'"', b"'", 6)
    path.write_bytes(b"".join([*lines[:2], damaged, *lines[3:]]))

    assert markbook(*finished[0], "--resume", run)[0] == 0

    assert len(lines) > 4
    assert path.read_bytes().splitlines(keepends=True) == [*lines[:2], *lines[3:]]


@pytest.mark.parametrize(
    "seal", [[1], [{"name": "x"}], [{"name": 1, "bytes": 1, "rows": 1, "crc": "0"}], "x", {"x": 1}, 7, None]
)
def test_a_seal_that_is_none_is_said_and_not_taken_for_an_older_run(seal, run):
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "journal": seal}))

    code, _, told = markbook("report", run, "--format", "csv")

    assert (code, "Traceback" in told) == (2, False)
    assert "run.json is damaged: its seal of the journal is not as it was written" in told


def test_a_finished_run_without_a_seal_is_held_against_its_rows(run):
    manifest = json.loads((run / "run.json").read_text())
    del manifest["journal"]
    (run / "run.json").write_text(json.dumps(manifest))
    assert markbook("report", run, "--format", "csv")[0] == 0

    flip(run, random.Random(SEED))

    assert markbook("report", run, "--format", "csv")[0] == 74
