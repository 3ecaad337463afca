"""No file makes code run unless the user says `--allow-code`: ways in which a file may name code, by the commands."""

import json
import sys

import pytest
from support import review_kit
from support.exam_kit import answer, problem, write_rows
from support.review_kit import markbook, only_run

CODE = "canary_code:make"
CODE_FILE = """\
from pathlib import Path
RAN = Path(__file__).with_name("RAN")
RAN.write_text("imported")
def make(*given, **options):
    RAN.write_text("called")
    return "a text, and no plugin"
"""
OWN = {
    "a metric": "metrics: ['canary_code:make']",
    "a metric with options": "metrics: [{name: 'canary_code:make', options: {cmd: x}}]",
    "a metric with options that the door takes": "metrics: [{name: 'canary_code:make', options: {allow_code: true}}]",
    "an option that the door takes": "metrics: [{name: bleu, options: {allow_code: true, kind: x}}]",
    "a metric under a key": "metrics: [{name: 'canary_code:make', key: bleu}]",
    "a metric beside a good one": "metrics: [bleu, 'canary_code:make']",
    "a dotted metric": "metrics: [canary_code.make]",
    "a metric by a tag": "metrics: [!function canary_code.make]",
    "a Python object": "metrics: [!!python/object/apply:canary_code.make []]",
    "a Python name": "metrics: [!!python/name:canary_code.make ]",
    "a Python module": "metrics: [!!python/module:canary_code ]",
    "another task": "extends: canary_code:make\nmetrics: [bleu]",
    "a base that names it": "extends: base.yaml",
    "data": "data: {path: 'canary_code:make'}\nmetrics: [bleu]",
    "worked examples": "few_shot: {count: 1, path: 'canary_code:make'}\nmetrics: [bleu]",
    "an extraction": "extract: canary_code:make\nmetrics: [bleu]",
    "a context": "context: canary_code:make\nmetrics: [bleu]",
    "a field of tests": "tests: canary_code:make\nmetrics: [pass_at_k]",
    "an entry point": "entry_point: canary_code:make\nmetrics: [bleu]",
    "a template's import": "system: \"{% import 'canary_code' as c %}{{ c.make() }}\"\nmetrics: [bleu]",
    "a template's globals": (
        "system: \"{{ word.__class__.__mro__[1].__subclasses__() }}{{ cycler.__init__.__globals__.os.system('x') }}\"\n"
        "metrics: [bleu]"
    ),
    "a template's function": "system: \"{{ __import__('canary_code').make() }}\"\nmetrics: [bleu]",
    "what runs the tests": "tests: word\nmetrics: [{name: pass_hat_k, options: {run: 'canary_code:make'}}]",
    "what isolates the tests": "tests: word\nmetrics: [{name: pass_hat_k, options: {isolation: weak}}]",
    "a model of a metric": "metrics: [{name: bertscore_f1, options: {model: 'canary_code:make'}}]",
    "a language of a metric": "metrics: [{name: codebleu, options: {lang: 'canary_code:make'}}]",
    "a tokenizer of a metric": "metrics: [{name: bleu, options: {tokenize: 'canary_code:make'}}]",
    "an unknown key": "engine: canary_code:make\nmetrics: [bleu]",
}
HARMLESS = (
    "an entry point", "a template's import", "a template's globals", "a template's function",
    "a model of a metric",
)  # fmt: skip
"""Not wrong by itself: a name in an answer, a template without a value, a value that is not a model."""
HARNESS = {
    "a metric": "metric_list: [{metric: 'canary_code:make'}]",
    "a metric with options": "metric_list: [{metric: 'canary_code:make', cmd: x}]",
    "a metric by a tag": "metric_list: [{metric: !function canary_code.make}]",
    "a metric of evaluate": "metric_list: [{metric: 'canary_code:make', hf_evaluate: true}]",
    "an aggregation": "metric_list: [{metric: exact_match, aggregation: 'canary_code:make'}]",
    "an aggregation by a tag": "metric_list: [{metric: exact_match, aggregation: !function canary_code.make}]",
    "a prompt": "doc_to_text: !function canary_code.make",
    "a target": "doc_to_target: !function canary_code.make",
    "rows": "process_docs: !function canary_code.make",
    "results": "process_results: !function canary_code.make",
    "choices": "doc_to_choice: !function canary_code.make",
    "a data set": "custom_dataset: !function canary_code.make",
    "a data set's script": "dataset_path: canary_code:make\ndataset_kwargs: {trust_remote_code: true}",
    "a task class": "class: !function canary_code.make",
    "a filter": "filter_list: [{name: a, filter: [{function: 'canary_code:make'}]}]",
    "a filter by a tag": "filter_list: [{name: a, filter: [{function: !function canary_code.make}]}]",
    "a filter function": "filter_list: [{name: a, filter: [{function: custom, filter_fn: !function canary_code.make}]}]",
    "a sampler": "num_fewshot: 1\nfewshot_config: {sampler: 'canary_code:make'}",
    "worked examples": "num_fewshot: 1\nfewshot_config: {samples: !function canary_code.make}",
    "an example's prompt": "num_fewshot: 1\nfewshot_config: {doc_to_text: !function canary_code.make}",
    "an included file": "include: canary_code:make",
    "code that is called unsafe": "unsafe_code: true\nmetric_list: [{metric: 'canary_code:make'}]",
    "a key that stands twice": "doc_to_text: word\ndoc_to_text: !function canary_code.make",
    "a merged mapping": "<<: {process_docs: !function canary_code.make}",
    "an aggregation of pairs": "metric_list: [{metric: f1, aggregation: !function canary_code.make}]",
    "an example's target": "num_fewshot: 1\nfewshot_config: {doc_to_target: !function canary_code.make}",
    "the choice of generated texts": "output_type: generate_until\ndoc_to_choice: !function canary_code.make",
    "a template's filter": "doc_to_text: \"{{ word | attr('__class__') | map('canary_code:make') | list }}\"",
    "stops": "generation_kwargs: {until: !function canary_code.make}",
}
CONFIGS = {
    "a similarity": {"tier1_traditional": {"similarity_metrics": [CODE]}},
    "a similarity's model": {"tier1_traditional": {"similarity_metrics": ["semantic"], "bertscore_model": CODE}},
    "a judge": {"tier2_llm_judge": {"model": CODE}},
    "a judge's rubric": {"tier2_llm_judge": {"weights": {CODE: 1}}},
    "a weight": {"metrics_and_weights": {CODE: 1}},
    "a graph metric": {"tier3_graph": {"graph_weights": {CODE: 1}}},
    "a fallback": {"composite_scoring": {"fallback_strategy": CODE}},
    "an engine": {"evaluation_system": {"engine": CODE, "plugins": [CODE]}},
}


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Return a question: did the code run that can be imported and lies beside every file?"""
    (tmp_path / "canary_code.py").write_text(CODE_FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_rows(tmp_path / "rows.jsonl", [{"word": "a b", "other": "c"}, {"word": "c d", "other": "e"}])
    write_rows(tmp_path / "said.jsonl", [{"doc_id": n, "prediction": "a b"} for n in range(2)])
    yield (tmp_path / "RAN").exists
    sys.modules.pop("canary_code", None)


def own_task(folder, lines):
    task = 'name: demo\ndata: {path: rows.jsonl}\nprompt: "{{ word }}"\nreference: "{{ word }}"\n'
    keys = {line.partition(":")[0] for line in lines.split("\n")}
    kept = [line for line in task.splitlines() if line.partition(":")[0] not in keys]
    (folder / "base.yaml").write_text(task + "metrics: ['canary_code:make']\n")
    (folder / "task.yaml").write_text("\n".join([*kept, lines]) + "\n")
    return folder / "task.yaml"


def harness_task(folder, lines):
    task = (
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: word\ndoc_to_target: word\n"
    )
    keys = {line.partition(":")[0] for line in lines.split("\n")}
    kept = [line for line in task.splitlines() if line.partition(":")[0] not in keys]
    (folder / "lm.yaml").write_text("\n".join([*kept, lines]) + "\n")
    return folder / "lm.yaml"


WAYS = [(own_task, lines) for lines in OWN.values()] + [(harness_task, lines) for lines in HARNESS.values()]
NAMES = [f"own: {name}" for name in OWN] + [f"harness: {name}" for name in HARNESS]


@pytest.mark.parametrize(("write", "lines"), WAYS, ids=NAMES)
def test_a_task_runs_no_code(write, lines, tmp_path, ran):
    file = write(tmp_path, lines)

    code, _, told = markbook("run", file, "--predictions", tmp_path / "said.jsonl", "--output", tmp_path / "out")

    assert not ran()
    if lines not in (OWN[name] for name in HARMLESS):
        assert (code, told.startswith("markbook: ")) == (2, True), told


@pytest.mark.parametrize("place", ["tasks", "summarise", "aggregate"])
def test_a_group_runs_no_code(place, tmp_path, ran):
    own_task(tmp_path, "metrics: [bleu]")
    named = {
        "tasks": "group: g\ntasks: ['canary_code:make']\n",
        "summarise": "group: g\ntasks: [task.yaml]\nsummarise: [{metric: 'canary_code:make'}]\n",
        "aggregate": "group: g\ntask: [demo]\naggregate_metric_list: [{metric: !function canary_code.make}]\n",
    }
    (tmp_path / "group.yaml").write_text(named[place])

    markbook("run", tmp_path / "group.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path / "out")

    assert not ran()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_review_config_runs_no_code(config, tmp_path, ran):
    (tmp_path / "config.json").write_text(json.dumps(config))
    papers, reviews = review_kit.papers(tmp_path), review_kit.reviews(tmp_path)

    markbook(
        "review", "--papers", papers, "--reviews", reviews, "--config", tmp_path / "config.json", "--output", tmp_path / "out",
    )  # fmt: skip

    assert not ran()


NAMING = dict.fromkeys(
    ("format", "loader", "language", "metric", "metrics", "engine", "report", "reader", "class"), CODE
)


def test_rows_of_a_benchmark_its_answers_and_a_trace_run_no_code(tmp_path, ran):
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem("p0") | NAMING])
    answers = write_rows(tmp_path / "answers.jsonl", [answer("p0", "def f(x):\n    return x\n") | NAMING])
    (tmp_path / "trace.json").write_text(json.dumps(review_kit.TRACE | NAMING))
    write_rows(tmp_path / "marks.jsonl", [{"candidate": "a", "reference": "a"} | NAMING])
    write_rows(tmp_path / "said.jsonl", [{"doc_id": 0, "prediction": "a b"} | NAMING])
    own_task(tmp_path, "metrics: [bleu]")
    output = ("--output", tmp_path / "out")

    codes = [
        markbook("exam", "--benchmark", benchmark, "--solutions", answers, "--isolation", "weak", *output)[0],
        markbook("trace", tmp_path / "trace.json")[0],
        markbook("score", "bleu", tmp_path / "marks.jsonl")[0],
        markbook("run", tmp_path / "task.yaml", "--predictions", tmp_path / "said.jsonl", *output)[0],
    ]

    assert codes == [0, 0, 0, 0]
    assert not ran()


@pytest.mark.parametrize("command", ["report", "compare", "report csv", "report lm-eval", "report junit"])
def test_the_files_of_a_run_run_no_code(command, tmp_path, ran):
    own_task(tmp_path, "metrics: [bleu]")
    markbook("run", tmp_path / "task.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path / "out")
    run = only_run(tmp_path / "out")
    for name in ("run.json", "summary.json", "results.jsonl"):
        text = (run / name).read_text().replace('"bleu"', f'"{CODE}"').replace("corrected", CODE)
        (run / name).write_text(text)
    name, _, format_name = command.partition(" ")

    markbook(name, run, *(("--format", format_name) if format_name else ()))

    assert not ran()


def test_a_task_may_name_code_where_the_user_allows_it(tmp_path, ran):
    file = own_task(tmp_path, "metrics: ['canary_code:make']")

    code, _, told = markbook("run", file, "--predictions", tmp_path / "said.jsonl", "--allow-code")

    assert ran()
    assert code == 2
    assert f"{file}:5:11: metric '{CODE}' makes no metric but 'str'" in told


def test_a_refused_metric_is_named_at_its_place(tmp_path, ran):
    file = harness_task(tmp_path, "metric_list:\n  - metric: canary_code:make\n    cmd: x")

    code, _, told = markbook("run", file, "--predictions", tmp_path / "said.jsonl")

    assert code == 2
    assert f"{file}:8:13: '{CODE}' names code to import (pass --allow-code if you trust it)" in told
