"""`markbook score` and `markbook list`."""

import json
import random
import tracemalloc

import pytest
from click.testing import CliRunner
from support import review_kit

from markbook import measure, summarise
from markbook.cli import cli, main
from markbook.plugins import create
from markbook.results.summary import MeasurementTally
from markbook.types import Summary

ROWS = [
    '{"candidate": "the cat sat", "reference": "the cat sat"}',
    '{"candidate": "a dog", "references": ["one dog", "a cat"]}',
    '{"candidate": null, "reference": "x"}',
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(ROWS) + "\n", "utf-8")
    return path


def run(capsys, *args):
    """Return exit code, stdout and stderr of a command line."""
    with pytest.raises(SystemExit) as stopped:
        main([str(arg) for arg in args])
    shown = capsys.readouterr()
    return stopped.value.code, shown.out, shown.err


def test_every_value_stands_beside_its_n_and_n_missing(capsys, file):
    code, out, _ = run(capsys, "score", "rouge1,exact_match", file, "--json")

    report = json.loads(out)
    assert code == 0
    assert report["rows"] == 3
    assert report["skipped"] == 0
    rouge1 = report["metrics"]["rouge1"]
    assert rouge1["value"] == pytest.approx(0.75)  # 1 and one of two words
    assert (rouge1["n"], rouge1["n_items"], rouge1["n_missing"]) == (2, 3, {"absent": 1})
    assert rouge1["interval"]["low"] <= 0.75 <= rouge1["interval"]["high"]
    assert rouge1["direction"] == "higher"
    assert rouge1["range"] == [0.0, 1.0]
    assert rouge1["signature"].startswith("rouge1|")
    assert Summary.from_record(rouge1).to_record() == rouge1


def test_few_rows_that_are_right_or_wrong_are_warned_of(capsys, tmp_path):
    path = tmp_path / "four.jsonl"
    path.write_text('{"candidate": "a", "reference": "a"}\n' * 4)

    _, out, _ = run(capsys, "score", "exact_match", path, "--json")

    assert json.loads(out)["metrics"]["exact_match"]["note"] == (
        "the interval may be too narrow: only 4 values, half or more of them at the ends of the range"
    )


def test_the_table_shows_the_same(capsys, file):
    code, out, err = run(capsys, "score", "exact_match,edit_distance", file)

    assert code == 0
    assert "exact_match     50.0  [9.5, 90.5] " in out
    assert "1 absent" in out
    assert "(lower is better)" in out
    assert err == ""


def test_rows_give_each_value_with_its_place(capsys, file):
    _, out, _ = run(capsys, "score", "exact_match", file, "--rows")

    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["exact_match"] for row in rows] == [1.0, 0.0, None]
    assert rows[2]["at"] == f"{file}:3"
    assert rows[2]["missing"] == {"exact_match": {"kind": "absent", "detail": "no candidate"}}


def test_a_bad_row_is_named_and_skipped(capsys, file):
    lines = [
        "not json",
        '{"answer": 1}',
        '{"candidate": "x"}',
        '{"candidate": "x", "reference": "y", "references": []}',
    ]
    file.write_text("\n".join([*ROWS, *lines, '{"candidate": "x", "references": "y"}']), "utf-8")

    code, out, err = run(capsys, "score", "bleu", file, "--json")

    assert code == 0
    assert json.loads(out)["skipped"] == 5
    assert f"{file}:4: not JSON" in err
    assert f"{file}:5: no key 'candidate'" in err
    assert f"{file}:6: no key 'reference' or 'references'" in err
    assert f"{file}:7: both 'reference' and 'references'" in err
    assert f"{file}:8: 'references' is not a list" in err


def test_a_bad_row_ends_a_strict_run(capsys, file):
    file.write_text("not json\n" + "\n".join(ROWS), "utf-8")

    code, out, err = run(capsys, "score", "bleu", file, "--strict")

    assert code == 65
    assert out == ""
    assert f"{file}:1: not JSON" in err


@pytest.mark.parametrize("content", ["", "\n\n", "not json\n", "[]"])
def test_a_file_without_a_row_is_an_error(capsys, file, content):
    file.write_text(content, "utf-8")

    assert run(capsys, "score", "bleu", file)[0] == 2


def test_an_unknown_metric_or_file_is_an_error(capsys, file, tmp_path):
    code, _, err = run(capsys, "score", "blue", file)
    assert code == 2
    assert "did you mean 'bleu'" in err

    code, _, err = run(capsys, "score", "bleu", tmp_path / "none.jsonl")
    assert code == 2
    assert "none.jsonl" in err


def test_options_reach_the_metric(capsys, file):
    _, out, _ = run(capsys, "score", "bleu", file, "--json", "--option", "tokenize=char", "--option", "lowercase=true")

    assert "case:lc|eff:yes|tok:char" in json.loads(out)["metrics"]["bleu"]["signature"]


@pytest.mark.parametrize("bad", [("--option", "tokenize"), ("--fail-under", "bleu"), ("--fail-under", "rouge1=0.5")])
def test_an_argument_that_cannot_be_read_is_an_error(capsys, file, bad):
    assert run(capsys, "score", "bleu", file, *bad)[0] == 2


@pytest.mark.parametrize(
    ("gate", "code"),
    [("exact_match=0.5", 0), ("exact_match=0.6", 1), ("edit_distance=0.4", 0), ("edit_distance=0.1", 1)],
)
def test_a_gate_respects_the_direction(capsys, file, gate, code):
    assert run(capsys, "score", "exact_match,edit_distance", file, "--fail-under", gate)[0] == code


def test_a_model_that_is_not_here_makes_the_run_incomplete(capsys, file, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)

    code, out, err = run(capsys, "score", "bertscore_f1,bleu", file, "--json")

    report = json.loads(out)["metrics"]
    assert code == 3
    assert report["bertscore_f1"]["value"] is None
    assert report["bertscore_f1"]["n_missing"] == {"absent": 1, "unavailable": 2}
    assert report["bleu"]["n"] == 2
    assert "hf download" in err


def test_workers_change_nothing(capsys, file):
    file.write_text("\n".join(ROWS * 20), "utf-8")

    one = run(capsys, "score", "bleu,rouge_score", file, "--json")
    two = run(capsys, "score", "bleu,rouge_score", file, "--json", "--workers", "2")

    assert one == two


def test_the_listed_metrics_have_range_direction_and_version():
    listed = json.loads(CliRunner().invoke(cli, ["list", "metrics", "--json"]).output)

    by_name = {row["name"]: row for row in listed}
    assert by_name["edit_distance"]["direction"] == "lower"
    assert by_name["edit_distance"]["range"] == [0.0, 1.0]
    assert {"bleu", "corpus_bleu", "rougeL", "meteor", "bertscore_f1", "tfidf_cosine"} <= set(by_name)
    for row in listed:
        assert row["problem"] == ""
        assert isinstance(row["version"], int)


@pytest.mark.parametrize("kind", ["metrics", "tasks", "loaders", "traces", "engines", "reports"])
def test_every_kind_can_be_listed_both_ways(kind):
    table = CliRunner().invoke(cli, ["list", kind])
    rows = CliRunner().invoke(cli, ["list", kind, "--json"])

    assert (table.exit_code, rows.exit_code) == (0, 0)
    for row in json.loads(rows.output):
        assert row["name"] in table.output


PAIRS = [("a b", "a b"), ("a", "b")]


def _as_csv(path):
    path.write_text("answer,gold\n" + "".join(f"{one},{other}\n" for one, other in PAIRS))


def _as_parquet(path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"answer": one, "gold": other} for one, other in PAIRS]
    parquet.write_table(arrow.Table.from_pylist(rows), path)


def _as_lines(path):
    path.write_text("".join(json.dumps({"answer": one, "gold": other}) + "\n" for one, other in PAIRS))


@pytest.mark.parametrize(
    ("name", "write"), [("r.csv", _as_csv), ("r.parquet", _as_parquet), ("r.jsonl", _as_lines), ("r", _as_lines)]
)
def test_rows_of_any_table_are_marked_by_the_columns_that_are_named(capsys, tmp_path, name, write):
    write(tmp_path / name)

    code, out, err = run(
        capsys, "score", "exact_match", tmp_path / name, "--map", "candidate=answer,reference=gold", "--json"
    )

    assert code == 0, err
    assert json.loads(out)["metrics"]["exact_match"]["value"] == 0.5


def test_standard_input_is_read_and_named(capsys, monkeypatch):
    import io
    import sys

    lines = b'{"candidate": "a", "reference": "a"}\n{"candidate": NaN}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))

    code, out, err = run(capsys, "score", "exact_match", "-", "--json")

    assert code == 0
    assert json.loads(out)["metrics"]["exact_match"]["value"] == 1.0
    assert "<stdin>:2: " in err


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("candidat=a", "a column cannot be 'candidat' (did you mean 'candidate'"),
        ("candidate", "'candidate' says of no column what it is"),
        ("candidate=nope", "no key 'nope'"),
        ("candidate=candidate,candidate=reference", "'candidate' is named twice"),
    ],
)
def test_columns_that_are_none_are_said(capsys, file, columns, says):
    code, _, err = run(capsys, "score", "exact_match", file, "--map", columns)

    assert code == 2
    assert says in err


def test_an_option_that_is_said_twice_is_refused(capsys, file):
    code, _, err = run(capsys, "score", "exact_match", file, "--option", "strip=true", "--option", "strip=false")

    assert code == 2
    assert "--option 'strip' is named twice" in err


@pytest.mark.parametrize(
    ("said", "value"), [("true", 1.0), ("True", 1.0), ("false", 0.0), ("False", 0.0), ("FALSE", 0.0)]
)
def test_an_option_that_is_on_or_off_is_said_by_true_or_false(capsys, file, said, value):
    file.write_text('{"candidate": "A", "reference": "a"}', "utf-8")

    code, out, _ = run(capsys, "score", "exact_match", file, "--json", "--option", f"lowercase={said}")

    assert code == 0
    assert json.loads(out)["metrics"]["exact_match"]["value"] == value


@pytest.mark.parametrize(
    ("metric", "option", "wanted"),
    [
        ("exact_match", "lowercase=no", "lowercase must be true or false, not 'no'"),
        ("exact_match", "lowercase=off", "lowercase must be true or false, not 'off'"),
        ("exact_match", "lowercase=maybe", "lowercase must be true or false, not 'maybe'"),
        ("exact_match", "lowercase=1", "lowercase must be true or false, not 1"),
        ("exact_match", "regexes_to_ignore=a", "regexes_to_ignore must be a list of texts, not 'a'"),
        ("bleu", "effective_order=no", "effective_order must be true or false, not 'no'"),
        ("corpus_bleu", "lowercase=no", "lowercase must be true or false, not 'no'"),
        ("bleu", "smooth_value=1e400", "smooth_value must be a number, not inf"),
        ("bleu", "smooth_value=x", "smooth_value must be a number, not 'x'"),
        ("codebleu", "weights=1,2,3,4", "weights must be a list of numbers, not '1,2,3,4'"),
        ("chrf", "char_order=2.5", "char_order must be a whole number, not 2.5"),
    ],
)
def test_an_option_of_another_kind_is_refused(capsys, file, metric, option, wanted):
    code, out, err = run(capsys, "score", metric, file, "--option", option)

    assert code == 2
    assert wanted in err
    assert out == ""


@pytest.mark.parametrize(("method", "value"), [("add-k", -3), ("floor", 50), ("floor", -0.1)])
def test_a_smoothing_that_could_leave_the_range_is_refused(capsys, file, method, value):
    code, _, err = run(
        capsys, "score", "bleu", file, "--option", f"smooth_method={method}", "--option", f"smooth_value={value}"
    )

    assert code == 2
    assert f"smooth_value of {method} must be a number from 0" in err


def test_a_text_that_looks_like_a_number_is_a_text_where_one_is_wanted(capsys, file):
    file.write_text('{"candidate": "7 up"}', "utf-8")

    code, out, _ = run(capsys, "score", "contains", file, "--json", "--option", "text=7")

    assert code == 0
    assert json.loads(out)["metrics"]["contains"]["value"] == 1.0


@pytest.mark.parametrize("names", ["", ",", " , "])
@pytest.mark.parametrize("more", [(), ("--json",), ("--rows",)])
def test_no_metric_is_a_mistake(capsys, file, names, more):
    code, out, err = run(capsys, "score", names, file, *more)

    assert (code, out) == (2, "")
    assert "no metric is named" in err


@pytest.mark.parametrize("how", ["--json", "--rows"])
def test_rows_are_marked_in_batches_and_every_number_is_the_same(tmp_path, monkeypatch, how):
    words = ["a", "cat", "sat", "on", "the", "green", "mat", "under", "an", "old", "tree"]
    pairs = [(words[n % 4 : n % 4 + 6], words[n % 3 : n % 3 + 6]) for n in range(25)]
    rows = [{"candidate": " ".join(one), "reference": " ".join(other)} for one, other in pairs]
    rows[7]["candidate"], rows[20]["reference"] = None, ""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "not JSON\n")
    command = ("score", "exact_match,rougeL,corpus_bleu,corpus_chrf,corpus_ter", file, how)

    whole = review_kit.markbook(*command)
    monkeypatch.setattr("markbook.cli.score._BATCH", 4)

    assert review_kit.markbook(*command) == whole
    assert whole[0] == 0


@pytest.mark.parametrize("name", ["corpus_bleu", "corpus_chrf", "corpus_ter", "ter"])
def test_the_order_of_rows_changes_no_digit(tmp_path, name):
    words = ["a", "cat", "sat", "on", "the", "green", "mat", "under", "an", "old", "tree"]
    draw = random.Random(3)
    texts = [[" ".join(draw.choices(words, k=draw.randint(3, 9))) for _ in range(4)] for _ in range(60)]
    file, numbers = tmp_path / "rows.jsonl", set()
    for _ in range(5):
        draw.shuffle(texts)
        rows = [{"candidate": candidate, "references": references} for candidate, *references in texts]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        numbers.add(review_kit.markbook("score", name, file, "--json"))

    assert len(numbers) == 1
    assert numbers.pop()[0] == 0


def test_a_tally_keeps_numbers_and_says_what_the_measurements_say():
    texts = [f"the {n} of {n % 3} houses" for n in range(40)], [f"the {n} of {n % 4} houses" for n in range(40)]
    texts[0][20] = "so long a text has counts of more than two bytes " * 1000
    for name in ("corpus_bleu", "corpus_chrf", "corpus_ter", "edit_distance"):
        measured = measure(name, *texts)
        tally = MeasurementTally(create("metrics", name))
        for start in range(0, 40, 9):
            tally.add(measured[start : start + 9])

        assert tally.summary(seed=3) == summarise(name, measured, seed=3)


@pytest.mark.parametrize(("name", "most"), [("corpus_bleu", 180), ("corpus_chrf", 250), ("corpus_ter", 130)])
def test_the_number_of_many_rows_takes_little_more_memory_than_their_counts(name, most):
    measured = measure(name, *[[f"the {n} of {n % 3} houses is {name[: n % 9]}" for n in range(100)]] * 2)
    tally = MeasurementTally(create("metrics", name))
    for _ in range(200):
        tally.add(measured)

    tracemalloc.start()
    summary = tally.summary()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert summary.n == 20_000
    assert peak / summary.n < most  # bytes a row


def test_a_cassette_that_cannot_be_there_is_no_failure_of_the_metric(capsys, monkeypatch, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"candidate": "a", "question": "Why?"}\n', "utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    named = ("--rubric", "helpfulness", "--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
    code, out, err = run(capsys, "score", "judge", file, *named, "--cassette", tmp_path / ("x" * 300))

    assert code == 73
    assert out == ""
    assert err.endswith(": the cassette cannot be written: File name too long\n")


def test_a_row_that_failed_is_missing_and_not_wrong(capsys, tmp_path):
    rows = [{"candidate": "x", "reference": "x"}, {"candidate": "Error", "reference": "y", "error": "timeout"}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, out, _ = run(capsys, "score", "exact_match", path, "--json")

    number = json.loads(out)["metrics"]["exact_match"]
    assert (code, number["value"], number["n_missing"]) == (0, 1.0, {"absent": 1})


@pytest.mark.parametrize("grade", ["passed", "correct", "is_correct", "all_passed", "score", "reward"])
@pytest.mark.parametrize("key", ["candidate", "prediction", "my_column"])
def test_a_wrong_candidate_with_what_its_grader_found_stays_in_the_mean(capsys, tmp_path, key, grade):
    rows = [
        {key: "ba"[at % 2], "reference": "a", grade: at % 2, "error": None if at % 2 else "not a"} for at in range(10)
    ]
    rows.append({key: None, "reference": "a", grade: 0, "error": "timeout"})
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, out, _ = run(capsys, "score", "exact_match", path, "--map", f"candidate={key}", "--json")

    number = json.loads(out)["metrics"]["exact_match"]
    assert (code, number["value"], number["n"], number["n_missing"]) == (0, 0.5, 10, {"absent": 1})
