"""Items of HumanEval-X whose own solution does not pass, and what shows that it is the item that is broken."""

import gzip
import json
import re

import pytest
from support.exam_kit import write_rows
from support.paths import ROOT

from markbook.benchmarks.benchmark import load_benchmark
from markbook.errors import DataError, EnvironmentUnfitError
from markbook.languages import find
from markbook.languages.toolchain import whole
from markbook.programs.marker import ProgramMarker
from markbook.programs.streams import build_phases
from markbook.runs.exam.check import check_benchmark
from markbook.sandbox import Job
from markbook.sandbox.program import Phase, ProgramRun, ProgramSandbox
from markbook.testcode.extraction import with_imports
from markbook.types import Limits

SHARED = ROOT.parent / "shared" / "data" / "humaneval-x"
LIMITS = Limits(seconds=5.0)
MENDED = {
    # its last statement is a comma expression, whose value is the second half alone
    "JavaScript/112": ("return (z, false)", "return [t, false]", "return (z, true)", "return [t, true]"),
    # 0 has no digit in its loop, and one in its tests
    "JavaScript/155": ("while (num > 0) {", "if (num == 0) { e++ }\n  while (num > 0) {"),
    # it wants a module of npm's
    "JavaScript/162": ("require('js-md5')", "(s) => require('crypto').createHash('md5').update(s).digest('hex')"),
}
SAID = {"JavaScript/162": b"Cannot find module 'js-md5'"}


def item(tmp_path, language, name):
    path = SHARED / f"humaneval_{language}.jsonl.gz"
    if not path.exists():
        pytest.skip("HumanEval-X is not here")
    try:
        tool = find({"js": "javascript"}.get(language, language))
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        row = next(row for row in map(json.loads, file) if row["task_id"] == name)
    return tool, write_rows(tmp_path / "one.jsonl", [row])


@pytest.mark.parametrize("name", MENDED)
def test_an_item_whose_own_solution_fails_its_own_assertions(tmp_path, name):
    tool, path = item(tmp_path, "js", name)
    (sample,) = load_benchmark(path).samples
    text = sample.prompt_code + sample.references[0].removeprefix(sample.prompt_code) + sample.tests[0].program
    run = ProgramRun(
        "", {"main.js": text.encode()}, (Phase((tool.places.commands["node"], "{build}/main.js"), LIMITS),)
    )
    with ProgramSandbox(tool.folders, workers=1, isolation="weak") as box:
        ((_, (plain,)),) = box.run([run])
    changes = MENDED[name]
    mended = sample.references[0]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in mended
        mended = mended.replace(old, new)
    marker = ProgramMarker(["javascript"], workers=1, isolation="weak")
    try:
        found = {job.key: out.passed for job, out in marker.run(
            [Job("own", sample.references[0], sample, LIMITS), Job("mended", mended, sample, LIMITS)]
        )}  # fmt: skip
    finally:
        marker.close()

    assert SAID.get(name, b"Assertion failed") in plain.stderr
    assert found == {"own": 0, "mended": 1}


def test_an_item_in_which_the_order_of_a_map_decides(tmp_path):
    tool, path = item(tmp_path, "go", "Go/95")
    (sample,) = load_benchmark(path).samples
    mended = sample.references[0].replace(
        'state = "mixed"\n            break\n        } else {\n            break\n        }',
        'state = "mixed"\n            break\n        }',
    )
    assert mended != sample.references[0]
    given = 'map[interface{}]interface{}{"p": "pineapple", "A": "banana", "B": "banana"}'
    assert f"assert.Equal(false, CheckDictCase({given}))" in sample.tests[0].program
    main = f"func main() {{\n for i := 0; i < 60; i++ {{\n fmt.Println(CheckDictCase({given}))\n }}\n}}\n"
    made = {
        name: whole(tool, f'package main\nimport "fmt"\n{text}\n{main}')
        for name, text in (("own", sample.references[0]), ("mended", mended))
    }
    runs = [
        ProgramRun(name, one.files, (*build_phases(one, tool), Phase(one.run, LIMITS)), programs=one.programs)
        for name, one in made.items()
    ]
    with ProgramSandbox(tool.folders, workers=1, isolation="weak") as box:
        found = {one.key: set(phases[-1].stdout.split()) for one, phases in box.run(runs)}

    assert found == {"own": {b"true", b"false"}, "mended": {b"false"}}


def test_an_item_whose_tests_stand_in_a_comment(tmp_path):
    _, path = item(tmp_path, "rust", "Rust/32")
    (sample,) = load_benchmark(path).samples

    assert re.sub(r"/\*.*?\*/", "", sample.tests[0].program, flags=re.DOTALL).strip() == ""
    with pytest.raises(DataError, match="in Rust/32: the tests do not end in the closing brace of what runs them"):
        check_benchmark(path, isolation="weak", workers=1)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("func f() { math.Sqrt(2); rand.Int(); time.Now() }\n", 'import "math"\nimport "math/rand"\n'),
        ('import "math"\nfunc f() { math.Sqrt(2) }\n', ""),
        ("func f(mathematics int) { aftermath.Go() }\n", ""),
    ],
)
def test_an_answer_in_go_has_the_imports_that_the_benchmarks_own_runner_adds(text, added):
    assert with_imports(text, 'import (\n "time"\n)\n', ("math", "math/rand", "time")) == added + text
