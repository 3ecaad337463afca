"""Generated reviews in every shape that users bring."""

import json

import pytest

from markbook.datasets.generated_reviews import GeneratedReviews
from markbook.errors import DataError


def load(path):
    return GeneratedReviews().load(path)


def rows(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_rows_of_text_and_of_fields(tmp_path):
    file = rows(
        tmp_path / "r.jsonl",
        {"paper_id": "1", "system": "a", "review": "A text.", "execution_time": 2},
        {"paper_id": "1", "system": "b", "review": {"comments": "The comments.", "recommendation": "4"}},
        {
            "paper_id": "2",
            "system": "b",
            "review": {"summary": "S.", "weaknesses": "W."},
            "recommendation": "weak accept",
        },
    )

    first, second, third = load(file).attempts

    assert (first.text, first.seconds, first.model) == ("A text.", 2.0, "a")
    assert (second.text, second.meta["recommendation"], second.seconds) == ("The comments.", 4.0, None)
    assert (third.text, third.meta["recommendation"]) == ("S.\n\nW.", "weak_accept")


@pytest.mark.parametrize("wrap", [list, lambda rows: {"reviews": rows}, lambda rows: rows[0]])
def test_json_files_hold_an_array_an_object_or_one_row(tmp_path, wrap):
    file = tmp_path / "r.json"
    file.write_text(json.dumps(wrap([{"paper_id": "1", "system": "a", "review": "x"}])))

    assert [attempt.text for attempt in load(file).attempts] == ["x"]


def test_several_attempts_of_one_system_are_numbered(tmp_path):
    file = rows(tmp_path / "r.jsonl", *[{"paper_id": "1", "system": "a", "review": text} for text in "xyz"])

    assert [(attempt.text, attempt.index) for attempt in load(file).attempts] == [("x", 0), ("y", 1), ("z", 2)]


def test_unusable_rows_are_rejected_with_their_place(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"review": "no paper"}\nnot json\n{"paper_id": "1"}\n{"paper_id": 7, "review": "ok"}\n[]\n')

    found = load(file)

    assert [attempt.sample_id for attempt in found.attempts] == ["7"]
    assert [item.at.rpartition(":")[2] for item in found.rejections] == ["1", "2", "3", "5"]


@pytest.mark.parametrize("review", ["", "   ", "\u200b\ufeff \u2060", None, 7, {}, {"comments": None}, []])
def test_an_empty_review_is_an_attempt_without_text(tmp_path, review):
    (attempt,) = load(rows(tmp_path / "r.jsonl", {"paper_id": "1", "review": review})).attempts

    assert attempt.text == ""


@pytest.mark.parametrize("seconds", [10**400, True, "soon", None, [1]])
def test_what_is_no_time_is_no_time(tmp_path, seconds):
    (attempt,) = load(rows(tmp_path / "r.jsonl", {"paper_id": "1", "review": "x", "execution_time": seconds})).attempts

    assert attempt.seconds is None


def test_a_negative_time_is_kept_for_the_score_to_refuse(tmp_path):
    (attempt,) = load(rows(tmp_path / "r.jsonl", {"paper_id": "1", "review": "x", "execution_time": -2})).attempts

    assert attempt.seconds == -2


def test_a_trace_outside_the_folder_is_not_followed(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.json").write_text("{}")
    (folder / "t.json").write_text("{}")
    file = rows(
        folder / "r.jsonl",
        {"paper_id": "1", "review": "x", "trace": "../secret.json"},
        {"paper_id": "2", "review": "x", "trace": "t.json"},
    )

    outside, inside = load(file).attempts

    assert "trace" not in outside.meta
    assert "outside" in outside.meta["notes"][0]
    assert inside.meta["trace"] == str((folder / "t.json").resolve())


def test_a_run_folder_gives_review_time_and_trace(tmp_path):
    run = tmp_path / "run_1"
    run.mkdir()
    review = {"paper_id": "1", "review": {"comments": "Text.", "clarity": "4"}, "structured_review": {"clarity": 4}}
    (run / "review.json").write_text(json.dumps(review))
    (run / "metadata.json").write_text(json.dumps({"engine_type": "mas", "paper_id": "1"}))
    (run / "trace.json").write_text(json.dumps({"start_time": 10.0, "end_time": 12.5, "tool_calls": []}))
    (run / "evaluation.json").write_text("{}")

    (attempt,) = load(tmp_path).attempts

    assert (attempt.sample_id, attempt.model, attempt.seconds, attempt.text) == ("1", "mas", 2.5, "Text.")
    assert attempt.meta["scores"] == {"clarity": 4.0}


def test_a_run_that_wrote_no_review_is_an_empty_attempt(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps({"engine_type": "mas", "paper_id": "1"}))
    # One moment in the log measures no time.
    (tmp_path / "trace.json").write_text(json.dumps({"start_time": 10.0, "end_time": 10.0}))

    (attempt,) = load(tmp_path).attempts

    assert (attempt.text, attempt.seconds) == ("", None)


def test_nothing_usable_is_refused(tmp_path):
    with pytest.raises(DataError, match="no generated review"):
        load(rows(tmp_path / "r.jsonl", {"a": 1}))


def test_the_real_runs_are_read(shared_data):
    found = load(shared_data / "agent-traces" / "agents-eval-mas")

    assert len(found.attempts) == 11
    assert sum(bool(attempt.text) for attempt in found.attempts) == 4
    assert [round(a.seconds, 3) for a in found.attempts[:2]] == [6.562, 83.698]
    assert {attempt.model for attempt in found.attempts} == {"mas"}


def test_a_path_that_no_file_can_have_is_not_read(tmp_path):
    file = rows(tmp_path / "r.jsonl", {"paper_id": "1", "review": "A text.", "trace": "a\0b"})

    (attempt,) = load(file).attempts

    assert "trace" not in attempt.meta
    assert "outside the folder" in attempt.meta["notes"][0]
