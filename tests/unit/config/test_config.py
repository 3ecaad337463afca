"""Task files of both formats: what they say, what they extend, and what is refused where."""

import json

import pytest
from support.paths import ROOT

from markbook.config import Sampling, loading, native
from markbook.config.tree import plain, read_tree
from markbook.errors import ConfigError, UsageError

NATIVE = """\
name: demo
version: 2
data: {path: rows.jsonl, where: {kind: a}, id: key}
prompt: "Say {{ word }}"
reference: "{{ word }}"
generate: {temperature: 0.5, max_tokens: 9, stop: ["END"], samples: 3}
metrics:
  - bleu
  - {name: rouge1, key: r1, options: {stemmer: false}}
"""

LM_EVAL = """\
task: demo
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl, train: shots.jsonl}}
test_split: test
fewshot_split: train
num_fewshot: 2
description: "Be brief. "
doc_to_text: "Say {{word}}"
doc_to_target: word
generation_kwargs: {until: ["\\n"], max_gen_toks: 9, temperature: 0.0, do_sample: false}
repeats: 4
filter_list:
  - name: strict
    filter:
      - {function: regex, regex_pattern: "(\\\\d+)"}
      - {function: take_first}
  - name: loose
    filter: [{function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true}
  - {metric: !function utils.bleu_score, aggregation: mean}
metadata: {version: 1.5}
"""


def write(folder, text, name="task.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(folder, text):
    with pytest.raises(ConfigError) as caught:
        loading.load(write(folder, text))
    return str(caught.value).replace(str(folder), "")


def test_our_own_format_is_read(tmp_path):
    task = loading.load(write(tmp_path, NATIVE))

    assert (task.name, task.version, task.format) == ("demo", "2", "markbook")
    assert task.data.paths == ("rows.jsonl",)
    assert (dict(task.data.where), task.data.id_field) == ({"kind": "a"}, "key")
    assert task.sampling == Sampling(temperature=0.5, max_tokens=9, stop=("END",), samples=3)
    assert [(use.name, use.key, dict(use.options)) for use in task.metrics] == [
        ("bleu", "", {}),
        ("rouge1", "r1", {"stemmer": False}),
    ]


def test_the_harness_format_is_read(tmp_path):
    task = loading.load(write(tmp_path, LM_EVAL))

    assert (task.name, task.version, task.format) == ("demo", "1.5", "lm-eval")
    assert task.data.paths == ("rows.jsonl",)
    few = task.few_shot
    assert (few.count, few.paths, few.sampler, few.excludes_self) == (2, ("shots.jsonl",), "default", False)
    assert task.sampling == Sampling(temperature=0.0, max_tokens=9, stop=("\n",), samples=4)
    assert [pipeline.name for pipeline in task.pipelines] == ["strict", "loose"]
    assert task.references.fields == ("word",)
    assert task.prompt.template == "Say {{word}}"
    assert task.metrics[0].options == {"ignore_case": True}
    assert task.metrics[1].name.name == "utils.bleu_score"


def place_of(text, anchor):
    """Return `:line:column` of the first place of a piece of the text."""
    before = text[: text.index(anchor)]
    return f":{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}:"


@pytest.mark.parametrize(
    ("old", "new", "anchor", "words"),
    [
        ("prompt:", "promt:", "promt:", "did you mean 'prompt'"),
        ("version: 2", "version: 2\nversion: 3", "version: 3", "duplicate key 'version'"),
        ("max_tokens: 9", "max_tokens: many", "many", "generate.max_tokens"),
        ("temperature: 0.5", "temprature: 0.5", "temprature", "did you mean 'temperature'"),
        ("key: r1", "kye: r1", "kye", "did you mean 'key'"),
        ("- bleu", "- !function utils.bleu_score", "!function", "belongs to lm-evaluation-harness"),
        ('prompt: "Say {{ word }}"\n', "", "name:", "'prompt' is missing"),
        ("name: demo", "name: ../demo", "../demo", "name"),
        ("samples: 3", "samples: 0", "0}\nmetrics", "generate.samples"),
        ("- bleu", "- pass_at_k", "name:", "pass_at_k needs `tests`"),
    ],
)
def test_a_mistake_is_named_at_its_place(tmp_path, old, new, anchor, words):
    text = NATIVE.replace(old, new)

    found = complaint(tmp_path, text)

    assert words in found
    assert found.startswith("/task.yaml" + place_of(text, anchor))


@pytest.mark.parametrize(
    ("old", "new", "anchor", "words"),
    [
        ("train: shots.jsonl}", "train: shots.jsonl}, field: x", "field: x", "has no meaning for files"),
        ("repeats: 4", "repeat: 4", "repeat:", "did you mean 'repeats'"),
        ("do_sample: false", "do_smaple: false", "do_smaple", "did you mean 'do_sample'"),
        ("test_split: test", "test_split: validation", "{test:", "no split 'validation'"),
        ("repeats: 4", "output_type: multiple_choice", "multiple_choice", "needs doc_to_choice"),
        ("repeats: 4", "custom_dataset: !function utils.load", "custom_dataset", "cannot be honoured"),
        ("repeats: 4", "dataset_name: main", "main\nfilter", "dataset_name"),
        ("function: take_first}]", "function: custom}]", "{function: custom", "filter_fn"),
    ],
)
def test_what_cannot_be_honoured_is_named_never_ignored(tmp_path, old, new, anchor, words):
    text = LM_EVAL.replace(old, new)

    found = complaint(tmp_path, text)

    assert words in found
    assert found.startswith("/task.yaml" + place_of(text, anchor))


def test_extends_merges_mappings_and_keeps_paths_where_they_were_written(tmp_path):
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner", NATIVE, "base.yaml")
    child = write(tmp_path, "extends: inner/base.yaml\nname: child\ngenerate: {temperature: 0}\nmetrics: [bleu]\n")

    task = loading.load(child)

    assert task.name == "child"
    assert (task.sampling.temperature, task.sampling.max_tokens) == (0, 9)
    assert [use.name for use in task.metrics] == ["bleu"]
    assert task.data.folder == tmp_path / "inner"


def test_a_mistake_in_what_is_extended_is_named_there(tmp_path):
    write(tmp_path, NATIVE.replace("prompt:", "promt:"), "base.yaml")

    with pytest.raises(ConfigError, match=r"base\.yaml:4:1: unknown key 'promt'"):
        loading.load(write(tmp_path, "extends: base.yaml\nname: child\n"))


def test_include_of_the_harness_replaces_whole_keys(tmp_path):
    write(tmp_path, LM_EVAL, "_base")
    task = loading.load(write(tmp_path, "include: _base\ntask: child\ngeneration_kwargs: {until: []}\n"))

    assert task.name == "child"
    assert task.sampling == Sampling(temperature=0.0, max_tokens=256, samples=4)


def test_files_that_extend_themselves_are_refused(tmp_path):
    write(tmp_path, "extends: b.yaml\n", "a.yaml")
    write(tmp_path, "extends: a.yaml\n", "b.yaml")

    with pytest.raises(ConfigError, match="extends itself"):
        loading.load(tmp_path / "a.yaml")


def test_a_group_brings_its_tasks_once_and_in_order(tmp_path):
    write(tmp_path, NATIVE, "one.yaml")
    write(tmp_path, NATIVE.replace("demo", "other"), "two.yaml")
    write(tmp_path, "group: inner\ntasks: [other]\n", "inner.yaml")
    group = write(tmp_path, "group: all\ntasks: [demo, inner, two.yaml]\nsummarise: [{metric: bleu}]\n", "all.yaml")

    tasks, groups = loading.load_all([str(group)])

    assert [each.task.name for each in tasks] == ["demo", "other"]
    assert [(group.name, names) for group, names in groups] == [("all", ["demo", "other"]), ("inner", ["other"])]


def test_a_group_names_what_it_cannot_find(tmp_path):
    write(tmp_path, NATIVE, "one.yaml")
    group = write(tmp_path, "group: all\ntasks:\n  - dmeo\n", "all.yaml")

    with pytest.raises(ConfigError, match=r"all\.yaml:3:5: .*unknown task 'dmeo' \(did you mean 'demo'"):
        loading.load_all([str(group)])


def test_a_group_that_holds_itself_is_refused(tmp_path):
    group = write(tmp_path, "group: all\ntasks: [all]\n", "all.yaml")

    with pytest.raises(ConfigError, match="holds itself"):
        loading.load_all([str(group)])


def test_two_tasks_of_one_name_are_refused(tmp_path):
    first, second = write(tmp_path, NATIVE, "a.yaml"), write(tmp_path, NATIVE, "b.yaml")

    with pytest.raises(ConfigError, match="two tasks are named 'demo'"):
        loading.load_all([str(first), str(second)])


def test_an_unknown_name_has_its_neighbours_named():
    with pytest.raises(UsageError, match="did you mean 'python_code_repair'"):
        loading.load("python_code_repare")


def test_the_published_schema_is_the_readers_own():
    published = json.loads((ROOT / "docs" / "task.schema.json").read_text(encoding="utf-8"))

    assert published == native.json_schema()


def test_every_ready_task_fits_the_published_schema():
    import jsonschema

    validator = jsonschema.Draft202012Validator(native.json_schema())
    for path in sorted((ROOT / "tasks").glob("*.yaml")):
        contents = plain(read_tree(path))
        if "extends" not in contents:
            assert list(validator.iter_errors(contents)) == [], path.name


def test_all_complaints_are_listed_at_once(tmp_path):
    found = complaint(tmp_path, NATIVE.replace("name: demo", "nam: demo").replace("samples: 3", "samples: x"))

    assert "unknown key 'nam'" in found
    assert "'name' is missing" in found
    assert "generate.samples" in found


def test_the_groups_and_kinds_that_are_documented_are_ready():
    ready = loading.ready_tasks()
    kinds = (
        "python_code_completion",
        "python_code_repair",
        "python_code_translation",
        "python_docstring_generation",
        "python_function_generation",
    )

    for kind in kinds:
        modes = [loading.load(kind + ending).context for ending in ("", "_minimal_context", "_no_context")]
        assert modes == ["full", "minimal", "none"]
    assert [member.name for member in loading.load("python_coding_suite").members] == list(kinds)
    assert "python_coding_context_comparison" in ready


def test_native_names_cannot_leave_a_folder():
    with pytest.raises(ValueError, match="name"):
        native.TaskModel.model_validate({"name": "a/b", "data": {"path": "x"}, "prompt": "", "metrics": ["bleu"]})


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("no", False),
        ("Off", False),
        ("NO", False),
        ("yes", True),
        ("On", True),
        ('"no"', "no"),
        ("y", "y"),
        ("nO", "nO"),
    ],
)
def test_bare_words_of_the_harness_are_read_as_yaml_1_1(tmp_path, word, value):
    task = loading.load(write(tmp_path, LM_EVAL.replace("ignore_case: true", f"ignore_case: {word}")))

    assert task.metrics[0].options == {"ignore_case": value}


def test_bare_words_of_our_own_format_are_texts(tmp_path):
    task = loading.load(write(tmp_path, NATIVE.replace("stemmer: false", "stemmer: no")))

    assert task.metrics[1].options == {"stemmer": "no"}


def test_bare_words_of_the_harness_stay_texts_where_texts_are_wanted(tmp_path):
    text = LM_EVAL.replace(
        "doc_to_target: word", "doc_to_target: word\ndoc_to_choice: [yes, no]\noutput_type: multiple_choice"
    )

    assert loading.load(write(tmp_path, text)).choices.constant == ["yes", "no"]


def test_files_that_name_one_another_many_times_are_read_once_each(tmp_path, monkeypatch):
    (tmp_path / "f7.yaml").write_text(LM_EVAL)
    for number in range(7):
        names = ", ".join([f"f{number + 1}.yaml"] * 12)
        (tmp_path / f"f{number}.yaml").write_text(f"include: [{names}]\ntask: t{number}\n")
    read, read_tree = [], loading.read_tree
    monkeypatch.setattr(loading, "read_tree", lambda path, twice: read.append(path.name) or read_tree(path, twice))

    assert loading.load(str(tmp_path / "f0.yaml")).name == "t0"

    assert sorted(read) == [f"f{number}.yaml" for number in range(8)]  # twelve to the seventh power, before
