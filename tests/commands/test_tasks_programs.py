"""Tasks whose answers are programs in other languages: code translation that is marked by running."""

import pytest
from support.wild_kit import metrics, rows_of, said, write

import markbook
from markbook.errors import ConfigError, EnvironmentUnfitError
from markbook.languages import toolchain

TASK = """name: demo
data: {path: rows.jsonl}
prompt: "Translate to Bash: {{ source }}"
reference: "{{ target }}"
tests: check
extract: code
metrics:
  - exact_match
  - {name: pass_at_k, options: {k: [1], language: LANGUAGE}}
"""
TWICE, SQUARE = "twice() { echo $((2 * $1)); }\n", "square() { echo $(($1 * $1)); }\n"
ROWS = [
    {"source": "def twice(x): return 2 * x", "target": TWICE, "check": "set -e\n[[ $(twice 4) = 8 ]]\n"},
    {"source": "def square(x): return x * x", "target": SQUARE, "check": "set -e\n[[ $(square 3) = 9 ]]\n"},
]


def run(folder, language, replies):
    (folder / "demo.yaml").write_text(TASK.replace("LANGUAGE", language), encoding="utf-8")
    write(folder / "rows.jsonl", ROWS)
    answers = said(folder, replies)
    return markbook.run_task("demo.yaml", predictions=answers, output="out", isolation="weak", workers=1)


def test_a_translation_is_marked_by_running_it(folder):
    other = "twice() {\n  echo $(($1 + $1))\n}\n"
    done = run(folder, "sh", [f"Here it is:\n```bash\n{other}```\nIt adds.\n", "square() { echo 6; }\n"])

    found = metrics(done)

    assert (found["exact_match"], found["pass@1"]) == (0.0, 0.5)
    assert [row["text"] for row in rows_of(done)] == [other, "square() { echo 6; }\n"]


def test_a_language_that_there_is_not_is_an_error_at_its_place(folder):
    with pytest.raises(ConfigError, match="there is no language 'klingon'") as found:
        run(folder, "klingon", ["", ""])

    assert "demo.yaml:9:" in found.value.at


def test_a_toolchain_that_is_not_here_refuses_the_run_before_anything_is_written(folder, monkeypatch):
    monkeypatch.setattr(toolchain, "_usual", lambda _: None)
    toolchain.find.cache_clear()
    try:
        with pytest.raises(EnvironmentUnfitError, match="Lua programs cannot be run here"):
            run(folder, "lua", ["", ""])
    finally:
        toolchain.find.cache_clear()
    assert not (folder / "out").exists()


PYTHON = """name: demo
data: {path: rows.jsonl}
prompt: Write f.
tests: check
extract: code
metrics: [{name: pass_at_k, options: {k: 1LANGUAGE}}]
"""


@pytest.mark.parametrize("language", ["", ", language: Python3"])
def test_rows_whose_tests_say_nothing_or_are_broken_are_missing(folder, language):
    checks = [
        "assert f(1) == 1",
        "",
        "# none",
        [""],
        ["   "],
        "assert (",
        ["assert f(1) == 1", "assert ("],
        "assert f(1) == 2",
        "assert f(2) == 41",
    ]
    # as one program with its tests it would find their expectation in its own text
    reads = "import re\ndef f(x):\n    return int(re.findall(r'f\\(2\\) == (\\d+)', open(__file__).read())[-1])\n"
    (folder / "demo.yaml").write_text(PYTHON.replace("LANGUAGE", language), encoding="utf-8")
    write(folder / "rows.jsonl", [{"check": check} for check in checks])
    answers = said(folder, ["def f(x):\n    return x\n"] * (len(checks) - 1) + [reads])

    done = markbook.run_task("demo.yaml", predictions=answers, output="out", isolation="weak", workers=1)

    assert [row["metrics"]["pass@1"] for row in rows_of(done)] == [1.0, *[None] * 6, 0.0, 0.0]
    details = [row["missing"]["pass@1"]["detail"] for row in rows_of(done)[1:7]]
    assert details[:4] == ["the problem has no tests"] * 4
    assert all(detail.startswith("the tests are broken: SyntaxError") for detail in details[4:])
