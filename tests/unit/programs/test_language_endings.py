"""Tests that say by the program's exit status whether they passed, and tests of which nobody could see that they did."""

from __future__ import annotations

import pytest
from support.exam_kit import answer, hold, rows, scores
from test_languages import here, marked

from markbook.benchmarks.benchmark import find_fault
from markbook.languages import language
from markbook.types import Test

C = "int twice(int x) { return 2 * x; }\n"
PYTHON = "def twice(x):\n    return 2 * x\n"
RUST = "fn twice(x: i32) -> i32 { 2 * x }\n"
BASH = "twice() { echo $(( 2 * $1 )); }\n"
PERL = "sub twice { return 2 * $_[0]; }\n"
STATUS = [
    ("c", C, "int main(void) { return twice(2) == 4 ? 0 : 1; }\n"),
    ("c", C, "#include <stdlib.h>\nint main(void) { if (twice(2) != 4) exit(1); return EXIT_SUCCESS; }\n"),
    ("c", C, "#include <stdlib.h>\nint main(void) { exit(twice(2) == 4 ? EXIT_SUCCESS : EXIT_FAILURE); }\n"),
    ("c", C, "#include <stdlib.h>\nint main(void) { if (twice(2) != 4) return EXIT_FAILURE; exit(0); return 0; }\n"),
    ("c", C, "int main(void) {\n  int bad = 0;\n  bad += twice(2) != 4;\n  return bad;\n}\n"),
    ("c", C, "int main(void) { if (twice(2) != 4) return 1; }\n"),
    ("c", C, "int main(void) { if (twice(2) != 4) return 1; else return 0; }\n"),
    ("cpp", C, "int main() { return twice(2) != 4; }\n"),
    ("cpp", C, "#include <cstdlib>\nint main() { std::exit(!(twice(2) == 4)); }\n"),
    ("perl", PERL, "exit(twice(2) == 4 ? 0 : 1);\n"),
    ("perl", PERL, "exit(1) unless twice(2) == 4;\nexit(0);\n"),
    ("perl", PERL, "exit(1) unless twice(2) == 4;\nexit 0;\n"),
    ("perl", PERL, "my $bad = twice(2) != 4; exit($bad);\n"),
    ("perl", PERL, "exit twice(2) == 4 ? 0 : 1;\n"),
    ("bash", BASH, '[ "$(twice 2)" = 4 ] || exit 1\nexit 0\n'),
    ("bash", BASH, '[ "$(twice 2)" = 4 ]\nexit $?\n'),
    ("bash", BASH, 'fail=0\nif [ "$(twice 2)" != 4 ]; then fail=1; fi\nexit "$fail"\n'),
    ("python", PYTHON, "import sys\nsys.exit(0 if twice(2) == 4 else 1)\n"),
    ("python", PYTHON, "import sys\nif twice(2) != 4:\n    sys.exit('no')\nsys.exit()\n"),
    ("python", PYTHON, "assert twice(2) == 4\nraise SystemExit\n"),
    ("rust", RUST, "#[test]\nfn one() { assert_eq!(twice(2), 4); }\n#[test]\nfn two() { assert_eq!(twice(0), 0); }\n"),
]


@pytest.mark.parametrize(("name", "right", "tests"), STATUS)
def test_a_program_whose_tests_give_its_status_is_marked_by_it(name, right, tests):
    found = marked(name, tests, {"right": right, "wrong": right.replace("2 *", "3 *")})

    assert {key: (out.passed, out.error_type) for key, out in found.items() if key == "right"} == {"right": (1, "")}
    assert found["wrong"].passed == 0


FORGERS = {
    "another return": "#define return return 0 &&\n",
    "another if": "#define if(x) if (0 && (x))\n",
    "failure is success": "#include <stdlib.h>\n#undef EXIT_FAILURE\n#define EXIT_FAILURE 0\n",
}


@pytest.mark.parametrize(
    "tests",
    [
        "int main() { if (twice(2) != 4) return 1; return 0; }\n",
        "int main() { int n = 0; if (twice(2) != 4) n++; return n; }\n",
    ],
)
def test_no_macro_of_an_answer_stands_for_a_word_by_which_tests_fail(tests):
    forger = "int twice(int x) { return x; }\n#define if(...) if (false && (__VA_ARGS__))\n"

    found = marked("cpp", tests, {"forger": forger})

    assert found["forger"].passed == 0


@pytest.mark.parametrize("key", FORGERS)
def test_no_macro_of_an_answer_decides_the_status(key):
    tests = "#include <stdlib.h>\nint main(void) { return twice(2) == 4 ? EXIT_SUCCESS : EXIT_FAILURE; }\n"

    found = marked("c", tests, {"forger": f"int twice(int x) {{ return x; }}\n{FORGERS[key]}"})

    assert found["forger"].passed == 0


BROKEN = [
    ("rust", "fn main() -> Result<(), ()> { Err(()) }\n", "write `fn main()`"),
    ("rust", "mod tests { #[test] fn t() {} }\nfn main() {}\n", "which is not run: leave it out"),
    ("rust", "#[test] fn t() { } // done\n", "do not end in the closing brace"),
    ("c", "int main(void) { if (twice(2) == 4) return 0; return 1; }\n", "let it return where a test fails"),
    ("python", "import unittest\nunittest.main()\n", "it calls and asserts nothing"),
    ("python", "import os\nos._exit(twice(2) != 4)\n", "the program ends with os._exit("),
]


@pytest.mark.parametrize(("name", "tests", "words"), BROKEN)
def test_tests_that_nobody_can_be_seen_to_pass_are_told_by_their_text(name, tests, words):
    assert words in language(name).find_fault(tests)


def test_such_tests_are_the_benchmarks_fault_and_cost_nobody_a_mark(tmp_path):
    here("python")
    sound = {"task_id": "sound", "language": "python", "tests": "assert twice(2) == 4\n"}
    broken = {"task_id": "broken", "language": "python", "tests": "import unittest\nunittest.main()\n"}
    run = hold(tmp_path, [sound, broken], [answer("sound", PYTHON), answer("broken", PYTHON)])

    assert scores(run)["total"] == 100.0
    assert [fault["task_id"] for fault in scores(run)["benchmark_faults"]] == ["broken"]
    assert len(rows(run)) == 1


def test_a_program_in_python_that_ends_its_process_is_the_benchmarks_fault():
    program = "import os\nos._exit(0)\n"
    assert find_fault(Test(program=f"assert twice(2) == 4\n{program}")).startswith("the program ends with ")
    assert find_fault(Test(program=f"def stop():\n    {program.splitlines()[-1]}\nassert twice(2) == 4\n")) == ""
