"""Programs in other languages: a toolchain's self-test, exams, what is not there, a language from outside, forgers."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support import review_kit
from support.exam_kit import write_rows

from markbook import plugins
from markbook.benchmarks.benchmark import load_benchmark
from markbook.errors import EnvironmentUnfitError
from markbook.languages import Alone, Toolchain, find, language, names, toolchain
from markbook.languages.toolchain import whole
from markbook.programs.marker import ProgramMarker
from markbook.runs.pass_at_k import pass_at_k
from markbook.sandbox import Job
from markbook.testcode.extraction import extract_answer
from markbook.types import ErrorKind, Limits, Sample, Test, Verdict

LIMITS = Limits(seconds=5.0)
SLOW = {"scala": pytest.mark.slow, "racket": pytest.mark.slow}


def here(name: str) -> None:
    try:
        find(name)
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))


def marked(name: str, tests: str, answers: dict[str, str], **options):
    """Return the outcome of each answer, by its name."""
    here(name)
    sample = Sample("one", tests=(Test(program=tests),), language=name)
    marker = ProgramMarker([name], workers=1, isolation="weak", **options)
    try:
        return {
            job.key: found for job, found in marker.run(Job(key, text, sample, LIMITS) for key, text in answers.items())
        }
    finally:
        marker.close()


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in names()])
def test_a_toolchain_tells_right_from_wrong(name):
    right, wrong, tests = language(name).self_test

    found = marked(name, tests, {"right": right, "wrong": wrong, "broken": "(((\n", "empty": " \n"})

    assert (found["right"].passed, found["right"].error, found["right"].tests[0].verdict) == (1, None, "in_process"), (
        found
    )
    assert (found["wrong"].passed, found["wrong"].error) == (0, None), found["wrong"]
    assert found["wrong"].tests[0].error_type == "AssertionError"
    assert found["broken"].passed == 0
    assert found["empty"].error is ErrorKind.NO_COMPLETION


def test_a_compile_error_is_a_syntax_error_with_its_line():
    found = marked("cpp", language("cpp").self_test[2], {"a": "int twice(int x) {\n  return y;\n}\n"})["a"]

    assert (found.error, found.error_type) == (ErrorKind.SYNTAX, "CompileError")
    assert found.error_message.startswith("main.cpp:2:10: error: ")
    assert found.error_message.endswith(" was not declared in this scope")


def test_without_a_second_run_a_pass_is_unchecked():
    right, _, tests = language("bash").self_test

    assert marked("bash", tests, {"a": right}, proves=False)["a"].tests[0].verdict is Verdict.UNCHECKED


CPP = "int twice(int x) { return x; }\n"
_RUNS = "#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n#include <csignal>\n"
CPP_FORGERS = {
    "exits in an initialiser": CPP + "#include <cstdlib>\nstatic int a = (exit(0), 1);\n",
    "exits hard": CPP + "#include <unistd.h>\nstatic int a = (_exit(0), 1);\n",
    "exits in the answer": "#include <cstdlib>\nint twice(int x) { exit(0); }\n",
    "quick_exit": "#include <cstdlib>\nint twice(int x) { quick_exit(0); }\n",
    "exits at its end": _RUNS + CPP + "struct A { ~A() { _exit(0); } } a;\n",
    "exits on abort": _RUNS + CPP + "static void h(int) { _exit(0); }\nstatic auto a = signal(SIGABRT, h);\n",
    "exits on abort with words": _RUNS
    + CPP
    + 'static void h(int) { puts("OK"); fflush(0); _exit(0); }\nstatic auto a = signal(SIGABRT, h);\n',
    "another assert": CPP + "#define assert(x) ((void)0)\n",
    "another assert at any include": CPP + "#define NDEBUG\n",
    "another failure": '#include <cassert>\nextern "C" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept { for (;;) __builtin_longjmp((void**)0, 1); }\n'
    + CPP,
    "failure that returns": 'extern "C" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept(true) { throw 1; }\n'
    + CPP,
    "a thread exits": "#include <thread>\n#include <unistd.h>\n" + CPP + "static std::thread t([] { _exit(0); });\n",
    "a fork exits": _RUNS + CPP + "static int a = fork() ? (_exit(0), 1) : 1;\n",
    "reads its source": '#include <fstream>\n#include <iostream>\n#include <cstdlib>\nint twice(int x) { std::ifstream f("../build/main.cpp"); std::cout << f.rdbuf() << std::flush; exit(0); }\n',
    "prints all of itself": '#include <fstream>\n#include <iostream>\n#include <cstdlib>\nint twice(int x) { std::ifstream f("../build/main"); std::string s((std::istreambuf_iterator<char>(f)), {}); for (char& c : s) if (c == 0) c = 10; std::cout << s << std::flush; _Exit(0); }\n',
    "includes its source": CPP + '#define main(...) other()\n#include "main.cpp"\n#undef main\n',
    "steals a file": CPP + '#include "/etc/passwd"\n',
    "incbin": CPP + '__asm__(".incbin \\"/etc/passwd\\"");\n',
    "another main": CPP + "#define main other\n",
    "main of its own": CPP + "int main() { return 0; }\n#define main other\n",
    "macro bomb": "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(x))))))))\nint a[] = { B(B(1,)) };\n"
    + CPP,
    "template bomb": "template <int N> struct F { typedef typename F<N + 1>::T T; };\nF<0>::T x;\n" + CPP,
    "terminal": CPP + '#error "\x1b[2J\x1b]0;owned\x07"\n',
    "kills all": _RUNS + CPP + "static int a = (kill(-1, 9), kill(0, 0), 1);\n",
    "execs true": _RUNS + CPP + 'static int a = execl("/usr/bin/true", "true", (char*)0);\n',
}


def test_no_forger_in_cpp_passes_and_honest_answers_between_them_do(part):
    right, _, tests = language("cpp").self_test
    answers = {}
    for number, (name, text) in enumerate(part.of(CPP_FORGERS.items(), 4)):
        answers[name] = text
        if number % 6 == 0:
            answers[f"honest {number}"] = f"// {number}\n{right}"

    found = marked("cpp", tests, answers)

    assert {
        name: (one.passed, one.error_type) for name, one in found.items() if name in CPP_FORGERS and one.passed
    } == {}
    assert all(one.passed == 1 for name, one in found.items() if name not in CPP_FORGERS)
    assert "\x1b" not in "".join(one.error_message for one in found.values())
    assert "root:" not in "".join(one.error_message for one in found.values())


SCRIPT_FORGERS = {
    "bash": {
        "exit": "twice() { kill -9 $$; }\nexit 0\n",
        "trap": "trap 'exit 0' EXIT\ntwice() { echo 1; }\n",
        "own test": "test() { return 0; }; [() { return 0; }\ntwice() { echo 1; }\n",
        "prints itself": 'twice() { cat "$0" >&2; }\ncat "$0"\nexit 0\n',
        "set": "twice() { echo 1; }\nset() { :; }\n",
    },
    "javascript": {
        "exit": "process.exit(0);\nconst twice = x => 1;\n",
        "module": "require('node:assert').deepEqual = () => {};\nconst twice = x => 1;\n",
        "prototype": "Object.defineProperty(Object.prototype, 'code', {get: () => 'x'});\nconst twice = x => 1;\n",
        "uncaught": "process.on('uncaughtException', () => process.exit(0));\nconst twice = x => 1;\n",
        "prints itself": "console.log(require('fs').readFileSync(__filename, 'utf8').replace(/[^0-9a-f]+/g, '\\n')); process.exit(0);\nconst twice = x => 1;\n",
    },
    "python": {
        "exit": "import os; os._exit(0)\n",
        "atexit": "import atexit, os\natexit.register(lambda: os._exit(0))\ndef twice(x): return 1\n",
        "hook": "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\ndef twice(x): return 1\n",
        "prints itself": "import re, os\nprint('\\n'.join(re.findall('[0-9a-f]{32}', open(__file__).read())), flush=True)\nos._exit(0)\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPT_FORGERS)
def test_no_forger_in_a_script_passes(name):
    right, _, tests = language(name).self_test
    forgers = SCRIPT_FORGERS[name]

    found = marked(name, tests, {**forgers, "honest": right})

    assert {key: one.tests[0] for key, one in found.items() if one.passed} == {"honest": found["honest"].tests[0]}


ROWS = [
    {"task_id": "a", "language": "bash", "tests": "set -e\n[[ $(twice 2) = 4 ]]\n", "topic": "sums"},
    {"task_id": "b", "language": "cobolish", "tests": "x", "topic": "sums"},
]
ANSWERS = [{"task_id": "a", "completion": "twice() { echo $(( 2 * $1 )); }\n"}, {"task_id": "b", "completion": "x"}]


class Absent:
    """A language from outside, whose toolchain no machine has."""

    def __call__(self):
        from dataclasses import replace

        return replace(
            language("bash"),
            name="cobolish",
            title="Cobolish",
            commands=("no-cobolish",),
            package="cobolish",
            aliases=(),
        )


def test_a_language_says_itself_how_whole_programs_are_named_built_and_started():
    bash = find("bash")
    own = replace(
        bash.language,
        name="cobolish",
        suffixes=("cob", "cbl"),
        alone=Alone(
            source="begin.cob",
            build=("{bash}", "-c", "cat", "{sources}"),
            run=("{bash}", "{build}/begin.cob", "{count}"),
            words=lambda _text, names: {"count": str(len(names))},
            environment={"COBOL": "1"},
        ),
    )
    path = bash.places.commands["bash"]

    made = whole(Toolchain(own, bash.places, "1"), {"z.cbl": b"z", "main.cob": b"m", "data.txt": b"d"})

    assert dict(made.files) == {"begin.cob": b"m", "z.cbl": b"z", "data.txt": b"d"}
    assert made.build == (path, "-c", "cat", "begin.cob", "z.cbl")
    assert made.run == (path, "{build}/begin.cob", "3")
    assert made.environment["COBOL"] == "1"


DEFINITIONS = ("interpreted", "managed", "native")
"""The modules that define the languages."""


def test_what_is_special_to_a_language_stands_in_its_definition():
    """To add one or to change one is to edit one module."""
    source = Path(toolchain.__file__).parents[1]
    others = set(names()) - {"c", "d", "r", "python"}  # letters, and what the examiner answers for
    rooms = [
        *(path for path in (source / "languages").glob("*.py") if path.stem not in DEFINITIONS),
        source / "serve" / "items.py",
        *(source / "programs").glob("*.py"),
    ]

    named = [
        f"{path.name}:{node.lineno}: {node.value}"
        for path in rooms
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in others
    ]

    assert named == []


@pytest.mark.parametrize(
    ("alias", "name"), [("nodejs", "javascript"), ("go_test", "go"), ("Py", "python"), ("g++", "cpp")]
)
def test_other_names_that_data_use_for_a_language(alias, name):
    assert language(alias).name == name


def test_a_tool_outside_of_the_systems_folders_is_seen_with_the_tree_that_it_lies_in(tmp_path, monkeypatch):
    tool = tmp_path.resolve() / "tree" / "bin" / "own-tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))

    places = toolchain._usual(replace(language("bash"), commands=("own-tool", "sh")))

    assert places.commands["own-tool"] == str(tool)
    assert places.folders == (str(tmp_path.resolve() / "tree"),)


@pytest.fixture
def outside(monkeypatch):
    """Register a language as a package of one file would."""
    known = dict(plugins._entry_points("languages"))
    module = type(sys)("cobolish_package")
    module.cobolish = Absent()
    monkeypatch.setitem(sys.modules, "cobolish_package", module)
    monkeypatch.setattr(
        plugins,
        "_entry_points",
        lambda _kind, _old=plugins._entry_points: (
            {**known, "cobolish": "cobolish_package:cobolish"} if _kind == "languages" else _old(_kind)
        ),
    )
    toolchain.language.cache_clear()
    toolchain.find.cache_clear()
    yield
    toolchain.language.cache_clear()
    toolchain.find.cache_clear()


def test_an_exam_refuses_a_language_that_is_not_here_and_leaves_it_out_on_request(outside, tmp_path):
    here("bash")
    benchmark, answers = write_rows(tmp_path / "b.jsonl", ROWS), write_rows(tmp_path / "a.jsonl", ANSWERS)
    args = ("exam", "--benchmark", benchmark, "--solutions", answers, "--output", tmp_path / "out", "--workers", 1)

    code, _, refused = review_kit.markbook(*map(str, args))
    assert code == 4, refused
    assert "apt install cobolish" in refused
    assert not (tmp_path / "out").exists()

    code, said, noted = review_kit.markbook(*map(str, args), "--skip-unavailable", "--json")
    assert code == 0, noted
    assert "scored 1 of 2" in noted
    run = next((tmp_path / "out").glob("evaluation_*"))
    score = json.loads((run / "a" / "test_results_score.json").read_text())
    assert (score["total"], score["summary"]["total_problems"]) == (100.0, 1)
    assert "1 of 2" in json.dumps(json.loads((run / "run.json").read_text()))
    assert said
    for name in ("report.html", "a/evaluation_summary.md"):
        head = (run / name).read_text().partition("<h2" if name.endswith("html") else "## ")[0]
        assert "unavailable: 1 of 2 problems" in head, name
        assert "scored 1 of 2" in head, name


def test_an_exam_ends_a_completion_with_its_function_whatever_braces_its_texts_hold(tmp_path):
    here("bash")
    tests = (
        '}\n\ncandidate() {\n    twice "$@"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate 4) = "8" ]]\n}\n\nrun_test\n'
    )
    row = {
        "name": "a",
        "language": "sh",
        "prompt": "#!/bin/bash\n# twice\ntwice() {\n",
        "tests": tests,
        "stop_tokens": [],
    }
    completion = "    local open='{' # {\n    echo $((2 * $1))\n}\n\necho \"twice 4 is $(twice 4)\"\n"
    benchmark = write_rows(tmp_path / "b.jsonl", [row])
    answers = write_rows(tmp_path / "a.jsonl", [{"task_id": "a", "completion": completion}])

    code, _, messages = review_kit.markbook(
        "exam", "--benchmark", benchmark, "--solutions", answers, "--output", tmp_path / "out", "--workers", 1
    )

    assert code == 0, messages
    run = review_kit.only_run(tmp_path / "out")
    assert json.loads((run / "a" / "test_results_score.json").read_text())["total"] == 100.0


def test_an_answer_that_repeats_the_prompt_goes_as_far_as_its_definition():
    prompt = "#include <vector>\n// twice\nint twice(int x) {\n"
    reply = "Sure:\n```cpp\n#include <vector>\n#include <map>\nint twice(int x) {\n    return 2*x;\n}\nint main() { }\n```\nDone."

    whole = extract_answer(reply, prompt, "}\nint main() { }\n")
    body = extract_answer("    return 2*x;\n", prompt, "}\nint main() { }\n")

    assert whole == ("#include <vector>\n#include <map>\nint twice(int x) {\n    return 2*x;\n", "fence", "whole")
    assert body == (prompt + "    return 2*x;\n", "as_is", "completion")


def test_an_answer_keeps_the_prompt_that_it_left_out():
    prompt = "import java.util.*;\nclass Problem {\n    public static int twice(int x) {\n"
    reply = "```java\n    public static int twice(int x) {\n        return 2*x;\n    }\n```"

    text, _, _ = extract_answer(reply, prompt, "    }\n    public static void main(String[] a) { } }\n")

    assert text == "import java.util.*;\nclass Problem {\n    public static int twice(int x) {\n        return 2*x;\n"


def test_each_benchmark_is_told_by_its_content(tmp_path):
    rows = {
        "multipl-e": {"name": "a", "task_id": "a", "language": "cpp", "prompt": "int f() {\n", "tests": "}\nint main() { }\n", "stop_tokens": []},
        "humaneval-x": {"task_id": "CPP/0", "prompt": "int f() {\n", "declaration": "int f() {\n", "canonical_solution": "}\n", "test": "int main() { }\n", "example_test": ""},
        "programs": ROWS[0],
    }  # fmt: skip

    found = {name: load_benchmark(write_rows(tmp_path / f"{name}.jsonl", [row])) for name, row in rows.items()}

    assert {name: one.format for name, one in found.items()} == {name: name for name in rows}
    assert [one.samples[0].language for one in found.values()] == ["cpp", "cpp", "bash"]
    assert [one.samples[0].prompt_code for one in found.values()] == ["int f() {\n", "int f() {\n", ""]


@pytest.mark.parametrize(("at", "said"), [(0, "the right program of the self-test fails"), (1, "the wrong program")])
def test_where_the_self_test_goes_wrong_nothing_is_marked(at, said, monkeypatch):
    here("bash")
    tool = find("bash")
    spoilt = list(tool.language.self_test)
    spoilt[at] = spoilt[1 - at]
    broken = replace(tool, language=replace(tool.language, self_test=tuple(spoilt)))
    monkeypatch.setattr("markbook.programs.marker.find", lambda _name: broken)
    marker = ProgramMarker(["bash"], workers=1, isolation="weak")

    with pytest.raises(EnvironmentUnfitError, match=said):
        marker.start()


def test_the_level_of_isolation_is_known_before_the_first_answer(tmp_path):
    here("bash")
    benchmark, answers = write_rows(tmp_path / "b.jsonl", ROWS[:1]), write_rows(tmp_path / "a.jsonl", ANSWERS[:1])
    output = tmp_path / "out"

    _, _, said = review_kit.markbook(
        *map(str, ("exam", "--benchmark", benchmark, "--solutions", answers, "--output", output, "--isolation", "weak"))
    )

    (manifest,) = output.glob("*/run.json")
    assert f"isolation level {json.loads(manifest.read_text())['isolation']};" in said


def test_a_language_goes_by_its_other_names_too(tmp_path):
    here("bash")
    row = {**ROWS[0], "language": "sh"}
    benchmark, answers = write_rows(tmp_path / "b.jsonl", [row]), write_rows(tmp_path / "a.jsonl", ANSWERS[:1])

    code, _, said = review_kit.markbook(
        *map(str, ("exam", "--benchmark", benchmark, "--solutions", answers, "--output", tmp_path / "out"))
    )

    assert code == 0, said
    (score,) = (tmp_path / "out").glob("*/a/test_results_score.json")
    assert json.loads(score.read_text())["total"] == 100.0


def test_equal_answers_run_once(monkeypatch):
    here("bash")
    right, wrong, tests = language("bash").self_test
    sample = Sample("one", tests=(Test(program=tests),), language="bash")
    marker = ProgramMarker(["bash"], workers=1, isolation="weak", dedupe=True)
    answers = [right, wrong, right, right, wrong]
    try:
        found = {
            job.key: out.passed
            for job, out in marker.run(Job(str(n), a, sample, LIMITS) for n, a in enumerate(answers))
        }
    finally:
        marker.close()

    assert found == {"0": 1, "1": 0, "2": 1, "3": 1, "4": 0}
    assert marker.duplicates == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#include <vector>\n#include<map> // of it\nint x;\n#include <set>\n", {"vector", "map"}),
        ("/* one\ntwo */\n// three\n#  include <math.h>\nusing namespace std;\n#include <set>\n", {"math.h"}),
        ("#define vector list\n#include <vector>\n", set()),
        ("// goes on \\\n#include <vector>\n", set()),
        ('#include "main.cpp"\n#include <vector>\n', set()),
        ("#include <vector> int x;\n", set()),
        ("#include </etc/passwd>\n#include <vector>\n", set()),
    ],
)
def test_only_headers_before_everything_else_are_shared(text, names):
    found, places = toolchain.begins_with(text, language("cpp").headers.names)

    assert found == names
    assert len(places) == len(names)


def test_a_program_compiled_with_shared_headers_lacks_what_it_does_not_include():
    tool = find_or_skip("cpp")
    shelf = toolchain.Prebuilt()
    shelf.start()
    try:
        text = "#include <cstddef>\nint x;\n"
        for _ in range(2):
            assert shelf.with_headers(tool, text) == (text, "")
        (process,) = shelf._under.values()
        assert process.wait() == 0
        program, word = shelf.with_headers(tool, text)
        other = shelf.with_headers(tool, "#include <map>\nint x;\n")
    finally:
        shelf.close()

    assert program == "\nint x;\n"
    assert word.startswith("-include")
    assert other == ("#include <map>\nint x;\n", "")
    assert not shelf.folder.exists()


def find_or_skip(name):
    here(name)
    return find(name)


def test_pass_at_k_marks_programs_in_a_language():
    here("bash")
    right, wrong, tests = language("bash").self_test

    (found,) = pass_at_k(language="bash", isolation="weak", workers=1).measure_rows([[right, wrong]], [tests])

    assert found.value == 0.5
    assert "|lang:bash|" in found.signature


def test_php_has_the_extensions_that_are_installed():
    answer = "<?php\nfunction low($x) { return ctype_lower($x) && iconv('utf-8', 'latin1', $x) === $x; }\n"

    found = marked("php", "if (low('a') !== true) { throw new Exception('Test failed!'); }\n", {"right": answer})

    assert (found["right"].passed, found["right"].error_message) == (1, "")
