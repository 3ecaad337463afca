"""From rows to samples: templates, contexts, references, and what is refused where."""

import csv
import gzip
import json

import pytest

from markbook.config import FewShot, Filter, Pipeline, loading
from markbook.datasets.filters import build, find_code
from markbook.datasets.prompts import Examples, RenderError, render, render_references
from markbook.datasets.samples import load_samples, shown_context
from markbook.errors import ConfigError, DataError
from markbook.files.jsonl import Rejection
from markbook.files.tables import read_table

TASK = """\
name: demo
data: {path: rows.jsonl, where: {kind: a}}
prompt: "Q: {{ word }}{% if context %} ({{ context }}){% endif %}"
reference: "{{ answer }}"
metrics: [exact_match]
"""
ROWS = [
    {"kind": "a", "word": "one", "answer": "1", "context": "Be kind. You must be brief! Required: nothing."},
    {"kind": "b", "word": "no", "answer": "x"},
    {"kind": "a", "word": "two", "answer": ["2", "ii"], "context": None},
]


def make(folder, text=TASK, rows=ROWS, name="rows.jsonl"):
    (folder / "task.yaml").write_text(text, encoding="utf-8")
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return loading.load(folder / "task.yaml")


def test_rows_become_samples_in_order(tmp_path):
    found = load_samples(make(tmp_path))

    assert [(sample.id, sample.references) for sample in found.samples] == [("0", ("1",)), ("1", ("2", "ii"))]
    assert found.samples[0].input == "Q: one (Be kind. You must be brief! Required: nothing.)"
    assert found.samples[1].input == "Q: two"
    assert found.samples[1].source.endswith("rows.jsonl:3")
    assert found.rejections == ()


@pytest.mark.parametrize(
    ("mode", "shown"),
    [("full", "Be kind. You must be brief! Required: nothing."), ("minimal", "You must be brief!"), ("none", "")],
)
def test_the_context_obeys_its_mode(tmp_path, mode, shown):
    assert shown_context(ROWS[0]["context"], mode) == shown
    found = load_samples(make(tmp_path), mode=mode)
    assert found.samples[0].input == f"Q: one ({shown})" if shown else "Q: one"
    assert found.samples[0].context == ROWS[0]["context"]


def test_without_a_demand_the_first_sentence_is_the_minimal_context():
    assert shown_context("Mustard is fine. So is salt.", "minimal") == "Mustard is fine."


def test_a_row_without_a_field_is_counted_and_the_others_keep_their_place(tmp_path):
    rows = [ROWS[0], {"kind": "a", "wrod": "x", "answer": "y"}, ROWS[2]]

    found = load_samples(make(tmp_path, rows=rows))

    assert [sample.id for sample in found.samples] == ["0", "2"]
    assert found.rejections[0].at.endswith("rows.jsonl:2")
    assert "no field 'word' (did you mean 'wrod'?)" in found.rejections[0].reason


def test_a_template_that_names_an_unknown_field_says_which_row_and_field(tmp_path):
    task = make(tmp_path, TASK.replace("{{ word }}", "{{ wort }}"))

    with pytest.raises(
        DataError, match=r"rows\.jsonl:1: .*no usable row: the row has no field 'wort' \(did you mean 'word'"
    ):
        load_samples(task)


def test_a_template_that_does_not_parse_is_named_at_its_place(tmp_path):
    task = make(tmp_path, TASK.replace("{{ word }}", "{{ word "))

    with pytest.raises(ConfigError, match=r"task\.yaml:3:9: the template does not parse"):
        load_samples(task)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("none.jsonl", r"task\.yaml:2:14: there is no data file"),
        (".", "is a folder, and no data file"),
        ("https://example.org/rows.jsonl", "over the network"),
        ("'*.jsonl'", "is a pattern"),
    ],
)
def test_a_data_path_that_is_not_there_is_named_at_its_place(tmp_path, path, words):
    with pytest.raises(ConfigError, match=words):
        load_samples(make(tmp_path, TASK.replace("rows.jsonl", path)))


def test_an_array_named_as_lines_is_named(tmp_path):
    task = make(tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS, indent=1), encoding="utf-8")

    with pytest.raises(DataError, match=r"rows\.jsonl:1: this file is one JSON array"):
        load_samples(task)


def test_two_rows_of_one_id_are_refused(tmp_path):
    task = make(tmp_path, TASK.replace("where: {kind: a}", "id: kind"))

    with pytest.raises(DataError, match=r"rows\.jsonl:3: two rows have the id 'a' \(the first is .*:1\)"):
        load_samples(task)


def test_worked_examples_are_the_first_other_rows(tmp_path):
    rows = [{"kind": "a", "word": f"w{n}", "answer": str(n)} for n in range(3)]
    task = make(tmp_path, TASK + "few_shot: {count: 1}\n", rows=rows)

    found = load_samples(task)

    assert found.samples[0].input == "Q: w1\n1\n\nQ: w0"
    assert found.samples[2].input == "Q: w0\n0\n\nQ: w2"


def test_all_kinds_of_files_hold_the_same_rows(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    rows = [{"a": "x,\ny", "b": "é"}, {"a": "", "b": "\u2028"}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "t.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps({key: [row[key] for row in rows] for key in "ab"}), encoding="utf-8")
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    with (tmp_path / "t.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, ["a", "b"])
        writer.writeheader()
        writer.writerows(rows)
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")

    for name in ("t.jsonl", "t.json", "c.json", "t.jsonl.gz", "t.csv", "t.parquet"):
        assert [dict(line.record) for line in read_table(tmp_path / name)] == rows, name


def test_a_csv_row_of_another_length_is_rejected_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x\ny",2\n1\n3,4\n', encoding="utf-8")

    found = list(read_table(path))

    assert found[1] == Rejection(f"{path}:4", "1 values for 2 columns")
    assert [found[0].at, found[2].at] == [f"{path}:2", f"{path}:5"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"a,a\n1,2\n", "columns, each once"),
        ("t.csv", b"a\n\xff\n", "not UTF-8"),
        ("t.csv", b'a\n"x\n', "not CSV"),
        ("t.parquet", b"PAR1", "not a readable Parquet"),
        ("t.xlsx", b"", "what kind of file"),
        ("t.json", b'{"a": [1], "b": [1, 2]}', "lists of one length"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(DataError, match=words):
        list(read_table(path))


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ 'a' * 10 ** 9 }}",
        "{{ [0] * 1000000000 }}",
        "{% for i in range(10 ** 8) %}x{% endfor %}",
        "{{ word.__init__.__globals__ }}",
        "{% include '/etc/passwd' %}",
        "{{ cycler.__init__ }}",
        "{{ 1 / 0 }}",
        "{{ word.missing }}",
    ],
)
def test_a_template_sees_one_row_and_nothing_else(template):
    with pytest.raises(RenderError):
        render(template, {"word": "x"}, "t.yaml:1:1")


def test_a_template_cannot_make_an_endless_text():
    with pytest.raises(RenderError, match="4 Mi characters"):
        render("{% for i in range(99999) %}{{ word }}{% endfor %}", {"word": "x" * 1000}, "t.yaml:1:1")


@pytest.mark.parametrize("template", ["{{ word|center(10000000000000000) }}", "{{ '%9999999999999999d' % 5 }}"])
@pytest.mark.parametrize("made", [render, render_references])
def test_a_template_that_asks_for_more_memory_than_there_is_fails_for_its_row(template, made):
    with pytest.raises(RenderError, match="the template fails: MemoryError"):
        made(template, {"word": "x"}, "t.yaml:1:1")


def test_an_expression_alone_may_be_a_list_of_references():
    assert render_references("{{ a }}", {"a": ["1", 2]}, "t:1:1") == ("1", "2")
    assert render_references("{{ a }}", {"a": None}, "t:1:1") == ()
    assert render_references("{{ a }}!", {"a": "x"}, "t:1:1") == ("x!",)
    assert render_references("{{ a | upper }}", {"a": "x"}, "t:1:1") == ("X",)


def pipeline(*filters):
    step = build(Pipeline("p", tuple(Filter(name, options) for name, options in filters)))
    return lambda texts, row=None: step(texts, row or {})


def test_filters_do_what_those_of_their_name_do_in_the_harness():
    texts = ["The answer is 42.", "It is 7", "It is 7"]

    numbers = pipeline(("regex", {"regex_pattern": r"(\d+)", "group_select": -1}))
    assert numbers(texts) == ["42", "7", "7"]
    assert pipeline(("regex", {"regex_pattern": r"(x)|(y)"}))(["none"]) == ["[invalid]"]
    assert pipeline(("regex", {"regex_pattern": r"(x)|(y)"}))(["y"]) == ["y"]
    assert pipeline(("majority_vote", {}))(texts) == ["It is 7"]
    assert pipeline(("take_first", {}))(texts) == texts[0]
    assert pipeline(("take_first_k", {"k": 2}))(texts) == texts[:2]
    assert pipeline(("remove_whitespace", {}), ("uppercase", {}))(["  a b "]) == ["A B"]
    assert pipeline(("map", {"mapping_dict": {"a": 1}, "default_value": "?"}))(["a", "b"]) == ["1", "?"]


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("So (B) it is", "(B)"), ("it must be THE cat!", "(A)"), ("Answer: B", "(B)"), ("neither", "[invalid]"),
        ("none at all", "[invalid]"),
    ],
)  # fmt: skip
def test_a_choice_is_found_by_letter_by_text_or_after_a_colon(reply, letter):
    options = {
        "regex_pattern": r"(\([A-Z]\))",
        "ignore_case": True,
        "ignore_punctuation": True,
        "regexes_to_ignore": ["so"],
    }

    assert pipeline(("multi_choice_regex", options))([reply], {"choices": ["the cat.", "a dog"]}) == [letter]


@pytest.mark.parametrize(
    ("choices", "reply", "letter"),
    [
        (["", "0", "stone"], " some", "[invalid]"),
        (["", "0", "stone"], "stone", "[invalid]"),  # the last that is found is the empty one, as in the harness
        (["Guilty", "Guilty of Romance"], "It is Guilty of Romance.", "(B)"),
        (["Guilty of Romance", "Guilty"], "It is Guilty.", "(B)"),
    ],
)
def test_a_choice_is_found_by_its_whole_text_and_an_empty_one_by_none(choices, reply, letter):
    options = {"regex_pattern": r"(\([A-Z]\))", "group_select": -1}

    assert pipeline(("multi_choice_regex", options))([reply], {"choices": choices}) == [letter]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("regexp", {}, "did you mean 'regex'"),
        ("regex", {"pattern": "x"}, "no option 'pattern'"),
        ("regex", {"regex_pattern": "("}, "options"),
    ],
)
def test_a_filter_that_cannot_be_made_is_named(name, options, words):
    with pytest.raises(ConfigError, match=words):
        pipeline((name, options))


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("def f():\n    return 1", "def f():\n    return 1"),
        ("Here:\n```python\ndef f():\n    return 1\n```\nDone.", "def f():\n    return 1"),
        ("    return x + 1", "    return x + 1"),
        ("```python\n    return x + 1\n```", "    return x + 1"),
        ('"""Doc."""\n    return x', '"""Doc."""\n    return x'),
        ("if v < self.value:\n            self.left = v", "if v < self.value:\n            self.left = v"),
        ("Add two numbers.\n\nArgs:\n    x: one", "Add two numbers.\n\nArgs:\n    x: one"),
        ("", ""),
    ],
)
def test_the_code_in_a_reply_is_found_and_never_damaged(reply, code):
    assert find_code(reply) == code


def test_a_data_set_in_the_network_needs_a_file_in_its_place(tmp_path):
    (tmp_path / "lm.yaml").write_text(
        "task: demo\ndataset_path: openai/gsm8k\ndataset_name: main\ndataset_kwargs: {trust_remote_code: true}\n"
        "test_split: test\nfewshot_split: train\nnum_fewshot: 1\ndoc_to_text: '{{q}}'\ndoc_to_target: a\n",
        encoding="utf-8",
    )
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"q": "1?", "a": "1"}\n{"q": "2?", "a": "2"}\n', encoding="utf-8")
    task = loading.load(tmp_path / "lm.yaml")

    with pytest.raises(ConfigError, match=r"lm\.yaml:2:15: data set 'openai/gsm8k' would have to be fetched"):
        load_samples(task)
    assert [sample.input for sample in load_samples(task, data=rows).samples] == ["2? 2\n\n1?", "1? 1\n\n2?"]


def test_a_reference_that_is_a_bare_field_name_is_refused(tmp_path):
    task = make(tmp_path, TASK.replace('"{{ answer }}"', "answer"))

    with pytest.raises(ConfigError, match=r'task.yaml:4:\d+: .*the word .answer.*"\{\{ answer \}\}"'):
        load_samples(task)


def test_drawn_examples_are_those_of_the_harness():
    pool = [{"n": n} for n in range(10)]
    drawn = Examples(FewShot(2, sampler="default", excludes_self=False), pool)
    without = Examples(FewShot(2, sampler="default"), pool)

    # random.Random(1234).sample(range(10), 2), twice; then of three drawn those that are not the row itself.
    assert [[each["n"] for each in drawn.of(pool[0])] for _ in range(2)] == [[7, 1], [0, 1]]
    assert [each["n"] for each in without.of(pool[7])] == [1, 0]


def test_too_few_rows_for_the_examples_are_named():
    with pytest.raises(DataError, match=r"x.yaml:3:1: 2 rows to take 2 worked examples from, and 3 are needed"):
        Examples(FewShot(2, at="x.yaml:3:1"), [{"n": 1}, {"n": 2}])
    with pytest.raises(DataError, match="fewer than 1 rows differ"):
        Examples(FewShot(1, sampler="default"), [{"n": 1}, {"n": 1}]).of({"n": 1})


def test_a_row_that_may_be_its_own_example_is_a_warning(tmp_path):
    text = (
        "task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: '{{ q }}'\ndoc_to_target: '{{ a }}'\nnum_fewshot: 1\n"
    )
    rows = [{"q": str(n), "a": str(n)} for n in range(3)]

    leaky = load_samples(make(tmp_path, text, rows))
    sound = load_samples(make(tmp_path, text + "fewshot_split: test\n", rows))

    assert ["example of itself" in note for note in leaky.notes] == [True]
    assert sound.notes == ()
    assert all(sample.input.count(row["q"]) == 1 for sample, row in zip(sound.samples, rows, strict=True))


def test_the_documented_profile_compares_code_with_the_text_of_its_tests(tmp_path):
    text = (
        "task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: '{{ q }}'\ndoc_to_target: !function utils.doc_to_target_function\n"
    )
    row = {"q": "f", "expected_function": "def f(): pass", "test_cases": ["assert f() is None", "assert not f()"]}
    task = make(tmp_path, text, [row])

    corrected, documented = (load_samples(task, documented=each).samples[0] for each in (False, True))

    assert corrected.references == ("def f(): pass",)
    assert documented.references == ("assert f() is None\nassert not f()",)
    assert corrected.tests == documented.tests
