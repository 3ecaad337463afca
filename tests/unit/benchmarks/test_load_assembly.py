"""Right answers are marked right however prompt and answer share the program between them."""

import json
import time

import pytest
from support.exam_kit import write_rows
from support.review_kit import markbook, only_run

from markbook.benchmarks.assembly import assemble
from markbook.types import Sample

DOC = '    """Return what is asked for."""\n'
PROMPTS = {
    "documented": ("inc", f"def inc(x):\n{DOC}"),
    "signature": ("inc", "def inc(x):\n"),
    "no line end": ("inc", "def inc(x):"),
    "comment behind": ("inc", "def inc(x):  # x: a number\n"),
    "comment below": ("inc", "def inc(x):\n    # returns one more\n"),
    "crlf": ("inc", "def inc(x):\r\n"),
    "imports": ("inc", "import math\nfrom typing import List\n\n\ndef inc(x: List[int]) -> int:\n"),
    "helper": ("inc", f"def one():\n{DOC}    return 1\n\n\ndef inc(x):\n"),
    "decorated": ("inc", "import functools\n\n\n@functools.lru_cache\ndef inc(x):\n"),
    "two lines": ("inc", "def inc(\n    x,\n):\n"),
    "class": ("Inc", f"class Inc:\n    def add(self, x):\n    {DOC}"),
    "class signature": ("Inc", "class Inc:\n    def add(self, x):\n"),
    "class with a start": (
        "Inc",
        "class Inc:\n    def __init__(self):\n        self.one = 1\n\n    def add(self, x):\n",
    ),
}
FUNCTION_ANSWERS = {
    "body": "    y = x\n    return y + 1\n",
    "whole": "def inc(x):\n    return x + 1\n",
    "whole in a fence": "Here it is:\n```python\ndef inc(x):\n    return x + 1\n```\n",
    "crlf": "def inc(x):\r\n    return x + 1\r\n",
    "typed assignment": "inc: object = lambda x: x + 1\n",
    "two names": "inc, other = (lambda x: x + 1), None\n",
    "behind a condition": "if True:\n    def inc(x):\n        return x + 1\nelse:\n    inc = None\n",
    "from the future": "from __future__ import annotations\n\ndef inc(x):\n    return x + 1\n",
}
METHOD_ANSWERS = {
    "body": "        y = x\n        return y + 1\n",
    "method": "    def add(self, x):\n        return x + 1\n",
    "whole": "class Inc:\n    def add(self, x):\n        return x + 1\n",
}
NEEDS = {
    "imports": "def inc(x: List[int]) -> int:\n    return math.floor(x) + 1\n",
    "helper": "def inc(x):\n    return x + one()\n",
}
"""Answers that are whole and yet lean on what their prompt brought."""


def answers(prompt):
    """Return the right answers to a prompt, by name."""
    name, text = PROMPTS[prompt]
    found = dict(FUNCTION_ANSWERS if name == "inc" else METHOD_ANSWERS)
    body = found["body"]
    if prompt == "no line end":
        body = found["body"] = "\n" + body
    found["prompt again"] = text + body
    found["behind a byte order mark"] = f"\ufeff{text}{body}"
    if prompt in NEEDS:
        found["leaning on the prompt"] = NEEDS[prompt]
    return found


def humaneval(prompt, key):
    name, text = PROMPTS[prompt]
    calls = "candidate" if name == "inc" else "candidate().add"
    canonical = answers(prompt)[key]
    row = {"task_id": prompt, "prompt": text, "entry_point": name, "canonical_solution": canonical}
    return row | {"test": f"def check(candidate):\n    assert {calls}(1) == 2\n    assert {calls}(-1) == 0\n"}


def evalplus(prompt, key):
    name, text = PROMPTS[prompt]
    row = {"task_id": prompt, "prompt": text, "entry_point": name, "canonical_solution": answers(prompt)[key]}
    return row | {"base_input": [[1]], "plus_input": [[-1], [7]], "atol": 0}


def failed(tmp_path, benchmark, rows):
    """Mark the rows by the command; return the task and sample of each that did not pass everything."""
    questions = write_rows(tmp_path / "benchmark.jsonl", benchmark)
    solutions = write_rows(tmp_path / "answers.jsonl", [{"model": "gpt", **row} for row in rows])
    code, _, said = markbook(
        "exam", "--benchmark", questions, "--solutions", solutions, "--output", tmp_path / "out", "--isolation", "weak"
    )
    assert code == 0, said
    lines = (only_run(tmp_path / "out") / "gpt" / "test_results.jsonl").read_text(encoding="utf-8").splitlines()
    marked = [json.loads(line) for line in lines]
    assert len(marked) == len(rows)
    return [
        (row["task_id"], rows[place]["name"])
        for place, row in enumerate(marked)
        if not all(test["passed"] for test in row["test_details"])
    ]


@pytest.mark.parametrize("key", ["completion", "solution", "candidate_solution", "extracted_solution"])
def test_right_answers_pass_whatever_part_of_the_program_they_are(tmp_path, key):
    rows = [
        {"task_id": prompt, key: text, "sample": number, "name": name}
        for prompt in PROMPTS
        for number, (name, text) in enumerate(answers(prompt).items())
        if key == "completion" or name != "leaning on the prompt"
    ]

    assert failed(tmp_path, [humaneval(prompt, "body") for prompt in PROMPTS], rows) == []


@pytest.mark.parametrize("canonical", ["body", "whole", "prompt again"])
@pytest.mark.parametrize("dialect", [humaneval, evalplus])
def test_a_benchmarks_own_solution_may_be_whole_or_only_a_body(tmp_path, dialect, canonical):
    prompts = [prompt for prompt, (name, _) in PROMPTS.items() if dialect is humaneval or name == "inc"]
    rows = [
        {"task_id": prompt, "completion": answers(prompt)["body"], "sample": 0, "name": "body"} for prompt in prompts
    ]
    benchmark = [dialect(prompt, canonical) for prompt in prompts]

    assert failed(tmp_path, benchmark, rows) == []
    code, said, _ = markbook(
        "exam", "--benchmark", tmp_path / "benchmark.jsonl", "--check-benchmark", "--json", "--isolation", "weak"
    )
    assert (code, json.loads(said)["problems"]) == (0, [])


@pytest.mark.parametrize(
    ("text", "error"),
    [("    return x + 2\n", None), ("    return x +\n", "SyntaxError"), ("def inc(x):\n    return 2 x\n", "SyntaxError"),
     ("def dec(x):\n    return x + 1\n", None), ("I cannot.", "SyntaxError")],
)  # fmt: skip
@pytest.mark.parametrize("prompt", ["documented", "signature", "helper"])
def test_wrong_answers_stay_wrong_and_broken_ones_broken(tmp_path, prompt, text, error):
    if error is None and text.startswith("def dec") and prompt != "documented":
        error = "SyntaxError"  # a signature with nothing behind it, as it was typed
    row = {"task_id": prompt, "completion": text, "sample": 0, "name": "wrong"}

    assert failed(tmp_path, [humaneval(prompt, "body")], [row]) == [(prompt, "wrong")]
    found = json.loads((only_run(tmp_path / "out") / "gpt" / "test_results_errors.json").read_text(encoding="utf-8"))
    assert ("SyntaxError" in json.dumps(found)) == (error is not None), found


@pytest.mark.parametrize("key", ["completion", "solution"])
def test_what_a_prompt_brings_before_a_decorator_that_ends_it_is_there_for_the_completion(tmp_path, key):
    prompt = "import functools\nLIMIT = 6\n@functools.cache\n"
    test = "def check(candidate):\n    assert candidate(3) == 18\n    assert candidate.cache_info().misses == 1\n"
    row = {"task_id": "a", "prompt": prompt, "entry_point": "f", "test": test}
    value = "LIMIT" if key == "completion" else "6"
    start = "" if key == "completion" else "import functools\n@functools.cache\n"
    codes = {
        "right": f"{start}def f(x):\n    return x * {value}\n",
        "whole": "import functools\n@functools.cache\ndef f(x):\n    return x * 6\n",
        "wrong": f"{start}def f(x):\n    return x + {value}\n",
    }
    rows = [{"task_id": "a", key: code, "sample": at, "name": name} for at, (name, code) in enumerate(codes.items())]

    assert failed(tmp_path, [row], rows) == [("a", "wrong")]


def test_a_reply_of_many_imports_takes_time_by_its_length():
    sample = Sample(id="a", preloaded=("json", "re", "from math import *"))

    def take(count):
        began = time.process_time()
        text = "json.x, sqrt\n" + "import " * count
        assert assemble(text, sample, "off").text.startswith("import json\nfrom math import *\njson.x")
        return time.process_time() - began

    assert (
        take(100_000) < 5
    )  # a minute and a half at a fiftieth of it, when each name was looked for behind each `import`
    assert assemble("import os, json\njson.x", sample, "off").text.startswith("import os")
