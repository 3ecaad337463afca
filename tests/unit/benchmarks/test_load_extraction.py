"""The code in a reply is found by steps that are recorded, and no step deletes a line of code."""

import json
import re
import textwrap
import time

import pytest
from support.exam_kit import write_rows
from support.load import allowed
from support.review_kit import markbook

from markbook.testcode import extraction
from markbook.testcode.extraction import compiles, extract, extract_answer, without_thoughts

CODE = "def add(a, b):\n    print('solution')\n    assert a is not None\n    return a + b\n"


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        (CODE, "as_is"),
        (f"Here is the solution:\n\n```python\n{CODE}```\nIt adds two numbers.", "fence"),
        (f"~~~\n{CODE}~~~", "fence"),
        (f"```python\n{CODE}", "fence"),
        (f"Use this:\n```python\n{CODE}```\nDone.\n".replace("\n", "\r\n"), "fence"),
        (f"1. Define it:\n   ```python\n{textwrap.indent(CODE, '   ')}   ```\n2. Call it.\n", "fence"),
        (f"10. Define it:\n\n{textwrap.indent(f'```python{chr(10)}{CODE}```', '    ')}\n\nCall it.\n", "fence"),
        (f"- ```python\n{textwrap.indent(CODE, '  ')}  ```\n", "fence"),
        (f"1. ```python\n{textwrap.indent(CODE, '   ')}   ```\n2. Call it.\n", "fence"),
        (f"As asked:\n{textwrap.indent(f'```python{chr(10)}{CODE}```', '> ')}\nDone.", "fence"),
        (f"Sure.\n```python3.11\n{CODE}```\n", "fence"),
        (f"Sure.\n```ipython\n{CODE}```\n", "fence"),
        (f"Sure: ```python\n{CODE}```\n", "fence"),
        (f"Sure.\n```python\n{CODE.rstrip()}```\nIt adds them.", "fence"),
        (f"<p>Sure.</p>\n<pre><code>\n{CODE}</code></pre>", "markers"),
        (f"Signature:\n```python\ndef add(a, b):\n    pass\n```\nAll of it:\n```python\n{CODE}```\n", "fence"),
        (f"[PYTHON]\n{CODE}[/PYTHON]\nHope this helps you.", "markers"),
        (f"{CODE}[END]\n", "markers"),
        (f"{CODE}[END]\n1. What does the code do?\nThe code adds them.", "markers"),
        (f"{CODE}\nThis function adds two numbers, as asked.\n", "prose"),
        (f"Sure, here is the code for you\n\n{CODE}", "prose"),
        (f"```solution.py\n{CODE}```", "fence"),
        (f"```markdown\n# Answer\n```python\n{CODE}```\n```\n", "fence"),
        (f"```python\n{CODE}```<|im_end|>\n", "fence"),
        (f"{CODE}</s><|endoftext|>", "as_is"),
        (f"<answer>\n{CODE.rstrip()}</answer>", "markers"),
        (f"**Solution**\n\n{CODE}\n---\nIt adds them.\n", "markers"),
        (f"As asked:\n```text\ndef add(a, b): ...\n```\n```text\n{CODE}```\n", "fence"),
    ],
)
def test_code_is_found_whole(reply, step):
    text, how = extract(reply, compiles, "add")

    assert how == step
    assert text.replace("\r\n", "\n").strip() == CODE.strip()


TYPED = "".join(f"{sign} {line}\n" for sign, line in zip((">>>", *["..."] * 3), CODE.splitlines(), strict=True))
SHELL = "".join(f"{sign} {line}\n" for sign, line in zip(("In [1]:", *["   ...:"] * 3), CODE.splitlines(), strict=True))
INSET = textwrap.indent(CODE, "    ")
DISGUISED = {
    "verbatim": f"Sure.\n\\begin{{verbatim}}\n{CODE}\\end{{verbatim}}\nDone.",
    "lstlisting": f"Sure:\n\\begin{{lstlisting}}[language=Python]\n{CODE}\\end{{lstlisting}}\n",
    "minted": f"Sure:\n\\begin{{minted}}{{python}}\n{CODE}\\end{{minted}}\n",
    "a shell": f"You can type it into the shell:\n\n{TYPED}>>> add(1, 2)\nsolution\n3\n>>> 1 / 0\nTraceback ...\n\nAs you see.",
    "a shell in a block": f"```pycon\n{TYPED}...\n>>> add(1, 2)\n3\n```\n",
    "IPython": f"```\n{SHELL}   ...:\n\nIn [2]: add(1, 2)\nOut[2]: 3\n```\n",
    "single backticks": f"The answer is `{CODE.rstrip()}`.",
    "double backticks": f"The answer:\n``\n{CODE}``\n",
    "quotes": f"The answer:\n'''python\n{CODE}'''\n",
    "JSON": f"Sure.\n```json\n{json.dumps({'why': 'It adds.', 'code': CODE}, indent=1)}\n```\n",
    "pre": f"<p>Sure, as asked.</p><pre>{CODE.replace(chr(39), '&#39;')}</pre>",
    "line numbers": "```python\n" + "".join(f"{n} {line}\n" for n, line in enumerate(CODE.splitlines(), 1)) + "```\n",
    "a listing": "Sure:\n" + "".join(f"{n:2} | {line}\n" for n, line in enumerate(CODE.splitlines(), 1)),
    "a diff": "```diff\n--- /dev/null\n+++ b/add.py\n@@ -0,0 +1,4 @@\n" + textwrap.indent(CODE, "+") + "```\n",
    "an inset": f"Here it is:\n\n{INSET}\nIt adds both numbers up.\n",
    "reStructuredText": f"Sure.\n\n.. code-block:: python\n\n{INSET}\nIt adds them.\n",
    "a quote": f"As you asked for:\n\n{textwrap.indent(CODE, '> ')}\nDone.",
    "Org": f"Sure.\n#+begin_src python\n{CODE}#+end_src\n",
    "Jira": f"Sure.\n{{code:python}}\n{CODE}{{code}}\n",
    "a bulletin board": f"Sure.\n[code=python]{CODE}[/code]\n",
    "a wiki": f'<syntaxhighlight lang="python">\n{CODE}</syntaxhighlight>',
    "CDATA": f"<solution><![CDATA[\n{CODE}]]></solution>",
    "a here document": f"```bash\ncat > add.py <<'EOF'\n{CODE}EOF\npython add.py\n```\n",
    "a notebook": f"```python\n%%writefile add.py\n{CODE}```\n",
    "hard spaces": f"```python\n{CODE.replace('    ', chr(0xA0) * 4)}```\n",
    "a label": f"Python code:\n{CODE}",
    "a label before it": f"Answer: {CODE}",
}  # fmt: skip


def test_an_exam_finds_code_in_every_form_in_which_replies_show_it(tmp_path):
    assert score_replies(tmp_path, DISGUISED) == dict.fromkeys(DISGUISED, 100)
    for name, reply in DISGUISED.items():
        assert extract(reply, compiles, "add")[0].strip() == CODE.strip(), name


BODY = textwrap.indent("print('solution')\nassert a is not None\nreturn a + b\n", "    ")
WRONG = CODE.replace("a + b\n", "a - b\n")
BLOCK = f"```python\n{CODE}```\n"
WENT_ON = {
    "a fence behind a function": f"{CODE}```\n",
    "prose behind a fence": f"{CODE}```\nThis adds one.",
    "a body": f"{BODY}```\n\nThis adds both numbers.\n",
    "a body before a block": f"{BODY}```\n\n```python\nprint(add(1, 2))\n```",
    "a body and a token": f"{BODY}<|endoftext|>def g",
    "a token and a dialog": f"{CODE}<|endoftext|>\nUser: next",
    "a begin of sentence": f"<s>{BODY}",
    "an instruction": f"[INST]add them[/INST]\n{CODE}",
    "a closing fence with words": f"```python\n{CODE}```then run it",
    "an answer's tag": f"<answer>{CODE}</answer>",
    "prose before a tag": f"Both are added.\n<answer>{CODE.rstrip()}</answer>",
    "a tag with a dash": f"<final-answer>\n{CODE}</final-answer>",
    "a tag with more": f'<answer lang="py">\n{CODE}</answer>',
    "a correction": f"First:\n```python\n{WRONG}```\nThat is wrong. Corrected:\n{BLOCK}",
    "a stub that gives None": f"Signature:\n```python\ndef add(a, b):\n    return None  # to do\n```\n\nFinal:\n{BLOCK}",
    "a greeting": f"Sure! Here's the code:\n\n{CODE}",
    "a greeting alone": f"Okay!\r\n\r\n{CODE}",
    "small letters": f"here is the code:\n\n{CODE}\nit adds one to the other.\n",
    "signs": f"\u2728 Here you go:\n\n{CODE}\n`add(1, 2)` returns 3",
    "a short end": f"{CODE}\nDone!",
    "a list": f"{CODE}\n- adds them\n- returns that\n",
    "a title behind": f"{CODE}\n**Explanation:** it adds them",
    "a fence that is not closed": f"```python\n{CODE}\nThis function adds both numbers.\n",
    "a fence that is closed badly": f"```python\n{CODE}``\n",
    "a word of the fence on its line": f"Sure:\n```\npython\n{CODE}```\nDone.",
    "a thought behind": f"{BLOCK}\n<think>\nIs it right? Yes.\n</think>\nThe function above adds them.",
    "a thought behind bare code": f"<think>So.</think>{CODE}\n<think>\nIs it right? Yes.\n</think>",
    "an import before": f"Use it:\n```python\nfrom solution import add\nprint(add(1, 2))\n```\nCode:\n{BLOCK}",
    "a result before": f"This gives:\n```\nadd = 2\n```\nby:\n{BLOCK}",
    "a loop before": f"Not:\n```python\nfor add in range(3):\n    print(add)\n```\nbut:\n{BLOCK}",
    "another name": f"```python\n{CODE.replace('add', 'plus')}\nadd = plus\n```\nOr so:\n```python\n{WRONG}```\n",
    "a condition": f"```python\nif True:\n{textwrap.indent(CODE, '    ')}```\nOr so:\n```python\n{WRONG}```\n",
    "a body behind thoughts": f"<think>a</think>\n```python\n{WRONG}```\n<think>no</think>\n{BODY}",
    "a here document alone": f"```bash\ncat > add.py <<'EOF'\n{CODE}EOF\n```\n",
    "a draft": f"<reasoning>\n```python\n{WRONG}```\n</reasoning>\n<answer>\n{BLOCK}</answer>",
}  # fmt: skip


def score_replies(tmp_path, replies):
    prompt = {"prompt": 'def add(a, b):\n    """Add them."""\n', "entry_point": "add"}
    test = "def check(candidate):\n    assert candidate(1, 2) == 3\n"
    problems = [
        {"task_id": name, **prompt, "canonical_solution": "    return a + b\n", "test": test} for name in replies
    ]
    benchmark = write_rows(tmp_path / "b.jsonl", problems)
    rows = [{"task_id": name, "model": "m", "solution": reply} for name, reply in replies.items()]
    file = write_rows(tmp_path / "answers.jsonl", rows)

    code, _, err = markbook("exam", "--benchmark", benchmark, "--solutions", file, "--output", tmp_path / "out")

    assert code == 0, err
    (results,) = (tmp_path / "out").glob("*/m/test_results.jsonl")
    return {row["task_id"]: row["score"] for row in map(json.loads, results.read_text(encoding="utf-8").splitlines())}


CUT_OFF = {
    "a function": f"{BODY}\ndef g(y):\n    return (y +",
    "a test": f"{BODY}\n\nassert add(1, 2) == 3\nassert add(",
    "a text": f'{CODE}\ndef g(y):\n    """never ended',
}


def test_a_reply_that_was_cut_off_is_the_models_own_mistake(tmp_path):
    assert score_replies(tmp_path, CUT_OFF) == dict.fromkeys(CUT_OFF, 0)


def test_an_exam_finds_code_in_replies_that_go_on_behind_it(tmp_path):
    helper = "```text\ndef both(a, b):\n    return a + b\n```\n```python\ndef add(a, b):\n    return both(a, b)\n```\n"
    replies = {**WENT_ON, "a helper in a block of text": helper}

    assert score_replies(tmp_path, replies) == dict.fromkeys(replies, 100)


OTHER = f"```python\n{WRONG}```\n"
ANNOUNCED = {
    "a buggy version": f"{BLOCK}\nFor comparison, the buggy version that needed to be fixed:\n{OTHER}",
    "before it was fixed": f"{BLOCK}\nBefore it was fixed it looked like this:\n{OTHER}",
    "a first idea": f"The final code:\n{BLOCK}\nMy first idea, which is not the final one:\n{OTHER}",
    "a remark": f"{BLOCK}\nA final remark: do not do this:\n{OTHER}",
    "a step": f"{BLOCK}\nWith a fixed step of -1 it would be:\n{OTHER}",
    "an original": f"{BLOCK}\nThe original (to be corrected):\n{OTHER}",
    "a result": f"{BLOCK}\nFinal answer:\n```text\n3\n```\nDo not write:\n{OTHER}",
    "a sentence": f"{OTHER}\nOops. Here's the corrected code:\n{BLOCK}",
    "a function": f"{OTHER}\nHere is the fixed version of your function:\n\n{BLOCK}",
    "a script": f"{OTHER}\nHere\u2019s the corrected Python script:\n{BLOCK}",
    "bold letters": f"{OTHER}\n**Final answer:**\n{BLOCK}",
    "a title": f"{OTHER}\n### Corrected code:\n{BLOCK}",
    "a title alone": f"## Draft\n\n{OTHER}\n## Final Solution\n\n{BLOCK}",
    "bold letters alone": f"{OTHER}\n**Final Answer**\n{BLOCK}",
    "what it is": f"The buggy code is:\n{OTHER}\nThe fixed code is:\n\n{BLOCK}",
    "two words": f"{OTHER}\nHere is the final, corrected version of the function:\n\n{BLOCK}",
    "an answer": f"{OTHER}\n### Answer: (use the provided format with backticks)\n\n{BLOCK}",
    "a tag": f"First idea:\n{OTHER}\n<answer>\n{BLOCK}</answer>\nA test:\n```python\nadd(1, 2)\n```\n",
    "a tag around bare code": f"First idea:\n{OTHER}\n<solution>\n{CODE}</solution>\nAs you see.",
    "an announced result": f"Corrected:\n{BLOCK}\nFinal answer:\n```\n3\n```\nDo not write:\n{OTHER}",
}


DATA = {"code": CODE, "why": "It adds."}
CALL = json.dumps({"name": "submit", "arguments": DATA})
WRAPPED = {
    "a word of the fence": f"python\n{CODE}",
    "a word before a body": f"Python\n{BODY}",
    "a short word": f"\npy\n{CODE}",
    "a word and prose": f"python\n{CODE}\nThis adds both numbers, as asked.",
    "single quotes": f"'''python\n{CODE}'''",
    "double quotes": f'"""python\n{CODE}"""\n',
    "quotes alone": f"'''\n{CODE}'''",
    "an object": json.dumps(DATA),
    "an object in one": json.dumps({"result": DATA}),
    "a list": json.dumps([DATA], indent=1),
    "lines": json.dumps({"lines": CODE.split("\n")}),
    "a fence in an object": json.dumps({"answer": f"As asked:\n{BLOCK}", "is_done": True}),
    "an object behind prose": f"Here is the result:\n{json.dumps(DATA)}",
    "a call of a tool": f"<tool_call>\n{CALL}\n</tool_call>",
    "a parameter": f"<function=submit>\n<parameter=code>\n{CODE}</parameter>\n</function>",
    "a notebook": json.dumps(
        {"cells": [{"cell_type": "code", "source": CODE.splitlines(keepends=True)}], "nbformat": 4}
    ),
    "a seed's thought": f"<seed:think>\n{OTHER}</seed:think>\n{BLOCK}",
    "a thought in brackets": f"[THINK]A draft:\n{OTHER}[/THINK]\n{BLOCK}",
    "a thought in triangles": f"\u25c1think\u25b7So\n{OTHER}\nno\u25c1/think\u25b7{BLOCK}",
    "a thought in tokens": f"<|begin_of_thought|>\n{OTHER}<|end_of_thought|>\n<|begin_of_solution|>\n{BLOCK}<|end_of_solution|>",
    "a loud thought": f"<THINK>\n{OTHER}</THINK>\n{BLOCK}",
    "thoughts": f"<Thought>\nso\n</Thought>\n<reflection>\n{OTHER}</reflection>\n<output>\n{BLOCK}</output>",
    "a channel": f"<|channel|>analysis<|message|>We try\n{OTHER}<|end|><|start|>assistant<|channel|>final<|message|>The answer:\n\n{BLOCK}",
    "a channel without its signs": f"analysisWe could do\n{OTHER}assistantfinal{BLOCK}",
    "a start": f"<|START_THINKING|>Maybe\n{OTHER}<|END_THINKING|><|START_RESPONSE|>{BLOCK}<|END_RESPONSE|>",
    "a turn": f"<|im_start|>user\nFix this:\n{OTHER}<|im_end|>\n<|im_start|>assistant\n{BLOCK}<|im_end|>\n",
    "a turn with a head": f"<|start_header_id|>user<|end_header_id|>\n\n{OTHER}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{BLOCK}",
    "an instruction": f"[INST] Fix this:\n{OTHER}[/INST]\n{BLOCK}",
    "an analysis": f"<analysis>\n{OTHER}</analysis>\n{BLOCK}",
}


def test_an_exam_finds_code_in_data_quotes_and_behind_thoughts_of_any_tag(tmp_path):
    assert score_replies(tmp_path, WRAPPED) == dict.fromkeys(WRAPPED, 100)


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"draft": WRONG, "code": CODE}),  # which of them is meant is not known
        f"{json.dumps({'code': WRONG})}\n{json.dumps({'code': CODE})}",
        json.dumps({"code": "def add(a, b:"}),
        f"CASES = {json.dumps([CODE])}\ndef add(a, b):\n    return a\n",
        f"text = {json.dumps(CODE)}\nprint(text)\n",
        "python\nis a language.",
        "    lines = (\n        [\n            'def add(a, b):', '    return a'\n        ]\n    )\n    return lines * b\n".replace(
            "'", '"'
        ),
    ],
)
def test_what_is_more_than_data_or_holds_two_answers_is_left_as_it_is(reply):
    assert extract(reply, lambda text: compiles(text) or compiles(f"def add(a, b):\n{text}"), "add")[0] == reply


def test_an_exam_takes_a_later_block_only_where_a_sentence_announces_that_it_counts(tmp_path):
    assert score_replies(tmp_path, ANNOUNCED) == dict.fromkeys(ANNOUNCED, 100)


@pytest.mark.parametrize(
    "reply",
    [
        f"{CODE}def g(y:\n    return y\n\nprint(add(1, 2))\n",  # broken, and not by its end
        f"{CODE}\nx = = 1\n",
        f"{CODE}\nprint 'solution'\n",
        f"{CODE}\nfunc plus(a, b):\n    return a\n",
        f"x = = 1\n{CODE}",
        "def add(a, b):\n    return (a +",
        f"{CODE}\ndef add(a, b):\n    return (a +",  # which of them is meant is not known
        "def add(a, b):\n    return both(a, b)\n\ndef both(a, b):\n    return (a +",
        "```\ndef add(a, b:\n```\nThis adds them.",
        "<s><s><s>",
    ],
)
def test_what_a_model_broke_itself_is_left_as_it_is(reply):
    assert extract(reply, compiles, "add") == (reply, "none")


def test_a_correction_counts_only_where_it_is_one():
    for reply in (
        f"{BLOCK}\nDo not write:\n```python\n{WRONG}```\n",
        f"{BLOCK}\nFinal output:\n```\n3\n```\n",
        f"<reasoning>\n{BLOCK}</reasoning>\nIt adds them.",
    ):
        assert extract(reply, compiles, "add")[0].strip() == CODE.strip()


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("You can use `add = lambda a, b: a + b` for that.", "add = lambda a, b: a + b"),
        ("The answer is `def add(a, b): return a + b`.", "def add(a, b): return a + b"),
        ("Use ```python def add(a, b): return a + b``` here.", "def add(a, b): return a + b"),
        ("Use \\verb|add = lambda a, b: a + b| for that.", "add = lambda a, b: a + b"),
        ("Not `add = lambda a, b: a` but `add = lambda a, b: b`.", None),  # which of them is not known
        ("First `add = 0`, then go on.", None),
        ("    def add(a, b):\n        return a\n    return add(\n", None),  # goes on with a prompt, and is broken
        ("    add = 1\n    return add\ndef other(:\n", None),
        ("1. Take both.\n2. Add them.\n\n> as one does\n", None),
        ('```json\n{"code": "def add(a, b:"}\n```', None),
        (f"```json\n{'[' * 100_000}\n```", None),
    ],
)
def test_code_of_a_sentence_is_taken_where_it_is_all_of_a_definition_and_the_only_one(reply, code):
    assert extract(reply, compiles, "add") == (reply if code is None else code, "none" if code is None else "markers")


@pytest.mark.parametrize(
    "sign", [">>> 1\n", "1 x\n", "> x\n.\n", "<<E\n", "`a`", "\\begin{a}", "[code]", "+a\n", "    x\n.\n", "\\verb|"]
)
def test_a_reply_of_nothing_but_signs_of_code_is_read_once(sign):
    began = time.monotonic()
    extract(f"def add(:\n{sign * 50_000}", compiles, "add")
    assert time.monotonic() - began < allowed(10)


PATTERNS = {name: value for name, value in vars(extraction).items() if isinstance(value, re.Pattern)}
READ_BY = {"_FENCE": "match", "_IMPORT": "fullmatch", "_PYTHON_TAG": "fullmatch"}
LINES_WITHOUT_END = (
    "fixed: ", "the final answer is ", "Corrected code of my a. ", "Final:\n", "\\begin{a}[x ", "\\begin{a}{x ", "<<a", "<<E ", "use ",
    "import a ", "#include ", " ", "\t\n", "a", "A a ", "A-'", "a=", "1", "1. ", "-", "- ", "> ", "#", ">>> ", "In [1", "...", "`", "`a ",
    "```a ", "~~~", "'", "'</think>", "</think>", "<think>", "<a ", "<a", "</a", "</a> ", "</code>", "<pre ", "<|a|>", "</s> ", "<s>",
    "<thought>", "<thought></thought>", "[A", "[END]\n", "[code ", "**", "**a ", "*", "_", "\\verb|", "\\verb+a ", "{code:a", "#+begin_a ",
    "<<|..a", "use|.. ", "use|..;", "#|.. ", "python\n", "[THINK]", "[[", '{"a": ', "%", "@", "from a", "def ", "/*", "//", 'R"(', 'r#"', '@"', '"', '"""', "\\", '\\"', "'\\", "a\\", "Answer: ", "A:  ", "(", ". ",
)  # fmt: skip


def take_seconds(read, text):
    start = time.process_time()
    read(text)
    return time.process_time() - start


def takes_ten_times_as_long(read, short, long, least):
    """Whether ten times the text takes about ten times as long; thrice tried, as a busy machine makes single readings longer."""
    return any(take_seconds(read, long) < 20 * max(take_seconds(read, short), least) for _ in range(3))


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_takes_time_in_proportion_to_a_line(name):
    read = getattr(PATTERNS[name], READ_BY.get(name, "findall"))
    for head, _, unit in (text.rpartition("|..") for text in LINES_WITHOUT_END):
        short, long = (head + (unit * size)[:size] + " (" for size in (5_000, 50_000))
        assert takes_ten_times_as_long(read, short, long, 0.005), (head, unit)


@pytest.mark.parametrize(
    "unit", ["fixed: ", "the final answer is ", "\\begin{a}[x ", "\\begin{a}{x ", "<<a", "a", "Final:\n"]
)
def test_a_reply_of_a_megabyte_takes_time_in_proportion_to_its_length(unit):
    short, long = (f"{(unit * size)[:size]}\n{CODE} oops it is" for size in (100_000, 1_000_000))

    def read(text):
        extract(text, compiles, "add")

    assert any(take_seconds(read, short) < 1.2 for _ in range(3))  # else a megabyte would take minutes
    assert takes_ten_times_as_long(read, short, long, 0.05)


def test_block_that_defines_the_entry_point_wins_over_an_earlier_one():
    reply = f"Usage:\n```python\nadd(1, 2)\n```\nCode:\n```python\n{CODE}```\n"

    assert extract(reply, compiles, "add")[0] == CODE


def test_a_fence_in_a_text_of_the_program_does_not_end_it():
    code = "def add(a, b):\n    '''Example:\n```python\nadd(2, 1)\n```\n    '''\n    return a + b\n"

    assert extract(f"Sure.\n```python\n{code}```\nDone.", compiles, "add") == (code, "fence")


def test_what_a_block_lacks_is_taken_from_the_others():
    one = "import math\nimport os\nONE = 1\n\ndef half(x):\n    return math.floor(x / 2) + ONE\n"
    code = "def add(a, b):\n    return half(a) + b\n"
    reply = f"A helper:\n```python\n{one}```\nThen:\n```python\n{code}```\nUse:\n```python\nprint(add(1, 2))\n```\n"

    assert extract(reply, compiles, "add") == (one.replace("import os\n", "").replace("\n\n", "\n") + code, "fence")
    lines = "LIMIT: int = 2\ntry:\n    import math\nexcept ImportError:\n    math = None\nasync def nap():\n    return LIMIT\n"
    used = "def add(a, b):\n    return nap, math.floor(a + b)\n"
    assert extract(f"```python\n{lines}```\nThen:\n```python\n{used}```\n", compiles, "add") == (lines + used, "fence")
    assert extract("```python\nimport math\n```\nThen:\n```python\nprint(math.pi)\n```\n", compiles) == (
        "import math\nprint(math.pi)\n",
        "fence",
    )


@pytest.mark.parametrize(
    "reply",
    ["def add(a, b):", "def add(a, b:\n    return a", "x = = 1", "I cannot do that, sorry.", "```text\nx = 1\n```"],
)
def test_text_with_no_code_to_find_is_left_alone(reply):
    assert extract(reply, compiles, "add") == (reply, "none")


def test_where_no_block_defines_the_entry_point_the_first_one_is_the_answer():
    reply = "First:\n```python\nx = 1\n```\nThen:\n```python\ny = 2\n```\n"

    assert extract(reply, compiles, "add") == ("x = 1\n", "fence")


def test_other_languages_fence_is_not_python():
    assert extract("```java\nint x = 1;\n```\n", compiles)[1] == "none"


def test_hostile_nesting_is_not_code():
    assert extract("(" * 50_000, compiles)[1] == "none"
    assert extract("-" * 200_000 + "1", compiles)[1] == "none"


@pytest.mark.parametrize("sign", ["`", "~", "> "])
def test_a_reply_that_never_stops_to_open_a_fence_is_read_once(sign):
    """By a pattern that went back, a hundred thousand of them took twelve seconds, and a million half an hour."""
    text = sign * 300_000
    assert extract(text, compiles)[1] == "none"
    assert extract_answer(text, "", "") == (text, "as_is", "whole")


WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
QUOTES = "def add(a, b):\n    return '</think>'.join([a, b])\n"
LINES = 'def add(a, b):\n    """Split.\n</think>\n    """\n    return a + b\n'


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (f"<think>\n```python\n{WRONG}```\n</think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"<think>\n```python\n{WRONG}```\n</think>```python\n{RIGHT}```\n", RIGHT),
        (f"<think>\n```python\n{WRONG}```</think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"It begins in the prompt.\n```python\n{WRONG}``` </think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"It begins in the prompt.\n```python\n{WRONG}```\nSo:\n</think>\n\n```python\n{RIGHT}```\n", RIGHT),
        (f"<think>\n```python\n{WRONG}</think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"It forgot to close.\n```python\n{WRONG}\n</think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"<think>one</think>\n```python\n{WRONG}```\n<think>two</think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"<think>It says `</think>`, so\n```python\n{WRONG}```\n</think>\n```python\n{RIGHT}```\n", RIGHT),
        (f"<think>\n```python\n{WRONG}```\n</think>\n{RIGHT}", RIGHT),
        (f"First\n```python\n{WRONG}```\nso `add(a)`.</think>The `add` is\n```python\n{RIGHT}```\n", RIGHT),
        (f'```python\n{WRONG}```\nIt says "so."</think>Print "it":\n```python\n{RIGHT}```\n', RIGHT),
        (f"```python\n{QUOTES}```\n", QUOTES),
        (f"<think>no</think>\n```python\n{QUOTES}```\nThe tag `</think>` is put between.", QUOTES),
        (f"```python\n{LINES}```\n", LINES),
        (QUOTES, QUOTES),
    ],
)
def test_what_is_thought_aloud_is_never_the_answer(reply, code):
    assert extract(reply, compiles, "add")[0].strip() == code.strip()
    assert extract_answer(reply, "", "")[0].strip() == code.strip()


def test_a_program_that_compiles_is_taken_as_it_stands_whatever_tags_are_in_it():
    assert extract(LINES, compiles, "add")[0] == LINES


@pytest.mark.parametrize("reply", [f"<think>\n```python\n{RIGHT}```\n", f"Well.\n<think>\n```python\n{RIGHT}```\n"])
def test_a_thought_that_does_not_end_is_no_answer(reply):
    assert "def add" not in extract(reply, compiles, "add")[0]
    assert "def add" not in extract_answer(reply, "", "")[0]


def test_of_two_blocks_that_define_the_name_the_first_is_the_answer():
    assert extract(f"```python\n{RIGHT}```\nOr so:\n```python\n{WRONG}```\n", compiles, "add")[0] == RIGHT


@pytest.mark.parametrize(
    "sign", ["</think>", "<think>", "'", '"</think>', "```\n</think>", "<think>\n</think>", "<think>a</think>b", " "]
)
def test_a_reply_of_nothing_but_tags_is_read_once(sign):
    began = time.monotonic()
    without_thoughts(sign * 100_000 + "</think>")
    assert time.monotonic() - began < allowed(5)
