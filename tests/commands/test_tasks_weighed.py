"""Tasks that are answered by log-likelihoods: multiple choice, continuations, whole texts; and functions for results."""

import json
import math

import pytest
from support.review_kit import markbook as command
from support.wild_kit import HEAD, metrics, rows_of, task, write

import markbook
from markbook.errors import ConfigError, UsageError

ROWS = [
    {"q": "Sky?", "c": ["blue", "green as grass"], "a": 0},
    {"q": "Grass?", "c": ["blue", "green as grass"], "a": 1},
    {"q": "Snow?", "c": ["white", "black"], "a": 0},
]
CHOICE = HEAD + 'output_type: multiple_choice\ndoc_to_text: "Q: {{q}}\\nA:"\ndoc_to_choice: c\ndoc_to_target: a\n'
SAID = [[(-1.0, True), (-4.0, False)], [(-2.0, True), (-3.0, False)], [(-9.0, False), (-1.0, True)]]


def samples(folder, said=SAID):
    """Write answers as lm-evaluation-harness logs them: numbers and truth as texts."""
    rows = [{"doc_id": n, "resps": [[[str(v), str(g)]] for v, g in pairs]} for n, pairs in enumerate(said)]
    return write(folder / "samples_demo.jsonl", rows)


def test_multiple_choice_is_marked_by_its_log_likelihoods(folder):
    listed = "".join(
        f"  - metric: {name}\n" for name in ("acc", "acc_norm", "acc_bytes", "exact_match", "f1", "mcc", "brier_score")
    )
    task(folder, CHOICE + "metric_list:\n" + listed, ROWS)

    run = markbook.run_task("lm.yaml", predictions=samples(folder))

    # Row 1: -2/4 < -3/14, so the longer choice wins only by its length.
    found = metrics(run)
    assert {name: found[name] for name in ("acc", "acc_norm", "acc_bytes", "exact_match")} == {
        "acc": pytest.approx(1 / 3),
        "acc_norm": pytest.approx(2 / 3),
        "acc_bytes": pytest.approx(2 / 3),
        "exact_match": pytest.approx(1 / 3),
    }
    # Golds 0, 1, 0 and found 0, 0, 1: no hit of the label 1; (1*3 - (2*2+1*1)) / sqrt((9-5)*(9-5)) = -0.5.
    assert (found["f1"], found["mcc"]) == (0.0, pytest.approx(-0.5))
    wrong = [1 / (1 + math.exp(3)), 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-8))]
    assert found["brier_score"] == pytest.approx(sum(2 * each**2 for each in wrong) / 3)
    assert rows_of(run)[0]["prompt"] == "Q: Sky?\nA:"
    assert rows_of(run)[0]["references"] == ["blue"]
    assert rows_of(run)[0]["likelihoods"] == [[-1.0, True], [-4.0, False]]


def test_without_a_metric_list_accuracy_and_its_normalised_form_are_taken(folder):
    task(folder, CHOICE, ROWS)

    assert set(metrics(markbook.run_task("lm.yaml", predictions=samples(folder)))) == {"acc", "acc_norm"}


@pytest.mark.parametrize(
    ("lines", "acc"),
    [
        ('doc_to_choice: "{{c}}"\ndoc_to_target: "{{a}}"\n', 1 / 3),
        ('doc_to_choice: "{{c}}"\ndoc_to_target: "{{c[a]}}"\n', 1 / 3),
        ("doc_to_choice: [x, y]\ndoc_to_target: a\n", 1 / 3),
        ("doc_to_choice: {one: x, two: y}\ndoc_to_target: 0\n", 2 / 3),
        ('doc_to_choice: c\ndoc_to_target: "{{[0, 1]}}"\n', 1.0),
        ("doc_to_choice: !function utils.c\ndoc_to_target: !function utils.a\n", 1 / 3),
    ],
)
def test_choices_and_the_right_one_are_named_in_every_way_of_the_harness(folder, lines, acc):
    task(
        folder, HEAD + "output_type: multiple_choice\ndoc_to_text: q\n" + lines + "metric_list: [{metric: acc}]\n", ROWS
    )
    (folder / "utils.py").write_text("def c(doc):\n    return doc['c']\ndef a(doc):\n    return doc['a']\n")

    run = markbook.run_task("lm.yaml", predictions=samples(folder), allow_code=True)

    assert metrics(run) == {"acc": pytest.approx(acc)}


def test_a_function_for_choices_runs_only_where_that_is_allowed(folder):
    task(folder, CHOICE.replace("doc_to_choice: c", "doc_to_choice: !function utils.c"), ROWS)
    (folder / "utils.py").write_text("open('canary', 'w').close()\ndef c(doc):\n    return doc['c']\n")

    with pytest.raises(ConfigError, match=r"!function utils\.c is not a registered function.*--allow-code"):
        markbook.run_task("lm.yaml", predictions=samples(folder))
    assert not (folder / "canary").exists()


def test_worked_examples_show_the_text_of_the_right_choice(folder):
    task(folder, CHOICE + "num_fewshot: 1\nfewshot_config: {sampler: first_n}\nfewshot_split: train\n", ROWS)

    run = markbook.run_task("lm.yaml", predictions=samples(folder))

    assert rows_of(run)[2]["prompt"] == "Q: Sky?\nA: blue\n\nQ: Snow?\nA:"


def test_choices_may_be_questions_of_their_own(folder):
    rows = [{"a": 1, "c": ["He fell since", "She fell since"], "end": "it rained"}]
    task(folder, HEAD + "output_type: multiple_choice\ndoc_to_text: a\ndoc_to_choice: c\ndoc_to_target: end\n", rows)

    run = markbook.run_task("lm.yaml", predictions=samples(folder, [[(-5.0, False), (-2.0, False)]]))

    assert metrics(run)["acc"] == 1.0
    assert rows_of(run)[0]["references"] == ["She fell since"]


def test_a_continuation_has_a_perplexity_and_is_right_where_it_is_the_likeliest(folder):
    task(folder, HEAD + 'output_type: loglikelihood\ndoc_to_text: q\ndoc_to_target: " {{a}}"\n', ROWS)

    run = markbook.run_task("lm.yaml", predictions=samples(folder, [[(-1.0, True)], [(-2.0, False)], [(-6.0, False)]]))

    assert metrics(run) == {"perplexity": pytest.approx(math.exp(3.0)), "acc": pytest.approx(1 / 3)}


def test_whole_texts_have_perplexities_by_word_and_byte(folder):
    rows = [{"t": "one two"}, {"t": "drei vier f\u00fcnf"}]
    task(folder, HEAD + 'output_type: loglikelihood_rolling\ndoc_to_text: ""\ndoc_to_target: "{{t}}"\n', rows)
    path = write(folder / "said.jsonl", [{"doc_id": n, "resps": [[each]]} for n, each in enumerate(["-8.0", "-22.0"])])

    run = markbook.run_task("lm.yaml", predictions=path)

    # 2 + 3 words, 7 + 15 bytes.
    assert metrics(run) == {
        "word_perplexity": pytest.approx(math.exp(30 / 5)),
        "byte_perplexity": pytest.approx(math.exp(30 / 22)),
        "bits_per_byte": pytest.approx(30 / 22 / math.log(2)),
    }


def test_results_of_the_tasks_own_function_are_summed_up_as_it_says(folder):
    task(
        folder,
        HEAD + "doc_to_text: q\ndoc_to_target: a\nprocess_results: !function utils.results\nmetric_list:\n"
        "  - {metric: hit, aggregation: mean, higher_is_better: true}\n"
        "  - {metric: spread, aggregation: !function utils.spread, higher_is_better: false}\n",
        ROWS,
    )
    (folder / "utils.py").write_text(
        "def results(doc, results):\n    return {'hit': results[0] == doc['c'][0], 'spread': (doc['q'], len(results[0])), 'more': 3}\n"
        "def spread(items):\n    return max(n for _, n in items) - min(n for _, n in items)\n"
    )
    said = write(
        folder / "said.jsonl", [{"doc_id": n, "prediction": text} for n, text in enumerate(["blue", "x", "white"])]
    )

    run = markbook.run_task("lm.yaml", predictions=said, allow_code=True)

    assert metrics(run) == {"hit": pytest.approx(2 / 3), "spread": 4.0, "more": 3.0}
    with pytest.raises(ConfigError, match="not a registered"):
        markbook.run_task("lm.yaml", predictions=said)


def test_an_aggregation_that_raises_leaves_a_reason_and_no_number(folder):
    task(folder, CHOICE + "metric_list: [{metric: acc, aggregation: !function utils.broken}]\n", ROWS)
    (folder / "utils.py").write_text("def broken(items):\n    return 1 / 0\n")

    run = markbook.run_task("lm.yaml", predictions=samples(folder), allow_code=True)

    found = json.loads((run.folder / "summary.json").read_text())["tasks"]["demo"]["metrics"]["acc"]
    assert found["value"] is None
    assert found["note"] == "the function utils.broken raises ZeroDivisionError: division by zero"


def test_a_row_without_log_likelihoods_is_missing_and_broken_ones_are_named(folder):
    task(folder, CHOICE, ROWS)
    path = samples(folder, [SAID[0], [("nan", True), (-1.0, False)]])

    code, shown, _ = command("run", "lm.yaml", "--predictions", path, "--json")

    found = json.loads(shown)["tasks"]["demo"]
    assert (code, found["metrics"]["acc"]["n"], found["metrics"]["acc"]["n_missing"]) == (0, 1, {"absent": 2})
    assert found["answers_rejected"] == 1


def test_too_few_log_likelihoods_for_the_choices_leave_the_row_without_a_value(folder):
    task(folder, CHOICE + "metric_list: [{metric: acc}]\n", ROWS[:1])

    run = markbook.run_task("lm.yaml", predictions=samples(folder, [[(-1.0, True)]]))

    assert rows_of(run)[0]["missing"]["acc"]["detail"] == "1 log-likelihoods for 2 texts that were weighed"


def test_a_chat_model_is_not_asked_for_what_it_cannot_say(folder):
    task(folder, CHOICE, ROWS)

    with pytest.raises(UsageError, match="'demo' is answered by how likely given texts are"):
        markbook.run_task("lm.yaml", model="openai:m", base_url="http://127.0.0.1:9/v1")


def test_the_report_for_the_harness_reads_back_equal(folder):
    task(folder, CHOICE, ROWS)
    run = markbook.run_task("lm.yaml", predictions=samples(folder))

    code, _, told = command("report", run.folder, "--format", "lm-eval")
    assert code == 0, told
    written = next(run.folder.rglob("samples_demo*.jsonl"))
    again = markbook.run_task("lm.yaml", predictions=written, output=folder / "again")

    assert json.loads(written.read_text().splitlines()[0])["resps"] == [[["-1.0", "True"]], [["-4.0", "False"]]]
    assert metrics(again) == metrics(run)


def test_decontamination_is_left_out_with_a_note(folder):
    task(folder, CHOICE + "should_decontaminate: true\ndoc_to_decontamination_query: q\n", ROWS)

    _, _, told = command("run", "lm.yaml", "--predictions", samples(folder))

    assert "should_decontaminate changes no result here" in told


@pytest.mark.parametrize(
    ("lines", "prompt"),
    [
        ("output_type: multiple_choice\ndoc_to_choice: c\n", "Q: Sky? So: blue\n\nQ: Snow? So:"),
        ("metric_list: [{metric: exact_match}]\n", "Q: Sky? So: 0\n\nQ: Snow? So:"),
    ],
)
def test_a_reply_may_be_begun(folder, lines, prompt):
    shots = "num_fewshot: 1\nfewshot_config: {sampler: first_n}\nfewshot_split: train\n"
    head = 'doc_to_text: "Q: {{q}}"\ndoc_to_target: a\ngen_prefix: "So:"\n'
    task(folder, HEAD + head + shots + lines, ROWS)
    said = samples(folder) if "choice" in lines else write(folder / "s.jsonl", [{"doc_id": 0, "prediction": "0"}])

    run = markbook.run_task("lm.yaml", predictions=said)

    assert rows_of(run)[2]["prompt"] == prompt
    with pytest.raises(UsageError, match=r"answered by how likely|begins the reply for the model"):
        markbook.run_task("lm.yaml", model="openai:m", base_url="http://127.0.0.1:9/v1")
