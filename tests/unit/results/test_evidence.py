"""What scores rest on: matched and missed words, edits, quality points with their lines, a judge's reasons; everywhere shown."""

import json

import pytest
from click.testing import CliRunner
from support.fake_openai import FakeOpenAI, fill, schema_of, structured
from support.payloads import HTML
from support.review_kit import markbook as command

import markbook
from markbook.results.evidence import LONGEST, Room, collect_evidence
from markbook.why import Evidence

REFERENCE = "the cat sat on the mat"


def stats_of(metric, text, *references, **options):
    (one,) = markbook.measure(metric, [text], [list(references)], **options)
    return one.value, dict(one.stats)


def found(metric, text, *references, name=None, **options):
    value, stats = stats_of(metric, text, *references, **options)
    return collect_evidence({name or metric: value}, {name or metric: stats}, text, references, best={})


def lists(evidence):
    return {name.rpartition(",")[0]: (int(name.rpartition(" ")[2]), set(some)) for name, some in evidence.lists}


def test_rouge_names_what_matches_and_what_is_missed():
    (one,) = (each for each in found("rouge1", "The cat lay on a mat", REFERENCE) if each.metric == "rouge1")

    # 6 words each; the, cat, on, mat match
    assert one.lead == "precision 66.7 %, recall 66.7 %"
    assert lists(one) == {
        "words matched": (4, {"the", "cat", "on", "mat"}),
        "words missed": (2, {"the", "sat"}),
        "words not in the reference": (2, {"lay", "a"}),
    }
    (short,) = (each for each in found("rouge1", "Cat", REFERENCE) if each.metric == "rouge1")
    assert lists(short)["words matched"] == (1, {"cat"})


@pytest.mark.parametrize("options", [{}, {"stemmer": False}])
def test_rouge_pairs_are_told_from_words_by_the_scores_own_numbers(options):
    one = found("rouge2", "cats sat on mats", REFERENCE, name="overlap", **options)[0]

    assert lists(one)["bigrams matched"] == ((2, {"cat sat", "sat on"}) if not options else (1, {"sat on"}))


def test_rouge_l_shows_the_common_subsequence():
    one = found("rougeL", "the cat on the red mat", REFERENCE)[0]

    assert one.edits == (
        ("same", "the cat "),
        ("lost", "sat "),
        ("same", "on the "),
        ("added", "red "),
        ("same", "mat "),
    )


@pytest.mark.parametrize("tokenize", ["13a", "none", "char", "intl"])
def test_bleu_names_ngrams_that_come_to_its_own_counts(tokenize):
    text = "The cat, it sat on the mat."
    one = found("bleu", text, "The cat sat on a mat.", "A cat sat.", tokenize=tokenize)[0]

    _, stats = stats_of("bleu", text, "The cat sat on a mat.", "A cat sat.", tokenize=tokenize)
    said = {name.split(",")[0]: int(name.split(", ")[1]) for name, _ in one.lists}
    assert said["words matched"] == stats["counts"][0]
    assert said["bigrams matched"] == stats["counts"][1]
    assert said["words matched"] + said["words not in the reference"] == stats["totals"][0]


def test_counts_that_no_way_of_cutting_comes_to_are_given_without_words():
    one = collect_evidence(
        {"bleu": 0.5},
        {"bleu": {"counts": [9, 1, 1, 1], "totals": [9, 8, 7, 6], "sys_len": 9, "ref_len": 9}},
        "a b",
        ["a c"],
        best={},
    )[0]

    assert one.lists == ()
    assert one.lead.startswith(
        "9 of 9 words, 1 of 8 bigrams, 1 of 7 trigrams, 1 of 6 4-grams match; length 9 words, reference 9"
    )


def test_a_distance_shows_its_edit_script():
    one = found("edit_distance", "kitten sits", "sitting", "kitten sat")[0]

    assert one.lead == "2 edits in 11 characters"  # i becomes a, and an s too much
    assert "".join(text for change, text in one.edits if change in ("same", "added")) == "kitten sits"
    assert "".join(text for change, text in one.edits if change in ("same", "lost")) == "kitten sat"


def test_an_answer_that_is_not_the_reference_is_set_against_the_nearest():
    one = collect_evidence(
        {"exact_match": 0.0}, {}, "the bat sat", ["a dog", "the cat sat"], best={"exact_match": 1.0}
    )[0]

    assert one.metric == "against the reference"
    assert one.edits == (("same", "the "), ("lost", "cat"), ("added", "bat"), ("same", " sat"))
    assert collect_evidence({"exact_match": 1.0}, {}, "x", ["x"], best={"exact_match": 1.0}) == ()
    assert collect_evidence({"exact_match": 0.0}, {}, "def f(): pass", ["x"], best={}, compares=False) == ()


def test_quality_points_have_their_lines():
    code = "def f(a):\n    try:\n        return eval(a)\n    except Exception:\n        pass\n"
    value, stats = stats_of("security_compliance", code)
    one = collect_evidence({"s": value}, {"s": stats}, code, [], best={})[0]

    points = {each.name: (each.verdict, each.line) for each in one.findings}
    assert points["unsafe_calls"] == ("failed", 3)
    assert points["errors"][0] == "passed"
    assert len(points) == 4


def test_every_other_metric_says_its_numbers():
    stats = {
        "ngram": 0.5,
        "dropped": ["dataflow"],
        "weights": {"ngram": 1.0},
        "candidate_parses": True,
        "sums": {"a": [1]},
    }
    one = collect_evidence({"codebleu": 0.5}, {"codebleu": stats}, "x", [], best={})[0]

    assert one.lead == "ngram 0.5, dropped dataflow, weights (ngram 1), candidate parses yes"


def test_long_texts_and_long_lists_are_bounded():
    text = " ".join(f"w{at}" for at in range(900))
    one = found("rouge1", text, " ".join(f"v{at}" for at in range(900)))[0]
    huge = found("rouge1", "a " * LONGEST, "b " * LONGEST)

    assert all(len(some) == 31 and some[-1] == "and 870 more" for _, some in one.lists)
    assert huge[0].lists == ()
    assert sum(each.size for each in found("edit_distance", "a" * 3000, "b" * 3000)) < 2_000


def test_a_page_stops_where_its_room_ends():
    room = Room()
    one = Evidence("m", lists=(("words", ("x" * 100,) * 30),))

    assert [len(room([one] * 100)) for _ in range(8)] == [100, 100, 100, 100, 100, 100, 0, 0] or room([one]) == ()


TASK = """\
name: t
data: {path: rows.jsonl}
prompt: "{{ q }}"
reference: "{{ a }}"
metrics:
  - rouge1
  - edit_distance
  - context_adherence
  - name: judge
    options: {rubric: {name: kind, task: Mark it., reads: [answer], criteria: [{name: kind, question: Is it kind?}]}}
"""


@pytest.fixture
def judged(tmp_path):
    def made(words):
        (tmp_path / "t.yaml").write_text(TASK)
        (tmp_path / "rows.jsonl").write_text(json.dumps({"q": "?", "a": f"{words} cat"}) + "\n")
        (tmp_path / "answers.jsonl").write_text(json.dumps({"id": "0", "prediction": f"{words} = 'dog'"}) + "\n")

        def script(request, _n):
            reply = {**fill(schema_of(request), integer=2), "kind_reason": f"because {words}"}
            return structured(request, json.dumps(reply))

        with FakeOpenAI(script) as server:
            code, _, err = command("run", tmp_path / "t.yaml", "--predictions", tmp_path / "answers.jsonl", "--output",
                                   tmp_path / "out", "--workers", 1, "--judge", "openai:m", "--judge-url", server.base_url)  # fmt: skip
        assert code == 0, err
        return next((tmp_path / "out").glob("evaluation_*"))

    return made


def everywhere(folder):
    from markbook.cli.show import command as show
    from markbook.report.browser import RunSite

    site = RunSite(folder.parent)
    number = site.page("/", {}).split('href="/run/')[1].split('"')[0]
    attempt = site.page(f"/run/{number}", {}).split(f"/attempt/{number}/")[1].split('"')[0].split("?")[0]
    said = CliRunner().invoke(show, [str(folder), "0"], standalone_mode=False)
    record = CliRunner().invoke(show, [str(folder), "0", "--json"], standalone_mode=False)
    return (
        (folder / "report.html").read_text(),
        site.page(f"/attempt/{number}/{attempt}", {}),
        said.output,
        json.loads(record.output),
    )


def test_page_view_and_show_say_what_scores_rest_on(judged):
    page, view, said, record = everywhere(judged("word"))

    for text in (page, view):
        assert "Evidence" in text
        assert "because word" in text
        assert '<span class="gram">cat</span>' in text
        assert "<del>" in text
        assert '<td class="r-failed">failed</td>' in text
    for words in ("Evidence", "because word", "words missed, 1: cat", "[-"):
        assert words in said
    assert {one["metric"] for one in record[0]["evidence"]} >= {"rouge1", "edit_distance", "judge", "context_adherence"}


@pytest.mark.parametrize("place", [0, 1])
def test_hostile_answers_references_and_reasons_stay_words(judged, place):
    words = " ".join([*HTML, "\x1b[2J\x1b]0;owned\x07", "\u202e"][place::2])
    page, view, said, _ = everywhere(judged(words))

    for text in (page, view):
        body = text.split("<body>")[1]
        assert body.count("<script") == 1
        for word in ("<img", "<iframe", "<svg onload", "<form action=http", "<base", "<object", "\x1b", "\u202e"):
            assert word not in body
    assert "\x1b" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize(
    ("metric", "answer", "is_compared"),
    [("edit_distance", "y" * 4_100, True), ("edit_distance", "x" * 4_100, False), ("exact_match", "y", True)],
)
def test_only_the_better_end_of_a_metrics_range_is_perfect(tmp_path, metric, answer, is_compared):
    """A distance of 1 is the worst, and letters of so long texts are not laid out by the distance itself."""
    (tmp_path / "t.yaml").write_text(
        f"name: t\ndata: {{path: rows.jsonl}}\nprompt: x\nreference: '{{{{ a }}}}'\nmetrics: [{metric}]\n"
    )
    (tmp_path / "rows.jsonl").write_text(json.dumps({"a": "x" * 4_100}) + "\n")
    (tmp_path / "said.jsonl").write_text(json.dumps({"id": "0", "prediction": answer}) + "\n")
    read = ("--predictions", tmp_path / "said.jsonl", "--output", tmp_path / "out", "--workers", 1)
    assert command("run", tmp_path / "t.yaml", *read)[0] == 0

    _, shown, _ = command("show", next((tmp_path / "out").glob("evaluation_*")), "0")

    assert ("against the reference" in shown) is is_compared
