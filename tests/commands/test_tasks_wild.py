"""Tasks as they are in the wild: faults that showed with real tasks of lm-evaluation-harness."""

import json

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, text
from support.review_kit import markbook as command, only_run
from support.wild_kit import HEAD, PLAIN, metrics, rows_of, said, task, write

import markbook
from markbook.errors import DataError

OWN = 'name: demo\ndata: {path: rows.jsonl}\nprompt: "{{ q }}"\nreference: "{{ a }}"\nmetrics: [exact_match]\n'


@pytest.mark.parametrize("lines", [OWN, PLAIN], ids=["own", "harness"])
def test_a_broken_line_leaves_every_other_row_at_its_place(folder, lines):
    rows = [{"q": f"q{n}", "a": f"a{n}"} for n in range(4)]
    task(folder, lines, [rows[0], "{broken\n", *rows[2:]])
    said(folder, ["a0", "a1", "a2", "a3"])

    code, shown, told = command("run", "lm.yaml", "--predictions", "said.jsonl", "--json")

    found = json.loads(shown)["tasks"]["demo"]
    assert (code, found["metrics"]["exact_match"]["value"], found["metrics"]["exact_match"]["n"]) == (0, 1.0, 3)
    assert (found["rows_rejected"], found["answers_unknown"]) == (1, 1)
    assert "1 rows could not be used" in told


def test_where_only_some_rows_belong_to_the_task_a_broken_line_leaves_no_place_sure(folder):
    task(folder, OWN.replace("rows.jsonl}", "rows.jsonl, where: {k: 1}}"), [{"q": "", "a": "x", "k": 1}, "{broken\n"])

    with pytest.raises(DataError, match=r"rows\.jsonl:2: this line cannot be read.*which place"):
        markbook.run_task("lm.yaml", predictions=said(folder, ["x"]))


def test_rows_named_by_a_field_need_no_place(folder):
    rows = [{"q": "", "a": "x", "k": 1, "key": "one"}, "{broken\n", {"q": "", "a": "y", "k": 1, "key": "two"}]
    task(folder, OWN.replace("rows.jsonl}", "rows.jsonl, where: {k: 1}, id: key}"), rows)
    path = write(folder / "said.jsonl", [{"id": "two", "prediction": "y"}, {"id": "one", "prediction": "x"}])

    assert metrics(markbook.run_task("lm.yaml", predictions=path)) == {"exact_match": 1.0}


def test_the_filter_remove_whitespace_works_at_both_ends(folder):
    task(folder, PLAIN + "filter_list: [{name: f, filter: [{function: remove_whitespace}, {function: take_first}]}]\n")

    run = markbook.run_task("lm.yaml", predictions=said(folder, [" x\n\n", "y "]))

    assert [row["text"] for row in rows_of(run)] == ["x", "y"]
    assert metrics(run) == {"exact_match": 1.0}


def test_white_space_around_a_target_is_part_of_it(folder):
    task(
        folder,
        HEAD + 'doc_to_text: q\ndoc_to_target: " {{a}}"\ntarget_delimiter: ""\nnum_fewshot: 1\nfewshot_split: train\n',
    )

    run = markbook.run_task("lm.yaml", predictions=said(folder, [" x", "y"]))

    assert [row["references"] for row in rows_of(run)] == [[" x"], [" y"]]
    assert rows_of(run)[0]["prompt"] == "q1 y\n\nq0"
    assert metrics(run) == {"exact_match": 0.5}


def test_in_our_own_format_a_block_of_text_still_ends_with_its_expression(folder):
    task(folder, OWN.replace('reference: "{{ a }}"', "reference: |\n  {{ a }}"))

    assert metrics(markbook.run_task("lm.yaml", predictions=said(folder, ["x", "y"]))) == {"exact_match": 1.0}


@pytest.mark.parametrize(
    ("generation", "temperature"),
    [("", 0.0), ("{until: []}", 0.0), ("{do_sample: true}", 0.0), ("{temperature: 0.7}", 0.7)],
)
def test_a_task_that_states_no_temperature_is_asked_at_zero(folder, generation, temperature):
    task(folder, PLAIN + (f"generation_kwargs: {generation}\n" if generation else ""))

    with FakeOpenAI(lambda _r, _n: text("x")) as server:
        markbook.run_task("lm.yaml", model="openai:m", base_url=server.base_url)

    assert [request["temperature"] for request in server.requests] == [temperature] * 2


def test_four_stop_texts_are_sent_and_the_reply_is_cut_at_all(folder):
    task(folder, PLAIN + "generation_kwargs: {until: [A, B, C, D, E]}\n")

    with FakeOpenAI(lambda _r, _n: text("xEy")) as server:
        run = markbook.run_task("lm.yaml", model="openai:m", base_url=server.base_url)

    assert server.requests[0]["stop"] == ["A", "B", "C", "D"]
    assert rows_of(run)[0]["text"] == "x"


def test_a_field_called_context_is_shown_whatever_it_holds(folder):
    rows = [
        {"q": f"q{n}", "a": "x", "context": context} for n, context in enumerate(("t", {"text": ["u"]}, ["v"], None))
    ]
    task(folder, PLAIN.replace("doc_to_text: q", 'doc_to_text: "{{context}}|{{q}}"'), rows)
    task(folder, OWN.replace("{{ q }}", "{{ context }}|{{ q }}"), rows, name="own.yaml")

    theirs = markbook.run_task("lm.yaml", predictions=said(folder, ["x"] * 4))
    ours = markbook.run_task("own.yaml", predictions=said(folder, ["x"] * 4))

    shown = ["t|q0", "{'text': ['u']}|q1", "['v']|q2"]
    assert [row["prompt"] for row in rows_of(theirs)] == [*shown, "None|q3"]
    assert [row["prompt"] for row in rows_of(ours)] == [*shown, "|q3"]


def test_a_function_lies_beside_the_file_that_names_it(folder):
    task(folder, "include: ../base_yaml\ntask: demo\n", name="sub/lm.yaml")
    (folder / "base_yaml").write_text(PLAIN.replace("q\n", "!function utils.prompt\n", 1))
    (folder / "utils.py").write_text("def prompt(doc):\n    return 'right:' + doc['q']\n")
    (folder / "sub" / "utils.py").write_text("def prompt(doc):\n    return 'WRONG:' + doc['q']\n")

    run = markbook.run_task("sub/lm.yaml", predictions=said(folder, ["x", "y"]), allow_code=True)

    assert [row["prompt"] for row in rows_of(run)] == ["right:q0", "right:q1"]


def test_a_metric_function_keeps_every_number_that_it_gives(folder):
    task(folder, PLAIN + "metric_list: [{metric: !function utils.two}]\n")
    (folder / "utils.py").write_text(
        "def two(references, predictions):\n    return {'alpha': float(references == predictions), 'beta': 2.5}\n"
    )

    run = markbook.run_task("lm.yaml", predictions=said(folder, ["x", "no"]), allow_code=True)

    assert metrics(run) == {"alpha": 0.5, "beta": 2.5}


def test_a_filter_function_sees_the_row_of_each_reply(folder):
    task(
        folder, PLAIN + "filter_list: [{name: f, filter: [{function: custom, filter_fn: !function utils.complete}]}]\n"
    )
    (folder / "utils.py").write_text(
        "def complete(resps, docs):\n    return [[doc['q'] + r for r in several] for several, doc in zip(resps, docs)]\n"
    )

    run = markbook.run_task("lm.yaml", predictions=said(folder, ["x", "y"]), allow_code=True)

    assert [row["text"] for row in rows_of(run)] == ["q0x", "q1y"]


def test_a_filter_function_that_raises_costs_its_rows_and_not_the_run(folder):
    task(folder, PLAIN + "filter_list: [{name: f, filter: [{function: custom, filter_fn: !function utils.broken}]}]\n")
    (folder / "utils.py").write_text("def broken(resps, docs):\n    return [[{'x': 'x'}[r[0]]] for r in resps]\n")
    said(folder, ["x", "y"])

    code, shown, _ = command("run", "lm.yaml", "--predictions", "said.jsonl", "--allow-code", "--json")

    found = json.loads(shown)["tasks"]["demo"]["metrics"]["exact_match"]
    assert (code, found["value"], found["n_missing"]) == (3, 1.0, {"failed": 1})
    reason = rows_of_command(folder)[1]["missing"]["exact_match"]["detail"]
    assert reason == "the filter utils.broken raises KeyError: 'y'"


def rows_of_command(folder):
    return [json.loads(line) for line in (only_run(folder / "generated") / "results.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("dataset.shuffle(seed=42).select([0, 1])", ["q3", "q2"]),
        ("dataset.rename_column('q', 'z').map(lambda r: {'q': r['z'] + '!'}).select(range(2))", ["q0!", "q1!"]),
        ("dataset.filter(lambda r, n: n > 2, with_indices=True).remove_columns(['k'])", ["q3"]),
        ("dataset.select([n for n, q in enumerate(dataset['q']) if q == 'q2'])", ["q2"]),
        ("dataset.add_column('w', ['a'] * len(dataset)).sort('q', reverse=True).select([0])", ["q3"]),
    ],
)
def test_a_row_function_has_what_a_data_set_offers(folder, body, asked):
    rows = [{"q": f"q{n}", "a": "x", "k": n} for n in range(4)]
    task(folder, PLAIN + "process_docs: !function utils.docs\n", rows)
    (folder / "utils.py").write_text(f"def docs(dataset):\n    return {body}\n")

    run = markbook.run_task("lm.yaml", predictions=said(folder, ["x"] * len(asked)), allow_code=True)

    assert [row["prompt"] for row in rows_of(run)] == asked


@pytest.mark.parametrize("key", ["process_docs: !function utils.broken", "doc_to_text: !function utils.broken"])
def test_a_function_that_raises_is_named_with_its_place(folder, key):
    lines = "".join(line + "\n" for line in PLAIN.splitlines() if not line.startswith(key.partition(":")[0])) + key
    task(folder, lines)
    (folder / "utils.py").write_text("def broken(given):\n    return given.no_such_thing\n")
    said(folder, ["x", "y"])

    code, _, told = command("run", "lm.yaml", "--predictions", "said.jsonl", "--allow-code")

    assert code == 2
    assert "lm.yaml:7:" in told or "rows.jsonl:1" in told
    assert "utils.broken raises AttributeError" in told
    assert "Traceback" not in told


def test_a_metric_plugin_that_raises_costs_its_rows_and_not_the_run(folder, monkeypatch):
    (folder / "mine.py").write_text(
        "class M:\n"
        "    name, version, range, direction, signature = 'm', 1, (0.0, 1.0), 'higher', 'm|v1'\n"
        "    def measure(self, items):\n"
        "        from markbook.types import Measurement\n"
        "        return [Measurement('m', {'x': 1.0}[i.attempt.text], sample_id=i.sample.id) for i in items]\n"
        "    def summarise(self, found):\n        return 1.0\n"
        "def make():\n    return M()\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    task(folder, OWN.replace("exact_match", "'mine:make'"))
    said(folder, ["x", "y"])

    code, shown, told = command("run", "lm.yaml", "--predictions", "said.jsonl", "--allow-code", "--json")

    found = json.loads(shown)["tasks"]["demo"]["metrics"]["mine:make"]
    assert (code, found["value"], found["n"], found["n_missing"]) == (3, 1.0, 1, {"failed": 1})
    assert "Traceback" not in told


def test_a_run_where_nothing_was_answered_says_so(folder):
    task(folder, PLAIN)

    with FakeOpenAI(FAULTS["500"]) as server:
        code, _, told = command(
            "run", "lm.yaml", "--model", "openai:m", "--base-url", server.base_url, "--retries", "0"
        )

    assert code == 3
    assert "2/2 asked, 0 answered" in told
    assert "no answer (2 of 2): " in told


def test_a_server_that_is_not_there_is_named_at_once_and_nothing_is_written(folder):
    task(folder, PLAIN)

    code, _, told = command("run", "lm.yaml", "--model", "openai:m", "--base-url", "http://127.0.0.1:1/v1")

    assert code == 3
    assert "no server answers at http://127.0.0.1:1: Connection refused" in told
    assert not (folder / "generated").exists()
