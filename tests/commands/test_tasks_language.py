"""What files of lm-evaluation-harness say in rarer words: beams, spans, pairs, examples and choices by function."""

import pytest
import sacrebleu
from support.wild_kit import HEAD, PLAIN, metrics, rows_of, said, task, write

import markbook
from markbook.errors import ConfigError, UsageError


def run(folder, lines, replies=("x", "y"), code=None, **options):
    if code is not None:
        (folder / "utils.py").write_text(code, encoding="utf-8")
    name = task(folder, lines, **({"rows": options.pop("rows")} if "rows" in options else {}))
    answers = {} if "model" in options else {"predictions": said(folder, replies)}
    return markbook.run_task(name, output="out", allow_code=code is not None, **answers, **options)


@pytest.mark.parametrize("name", ["chrf", "ter", "bleu"])
def test_translation_metrics_are_of_the_whole_corpus(folder, name):
    rows = [{"q": "1", "a": "the cat sat on the mat today"}, {"q": "2", "a": "a dog barks at night"}]
    replies = ["the cat is on the mat today", "at night a dog barks"]
    lines = PLAIN + f"metric_list: [{{metric: {name}, aggregation: {name}}}]\n"
    expected = getattr(sacrebleu, f"corpus_{name}")(replies, [[row["a"] for row in rows]]).score / 100

    assert metrics(run(folder, lines, replies, rows=rows)) == pytest.approx({name: expected})


@pytest.mark.parametrize("name", ["chrf", "ter", "bleu"])
def test_pairs_of_a_tasks_own_function_are_summed_up_over_the_corpus(folder, name):
    rows = [{"q": "1", "a": "the cat sat on the mat today"}, {"q": "2", "a": "a dog barks at night"}]
    replies = ["the cat is on the mat today", "at night a dog barks"]
    code = "def results(doc, got):\n    return {'score': (doc['a'], got[0])}\n"
    lines = PLAIN + f"process_results: !function utils.results\nmetric_list: [{{metric: score, aggregation: {name}}}]\n"
    expected = getattr(sacrebleu, f"corpus_{name}")(replies, [[row["a"] for row in rows]]).score / 100

    assert metrics(run(folder, lines, replies, code, rows=rows)) == pytest.approx({"score": expected})


def test_an_aggregation_of_the_tasks_own_gets_right_answers_and_replies(folder):
    code = "def agg(pairs):\n    return sum(gold == reply for gold, reply in pairs) / len(pairs)\n"
    lines = PLAIN + "metric_list: [{metric: f1, aggregation: !function utils.agg}]\n"

    assert metrics(run(folder, lines, ["x", "no"], code)) == {"f1": 0.5}


def test_named_entities_are_brought_into_one_form(folder):
    lines = PLAIN + "filter_list: [{name: f, filter: [{function: format_span}]}]\n"

    done = run(folder, lines, ["Person: Anna, Bo\nlocation: Kenya$$", "ORG: none $$ DATE: Monday$"])

    assert [row["text"] for row in rows_of(done)] == ["per: anna $ per: bo $ loc: kenya", "date: monday"]


def test_a_key_that_stands_twice_counts_the_last_time_with_a_warning(folder):
    lines = PLAIN + "num_fewshot: 9\nmetric_list: [{metric: exact_match}]\nnum_fewshot: 0\n"

    done = run(folder, lines)

    assert metrics(done) == {"exact_match": 1.0}
    assert "the key 'num_fewshot' stands twice, the last one counts: lm.yaml:9:1, first at 7:1" in str(done.manifest)


def test_a_beam_search_is_not_asked_for_and_does_not_matter_to_answers_that_exist(folder):
    lines = PLAIN + "generation_kwargs: {num_beams: 10}\n"

    assert metrics(run(folder, lines)) == {"exact_match": 1.0}
    with pytest.raises(UsageError, match="wants a beam search"):
        run(folder, lines, model="openai:m", base_url="http://127.0.0.1:1/v1")


def test_a_metric_from_the_hub_is_refused_where_texts_are_marked_and_nothing_to_choices(folder):
    texts = PLAIN + "metric_list: [{metric: exact_match, hf_evaluate: true}]\n"
    with pytest.raises(ConfigError, match="would be fetched from the hub"):
        run(folder, texts)

    chosen = HEAD + "output_type: multiple_choice\ndoc_to_text: q\ndoc_to_choice: [no, 'yes']\ndoc_to_target: a\n"
    chosen += "metric_list: [{metric: acc, hf_evaluate: true}]\n"
    name = task(folder, chosen, rows=[{"q": "?", "a": 1}])
    answers = write(folder / "said.jsonl", [{"id": "0", "likelihoods": [[-2, False], [-1, True]]}])

    assert metrics(markbook.run_task(name, predictions=answers, output="out")) == {"acc": 1.0}


def test_worked_examples_may_come_of_a_function(folder):
    code = "def shots():\n    return [{'q': 'one', 'a': 'A'}, {'q': 'two', 'a': 'B'}]\n"
    lines = PLAIN + "num_fewshot: 2\nfewshot_config: {sampler: first_n, samples: !function utils.shots}\n"

    assert rows_of(run(folder, lines, code=code))[0]["prompt"] == "one A\n\ntwo B\n\nq0"


@pytest.mark.parametrize("body", ["return 5", "return ['x']", "raise ValueError('no')"])
def test_a_function_of_examples_that_gives_none_is_named_with_its_place(folder, body):
    lines = PLAIN + "num_fewshot: 1\nfewshot_config: {sampler: first_n, samples: !function utils.shots}\n"

    with pytest.raises(ConfigError, match=r"utils\.shots (gives no list|raises ValueError: no)") as found:
        run(folder, lines, code=f"def shots():\n    {body}\n")
    assert found.value.at.startswith("lm.yaml:8:")


def test_a_reply_is_held_against_the_text_of_the_right_choice(folder):
    lines = HEAD + "doc_to_text: q\ndoc_to_choice: [red, blue]\ndoc_to_target: a\n"

    done = run(folder, lines, ["blue", "blue"], rows=[{"q": "?", "a": 1}, {"q": "?", "a": 0}])

    assert metrics(done) == {"exact_match": 0.5}


def test_a_temperature_beside_greedy_decoding_is_asked_with_a_note(folder):
    lines = PLAIN + "generation_kwargs: {do_sample: false, temperature: 0.5}\n"

    assert "a server is asked at the temperature 0.5" in str(run(folder, lines).manifest)
