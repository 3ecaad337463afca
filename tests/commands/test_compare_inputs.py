"""What `markbook compare` pairs: the same question, never the same place; and what it makes of values outside 0..1."""

import itertools
import json
import re

import pytest
from support.exam_kit import answer, hold, problem
from support.review_kit import GENERATED, SECOND, markbook as command, only_run, papers, reviews

import markbook
from markbook import plugins
from markbook.results import comparison
from markbook.results.kind import open_results
from markbook.testing import assert_marks
from markbook.types import Measurement, Summary

WORDS = [f"word{n} and {n}" for n in range(12)]
TASK = """\
name: demo
data: {{path: {data}{ids}}}
prompt: "Say {{{{ word }}}}."
reference: "{{{{ word }}}}"
metrics: [{metric}]
"""


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(folder, name, words, wrong, *, ids=None, metric="exact_match"):
    """Run the task over its words, the answers to `wrong` wrong; return the run's folder."""
    rows = [{"word": word, **({"name": one} if ids else {})} for word, one in zip(words, ids or words, strict=True)]
    write(folder / f"{name}.jsonl", rows)
    text = TASK.format(data=f"{name}.jsonl", ids=", id: name" if ids else "", metric=metric)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    said = ["no" if word in wrong else word for word in words]
    given = write(
        folder / f"{name}_answers.jsonl",
        [{"doc_id": n, "prediction": one, "model": name} for n, one in enumerate(said)],
    )
    code, _, err = command("run", f"{name}.yaml", "--predictions", given, "--output", folder / name)
    assert code == 0, err
    return only_run(folder / name)


def compared(*args):
    code, out, err = command("compare", *args, "--json")
    assert code == 0, err
    return json.loads(out)


def test_rows_are_right_or_wrong_by_a_metric_that_says_so(folder):
    folders = {metric: run(folder, metric, WORDS[:4], WORDS[:1], metric=metric) for metric in ("exact_match", "rougeL")}

    statuses = {
        name: [(entry.sample, entry.status) for entry in open_results(markbook.open_run(path)).entries()]
        for name, path in folders.items()
    }

    assert statuses == {
        "exact_match": [("0", "failed"), ("1", "passed"), ("2", "passed"), ("3", "passed")],
        "rougeL": [(str(at), "scored") for at in range(4)],
    }
    page = (folders["exact_match"] / "report.html").read_text(encoding="utf-8")
    assert '<option value="failed">failed</option>' in page
    assert re.findall(r'class="who">exact_match</span> (.*?)</span>', page) == [
        "failed exact_match 0.0", *["passed exact_match 100.0"] * 3
    ]  # fmt: skip
    (table,) = (table for table in comparison.tables(markbook.compare([folders["exact_match"], run(folder, "later", WORDS[:4], [])]))
                if table.title.startswith("Solved"))  # fmt: skip
    assert table.rows == (("later", "1", "0"),)


def test_the_same_rows_in_another_order_are_paired_by_content(folder):
    one = run(folder, "one", WORDS, WORDS[:2])
    two = run(folder, "two", WORDS[::-1], WORDS[:5])
    found = compared(one, two)
    (pair,) = found["pairs"]

    # The words 2 to 4 are right in one and wrong in two; by place six pairs would have differed.
    assert (pair["n"], pair["only_a"], pair["only_b"], pair["difference"]) == (12, 3, 0, pytest.approx(3 / 12))
    assert found["win_matrix"] == {"one": {"two": 3}, "two": {"one": 0}}
    assert found["alignment"]["by"] == "content"
    assert [each["n_unpaired"] for each in found["alignment"]["runs"]] == [0, 0]
    assert "The runs read different inputs (demo/one.jsonl, demo/two.jsonl)" in " ".join(found["notes"])


def test_rows_without_a_counterpart_are_counted_and_not_paired(folder):
    one = run(folder, "one", WORDS[:8], ())
    two = run(folder, "two", WORDS[2:], WORDS[2:5])
    found = compared(one, two)
    _, table, _ = command("compare", one, two)

    assert found["pairs"][0]["n"] == 6
    assert found["n_common"] == 6
    assert [each["n_unpaired"] for each in found["alignment"]["runs"]] == [2, 4]
    words = "Samples without a counterpart (the rows have no ids and are paired by their content): 2 of 8"
    assert words in " ".join(found["notes"])
    assert words in " ".join(table.split())
    assert words in " ".join(markbook.compare([one, two])._repr_html_().split())


def test_equal_rows_of_one_file_stay_apart(folder):
    one = run(folder, "one", ["same", "same", "other"], ())
    two = run(folder, "two", ["other", "same", "same"], ["other"])

    assert compared(one, two)["pairs"][0]["n"] == 3


def test_unrelated_rows_are_refused(folder):
    one = run(folder, "one", WORDS[:6], ())
    two = run(folder, "two", WORDS[6:], ())
    code, out, err = command("compare", one, two)

    assert (code, out) == (2, "")
    assert "share no sample with a value" in err
    assert "6 of 6 in" in err


def test_rows_with_ids_of_their_own_are_paired_by_these(folder):
    ids = [f"id{n}" for n in range(12)]
    one = run(folder, "one", WORDS, WORDS[:2], ids=ids)
    two = run(folder, "two", WORDS[::-1], WORDS[:5], ids=ids[::-1])
    found = compared(one, two)

    assert (found["pairs"][0]["n"], found["pairs"][0]["difference"]) == (12, pytest.approx(3 / 12))
    assert found["alignment"]["by"] == "id"


def test_one_id_with_other_content_is_not_paired(folder):
    ids = [f"id{n}" for n in range(12)]
    one = run(folder, "one", WORDS, (), ids=ids)
    two = run(folder, "two", [*WORDS[:9], "x", "y", "z"], WORDS[:3], ids=ids)
    found = compared(one, two)

    assert found["pairs"][0]["n"] == 9
    assert found["alignment"]["n_same_id_other_content"] == 3
    assert "3 of them bear the id of a sample with other content" in " ".join(found["notes"])


def test_an_exam_of_another_benchmark_is_not_paired_by_its_task_ids(tmp_path):
    right = "def f(x):\n    return x\n"
    same = [problem(f"p{n}", tests=[{"assertion": f"func({n}) == {n}"}]) for n in range(5)]
    other = [*same[:3], *(problem(f"p{n}", tests=[{"assertion": f"func({n}) == -1"}]) for n in (3, 4))]
    answers = [answer(f"p{n}", right) for n in range(5)]
    one = hold(tmp_path / "a", same, answers)
    two = hold(tmp_path / "b", other, [{**row, "model": "other"} for row in answers])
    again = hold(tmp_path / "c", same, [{**row, "model": "third"} for row in answers])

    found, equal = compared(one.folder, two.folder), compared(one.folder, again.folder)
    assert (found["pairs"][0]["n"], found["alignment"]["n_same_id_other_content"]) == (3, 2)
    assert "(benchmark)" in " ".join(found["notes"])
    assert (equal["pairs"][0]["n"], equal["notes"]) == (5, [])


class Points:
    """A metric from -1 to 3."""

    name, version, range, direction, signature = "points", 1, (-1.0, 3.0), "higher", "points|v1"

    def measure(self, items):
        return [
            Measurement("points", 2.5 if item.attempt.text != "no" else -0.5, sample_id=item.sample.id)
            for item in items
        ]

    def summarise(self, measurements):
        return sum(one.value for one in measurements) / len(measurements)


@pytest.fixture
def points(monkeypatch):
    real = plugins.factory
    monkeypatch.setattr(
        plugins, "factory", lambda group, name, **more: Points if name == "points" else real(group, name, **more)
    )


@pytest.mark.usefixtures("points")
def test_values_outside_0_to_1_are_compared_in_their_own_range(folder):
    one = run(folder, "one", WORDS, WORDS[:2], metric="points")
    two = run(folder, "two", WORDS, WORDS[:8], metric="points")
    found = compared(one, two)
    record = json.loads((one / "summary.json").read_text(encoding="utf-8"))["tasks"]["demo"]["metrics"]["points"]

    assert Summary.from_record(record).range == (-1.0, 3.0)
    assert Summary.from_record(record).to_record() == record
    assert found["range"] == [-1.0, 3.0]
    # Six rows fall from 2.5 to -.5: 6 * 3 / 12
    assert found["pairs"][0]["difference"] == pytest.approx(1.5)
    assert [each["summary"]["value"] for each in found["ranking"]] == [pytest.approx(2.0), pytest.approx(0.5)]
    code, _, err = command("compare", one, "--fail-if-worse", two)
    assert code == 0, err
    code, _, err = command("compare", two, "--fail-if-worse", one)
    assert (code, "is worse than" in err) == (1, True)
    code, _, _ = command("compare", one, two, "--fail-under", "points=2.4")
    assert code == 1
    assert_marks(one, at_least=1.9, metric="points", not_worse_than=two)
    with pytest.raises(AssertionError, match=r"wanted at least 2\.4"):
        assert_marks(one, at_least=2.4)
    assert "points" in (one / "report.html").read_text(encoding="utf-8")
    assert "points" in markbook.open_run(one)._repr_html_()


def test_a_metric_that_leaves_its_own_range_has_failed(folder, monkeypatch):
    real = plugins.factory
    liar = type("Liar", (Points,), {"range": (0.0, 1.0)})
    monkeypatch.setattr(
        plugins, "factory", lambda group, name, **more: liar if name == "points" else real(group, name, **more)
    )
    write(folder / "rows.jsonl", [{"word": "a"}, {"word": "b"}])
    (folder / "t.yaml").write_text(TASK.format(data="rows.jsonl", ids="", metric="points"), encoding="utf-8")
    given = write(folder / "a.jsonl", [{"doc_id": 0, "prediction": "a"}, {"doc_id": 1, "prediction": "b"}])
    code, _, _ = command("run", "t.yaml", "--predictions", given, "--output", folder / "out")
    record = json.loads((only_run(folder / "out") / "summary.json").read_text(encoding="utf-8"))
    (one,) = markbook.measure("points", ["a"], ["a"])

    assert code == 3
    assert record["tasks"]["demo"]["metrics"]["points"]["n_missing"] == {"failed": 2}
    assert one.missing.detail == "the metric gave 2.5, outside its own range 0..1"


@pytest.mark.usefixtures("points")
def test_a_summary_in_the_form_of_another_version_is_refused_in_words(folder):
    one = run(folder, "one", WORDS, WORDS[:2], metric="points")
    two = run(folder, "two", WORDS, WORDS[:8], metric="points")
    summary = json.loads((two / "summary.json").read_text(encoding="utf-8"))
    (two / "summary.json").write_text(json.dumps(summary | {"schema": 1}), encoding="utf-8")
    manifest = json.loads((two / "run.json").read_text(encoding="utf-8"))
    del manifest["published"]  # what that version wrote had no seal
    (two / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    refused = [command("compare", one, two), command("report", two)]

    for code, _, err in refused:
        assert code == 2
        assert "another version of Markbook wrote this file: it has schema 1, and 2 is read here" in err
        assert str(two / "summary.json") in err
        assert "mark the same inputs again" in err


def test_a_function_of_the_users_own_states_no_range(folder):
    (folder / "utils.py").write_text(
        "def own(references, predictions): return -7.0 if predictions[0] == 'no' else 40.0\n", encoding="utf-8"
    )
    (folder / "rows.jsonl").write_text("".join(json.dumps({"word": word}) + "\n" for word in WORDS), encoding="utf-8")
    (folder / "lm.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_text: word\ndoc_to_target: word\nmetric_list: [{metric: !function utils.own}]\n",
        encoding="utf-8",
    )
    runs = []
    for name, wrong in (("one", 2), ("two", 7)):
        rows = [{"doc_id": n, "prediction": "no" if n < wrong else "yes", "model": name} for n in range(12)]
        given = write(folder / f"{name}.jsonl", rows)
        runs.append(markbook.run_task("lm.yaml", predictions=given, output=name, allow_code=True).folder)
    found = compared(*runs)

    assert found["range"] == [None, None]
    assert found["pairs"][0]["difference"] == pytest.approx(5 * 47 / 12)


def test_a_paper_that_nobody_reviewed_stays_missing(tmp_path):
    rows = [
        {"paper_id": paper, "system": system, "review": text}
        for system, text in (("a", GENERATED), ("b", SECOND))
        for paper in ("one", "two")
    ]
    code, _, err = command(
        "review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--similarity", "cosine,jaccard",
        "--output", tmp_path / "out",
    )  # fmt: skip
    folder = only_run(tmp_path / "out")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    found = compared(folder, "--metric", "tier1.cosine_score")

    assert code == 0, err
    for record in found["ranking"]:
        own = Summary.from_record(summary["systems"][record["model"]]["metrics"]["tier1.cosine_score"])
        shown = Summary.from_record(record["summary"])
        assert (shown.n, shown.n_items, shown.n_missing) == (2, 3, {"absent": 1})
        assert (own.n, own.n_items, own.n_missing, own.bounds) == (2, 3, {"absent": 1}, shown.bounds)
    assert "2 of 3" in command("compare", folder, "--metric", "tier1.cosine_score")[1]


def test_one_model_without_scores_keeps_nobody_from_being_compared(folder):
    rows = [f"{at},{model},{score}" for at in range(6) for model, score in (("x", 1), ("y", at % 2), ("dead", ""))]
    (folder / "t.csv").write_text("\n".join(["item,model,score", *rows]) + "\n", encoding="utf-8")
    columns = ("--map", "item=item,model=model,score=score")

    found = compared("t.csv", *columns)
    code, out, err = command("site", "t.csv", *columns, "-o", "site")

    assert [(pair["model_a"], pair["model_b"], pair["n"]) for pair in found["pairs"]] == [("x", "y", 6)]
    assert "dead" in found["headline"]
    assert code == 0, err
    page = (folder / out.strip()).read_text(encoding="utf-8")
    assert "dead" in page
    assert "significantly better than all" not in page


def test_a_file_in_percent_beside_one_in_shares_is_warned_of(folder):
    for name, factor in (("shares", 1), ("percent", 100), ("others", 1)):
        lines = ["item,score", *(f"{at},{factor * (at + 1) / 10}" for at in range(8))]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = ("--map", "item=item,score=score")

    notes = " ".join(compared("shares.csv", "percent.csv", *columns)["notes"])

    assert "The scores of shares.csv lie in 0..1, those of percent.csv do not" in notes
    assert "their differences mean nothing" not in " ".join(compared("shares.csv", "others.csv", *columns)["notes"])


TOOLS = ("lm-eval", "every-eval-ever")


@pytest.fixture
def written(folder):
    """Return runs of a task with ids, of one without, of a group of both, and each as other tools write it."""
    run(folder, "one", WORDS, WORDS[:2], ids=[str(n + 1) for n in range(12)])
    run(folder, "two", WORDS[::-1], WORDS[:5])
    for name in ("one", "two"):
        text = (folder / f"{name}.yaml").read_text(encoding="utf-8").replace("name: demo", f"name: {name}")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "both.yaml").write_text("group: both\ntasks: [one.yaml, two.yaml]\n", encoding="utf-8")
    (folder / "given").mkdir()
    for name in ("one", "two"):
        said = (
            (folder / f"{name}_answers.jsonl").read_text(encoding="utf-8").replace(f'"model": "{name}"', '"model": "m"')
        )
        (folder / "given" / f"{name}.jsonl").write_text(said, encoding="utf-8")
        assert command("run", f"{name}.yaml", "--predictions", f"given/{name}.jsonl", "--output", name)[0] == 0
    assert command("run", "both.yaml", "--predictions", "given", "--output", "both")[0] == 0
    found = {"one": folder / "one" / "latest", "two": folder / "two" / "latest", "both": only_run(folder / "both")}
    for name in list(found):
        for tool in TOOLS:
            code, _, err = command("report", found[name], "--format", tool, "--output", folder / name / tool)
            assert code == 0, err
            rows = sorted((folder / name / tool).rglob("results_*.json" if tool == "lm-eval" else "*.jsonl"))
            found[f"{name} {tool}"] = rows[0]
    return found


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [
        *((f"{name}", f"{name} {tool}", 12) for name in ("one", "two") for tool in TOOLS),
        ("both", "both lm-eval", 24),
        ("one", "both", 12),
        ("two", "both", 12),
        ("one", "both lm-eval", 12),
        ("two", "both lm-eval", 12),
        ("both", "two lm-eval", 12),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_other_tools_and_groups_know_the_same_rows(written, first, second, n, turned):
    runs = (second, first) if turned else (first, second)

    found = compared(*(written[name] for name in runs), "--metric", "exact_match", "--metric", "score")

    pairs = [pair for pair in found["pairs"] if pair["n"]]
    assert {pair["n"] for pair in pairs} == {n}
    assert all(pair["difference"] == 0 for pair in pairs)  # the same answers to the same rows
    assert found["alignment"]["n_common"] == n


def test_what_two_tasks_ask_alike_is_not_paired_without_a_tasks_name(written):
    code, _, err = command(
        "compare", written["both"], written["two every-eval-ever"], "--metric", "exact_match", "--metric", "score"
    )

    assert code == 2
    assert "12 of 12 in" in err


def test_a_number_of_the_whole_is_not_passed_off_as_the_mean_of_its_rows(folder):
    texts = ["the cat sat on the mat today", "a dog", "one two three four five six seven"]
    runs = [run(folder, name, texts, wrong, metric="corpus_bleu") for name, wrong in (("one", texts[:1]), ("two", []))]

    found = compared(*runs)
    code, out, err = command("compare", *runs, "--fail-under", "corpus_bleu=10%")

    assert found["metric"] == "mean of the rows' corpus_bleu"
    assert any("computed from all rows together" in note for note in found["notes"])
    assert (code, out) == (2, "")
    assert "no threshold can be held here" in err


def test_a_mean_of_rows_goes_by_its_metrics_name(folder):
    texts = ["the cat sat on the mat today", "a dog", "one two three four five six seven"]
    runs = [run(folder, name, texts, wrong, metric="bleu") for name, wrong in (("one", texts[:1]), ("two", []))]

    found = compared(*runs)

    assert found["metric"] == "bleu"
    assert not any("all rows together" in note for note in found["notes"])


@pytest.mark.parametrize("turned", [False, True])
def test_places_of_one_run_and_ids_of_another_are_paired_by_what_was_asked(tmp_path, turned):
    rows = [{"key": str(11 - at), "q": f"Q{at}", "a": f"a{at}"} for at in range(12)]
    said = [f"a{at}" if at < 6 else "no" for at in range(12)]
    runs = []
    for name, field, ids in (("places", "", "doc_id"), ("ids", ", id: key", "id")):
        folder = tmp_path / name
        folder.mkdir()
        write(folder / "rows.jsonl", rows)
        (folder / "t.yaml").write_text(
            f"name: t\ndata: {{path: rows.jsonl{field}}}\nprompt: '{{{{ q }}}}'\nreference: '{{{{ a }}}}'\nmetrics: [exact_match]\n"
        )
        named = [{ids: at if ids == "doc_id" else rows[at]["key"], "prediction": text, "model": name}
                 for at, text in enumerate(said)]  # fmt: skip
        write(folder / "p.jsonl", named)
        code, _, err = command(
            "run", folder / "t.yaml", "--predictions", folder / "p.jsonl", "--output", folder / "out"
        )
        assert code == 0, err
        runs.append(folder / "out" / "latest")

    code, out, err = command("compare", *(reversed(runs) if turned else runs), "--json")

    # the same answers: the id "3" is the place 8, and was paired with the place 3
    assert code == 0, err
    (pair,) = json.loads(out)["pairs"]
    assert (pair["n"], pair["difference"]) == (12, 0.0)
    assert pair["interval"]["low"] > -0.3


def test_noise_of_runs_with_different_metrics_is_refused_in_words(folder):
    runs = [run(folder, name, WORDS[:3], [], metric=name) for name in ("exact_match", "rougeL")]

    code, _, err = command("noise", *runs)

    assert code == 2
    assert "the runs are marked by different metrics: exact_match, rougeL (name the metric of each" in err


def pairings(*runs):
    """Return what every order of these arguments gives: each pair of models with its n and difference, or a refusal."""
    found = []
    for order in itertools.permutations(runs):
        code, out, err = command("compare", *order, "--metric", "exact_match", "--metric", "score", "--json")
        if code:
            found.append((code, err.partition(" (")[0]))
            continue
        pairs = {}
        for pair in json.loads(out)["pairs"]:
            pairs[pair["model_a"], pair["model_b"]] = pair["n"], round(pair["difference"], 9), pair["p"]
            pairs[pair["model_b"], pair["model_a"]] = pair["n"], -round(pair["difference"], 9), pair["p"]
        found.append((code, pairs))
    return found


def table(folder, model, scores, **columns):
    rows = [{"item": str(at), "model": model, "score": score, **{name: column(at) for name, column in columns.items()}}
            for at, score in enumerate(scores)]  # fmt: skip
    return write(folder / f"{model}.jsonl", rows)


def test_contradicting_clusters_are_refused_whichever_file_comes_first(folder):
    four = table(folder, "four", [at % 3 / 2 for at in range(40)], cluster=lambda at: str(at // 10))
    none = table(folder, "none", [at % 5 / 4 for at in range(40)])
    own = table(folder, "own", [at % 5 / 4 for at in range(40)], cluster=str)

    refused, same = pairings(four, own), pairings(four, none)

    assert refused == [(2, "markbook: the item '1' is in two clusters, '0' and '1'")] * 2
    assert same[0] == same[1]
    assert same[0][1]["four", "none"][0] == 40


def test_samples_with_known_different_inputs_are_never_paired_through_a_file_without(folder):
    one = table(folder, "one", [1] * 8, input=lambda at: f"q{at}")
    other = table(folder, "other", [0.5] * 8, input=lambda at: f"other {at}")
    same = table(folder, "same", [0.5] * 8, input=lambda at: f"q{at}")
    silent = table(folder, "silent", [0] * 8)

    # What says nothing of its inputs may be either's, so that it is nobody's.
    assert {code for code, _ in pairings(one, silent, other)} == {2}
    assert {pairs["one", "silent"][:2] for _, pairs in pairings(one, silent, same)} == {(8, 1.0)}
    assert [pairs.keys() for _, pairs in pairings(one, other, silent, same)] == [
        {("one", "same"), ("same", "one")}
    ] * 24


def test_a_table_by_place_is_paired_with_runs_without_ids_alike_in_every_order(folder):
    rows, turned = (run(folder, name, words, WORDS[:4]) for name, words in (("rows", WORDS), ("turned", WORDS[::-1])))
    same = run(folder, "same", WORDS, ())
    places = table(folder, "places", [float(at < 4) for at in range(12)])

    two, three, contradicted = pairings(rows, places), pairings(rows, places, same), pairings(rows, places, turned)

    assert {pairs["rows", "places"][:2] for _, pairs in (*two, *three)} == {(12, round(4 / 12, 9))}
    assert {pairs["same", "places"][:2] for _, pairs in three} == {(12, round(8 / 12, 9))}
    # A place is another row in each of the two runs: the table says of neither which it means.
    assert [pairs.keys() for _, pairs in contradicted] == [{("rows", "turned"), ("turned", "rows")}] * 6


def test_of_two_metrics_that_both_files_have_the_order_of_files_chooses_none(tmp_path):
    """Each log begins with another scorer, and each model is better by one of them."""
    logs = []
    for model, scorers in (("A", ("match", "includes")), ("B", ("includes", "match"))):
        samples = [
            {
                "id": at, "epoch": 1, "input": f"q{at}", "target": "x",
                "scores": {name: {"value": "C" if (name == scorers[0]) == (at % 10 < 9) else "I"} for name in scorers},
            }
            for at in range(30)
        ]  # fmt: skip
        facts = {"task": "t", "dataset": {}, "model": model, "config": {}}
        logs.append(tmp_path / f"{model}.json")
        logs[-1].write_text(json.dumps({"version": 2, "status": "success", "eval": facts, "samples": samples}))

    refused = [command("compare", *order) for order in (logs, logs[::-1])]
    chosen = [json.loads(command("compare", *order, "--metric", "match", "--json")[1]) for order in (logs, logs[::-1])]

    assert [code for code, *_ in refused] == [2, 2]
    words = "the runs begin with different metrics and share 'includes', 'match'"
    assert all(words in err and "--metric names one" in err for *_, err in refused)
    assert chosen[0]["headline"] == chosen[1]["headline"]
    assert "A (90.0) is better than B" in chosen[0]["headline"]
