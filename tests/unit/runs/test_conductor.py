"""A fourth kind of run, which nothing here knows, is conducted, compared, reported, viewed and gated like the others."""

import csv
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.load import PATIENCE
from support.paths import TESTS
from support.review_kit import markbook

from markbook import assert_marks, compare, installed, open_run, plugins
from markbook.errors import ConfigError, DataError, StrictDataError, UsageError
from markbook.report.run_index import Index
from markbook.results.kind import open_results
from markbook.runs.conductor import conduct
from markbook.runs.kind import Watcher

DATA = TESTS / "data"
TEXTS = {
    "terse": {"a": "yes", "b": "no way", "c": "well I never", "d": ""},
    "windy": {
        "a": "one two three four five six",
        "b": "one two three four",
        "c": "x y z",
        "d": "a b c d e f g h i j k l",
    },
}
# By 3 words at most: terse 1, 1, 1 and nothing; windy 3/6, 3/4, 1, 3/12.
MEANS = {"terse": 1.0, "windy": (0.5 + 0.75 + 1 + 0.25) / 4}


@pytest.fixture(scope="module", autouse=True)
def brevity(tmp_path_factory):
    """Install the outside module as a package with an entry point, and return it."""
    info = tmp_path_factory.mktemp("site") / "brevity-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[markbook.runs]\nbrevity = brevity_kind:Brevity\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(info.parent)
        patch.syspath_prepend(DATA)
        installed._declarations.cache_clear()
        plugins._entry_points.cache_clear()
        import brevity_kind

        yield brevity_kind
    installed._declarations.cache_clear()
    plugins._entry_points.cache_clear()
    del sys.modules["brevity_kind"]


@pytest.fixture
def answers(tmp_path, brevity):
    return brevity.write_answers(tmp_path / "answers.jsonl", TEXTS)


def run(brevity, answers, tmp_path, **options):
    watcher = options.pop("watcher", None)
    request = brevity.BrevityOptions(answers=answers, output=tmp_path / "out", **options)
    return conduct("brevity", request, watcher)


@pytest.fixture
def made(brevity, answers, tmp_path):
    return run(brevity, answers, tmp_path)


def test_it_is_conducted_to_a_run_folder(made):
    assert (made.status, made.command, made.manifest["config"]) == ("done", "brevity", {"words": 3})
    assert list(made.manifest["inputs"]) == ["answers/1"]
    assert made.manifest["answers"] == 8
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "journal", "lock", "report.html", "results.jsonl", "run.json", "summary.json",
    ]  # fmt: skip


class Stop(Watcher):
    """Interrupts a run after some steps, and counts them."""

    def __init__(self, after=None):
        self.after, self.steps, self.begun = after, 0, []

    def on_start(self, _folder, start):
        self.begun.append((start.total, start.done))

    def did(self, _step):
        self.steps += 1
        if self.steps == self.after:
            raise KeyboardInterrupt


def test_a_run_that_broke_off_is_marked_and_goes_on_with_what_it_lacks(brevity, answers, tmp_path, made):
    with pytest.raises(KeyboardInterrupt):
        run(brevity, answers, tmp_path / "broken", watcher=Stop(3))
    (folder,) = (tmp_path / "broken" / "out").iterdir()
    assert open_run(folder).status == "interrupted"

    watch = Stop()
    resumed = run(brevity, answers, tmp_path, resume=folder, watcher=watch)

    assert (resumed.status, watch.begun, watch.steps) == ("done", [(8, 3)], 5)
    for name in ("results.jsonl", "summary.json", "report.html"):
        assert resumed.read(name) == made.read(name)


def test_a_finished_run_is_opened_and_nothing_is_done_again(brevity, answers, tmp_path, made):
    before = (made.folder / "run.json").read_bytes()

    watch = Stop()
    again = run(brevity, answers, tmp_path, resume=made.folder, watcher=watch)

    assert (again.status, watch.begun) == ("done", [])
    assert (made.folder / "run.json").read_bytes() == before


def test_a_run_of_other_options_is_not_gone_on_with(brevity, answers, tmp_path, made):
    with pytest.raises(UsageError, match=r"config\.words"):
        run(brevity, answers, tmp_path, resume=made.folder, words=4)


def test_what_is_refused_is_refused_before_anything_is_written(brevity, tmp_path):
    nothing = brevity.write_answers(tmp_path / "none.jsonl", {})
    with pytest.raises(DataError, match="no answer to mark"):
        run(brevity, nothing, tmp_path)
    broken = brevity.write_answers(tmp_path / "broken.jsonl", TEXTS)
    broken.write_text(broken.read_text() + "{\n")
    with pytest.raises(StrictDataError, match="1 rows would be skipped"):
        run(brevity, broken, tmp_path, strict=True)

    assert not (tmp_path / "out").exists()
    assert run(brevity, broken, tmp_path).manifest["answers"] == 8


def report(made, name, output):
    code, out, told = markbook("report", made.folder, "--format", name, "--output", output)
    assert code == 0, told
    return [Path(line) for line in out.splitlines()]


def test_its_pages_show_the_means(made, tmp_path):
    (html,) = report(made, "html", tmp_path / "html")
    (md,) = report(made, "md", tmp_path / "md")

    assert all(word in html.read_text() for word in ("Brevity", "terse", "windy", "62.5", "well I never"))
    assert "| windy | 62.5 |" in md.read_text()
    assert "| terse | 100.0 |" in md.read_text()
    assert "3 of 4" in md.read_text()


def test_its_rows_are_in_every_table(made, tmp_path):
    (as_csv,) = report(made, "csv", tmp_path)
    rows = list(csv.DictReader(as_csv.read_text(encoding="utf-8").splitlines()))
    (as_json,) = report(made, "json", tmp_path)
    record = json.loads(as_json.read_text())

    assert [row["metrics.brevity"] for row in rows] == ["1.0", "1.0", "1.0", "", "0.5", "0.75", "1.0", "0.25"]
    assert rows[3]["missing.brevity.kind"] == "no_completion"
    assert len(record["rows"]) == 8
    assert record["summary"]["metrics"]["brevity"]["models"]["windy"]["value"] == MEANS["windy"]
    assert record["summary"]["metrics"]["brevity"]["models"]["terse"]["n_missing"] == {"no_completion": 1}


def test_a_build_server_reads_it(made, tmp_path):
    (junit,) = report(made, "junit", tmp_path)

    suites = {suite.get("name"): suite for suite in ET.parse(junit).getroot()}
    assert {name: suite.get("tests") for name, suite in suites.items()} == {"terse": "4", "windy": "4"}


def test_its_rows_make_a_data_frame(made):
    assert [row["model"] for row in made._flat_rows()] == ["terse"] * 4 + ["windy"] * 4


def test_its_parquet_has_its_rows(made, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (path,) = report(made, "parquet", tmp_path)

    assert parquet.read_table(path).column("metrics.brevity").to_pylist() == [1, 1, 1, None, 0.5, 0.75, 1, 0.25]


def test_a_notebook_shows_its_tables(made):
    shown = made._repr_html_()

    assert "<caption>brevity</caption>" in shown
    assert "62.5" in shown


@pytest.mark.parametrize("name", ["documented", "lm-eval"])
def test_a_format_of_other_kinds_is_refused_in_a_sentence(made, name, tmp_path):
    code, _, told = markbook("report", made.folder, "--format", name, "--output", tmp_path / "new")

    assert code == 2
    assert f"a run of `markbook brevity` has no {name} files" in told


def test_its_models_are_compared(made):
    code, out, told = markbook("compare", made.folder, "--json")

    assert code == 0, told
    (pair,) = json.loads(out)["pairs"]
    assert abs(pair["difference"]) == pytest.approx(1 - (0.5 + 0.75 + 1) / 3)  # over the three that both have
    assert compare(made).to_json() == json.loads(out)


def test_two_runs_are_compared_though_their_answers_differ(brevity, made, tmp_path):
    worse = {"windy": {name: f"{text} and more and more of it" for name, text in TEXTS["windy"].items()}}
    other = run(brevity, brevity.write_answers(tmp_path / "other.jsonl", worse), tmp_path / "other")

    code, out, told = markbook("compare", made.folder, other.folder, "--json")

    assert code == 0, told
    assert not any("different inputs" in note for note in json.loads(out)["notes"])
    assert len(json.loads(out)["pairs"]) == 3


def test_gates_hold_it_to_its_marks(made):
    assert markbook("compare", made.folder, "--fail-under", "windy=60%")[0] == 0
    code, _, told = markbook("compare", made.folder, "--fail-under", "windy=0.7")

    assert code == 1
    assert "windy" in told
    assert_marks(made, at_least={"windy": 0.6})
    with pytest.raises(AssertionError, match=r"windy: brevity is 0\.625 "):
        assert_marks(made, at_least={"windy": 0.7})


def test_view_lists_and_opens_its_attempts(made):
    results = open_results(made)
    index = Index(results)
    index.start()
    index.wait(8, PATIENCE)

    found, count = index.search(model="windy", sample="d")
    assert count == 1
    assert found[0].score == 0.25
    shown = results.show_attempt(found[0].location)
    assert (shown.sample, shown.facts, shown.text) == ("d", (("brevity", "25.0"),), TEXTS["windy"]["d"])


def test_it_is_listed():
    code, out, _ = markbook("list", "runs", "--json")

    assert code == 0
    assert {"name": "brevity", "target": "brevity_kind:Brevity", "package": "brevity", "problem": ""} in json.loads(out)
    assert [row["name"] for row in json.loads(out)] == ["brevity", "exam", "import", "review", "run"]


def test_a_part_that_is_no_kind_of_run_is_refused(brevity, tmp_path, answers):
    with pytest.raises(ConfigError, match="makes no run but 'dict'"):
        conduct("builtins:dict", brevity.BrevityOptions(answers=answers, output=tmp_path))
