"""Tasks asked of a server as lm-evaluation-harness asks them: turns, texts to continue, texts to weigh, and overrides."""

import json
import math
import re

import pytest
from support.fake_openai import FakeOpenAI, Reply, text
from support.wild_kit import HEAD, PLAIN, metrics, rows_of, task

import markbook
from markbook.errors import UsageError

CHOICE = HEAD + (
    'output_type: multiple_choice\ndescription: "Choose.\\n\\n  "\ndoc_to_text: "Q: {{q}}\\nA:"\ndoc_to_choice: [no, \'yes sir\']\n'
    "doc_to_target: a\nmetric_list: [{metric: acc}, {metric: acc_norm}]\n"
)
SHOTS = "num_fewshot: 1\nfewshot_config: {sampler: first_n, samples: [{q: one, a: A}, {q: two, a: B}]}\n"


def weigh(request, _n=0, *, without=()):
    """Echo a prompt with numbers by the words' lengths: longer words are less likely, even ones the likeliest."""
    tokens = [*re.findall(r"\s*\S+|\s+$", request["prompt"]), " new"]
    numbers = [None, *(-len(token) / 4 for token in tokens[1:])]
    offsets = [sum(map(len, tokens[:place])) for place in range(len(tokens))]
    tops = [None, *({token: max(number, -1)} for token, number in zip(tokens[1:], numbers[1:], strict=True))]
    found = {"tokens": tokens, "token_logprobs": numbers, "top_logprobs": tops, "text_offset": offsets}
    found = {name: value for name, value in found.items() if name not in without}
    choice = {"index": 0, "text": request["prompt"] + " new", "finish_reason": "length", "logprobs": found}
    usage = {"prompt_tokens": len(tokens) - 1, "completion_tokens": 1}
    return Reply(json.dumps({"object": "text_completion", "choices": [choice], "usage": usage}).encode())


def asked(folder, lines, script, model="completions:m", **options):
    rows = options.pop("rows", ({"q": "q0", "a": "x"}, {"q": "q1", "a": "y"}))
    with FakeOpenAI(script) as server:
        done = markbook.run_task(
            task(folder, lines, rows), model=model, base_url=server.base_url, output="out", concurrency=1, **options
        )
        return done, server.requests


# Texts to weigh


@pytest.mark.parametrize("without", [(), ("text_offset",), ("tokens",)])
def test_choices_are_weighed_by_a_server_that_echoes(folder, without):
    rows = [{"q": "is it", "a": 0}, {"q": "is it not", "a": 1}]

    done, received = asked(folder, CHOICE, lambda r, n: weigh(r, n, without=without), rows=rows)

    # " no" is -3/4, " yes sir" -4/4 - 4/4; by length -.75/2 against -2/7.
    assert [row["likelihoods"] for row in rows_of(done)] == [[[-0.75, True], [-2.0, True]]] * 2
    assert metrics(done) == {"acc": 0.5, "acc_norm": 0.5}
    assert [row["metrics"] for row in rows_of(done)] == [{"acc": 1.0, "acc_norm": 0.0}, {"acc": 0.0, "acc_norm": 1.0}]
    assert received[1] == {
        "model": "m",
        "prompt": "Choose.\n\n  Q: is it\nA: yes sir",
        "temperature": 0,
        "max_tokens": 1,
        "logprobs": 1,
        "echo": True,
    }


def test_white_space_at_a_contexts_end_counts_to_what_follows(folder):
    lines = (
        HEAD
        + "output_type: loglikelihood\ndoc_to_text: 'Say '\ndoc_to_target: a\nmetric_list: [{metric: perplexity}]\n"
    )

    done, _ = asked(folder, lines, weigh, rows=[{"a": "this"}])

    assert rows_of(done)[0]["likelihoods"] == [[-5 / 4, False]]  # " this" is one token of five characters


def test_a_whole_text_is_weighed_but_for_its_first_token(folder):
    lines = HEAD + "output_type: loglikelihood_rolling\ndoc_to_text: ''\ndoc_to_target: a\n"
    lines += "metric_list: [{metric: bits_per_byte}]\n"

    done, _ = asked(folder, lines, weigh, rows=[{"a": "one two three"}])

    assert rows_of(done)[0]["likelihoods"] == [[-4 / 4 - 6 / 4, False]]
    summary = json.loads((done.folder / "summary.json").read_text())["tasks"]["demo"]["metrics"]["bits_per_byte"]
    assert summary["signature"].endswith("|without first token")  # another number than that of the whole text
    assert any("the first token of each text is left out" in warning for warning in done.manifest["warnings"])


def test_an_example_without_an_answer_is_a_question_alone(folder):
    shots = "num_fewshot: 2\nfewshot_config: {sampler: first_n, samples: [{q: one, a: ''}, {q: two, a: B}]}\n"

    _, received = asked(folder, PLAIN + shots, lambda _r, _n: text("x"), model="openai:m", turns=True)

    said = [(one["role"], one["content"]) for one in received[0]["messages"]]
    assert said == [("user", "one"), ("user", "two"), ("assistant", "B"), ("user", "q0")]


@pytest.mark.parametrize(
    ("without", "words"),
    [
        (("tokens", "text_offset"), "does not say which token is where"),
        (("token_logprobs",), "gives no log-probabilities of the prompt"),
    ],
)
def test_a_server_that_does_not_say_is_named_and_no_number_is_made_up(folder, without, words):
    done, received = asked(
        folder, CHOICE, lambda r, n: weigh(r, n, without=without), rows=[{"q": "?", "a": 0}], retries=0
    )

    row = rows_of(done)[0]
    assert (done.status, row["metrics"]) == ("incomplete", {"acc": None, "acc_norm": None})
    assert words in row["missing"]["acc"]["detail"]
    assert len(received) == (1 if "token_logprobs" in without else 2)


HUGE = 10**400


def weigh_by(request, number=None, tops=None):
    """Weigh a prompt as above, but with this number for each token or these alternatives."""
    reply = json.loads(weigh(request).body)
    found = reply["choices"][0]["logprobs"]
    if number is not None:
        found["token_logprobs"] = [None, *(number for _ in found["token_logprobs"][1:])]
    if tops is not None:
        found["top_logprobs"] = tops(found["top_logprobs"])
    return Reply(json.dumps(reply).encode())


@pytest.mark.parametrize("number", [-math.inf, math.inf, math.nan, HUGE, -HUGE, True, 5.0, "-1", [-1]])
def test_what_cannot_be_the_logarithm_of_a_probability_is_no_number(folder, number):
    done, _ = asked(folder, CHOICE, lambda r, _: weigh_by(r, number), rows=[{"q": "?", "a": 0}], retries=0)

    row = rows_of(done)[0]
    assert (done.status, row["metrics"]) == ("incomplete", {"acc": None, "acc_norm": None})
    assert row["missing"]["acc"]["detail"] == "a token of the continuation has no log-probability"


@pytest.mark.parametrize(
    "tops",
    [
        lambda _listed: 5,
        lambda _listed: "abc",
        lambda _listed: {"a": 1},
        lambda listed: [None, *({"a": None} for _ in listed[1:])],
        lambda listed: [None, *({"a": "x"} for _ in listed[1:])],
        lambda listed: [None, *({"a": HUGE} for _ in listed[1:])],
        lambda listed: [None, *({"a": math.nan} for _ in listed[1:])],
    ],
)
def test_alternatives_that_are_none_leave_the_numbers_and_say_nothing_of_the_likeliest(folder, tops):
    done, _ = asked(folder, CHOICE, lambda r, _: weigh_by(r, tops=tops), rows=[{"q": "is it", "a": 0}], retries=0)

    assert rows_of(done)[0]["likelihoods"] == [[-0.75, False], [-2.0, False]]
    assert metrics(done) == {"acc": 1.0, "acc_norm": 0.0}


def test_texts_behind_nothing_are_refused_before_anything_is_asked(folder):
    lines = CHOICE.replace("{metric: acc_norm}", "{metric: acc_mutual_info}")

    with pytest.raises(UsageError, match="no server says how likely a text's first token is"):
        asked(folder, lines, weigh, rows=[{"q": "?", "a": 0}])


def test_what_stands_before_a_text_is_the_users_to_say(folder):
    lines = HEAD + "output_type: multiple_choice\ndoc_to_text: ''\ndoc_to_choice: [no way, 'yes']\ndoc_to_target: a\n"

    done, received = asked(folder, lines, weigh, rows=[{"a": 1}], system="<s>")

    assert [each["prompt"] for each in received] == ["<s> no way", "<s> yes"]
    assert rows_of(done)[0]["likelihoods"] == [[-1.75, True], [-1.0, True]]


def test_a_chat_model_is_told_who_can_weigh(folder):
    with pytest.raises(UsageError, match="answered by how likely") as found:
        asked(folder, CHOICE, weigh, model="openai:m", rows=[{"q": "?", "a": 0}])
    assert "--model completions:NAME" in found.value.hint


def test_a_resumed_run_weighs_only_what_is_not_weighed(folder):
    rows = [{"q": "?", "a": 0}, {"q": "??", "a": 1}]

    def script(request, n):
        return Reply(b"{}", 401) if n == 3 else weigh(request)

    with FakeOpenAI(script) as server:
        how = {"model": "completions:m", "base_url": server.base_url, "output": "out", "concurrency": 1}
        done = markbook.run_task(task(folder, CHOICE, rows), **how)
        again = markbook.run_task("lm.yaml", resume=done.folder, **how)

    assert (done.status, again.status) == ("incomplete", "done")
    assert [each["prompt"].partition("  ")[2] for each in server.requests[3:]] == ["Q: ??\nA: yes sir"] * 2


# Texts to continue


def test_a_reply_that_is_begun_is_continued(folder):
    def script(request, _n):
        choice = {"index": 0, "text": " x" if "q0" in request["prompt"] else " no", "finish_reason": "stop"}
        return Reply(json.dumps({"choices": [choice]}).encode())

    lines = PLAIN + "gen_prefix: 'Answer:'\nfilter_list: [{name: f, filter: [{function: remove_whitespace}]}]\n"
    done, received = asked(folder, lines, script, system="Be brief. ")

    assert metrics(done) == {"exact_match": 0.5}
    assert [each["prompt"] for each in received] == ["Be brief. q0 Answer:", "Be brief. q1 Answer:"]
    assert (received[0]["stop"], received[0]["temperature"], received[0]["max_tokens"]) == (["\n\n"], 0.0, 256)


# Turns, and what is said over a task


def test_worked_examples_are_turns_and_a_description_is_the_system_message(folder):
    lines = PLAIN + SHOTS + "description: 'Answer in a word.'\n"

    done, received = asked(
        folder, lines, lambda _r, _n: text("x"), model="openai:m", turns=True, system="Be kind.", num_fewshot=2
    )

    assert received[0]["messages"] == [
        {"role": "system", "content": "Be kind.\n\nAnswer in a word."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "B"},
        {"role": "user", "content": "q0"},
    ]
    assert rows_of(done)[0]["turns"] == [["one", "A"], ["two", "B"]]


@pytest.mark.parametrize(("count", "prompt"), [(0, "q0"), (1, "one A\n\nq0"), (None, "one A\n\nq0")])
def test_the_number_of_worked_examples_is_the_users(folder, count, prompt):
    done, _ = asked(folder, PLAIN + SHOTS, lambda _r, _n: text("x"), model="openai:m", num_fewshot=count)

    assert rows_of(done)[0]["prompt"] == prompt


def test_what_a_model_is_told_is_the_users(folder):
    given = "temperature=0.7,max_gen_toks=5,until=END,until=STOP,top_p=.9,do_sample=true"

    _, received = asked(folder, PLAIN, lambda _r, _n: text("x"), model="openai:m", gen_kwargs=given)

    sent = received[0]
    assert (sent["temperature"], sent["max_tokens"], sent["stop"], sent["top_p"]) == (0.7, 5, ["END", "STOP"], 0.9)


@pytest.mark.parametrize(
    "given", ["temprature=1", "temperature", "temperature=hot", "max_gen_toks=0", "top_p=2", "seed=-1", "until="]
)
def test_what_no_server_is_told_is_refused(folder, given):
    with pytest.raises(UsageError, match="--gen-kwargs"):
        asked(folder, PLAIN, lambda _r, _n: text("x"), model="openai:m", gen_kwargs=given)


def test_turns_are_refused_where_texts_are_continued(folder):
    with pytest.raises(UsageError, match="knows no turns"):
        asked(folder, PLAIN, weigh, turns=True)
