"""Hostile input to reviews and tasks, from the command to its files: it is counted and named, and does nothing else."""

import csv
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys

import pytest
from support.command_kit import MAKERS, PEAK, WORDS, results, say
from support.fake_openai import FakeOpenAI, fill, good, schema_of, structured, text
from support.payloads import HTML
from support.review_kit import GENERATED, markbook, only_run, papers, reviews, rows_of, traces
from support.trace_logs import GEMINI, OPENHANDS, OPENHANDS_SDK, agno_run
from test_judge_reply import INJECTIONS
from test_report_html import Parsed

NEW_LOGS = {"gemini": GEMINI, "openhands": OPENHANDS, "openhands-sdk": OPENHANDS_SDK, "agno": agno_run()}
PAIR = ("--similarity", "cosine,jaccard")
BAD_LINES = {
    "cut": b'{"paper_id": "one", "rev',
    "NUL": b'{"paper_id": "o\x00ne", "review": "x"}',
    "array": b'["one", "x"]',
    "string": b'"one"',
    "number": b"7",
    "null": b"null",
    "deep": b"[" * 100_000,
    "no UTF-8": b'{"paper_id": "one", "review": "\xff\xfe"}',
    "NaN": b'{"paper_id": "one", "review": "x", "execution_time": NaN}',
    "1e999": b'{"paper_id": "one", "review": "x", "execution_time": 1e999}',
    "5,000 digits": b'{"paper_id": "one", "review": "x", "execution_time": ' + b"9" * 5000 + b"}",
    "surrogate": b'{"paper_id": "one", "review": "\\ud800"}',
    "key twice": b'{"paper_id": "one", "paper_id": "two", "review": "x"}',
    "no paper": b'{"review": "x"}',
    "not a review": b'{"paper_id": "one"}',
}


def test_every_kind_of_broken_row_is_one_counted_rejection(tmp_path, record_property):
    """R6: BOM, CRLF, blank lines and U+2028 are fine; each bad line is named, and its neighbours keep their rows."""
    row = json.dumps({"paper_id": "one", "system": "mas", "review": GENERATED + "\u2028"}, ensure_ascii=False).encode()
    lines = [b"\xef\xbb\xbf" + row + b"\r", b"", *BAD_LINES.values(), row]
    file = tmp_path / "reviews.jsonl"
    file.write_bytes(b"\n".join(lines))
    args = ("review", "--papers", papers(tmp_path), "--reviews", file, *PAIR)

    code, _, err = markbook(*args, "--output", tmp_path / "out", "--verbose")
    strict, _, first = markbook(*args, "--output", tmp_path / "strict", "--strict")

    rejected = json.loads((only_run(tmp_path / "out") / "run.json").read_text())["rejected"]
    assert (code, strict) == (0, 65)
    assert [int(line.split(": ")[0].rpartition(":")[2]) for line in rejected] == list(range(3, 3 + len(BAD_LINES)))
    assert all(line in err for line in (f"{file}:3", f"{file}:{2 + len(BAD_LINES)}"))
    assert f"{file}:3" in first
    found = rows_of(only_run(tmp_path / "out"))
    assert len(found) == 2
    assert found["one/mas/0"]["tier1"]["cosine_score"] == found["one/mas/1"]["tier1"]["cosine_score"] > 0.1
    record_property("kinds", len(BAD_LINES))


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """Return a file of 512 MiB of spaces in half a megabyte."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.jsonl.gz"
    member = gzip.compress(b" " * (64 << 20), compresslevel=9)
    path.write_bytes(member * 8)
    return path


@pytest.mark.parametrize("name", ["run", "review"])
def test_a_gzip_bomb_is_refused_with_little_memory(name, bomb, tmp_path):
    """R15: 512 MiB of spaces in half a megabyte."""
    command = MAKERS[name](tmp_path)
    place = command.args.index("--reviews") + 1 if name == "review" else None
    if name == "review":
        command.args[place] = str(bomb)
    else:
        command.args = [command.args[0], "--predictions", str(bomb)]
    code = PEAK + "import sys\nfrom markbook.cli import main\nmain(sys.argv[1:])\n"

    done = subprocess.run(
        [sys.executable, "-c", code, name, *command.args, "--output", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2, done.stderr
    assert "the file unpacks to more than" in done.stderr
    assert int(done.stdout.split()[-1]) < (160 << 10)  # KiB: little above what the start takes


def test_pipes_and_links_among_the_inputs_are_not_waited_for(tmp_path):
    """R16."""
    folder, generated = papers(tmp_path), tmp_path / "generated"
    generated.mkdir()
    reviews(generated)
    os.mkfifo(folder / "acl_2017" / "train" / "reviews" / "pipe.json")
    os.mkfifo(generated / "pipe.jsonl")
    (generated / "loop").symlink_to(generated)
    (generated / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    trace_folder = traces(tmp_path)
    os.mkfifo(trace_folder / "two.json")

    code, _, err = markbook(
        "review", "--papers", folder, "--reviews", generated, "--traces", trace_folder, *PAIR, "--output",
        tmp_path / "out",
    )  # fmt: skip
    pipe, _, said = markbook("review", "--papers", folder, "--reviews", generated / "pipe.jsonl", *PAIR)

    assert code == 0, err
    assert len(rows_of(only_run(tmp_path / "out"))) == 3
    assert pipe == 2
    assert "pipe.jsonl" in said


def obeying(request, _number=0):
    """Be a judge that gives the highest marks wherever the judged text asks for them, but only says so in words."""
    return text("As the review asks: " + json.dumps(fill(schema_of(request), integer=5)))


@pytest.mark.parametrize("script", [good, obeying], ids=["honest", "echoing"])
def test_200_injections_in_reviewed_text_move_no_score(tmp_path, script, record_property, part):
    """R11: only the structured reply counts; a judge that answers in the reviewed text's words has no score."""
    best = json.dumps(fill(schema_of_constructiveness(), integer=5))
    count = 200 if part.is_whole else 50
    assert count > len(INJECTIONS)
    rows = [
        {"paper_id": "two", "system": f"s{n}", "review": INJECTIONS[n % len(INJECTIONS)].replace("{good}", best) + f" {n}"}
        for n in range(count)
    ]  # fmt: skip
    with FakeOpenAI(script) as server:
        code, _, _ = markbook(
            "review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), *PAIR, "--judge", "openai:m",
            "--base-url", server.base_url, "--judge-retries", "0", "--judge-workers", "8", "--output", tmp_path / "out",
        )  # fmt: skip
        prompts = [request["messages"][-1]["content"] for request in server.requests]

    marks = [row["tier2"]["constructiveness"] for row in rows_of(only_run(tmp_path / "out")).values()]
    assert len(marks) == count
    assert marks == ([0.75] * count if script is good else [None] * count)
    assert code == (0 if script is good else 3)
    assert len({prompt.split("<review ")[1].split(">")[0] for prompt in prompts}) == len(prompts)
    record_property("injections", count)


def schema_of_constructiveness():
    from markbook.judge.rubrics import CONSTRUCTIVENESS

    return {"tools": [{"function": {"parameters": CONSTRUCTIVENESS.schema}}]}


def test_payloads_in_every_field_make_no_new_element(tmp_path, record_property):
    """R13: reviews, systems, papers, traces and the judge's own words in the page."""

    def page(name, words):
        folder = tmp_path / name
        folder.mkdir()
        rows = [
            {
                "paper_id": "one",
                "system": words(n),
                "review": {"comments": words(n + 1), "recommendation": words(n + 2)},
            }
            for n in range(len(HTML))
        ]

        def script(request, number):
            reply = fill(schema_of(request), string=words(number))
            reply |= {key: [words(number + 3)] for key in reply if key.endswith("_quotes")}
            return structured(request, json.dumps(reply))

        place = papers(folder)
        file = place / "acl_2017" / "train" / "reviews" / "one.json"
        record = json.loads(file.read_text())
        record["title"] = record["abstract"] = words(4)
        record["reviews"][0]["comments"] += words(5)
        file.write_text(json.dumps(record))
        trace = json.loads((traces(folder) / "one.json").read_text())
        for number, call in enumerate(trace["tool_calls"]):
            call |= {"agent_id": words(number + 6), "tool_name": words(number + 7)}
        (folder / "traces" / "one.json").write_text(json.dumps(trace))
        with FakeOpenAI(script) as server:
            code, _, err = markbook(
                "review", "--papers", place, "--reviews", reviews(folder, rows), "--traces", folder / "traces", *PAIR,
                "--judge", "openai:m", "--base-url", server.base_url, "--output", folder / "out",
            )  # fmt: skip
        assert code == 0, err
        assert "\x1b" not in err
        return (only_run(folder / "out") / "report.html").read_text()

    hostile = Parsed(page("hostile", lambda n: HTML[n % len(HTML)]))
    plain = Parsed(page("plain", lambda n: f"word {n % len(HTML)}"))

    assert set(hostile.attributes) <= set(plain.attributes)
    drawn = {
        "span",
        "g",
        "path",
        "line",
        "text",
        "rect",
        "clippath",
        "defs",
        "circle",
        "wbr",
    }  # as the words are long or short
    for tag in (set(hostile.tags) | set(plain.tags)) - drawn:
        assert hostile.tags[tag] == plain.tags[tag], tag
    assert not [name for _, name in hostile.attributes if name.startswith("on")]
    record_property("payloads x fields", len(HTML) * 10)


@pytest.mark.parametrize(
    "words",
    ["\ud800", "\x00", "\x1b]0;x\x07", "\u202e", "x" * 300_000, '"}],"', "\\u0000", "{{ 7 * 7 }}"],
    ids=lambda words: ascii(words[:12]),
)
def test_a_judges_own_words_break_nothing(tmp_path, words):
    """What a judge says is kept as it can be written, cut where it is long; its marks stand."""

    def script(request, _number):
        reply = fill(schema_of(request), string=words[:150_000])
        return structured(request, json.dumps(reply))

    with FakeOpenAI(script) as server:
        code, out, err = markbook(
            "review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path), *PAIR, "--judge", "openai:m",
            "--base-url", server.base_url, "--judge-retries", "0", "--output", tmp_path / "out",
        )  # fmt: skip

    row = rows_of(only_run(tmp_path / "out"))["one/mas/0"]
    assert "\x1b" not in out + err
    if len(words) > 200_000:
        assert code == 3
        assert "longer than 200000" in row["tier2"]["missing"]["constructiveness"]["detail"]
    else:
        assert code == 0, err
        assert row["tier2"]["constructiveness"] == 0.75
        assert len(row["tier2"]["details"]["constructiveness"]["evidence"]["balanced_critique"]["reason"]) <= 2000


@pytest.mark.parametrize(
    "words", ["\ud800", "\x00", "\x1b]0;x\x07", "\u202e", "x" * 300_000], ids=lambda words: ascii(words[:12])
)
def test_a_models_own_words_break_no_run(tmp_path, words):
    command = MAKERS["run"](tmp_path)
    with FakeOpenAI(lambda _request, _n: text(words)) as command.server:
        code, out, err = command.run("--output", tmp_path / "out")

    assert code == 0, err
    assert "\x1b" not in out + err
    assert [row["metrics"]["exact_match"] for row in results(tmp_path / "out")] == [0.0] * len(WORDS)


@pytest.mark.parametrize(
    "name", ["../../../x", "a/b", "CON", "", " ", "x" * 300, "\u202eabc", "..", "\x00", "evaluation_1"]
)
def test_a_systems_name_makes_no_file(tmp_path, name):
    """R12: names stay in the rows; the run folder holds our own names only."""
    rows = [
        {"paper_id": "one", "system": name, "review": "Fine."},
        {"paper_id": "one", "system": name.upper(), "review": "x"},
    ]

    code, _, err = markbook(
        "review",
        "--papers",
        papers(tmp_path),
        "--reviews",
        reviews(tmp_path, rows),
        *PAIR,
        "--output",
        tmp_path / "out",
    )

    ours = {"evaluation_summary.md", "journal", "lock", "report.html", "results.jsonl", "run.json", "summary.json"}
    assert code == 0, err
    assert {path.name for path in only_run(tmp_path / "out").iterdir()} == ours
    assert {path.name for path in tmp_path.iterdir()} == {"out", "papers", "reviews.jsonl"}
    assert len(rows_of(only_run(tmp_path / "out"))) == 2


@pytest.mark.parametrize(
    "config", [b"[" * 5000, b'{"metrics_and_weights": {"time_taken": 1e999}}', b"\xff\xfe", b"{}", b"null", b'{"a": 1, "a": 2}',
               b'{"metrics_and_weights": {"time_taken": -1}}', b'{"metrics_and_weights": []}', b'{"metrics_and_weights": {}}',
               b'{"tier2_llm_judge": {"timeout_seconds": 0}}', b'{"tier2_llm_judge": {"max_retries": "2"}}',
               b'{"composite_scoring": {"fallback_strategy": "zero"}}', b'{"evaluation_system": {"tiers_enabled": [4]}}'],
    ids=range(13),
)  # fmt: skip
def test_a_config_that_cannot_be_honoured_is_exit_2(tmp_path, config):
    """R14: a config is JSON and nothing in it runs; what it asks for in vain is named."""
    file = tmp_path / "config.json"
    file.write_bytes(config)

    code, _, err = markbook(
        "review",
        "--papers",
        papers(tmp_path),
        "--reviews",
        reviews(tmp_path),
        "--config",
        file,
        "--output",
        tmp_path / "o",
    )

    assert code == 2, err
    assert str(file) in err
    assert "Traceback" not in err
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_memory_of_reviews_and_tasks_hardly_grows(tmp_path, record_property):
    """R19: what is kept of one more review or answer is small; the long slopes are bench.reliability's."""
    code = PEAK + "import sys\nfrom markbook.cli import main\nmain(sys.argv[1:])\n"
    folder = papers(tmp_path)
    peaks = {}
    for count in (500, 4500):
        rows = [
            {"paper_id": "one", "system": "mas", "review": f"{GENERATED} {n}", "execution_time": 1}
            for n in range(count)
        ]
        (tmp_path / str(count)).mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code, "review", "--papers", folder, "--reviews", reviews(tmp_path / str(count), rows), *PAIR,
             "--output", tmp_path / f"out{count}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        peaks[count] = int(done.stdout.split()[-1]) * 1024

    slope = (peaks[4500] - peaks[500]) / 4000
    record_property("bytes a review", int(slope))
    assert slope < 30_000


def test_the_model_asked_is_the_one_that_answers():
    """The kit's own server answers each question by its words alone: what the byte comparisons rest on."""
    request = {"messages": [{"content": "Say one."}]}

    assert say(request) == say(request, 5)


# Attacks on what recorded answers, foreign logs, tables and run folders say of themselves.


def _each_value(value, change):
    if isinstance(value, dict):
        return {key: _each_value(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_each_value(part, change) for part in value]
    return change(value)


_SHARP = "<script>window.owned=1</script>\x1b]0;x\x07\u202e=cmd()"
_TRACE_ATTACKS = {
    "texts that are markup and escapes": lambda value: (
        f"{value}{_SHARP}" if isinstance(value, str) and " " in value else value
    ),
    "numbers that are infinite": lambda value: 1e999 if type(value) in (int, float) else value,
    "numbers below 0": lambda value: -abs(value) - 1 if type(value) in (int, float) else value,
    "numbers of 4,000 digits": lambda value: 10**4_000 if type(value) is int else value,
    "null everywhere": lambda value: None if not isinstance(value, str) else value,
    "texts that are lists": lambda value: [value, {"x": [value]}] if isinstance(value, str) and " " in value else value,
}


@pytest.mark.parametrize("attack", _TRACE_ATTACKS)
@pytest.mark.parametrize("log", sorted(NEW_LOGS))
def test_a_hostile_log_of_an_agent_is_a_page_or_a_sentence(tmp_path, log, attack):
    document = _each_value(json.loads(json.dumps(NEW_LOGS[log])), _TRACE_ATTACKS[attack])
    file, page = tmp_path / "log.json", tmp_path / "page.html"
    sys.set_int_max_str_digits(0)
    try:
        file.write_text(json.dumps(document).replace("Infinity", "1e999"), encoding="utf-8")
    finally:
        sys.set_int_max_str_digits(4_300)

    code, shown, messages = markbook("trace", file, "--html", page)
    as_json, record, _ = markbook("trace", file, "--json")

    assert code == as_json
    assert code in (0, 2), messages
    assert "Traceback" not in messages
    assert "\x1b" not in shown + messages
    if code == 0:
        parsed = json.loads(record, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert parsed["cost"] is None or parsed["cost"] >= 0
        assert all(
            parsed[name] is None or parsed[name] >= 0 for name in ("input_tokens", "output_tokens", "cached_tokens")
        )
        assert not [
            attrs for _, attrs in Parsed(page.read_text(encoding="utf-8")).found if "window.owned" in " ".join(attrs)
        ]
        assert not [
            attrs for tag, attrs in Parsed(page.read_text(encoding="utf-8")).found if tag == "script" and not attrs
        ]


_LM = (
    "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
    "doc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\noutput_type: generate_until\nmetric_list: [{metric: exact_match}]\n"
)


def _sample(doc_id, **more):
    number = doc_id if isinstance(doc_id, int) else 0
    known = {
        "doc_id": doc_id,
        "arguments": {"gen_args_0": {"arg_0": f"q{number}", "arg_1": {}}},
        "target": f"a{number}",
        "resps": [["a0"]],
    }
    return {name: value for name, value in {**known, **more}.items() if value is not None}


def _sha(words):
    return hashlib.sha256(words.encode()).hexdigest()


_FORGED = {
    "rows swapped, hashes kept": [
        {"doc_id": 1, "prompt_hash": _sha("q0"), "target_hash": _sha("a0"), "resps": [["a1"]]},
        {"doc_id": 0, "prompt_hash": _sha("q1"), "target_hash": _sha("a1"), "resps": [["a0"]]},
    ],
    "hash of the prompt right, target's wrong": [
        {"doc_id": 0, "prompt_hash": _sha("q0"), "target_hash": _sha("a1"), "resps": [["a0"]]}
    ],
    "hash in capitals of another prompt": [{"doc_id": 0, "prompt_hash": _sha("q1").upper(), "resps": [["a0"]]}],
    "hash right, arguments of another": [
        _sample(0, arguments={"gen_args_0": {"arg_0": "q1", "arg_1": {}}}, prompt_hash=_sha("q0"))
    ],
    "no target, hash of another": [_sample(0, target=None, target_hash=_sha("a1"))],
    "no arguments, hash of another": [_sample(0, arguments=None, prompt_hash=_sha("q1"))],
    "a half of the hash": [{"doc_id": 0, "prompt_hash": _sha("q0")[:32], "resps": [["a0"]]}],
    "the hash of nothing": [{"doc_id": 0, "prompt_hash": _sha(""), "resps": [["a0"]]}],
    "prompt that begins as the row's": [_sample(0, arguments={"gen_args_0": {"arg_0": "q", "arg_1": {}}})],
    "target in a list of others": [_sample(0, target=["a1", "a2"])],
    "hashes in a list": [{"doc_id": 0, "prompt_hash": [_sha("q1")], "resps": [["a0"]]}],
    "hash as a number": [{"doc_id": 0, "prompt_hash": 7, "resps": [["a0"]]}],
}


@pytest.mark.parametrize("attack", _FORGED)
def test_an_answer_that_is_bound_to_another_question_is_never_marked(tmp_path, monkeypatch, attack):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lm.yaml").write_text(_LM)
    for name, rows in (("rows", [{"q": "q0", "a": "a0"}, {"q": "q1", "a": "a1"}]), ("said", _FORGED[attack])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, shown, messages = markbook("run", "lm.yaml", "--predictions", "said.jsonl", "--json", "--output", "out")

    value = json.loads(shown)["tasks"]["demo"]["metrics"]["exact_match"]["value"] if shown else None
    assert code == 2 or not value, (code, value)
    assert "Traceback" not in messages


@pytest.mark.parametrize(
    "key",
    [
        "allow_code",
        "allow_unsafe_code",
        "base_url",
        "generator",
        "cassette",
        "judge",
        "judge_url",
        "output",
        "python",
        "engine",
    ],
)
def test_a_run_folder_of_anybody_neither_runs_nor_sends_anything_when_it_is_resumed(tmp_path, key):
    command = MAKERS["run"](tmp_path)
    with FakeOpenAI(lambda _request, _n: text(WORDS[0])) as command.server:
        command.run("--output", tmp_path / "out")
    folder = only_run(tmp_path / "out")
    manifest = json.loads((folder / "run.json").read_text())
    hostile = {"base_url": "http://127.0.0.1:1/v1", "judge_url": "http://127.0.0.1:1/v1", "generator": "os:system", "python": "/bin/false",
               "cassette": str(tmp_path / "owned"), "output": str(tmp_path / "owned"), "judge": "openai:x", "engine": "ray"}  # fmt: skip
    for part in manifest.values():
        if isinstance(part, dict):
            part[key] = hostile.get(key, True)
    manifest["status"] = "interrupted"
    (folder / "run.json").write_text(json.dumps(manifest))

    code, _, messages = markbook("run", "--resume", folder)

    assert "Traceback" not in messages
    assert not (tmp_path / "owned").exists()
    assert code in (0, 2, 3, 65, 74), (code, messages)
    if key in ("allow_code", "base_url", "generator"):
        assert code == 2, messages


@pytest.mark.parametrize(
    "name",
    [
        "=cmd()|' /C calc'!A0",
        "+1+cmd()",
        "@SUM(A1)",
        "-2+3",
        "\t=1",
        "\x1b[2Jm",
        "<img src=x onerror=owned>",
        "|a|\n|b|",
    ],
)
def test_names_of_a_table_are_words_wherever_they_are_printed(tmp_path, name):
    table = tmp_path / "t.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ["item", "model", "score"],
                *([f"i{n}", model, score] for n in range(6) for model, score in ((name, n % 2), ("other", 1))),
            ]
        )
    mapped = ("--map", "item=item,model=model,score=score")

    printed = {form: markbook("compare", table, *mapped, "--format", form) for form in ("table", "md", "csv", "json")}

    assert [code for code, _, _ in printed.values()] == [0] * 4
    assert all("\x1b" not in shown for _, shown, _ in printed.values())
    cells = [cell for line in csv.reader(io.StringIO(printed["csv"][1])) for cell in line]
    assert not [cell for cell in cells if cell[:1] in "=+@\t" and cell.strip("+-.0123456789e") and cell]
    assert "<img" not in printed["md"][1]
