"""`markbook compare` of plain tables: what a column says holds for every row that has it, in any order and form of file."""

import csv
import gzip
import json
import random

import pytest
from support.review_kit import markbook as command

from markbook import open_run
from markbook.results.kind import open_results

FORMS = ("jsonl", "jsonl.gz", "json", "columns", "csv", "tsv", "parquet")


def write(folder, rows, form="jsonl", name="t"):
    """Write rows as a file of that form; what a row lacks is absent, null or empty, as the form has it."""
    folder.mkdir(exist_ok=True)
    names = list(dict.fromkeys(key for row in rows for key in row))
    path = folder / f"{name}.{'json' if form == 'columns' else form}"
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    if form == "jsonl":
        path.write_text(lines)
    elif form == "jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif form == "json":
        path.write_text(json.dumps(rows))
    elif form == "columns":
        path.write_text(json.dumps({key: [row.get(key) for row in rows] for key in names}, indent=1))
    elif form == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({key: [row.get(key) for row in rows] for key in names}), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, restval="", delimiter="," if form == "csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    return path


def compared(*args):
    code, out, err = command("compare", *args, "--json")
    assert code == 0, err
    return json.loads(out)


def figures(comparison):
    """Return each model's value, number of samples, and what is missing."""
    summaries = {one["model"]: one["summary"] for one in comparison["ranking"]}
    return {name: (one["value"], one["n_items"], one["n"], one["n_missing"]) for name, one in summaries.items()}


def pair(comparison):
    (found,) = comparison["pairs"]
    return {found["model_a"], found["model_b"]}, abs(found["difference"]), found["n"], found["p"]


def marks(*scores, **models):
    """Return rows of the models' scores at q0, q1, ..."""
    return [
        {"item": f"q{at}", "model": model, "score": score}
        for model, scores in models.items()
        for at, score in enumerate(scores)
    ]


NAMELESS = [{"item": "q0", "score": 1}, *marks(A=[1, 1, 1], B=[0, 0, 0])[1:3], *marks(B=[0, 0, 0])]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 3, 5])
def test_rows_that_name_no_model_are_nobodys_where_others_name_one(tmp_path, form, at):
    rows = [*NAMELESS[1 : at + 1], NAMELESS[0], *NAMELESS[at + 1 :]]

    comparison = compared(write(tmp_path, rows, form))

    assert figures(comparison) == {"A": (1.0, 2, 2, {}), "B": (0.0, 3, 3, {})}
    assert pair(comparison)[:3] == ({"A", "B"}, 1.0, 2)
    assert any("1 row" in note and "no model" in note for note in comparison["notes"]), comparison["notes"]


@pytest.mark.parametrize("form", FORMS)
def test_mapped_rows_without_a_model_or_an_item_are_counted(tmp_path, form):
    rows = [
        {"q": "q9", "s": 0},
        {"q": "q0", "sys": "A", "s": 1},
        {"q": "q1", "sys": "A", "s": 1},
        {"q": "q0", "sys": "B", "s": 1},
        {"q": "q1", "sys": None, "s": 0},
        {"q": "q2", "sys": "  ", "s": 0},
        {"q": None, "sys": "B", "s": 0},
        {"sys": "B", "s": 0},
    ]

    comparison = compared(write(tmp_path, rows, form), "--map", "item=q,model=sys,score=s")

    assert figures(comparison) == {"A": (1.0, 2, 2, {}), "B": (1.0, 1, 1, {})}
    notes = " ".join(comparison["notes"])
    assert "3 rows of this table file were left out: no model" in notes
    assert "2 rows of this table file were left out: no item" in notes


@pytest.mark.parametrize("form", FORMS)
def test_a_table_that_names_no_model_is_of_the_one_its_file_is_called_after(tmp_path, form):
    rows = [
        {"item": f"q{at}", "score": at % 2, "model": None, **({"": "x"} if "json" in form else {})} for at in range(4)
    ]
    others = [{"item": f"q{at}", "score": 1} for at in range(4)]

    comparison = compared(write(tmp_path, rows, form, "old"), write(tmp_path, others, form, "new"))

    assert figures(comparison) == {"old": (0.5, 4, 4, {}), "new": (1.0, 4, 4, {})}


def crashed():
    rows = marks(A=[1, 1, 0, 0], B=[1, 1, 1, 1])
    for row in rows[2:4]:
        row |= {"score": None, "error": "Timeout: server gave nothing"}
    return rows


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("columns", [(), ("--map", "item=item,model=model,score=score,error=error")])
def test_a_crash_is_missing_wherever_the_column_of_errors_first_has_a_value(tmp_path, form, turn, columns):
    rows = crashed()[::-1] if turn else crashed()

    comparison = compared(write(tmp_path, rows, form), *columns)

    assert figures(comparison) == {"A": (1.0, 4, 2, {"failed": 2}), "B": (1.0, 4, 4, {})}
    assert pair(comparison)[1:3] == (0.0, 2)


GRADED = {
    "a score alone": ({}, {}, 15),
    "a verdict too": ({}, {"passed": False}, 15),
    "an answer": ({"output": "def f(): pass"}, {}, 0),
    "an empty answer": ({"output": "def f(): pass"}, {"output": ""}, None),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GRADED)
def test_a_wrong_answer_with_what_its_grader_found_stays_in_the_mean(tmp_path, name, form):
    """Of 20 answers a has 10 right and b 15; beside each wrong one stands an error."""
    all_rows, wrong_rows, n_doubtful = GRADED[name]
    wrong = {"score": 0, "error": "AssertionError", **wrong_rows}
    rows = [
        {"item": f"q{at}", "model": model, "score": 1, **all_rows, **({} if at % every else wrong)}
        for model, every in (("a", 2), ("b", 4))
        for at in range(20)
    ]

    comparison = compared(write(tmp_path, rows, form))

    if n_doubtful is None:
        assert figures(comparison) == {"a": (1.0, 20, 10, {"failed": 10}), "b": (1.0, 20, 15, {"failed": 5})}
    else:
        assert figures(comparison) == {"a": (0.5, 20, 20, {}), "b": (0.75, 20, 20, {})}
        notes = [note for note in comparison["notes"] if "have an error beside their score and are scored" in note]
        assert [": 15 rows have" in note for note in notes] == [True] * bool(n_doubtful), comparison["notes"]


@pytest.mark.parametrize(
    "output", [{"output": {"raw": ["x"]}}, {"messages": [{"role": "assistant", "content": "x"}]}, {}]
)
def test_a_wrong_answer_of_every_eval_ever_stays_in_the_mean_if_there_is_one(tmp_path, output):
    rows = [
        {"evaluation_id": "e", "model_id": model, "sample_id": f"s{at}", **output,
         "evaluation": {"score": float(at % every > 0), "is_correct": at % every > 0},
         **({} if at % every else {"error": "AssertionError"})}
        for model, every in (("a", 2), ("b", 4))
        for at in range(20)
    ]  # fmt: skip

    wrong = figures(compared(write(tmp_path, rows)))

    assert wrong == (
        {"a": (0.5, 20, 20, {}), "b": (0.75, 20, 20, {})}
        if output
        else {"a": (1.0, 20, 10, {"failed": 10}), "b": (1.0, 20, 15, {"failed": 5})}
    )


def test_a_first_row_that_crashed_without_a_score_hides_no_table(tmp_path):
    first = {"item": "q0", "model": "A", "error": "Timeout"}

    comparison = compared(write(tmp_path, [first, *marks(A=[0, 1, 0], B=[1, 1, 1])[1:]]))

    assert figures(comparison) == {"A": (0.5, 3, 2, {"failed": 1}), "B": (1.0, 3, 3, {})}


def test_a_long_first_row_hides_no_table(tmp_path):
    rows = [{"output": "x" * 200_000, **row} for row in marks(A=[0, 1], B=[1, 1])]

    assert figures(compared(write(tmp_path, rows))) == {"A": (0.5, 2, 2, {}), "B": (1.0, 2, 2, {})}


def test_a_column_that_no_row_has_is_refused(tmp_path):
    path = write(tmp_path, marks(A=[1], B=[0]))

    code, _, err = command("compare", path, "--map", "item=item,model=model,score=score,error=eror")

    assert code == 2, err
    assert "the table has no column 'eror'" in err


LABELLED = [
    ("q0", "A", "seed-a", 1),
    ("q0", "A", 0, 0),
    ("q1", "A", "seed-b", 1),
    ("q1", "A", 1, 0),
    ("q0", "B", 0, 0),
    ("q1", "B", 0, 0),
]


def labelled(rows):
    return [
        {"item": item, "model": model, "score": score, **({} if repeat is None else {"repeat": repeat})}
        for item, model, repeat, score in rows
    ]


@pytest.mark.parametrize("form", ["jsonl", "json", "columns", "csv", "tsv"])  # a column of Parquet has one type
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (1, 0, 3, 2, 4, 5)])
def test_repeats_with_names_and_with_numbers_are_different_attempts(tmp_path, form, order):
    rows = labelled([LABELLED[at] for at in order])

    comparison = compared(write(tmp_path, rows, form))

    assert figures(comparison) == {"A": (0.5, 2, 2, {}), "B": (0.0, 2, 2, {})}
    assert not [note for note in comparison["notes"] if "left out" in note]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("turn", [False, True])
def test_rows_without_a_repeat_are_attempts_beside_those_that_have_one(tmp_path, form, turn):
    rows = [("q0", "A", None, 1), ("q0", "A", None, 1), ("q0", "A", 0, 0), ("q0", "A", 1, 0), ("q0", "B", 0, 1)]

    comparison = compared(write(tmp_path, labelled(rows[::-1] if turn else rows), form))

    assert figures(comparison) == {"A": (0.5, 1, 1, {}), "B": (1.0, 1, 1, {})}
    assert not [note for note in comparison["notes"] if "left out" in note]


def test_one_number_in_two_spellings_is_one_repeat(tmp_path):
    rows = [("q0", "A", 3, 1), ("q0", "A", 3.0, 1), ("q0", "A", "3", 1), ("q0", "A", "x", 0), ("q0", "B", 0, 1)]

    comparison = compared(write(tmp_path, labelled(rows)))

    assert figures(comparison)["A"] == (0.5, 1, 1, {})
    assert any(
        "2 rows of this table file were left out: a second row of one attempt" in note for note in comparison["notes"]
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("scores", [(1, 0), (-1, -2), (1, None)])
def test_two_rows_of_one_attempt_that_contradict_each_other_are_refused(tmp_path, form, turn, scores):
    rows = labelled([("q0", "A", 1, scores[0]), ("q0", "B", 1, 0), ("q0", "A", 1, scores[1])])

    code, _, err = command("compare", write(tmp_path, rows[::-1] if turn else rows, form))

    assert code == 2, err
    assert "two rows of one attempt have different scores: model 'A', item 'q0', repeat '1'" in err
    assert any(place in err for place in ("t.jsonl:3", "t.jsonl.gz:3", "t.csv:4", "t.tsv:4", "[3]")), err


@pytest.mark.parametrize("turn", [False, True])
def test_an_item_in_two_clusters_is_refused(tmp_path, turn):
    rows = [{**row, "cluster": cluster} for row, cluster in zip(marks(A=[1, 0], B=[0, 1]), "ppqp", strict=True)]
    rows += [{"model": "A", "score": 1, "cluster": cluster} for cluster in "rs"]
    assert compared(write(tmp_path, [row for row in rows if row["cluster"] != "q"]))["notes"]

    code, _, err = command("compare", write(tmp_path, rows[::-1] if turn else rows))

    assert code == 2, err
    assert "the item 'q0' is in two clusters, " in err


@pytest.mark.parametrize("column", ["cluster", "input", "output", "repeat", "error"])
@pytest.mark.parametrize("form", FORMS)
def test_rows_in_any_order_give_the_same_numbers(tmp_path, form, column):
    scores = random.Random(1)
    rows = [
        {"item": f"q{at}", "model": model, "score": scores.randint(0, 1)} for at in range(12) for model in "AB"
    ]  # fmt: skip
    values = {"cluster": "p{}", "input": "what is {}?", "output": "it is {}", "repeat": "{}", "error": "broke at {}"}
    for at in range(6):
        for row in rows[4 * at + 4 : 4 * at + 6]:
            row[column] = values[column].format(at % 3)
    orders = [
        rows,
        rows[::-1],
        sorted(rows, key=lambda row: column in row),
        sorted(rows, key=lambda row: column not in row),
    ]

    comparisons = [compared(write(tmp_path / str(at), order, form)) for at, order in enumerate(orders)]

    assert all(figures(one) == figures(comparisons[0]) for one in comparisons)
    (first, *others) = [one["pairs"][0] for one in comparisons]
    assert all(
        (one["p"], one["n"], one["se"]) == pytest.approx((first["p"], first["n"], first["se"])) for one in others
    )


def test_what_was_asked_is_known_from_any_row_of_an_item(tmp_path):
    """Two tables that number their items otherwise are paired by what was asked, though the first row does not say it."""
    asked = [f"what is {at}?" for at in range(3)]
    first = [{"item": f"a{at}", "model": "A", "score": 1, "input": asked[at]} for at in range(3)]
    second = [{"item": f"b{at}", "model": "B", "score": 0, "input": asked[at]} for at in range(3)]
    silent = [{"item": f"a{at}", "model": "C", "score": 1} for at in range(3)]

    comparisons = [
        compared(write(tmp_path / str(at), rows, name="x"), write(tmp_path, second, name="y"))
        for at, rows in enumerate(([*silent, *first], [*first, *silent]))
    ]

    assert [sorted(one["n"] for one in comparison["pairs"]) for comparison in comparisons] == [[3, 3, 3]] * 2


def test_a_question_names_its_item_wherever_it_first_stands(tmp_path):
    rows = [
        {"model": "A", "score": 1},
        *({"model": m, "score": s, "input": f"q{n}"} for m, s in ("A1", "B0") for n in range(2)),
    ]
    rows = [{**row, "score": int(row["score"])} for row in rows]

    comparison = compared(write(tmp_path, rows), "--map", "model=model,score=score,input=input")

    assert figures(comparison) == {"A": (1.0, 2, 2, {}), "B": (0.0, 2, 2, {})}
    assert any("1 row of this table file was left out: no item" in note for note in comparison["notes"])


def test_the_page_of_an_attempt_has_what_only_later_rows_say(tmp_path):
    rows = marks(A=[1, 1], B=[0, 0])
    rows[3]["output"] = "seven"

    entries = list(open_results(open_run(write(tmp_path, rows))).rows())

    assert [entry["text"] for entry in entries] == ["", "", "", "seven"]


# Files of a known format


def human_eval(folder, name="mine", **more):
    rows = [
        {"task_id": f"t{at}", "model": m, "completion": "x", "result": "passed", "passed": True, "quality": q, **more}
        for m, q in (("A", 0.9), ("B", 0.1))
        for at in range(4)
    ]
    return write(folder, rows, name=name), "item=task_id,model=model,score=quality", "human-eval"


def lm_eval(folder, name="samples_demo_2026-01-01T00-00-00.000000", *, results=False):
    rows = [
        {"doc_id": at, "doc": {}, "target": "a", "arguments": [], "resps": [["a"]], "filtered_resps": ["a"],
         "filter": "none", "exact_match": 1.0, "quality": 0.5}
        for at in range(4)
    ]  # fmt: skip
    if results:
        folder.mkdir(exist_ok=True)
        (folder / "results_2026-01-01T00-00-00.000000.json").write_text(
            json.dumps({"results": {"demo": {}}, "config": {}, "versions": {}})
        )
    return write(folder, rows, name=name), "item=doc_id,score=quality", "lm-eval"


def every_eval_ever(folder):
    rows = [
        {"evaluation_id": "e", "model_id": m, "sample_id": f"s{at}", "evaluation": {"score": 1}, "quality": 0.5}
        for m in "AB"
        for at in range(3)
    ]
    return write(folder, rows), "item=sample_id,model=model_id,score=quality", "every-eval-ever"


def tau_bench(folder):
    rows = [{"task_id": at, "reward": 1.0, "traj": [], "trial": 0, "quality": 0.5} for at in range(3)]
    return write(folder, rows, "json"), "item=task_id,score=quality", "tau-bench"


def helm(folder):
    rows = [{"instance_id": f"i{at}", "train_trial_index": 0, "stats": [], "quality": 0.5} for at in range(3)]
    return write(folder, rows, "json", "per_instance_stats"), "item=instance_id,score=quality", "helm"


KNOWN = {
    "human-eval": human_eval,
    "lm-eval": lm_eval,
    "lm-eval under another name": lambda folder: lm_eval(folder, "mine"),
    "lm-eval beside its results": lambda folder: lm_eval(folder, results=True),
    "every-eval-ever": every_eval_ever,
    "tau-bench": tau_bench,
    "helm": helm,
}


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("verb", ["compare", "import"])
def test_a_map_of_a_known_formats_columns_is_refused(tmp_path, kind, beside, verb):
    path, columns, name = KNOWN[kind](tmp_path)
    item, score = (dict(part.split("=") for part in columns.split(","))[role] for role in ("item", "score"))
    other = [write(tmp_path, [{item: "t0", "model": "C", "model_id": "C", score: 0.5}], name="other")] if beside else []

    code, out, err = command(
        verb, path, *other, "--map", columns, *(["-o", tmp_path / "out"] if verb == "import" else [])
    )

    assert (code, out) == (2, "")
    assert f"{path}: --map names the columns of plain tables, and this is a file of {name}" in err


@pytest.mark.parametrize("columns", ["score=qualty", "item=nothing,score=quality", "item=doc_id,score=nothing"])
@pytest.mark.parametrize("verb", ["compare", "import", "report"])
def test_a_map_that_is_for_none_of_the_files_is_refused(tmp_path, columns, verb):
    path, _, _ = lm_eval(tmp_path)
    end = {"compare": [], "import": ["-o", tmp_path / "out"], "report": ["--format", "md", "-o", tmp_path / "out"]}[
        verb
    ]

    code, _, err = command(verb, path, "--map", columns, *end)

    assert code == 2, err
    assert f"{path}: --map names the columns of plain tables, and this is a file of lm-eval" in err


def test_a_map_stays_that_of_the_table_where_a_known_format_is_the_baseline(tmp_path):
    path, _, _ = lm_eval(tmp_path)
    table = write(tmp_path, [{"id": f"demo/{at}", "who": "C", "exact_match": 1} for at in range(4)], name="other")
    columns = ("--map", "item=id,model=who,score=exact_match")

    code, out, err = command("compare", table, *columns, "--fail-if-worse", path, "--json")

    assert code == 0, err
    assert figures(json.loads(out)) == {"C": (1.0, 4, 4, {}), tmp_path.name: (1.0, 4, 4, {})}


@pytest.mark.parametrize("place", range(3))
def test_a_row_of_every_eval_ever_without_a_model_is_nobodys_where_others_name_one(tmp_path, place):
    row = {"evaluation_id": "e", "model_id": "A", "sample_id": "1", "evaluation": {"score": 1.0}}
    rows = [row, {**row, "model_id": "B"}]
    rows.insert(place, {**row, "model_id": None, "evaluation": {"score": 0.0}})

    comparison = compared(write(tmp_path, rows))

    assert figures(comparison) == {"A": (1.0, 1, 1, {}), "B": (1.0, 1, 1, {})}
    assert any("1 row of this every-eval-ever file was left out: no model" in note for note in comparison["notes"])


def test_a_map_beside_runs_alone_is_refused(tmp_path):
    table = write(tmp_path, [{"id": "q", "who": who, "right": 1} for who in "AB"])
    columns = ("--map", "item=id,model=who,score=right")
    code, out, err = command("import", table, *columns, "-o", tmp_path / "out")
    assert code == 0, err

    code, _, err = command("compare", out.strip(), *columns)

    assert code == 2, err
    assert "--map names the columns of plain tables, and this is a run" in err
    assert figures(compared(out.strip())) == {"A": (1.0, 1, 1, {}), "B": (1.0, 1, 1, {})}


@pytest.mark.parametrize(
    ("column", "more", "best"),
    [
        ("wer", "", "low"),
        ("Val loss", "", "low"),
        ("word_error_rate", "", "low"),
        ("MeanSquaredError", "", "low"),
        ("brier_skill_score", "", "high"),
        ("edit_distance_similarity", "", "high"),
        ("perplexity", "", "low"),
        ("perplexity", ",better=higher", "high"),
        ("quality", ",better=lower", "low"),
        ("quality", "", "high"),
        ("cost", "", "low"),
        ("score\u2193", "", "low"),
        ("WER\u2191", "", "high"),
        ("accuracy_error_bar", "", "high"),
        ("accuracy_loss", "", "low"),
        ("reward_mse", "", "low"),
        ("acc_lower_is_better", "", "low"),
        ("score (lower is better)", "", "low"),
        ("error (higher is better)", "", "high"),
        ("neg_mean_squared_error", "", "high"),
        ("perplexity_improvement", "", "high"),
        ("attack_success_rate", "", "high"),
        ("1-WER", "", "high"),
        ("accuracy", "", "high"),
        *(
            (name, "", "high")
            for name in ("drop", "error_handling", "failure_recovery", "cost_awareness", "ToxicChat", "TimeQA")
        ),
        *(
            (name, "", "high")
            for name in ("hallucination_resistance", "misclassification_rate", "num_steps", "seconds", "bugs")
        ),
        *(
            (name, "", "low")
            for name in ("errors_total", "time_to_first_token", "cost per task", "toxicity_score", "error (test)")
        ),
    ],
)
def test_less_is_better_where_the_map_or_the_name_says_so(tmp_path, column, more, best):
    rows = [
        {"item": f"q{at}", "model": model, column: value + at / 1000}
        for at in range(12)
        for model, value in (("low", 0.1), ("high", 0.8))
    ]
    path = write(tmp_path, rows)
    columns = f"item=item,model=model,score={column}{more}"

    result = compared(path, "--map", columns)
    code, _, messages = command("compare", path, "--map", columns, "--fail-if-worse", best)

    assert (result["ranking"][0]["model"], result["direction"]) == (best, "lower" if best == "low" else "higher")
    clear = column in ("accuracy", "error (higher is better)", "WER\u2191")
    taken = "lower is assumed" if best == "low" else "" if clear else "higher is assumed"
    assert any("is assumed to be better" in note for note in result["notes"]) == bool(taken and not more)
    assert taken in " ".join(result["notes"]) or more
    assert (code, "is worse than" in messages) == (1, True)


def test_a_direction_that_is_neither_is_refused(tmp_path):
    path = write(tmp_path, [{"item": "q", "model": "a", "loss": 1}])

    code, _, messages = command("compare", path, "--map", "item=item,score=loss,better=less")

    assert (code, "better=lower" in messages) == (2, True)


def test_clusters_of_one_number_are_one_and_other_inputs_of_an_item_are_told(tmp_path):
    rows = [
        {"item": f"q{at}", "model": model, "score": at % 2, "cluster": cluster, "input": f"{model} {at}"}
        for at in range(6)
        for model, cluster in (("a", at // 2), ("b", float(at // 2)))
    ]

    result = compared(write(tmp_path, rows))

    assert result["pairs"][0]["n"] == 6
    assert any("6 items have different inputs" in note for note in result["notes"])
