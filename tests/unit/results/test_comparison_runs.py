"""Finished runs side by side, and the gates."""

import csv
import io
import json
import shutil

import pytest
from click.testing import CliRunner

import markbook
from markbook.cli.compare import command
from markbook.errors import DataError, GateFailed, UsageError
from markbook.results.compare import baseline_pairs, compare, hold_against, read_sheet, read_sheets
from markbook.results.gates import Gate, check_worse, collect_marks, hold_gates, parse_gate


def run_command(*args):
    return CliRunner().invoke(command, [str(arg) for arg in args], catch_exceptions=True, standalone_mode=False)


def test_models_of_one_run_are_compared(exam_run):
    found = compare(exam_run())

    assert [standing.model for standing in found.standings] == ["strong", "middling", "weak"]
    assert found.pair("strong", "weak").better == "strong"
    assert found.n_common == 24
    assert set(found.by_topic) == {"closures", "generators", "numbers", "strings"}


def test_a_run_can_be_named_by_path_or_by_its_run_json(exam_run):
    run = exam_run()

    assert markbook.compare(str(run.folder)).to_json() == markbook.compare([run.folder / "run.json"]).to_json()


def test_absent_answers_count_as_zero(exam_run):
    run = exam_run(models={"all": 1.0, "some": 1.0}, absent=0.4, seed=3)

    cells = read_sheet(run).marks["some"]

    assert len(cells) == 24
    assert {cell.value for cell in cells.values()} == {0.0, 1.0}
    assert all(cell.passed == (cell.value == 1.0) for cell in cells.values())


def test_the_score_of_a_problem_is_the_mean_of_its_attempts(exam_run):
    run = exam_run(models={"a": 0.5, "b": 0.5}, problems=6, attempts=4)

    from markbook.runs.exam.view import ExamView

    tally = ExamView(run, run.manifest).tallies["a"]
    assert [cell.value for cell in read_sheet(run).marks["a"].values()] == [tally.problem_score(at) for at in range(6)]


def test_two_runs_are_aligned_by_sample(exam_run):
    old, new = exam_run("old", models={"m": 0.3}, seed=1), exam_run("new", models={"m": 0.95}, seed=2)

    found = compare([old, new])

    assert {standing.model for standing in found.standings} == {f"m ({old.folder.name})", f"m ({new.folder.name})"} or (
        old.folder.name == new.folder.name
    )
    assert found.pairs[0].n == 24


def test_an_unfinished_run_is_refused(exam_run):
    with pytest.raises(DataError, match="running"):
        compare(exam_run(finish=""))


def test_an_unknown_metric_is_refused(exam_run):
    with pytest.raises(UsageError, match="exam_score"):
        compare(exam_run(), metric="exam_scor")


def test_thresholds_read_numbers_and_percent():
    assert parse_gate("gpt-4=0.8") == Gate("gpt-4", 0.8)
    assert parse_gate("a=b= 85%") == Gate("a=b", 0.85, is_percent=True)
    for bad in ("x", "=1", "x=", "x=high", "x=nan"):
        with pytest.raises(UsageError, match="NAME=X"):
            parse_gate(bad)


def test_a_threshold_holds_for_a_model_or_for_all(exam_run):
    marks = collect_marks(compare(exam_run()), {name: name for name in ("strong", "weak")})

    hold_gates([Gate("strong", 0.5)], marks)
    with pytest.raises(GateFailed, match="weak is"):
        hold_gates([Gate("exam_score", 0.5)], marks)
    with pytest.raises(UsageError, match=r"lies outside 0\.\.1.*80% or 0\.8\?"):
        hold_gates([Gate("strong", 80)], marks)
    with pytest.raises(UsageError, match="strong"):
        hold_gates([Gate("stron", 0.5)], marks)


def test_worse_fails_only_when_the_interval_says_so(exam_run):
    found = compare(exam_run(models={"base": 0.7, "twin": 0.7, "broken": 0.0}))

    assert check_worse(found, [("twin", "base")])[0].first == "twin"
    with pytest.raises(GateFailed, match="broken is worse than base"):
        check_worse(found, [("broken", "base")])


def test_identical_total_failure_is_seen_although_the_differences_do_not_vary(exam_run):
    found = compare(exam_run(models={"perfect": 1.0, "nothing": -1.0}))

    with pytest.raises(GateFailed, match="nothing is worse"):
        check_worse(found, [("nothing", "perfect")])


def test_a_baseline_run_is_matched_by_model_name(exam_run):
    new, old = exam_run("new", models={"a": 0.5, "b": 0.5}), exam_run("old", models={"a": 0.5, "b": 0.6})
    sheet = read_sheets([new, old])

    pairs = baseline_pairs(sheet, str(old.folder), last_run=1)

    assert [(sheet.origins[one], sheet.origins[two]) for one, two in pairs] == [
        ((0, "a"), (1, "a")),
        ((0, "b"), (1, "b")),
    ]


def test_a_candidate_without_counterpart_is_refused(exam_run):
    new, old = exam_run("new", models={"c": 0.5}), exam_run("old", models={"a": 0.5, "b": 0.6})
    sheet = read_sheets([new, old])

    with pytest.raises(UsageError, match="none is called 'c'"):
        baseline_pairs(sheet, "old", last_run=1)
    with pytest.raises(UsageError, match="neither a run folder nor a model"):
        baseline_pairs(sheet, "nobody", last_run=None)


def test_command_prints_tables_json_csv_and_markdown(exam_run):
    folder = exam_run().folder

    table, as_json, as_csv, as_md = (
        run_command(folder, *more) for more in ((), ("--json",), ("--format", "csv"), ("--format", "md"))
    )

    assert "not distinguishable" in table.stdout or "is better" in table.stdout
    record = json.loads(as_json.stdout)
    assert len(record["pairs"]) == 3
    assert {"model_a", "model_b", "difference", "interval", "p", "p_adjusted", "mcnemar_p"} <= set(record["pairs"][0])
    assert len(list(csv.reader(io.StringIO(as_csv.stdout)))) == 4
    assert as_md.stdout.startswith(
        "**strong and middling do not differ significantly on these 24 samples; both are better than weak"
    )
    assert "## Ranking" in as_md.stdout


def test_command_gates_exit_one(exam_run):
    new, old = exam_run("new", models={"m": 0.0}), exam_run("old", models={"m": 0.95})

    worse = run_command(new.folder, "--fail-if-worse", old.folder)
    fine = run_command(old.folder, "--fail-if-worse", new.folder)
    under = run_command(new.folder, old.folder, "--fail-under", "exam_score=90%")

    assert isinstance(worse.exception, GateFailed)
    assert worse.exception.exit_code == 1
    assert (fine.exception, fine.return_value) == (None, 0)
    assert "not shown to be worse" in fine.stderr
    assert isinstance(under.exception, GateFailed)


def test_a_single_model_is_nothing_to_compare(exam_run):
    outcome = run_command(exam_run(models={"alone": 0.5}).folder)

    assert isinstance(outcome.exception, DataError)


def test_a_folder_of_runs_is_held_against_the_baseline_and_not_against_its_own_second_run(exam_run, tmp_path):
    old = exam_run("old", models={"a": 0.9})
    several = [exam_run(f"new-{at}", models={"a": share}) for at, share in enumerate((0.9, 0.1))]
    for run in several:
        shutil.copytree(run.folder, tmp_path / "several" / run.folder.parent.name)

    with pytest.raises(GateFailed, match=r"^a \(new-1\S* is worse than a "):
        check_worse(*hold_against(tmp_path / "several", old))
    with pytest.raises(DataError, match="2 runs lie here, and one is the baseline"):
        hold_against(old, tmp_path / "several")


def test_one_differing_sample_does_not_show_of_what_size_the_next_will_be(tmp_path):
    scores = [(at % 10) / 10 for at in range(30)]
    found = []
    for second in ({3: 0.32}, {3: 0.32, 7: 0.679}):
        rows = [
            {"item": at, "model": model, "score": second.get(at, score) if model == "b" else score}
            for at, score in enumerate(scores)
            for model in "ab"
        ]
        file = tmp_path / f"{len(second)}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        found.append(json.loads(run_command(file, "--json").stdout)["pairs"][0]["minimum_detectable_effect"])

    assert found == pytest.approx([0.2508, 0.2508], abs=1e-4)
