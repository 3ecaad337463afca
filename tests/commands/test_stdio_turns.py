"""Programs that read and write in turns: other languages, checkers, interactors, passes, groups, packages' own promises."""

import json
import shutil

import pytest
from support.exam_kit import answer, hold, rows, scores, write_rows
from support.paths import ROOT
from support.review_kit import markbook
from test_languages import here

from markbook.results.kind import open_results
from markbook.runs.api import exam
from markbook.runs.exam.check import check_benchmark

pytestmark = pytest.mark.usefixtures("kept_workers")

SHARED = ROOT.parent / "shared" / "data" / "problem-packages"
SUM = {
    "task_id": "sum",
    "memory_limit_mb": 64,
    "tests": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "2 2\n", "stdout": "4\n"}],
    "time_limit": 1,
}
CPP = '#include <cstdio>\nint main() { int a, b; scanf("%%d%%d", &a, &b); %s printf("%%d\\n", a %s b); }\n'


def results(row):
    return [test["result"] for test in row["test_details"]]


def marked(tmp_path, problem, answers, **options):
    """Return what each answer's tests got, by the answer's own name."""
    given = [answer(problem["task_id"], text, name, **more) for name, text, more in answers]
    run = hold(tmp_path, [problem], given, **options)
    return {name: results(rows(run, name)[0]) for name, _, _ in answers}


def test_an_answer_names_its_own_language(tmp_path):
    here("cpp")
    cpp = {"language": "cpp"}
    found = marked(
        tmp_path,
        SUM,
        [
            ("right", CPP % ("", "+"), cpp),
            ("wrong", CPP % ("", "*"), cpp),
            ("slow", CPP % ("for (;;);", "+"), cpp),
            ("crashes", CPP % ("__builtin_trap();", "+"), cpp),
            ("memory", CPP % ("static char *volatile p; for (;;) p = new char[1 << 24]();", "+"), cpp),
            ("floods", CPP % ('for (;;) puts("1");', "+"), cpp),
            ("broken", "int main( {", cpp),
            ("python", "print(sum(map(int, input().split())))", {"language": "python3"}),
            ("fenced", "Here:\n```cpp\n" + CPP % ("", "+") + "```\n", {"language": "C++"}),
        ],
    )

    assert found == {
        "right": ["AC", "AC"], "wrong": ["WA", "-"], "slow": ["TLE", "-"], "crashes": ["RTE", "-"], "memory": ["MLE", "-"],
        "floods": ["OLE", "-"], "broken": ["CE", "CE"], "python": ["AC", "AC"], "fenced": ["AC", "AC"],
    }  # fmt: skip


def test_a_language_that_there_is_not_is_a_row_that_is_no_answer(tmp_path):
    given = [answer("sum", "1"), answer("sum", "x", "other", language="klingon")]
    run = hold(tmp_path, [SUM], given)

    assert run.manifest["skipped"]["answers_invalid"] == 1


def test_the_problem_may_name_the_language(tmp_path):
    here("java")
    java = (
        "import java.util.*;\npublic class Adder {\n  public static void main(String[] words) {\n"
        "    Scanner in = new Scanner(System.in);\n    System.out.println(in.nextInt() + in.nextInt());\n  }\n}\n"
    )
    found = marked(tmp_path, {**SUM, "language": "java"}, [("java", java, {})])

    assert found == {"java": ["AC", "AC"]}


SQUARES = {"task_id": "root", "tests": [{"stdin": "4\n", "stdout": "2\n"}, {"stdin": "9\n", "stdout": "3\n"}]}
TESTLIB = """import sys
given, printed, answer = (open(name).read() for name in sys.argv[1:4])
word = printed.strip()
if word.lstrip("-").isdigit() and int(word) ** 2 == int(given): sys.exit(0)
sys.stderr.write("wrong answer: not its root\\n")
sys.exit(1)
"""
ANSWERS = [
    ("plus", "print(int(int(input()) ** 0.5))", {}),
    ("minus", "print(-int(int(input()) ** 0.5))", {}),
    ("wrong", "print(5)", {}),
]


def test_several_right_answers_by_a_checker_of_testlibs_conventions(tmp_path):
    problem = {**SQUARES, "checker": {"language": "python", "source": TESTLIB}}
    found = marked(tmp_path, problem, ANSWERS, all_tests=True)

    assert found == {"plus": ["AC", "AC"], "minus": ["AC", "AC"], "wrong": ["WA", "WA"]}


def test_several_right_answers_by_a_function(tmp_path):
    source = "def check(given, printed, answer):\n    return int(printed) ** 2 == int(given), 'not its root'\n"
    found = marked(
        tmp_path, {**SQUARES, "checker": {"convention": "function", "source": source}}, ANSWERS, all_tests=True
    )

    assert found == {"plus": ["AC", "AC"], "minus": ["AC", "AC"], "wrong": ["WA", "WA"]}


def test_a_checker_may_give_a_share(tmp_path):
    source = "def check(given, printed, answer):\n    return float(printed)\n"
    tests = [{"stdin": "0.5", "stdout": "", "points": 30}, {"stdin": "1", "stdout": "", "points": 10}]
    problem = {"task_id": "part", "tests": tests, "checker": {"convention": "function", "source": source}}
    run = hold(tmp_path, [problem], [answer("part", "print(input())"), answer("part", "print(0)", "none")])

    assert (rows(run)[0]["score"], rows(run)[0]["all_tests_passed"]) == (62.5, False)  # (30 * 0.5 + 10 * 1) / 40
    assert rows(run, "none")[0]["score"] == 0.0
    listed = {entry.model: (entry.status, entry.score) for entry in open_results(run).entries()}
    assert listed == {"gpt": ("partial", 0.625), "none": ("failed", 0.0)}


@pytest.mark.parametrize("status", [3, 7, 9])
def test_a_judge_that_fails_is_charged_to_nobody(tmp_path, status):
    other = {"task_id": "one", "tests": [{"stdin": "", "stdout": "1\n"}]}
    failing = TESTLIB.replace("word = ", f"sys.exit({status})\nword = ")
    problem = {**SQUARES, "checker": {"language": "python", "source": failing}}
    run = hold(tmp_path, [problem, other], [answer("root", "print(2)"), answer("one", "print(1)")])

    assert results(rows(run)[0]) == ["JE", "-"]
    assert scores(run)["total"] == 100.0
    assert scores(run)["verdicts"]["results"] == {"-": 1, "AC": 1, "JE": 1}
    assert [rows(run)[0][name] for name in ("score", "score_zero", "score_partial")] == [None, None, None]
    results_read = open_results(run)
    assert [(entry.status, entry.score) for entry in results_read.entries()] == [("absent", None), ("passed", 1.0)]
    assert [cell.value for cell in results_read.sheet(None).marks["gpt"].values()] == [None, 1.0]
    assert [row["score"] for row in results_read.flat_rows()] == [None, 1.0]
    assert [case.state for case in results_read.cases()] == ["error", "passed"]
    assert [(attempt.sample.id, attempt.score) for attempt in results_read.attempts("gpt")] == [
        ("root", None),
        ("one", 1.0),
    ]


def test_a_judge_that_does_not_build_is_charged_to_nobody(tmp_path):
    here("cpp")
    broken = {**SQUARES, "checker": {"language": "cpp", "source": "int main( {"}}

    assert marked(tmp_path, broken, ANSWERS[:1]) == {"plus": ["JE", "JE"]}


def test_a_judge_that_does_not_end_is_charged_to_nobody(tmp_path):
    raising = {
        **SQUARES,
        "checker": {"convention": "function", "source": "def check(*texts):\n    raise ValueError(7)\n"},
    }

    assert marked(tmp_path, raising, ANSWERS[:1]) == {"plus": ["JE", "-"]}


GUESS = """import os, sys
secret = int(open(sys.argv[1]).read())
for count in range(12):
    line = sys.stdin.readline()
    if not line.strip().isdigit():
        open(os.path.join(sys.argv[3], "judgemessage.txt"), "w").write("no number: " + line[:20])
        sys.exit(43)
    guess = int(line)
    print("correct" if guess == secret else "lower" if guess > secret else "higher", flush=True)
    if guess == secret:
        sys.exit(43 if sys.stdin.read().strip() else 42)
sys.exit(43)
"""
SEARCH = """low, high = 1, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    said = input()
    if said == "correct": break
    if said == "lower": high = middle - 1
    else: low = middle + 1
"""
TALKING = {
    "task_id": "guess",
    "time_limit": 0.5,
    "tests": [{"stdin": "500", "stdout": ""}, {"stdin": "999", "stdout": ""}],
    "checker": {"language": "python", "source": GUESS, "convention": "icpc", "interactive": True},
}


def test_a_program_and_an_interactor_talk_and_who_broke_it_is_told_apart(tmp_path):
    found = marked(
        tmp_path,
        TALKING,
        [
            ("right", SEARCH, {}),
            ("too_slow", "while True: pass", {}),
            ("crashes", "1 / 0", {}),
            ("crashes_late", SEARCH + "1 / 0", {}),
            ("wrong", "print('x', flush=True)\nwhile True: pass", {}),
            ("gives_up", "print(1)", {}),
            ("answers_unasked", "for n in range(2000): print(500)\nprint('correct')", {}),
            ("floods", "import sys\nwhile True: sys.stdout.write('5' * 65536)", {}),
            ("closes_early", SEARCH + "import os\nos.close(1)\nwhile True: pass", {}),
        ],
    )

    assert found == {
        "right": ["AC", "AC"], "too_slow": ["TLE", "-"], "crashes": ["RTE", "-"], "crashes_late": ["RTE", "-"],
        "wrong": ["WA", "-"], "gives_up": ["WA", "-"], "answers_unasked": ["WA", "-"], "floods": ["OLE", "-"],
        "closes_early": ["TLE", "-"],
    }  # fmt: skip


def test_who_waits_for_an_interactor_that_waits_is_out_of_time(tmp_path):
    mute = {**TALKING, "time_limit": 0.1}

    assert marked(tmp_path, mute, [("mute", "input()", {})]) == {"mute": ["TLE", "-"]}


PASSES = """import os, sys
folder = sys.argv[3]
state = os.path.join(folder, "state")
text = sys.stdin.read().strip()
if not os.path.exists(state):
    open(state, "w").write(text)
    open(os.path.join(folder, "nextpass.in"), "w").write("decode " + text)
    sys.exit(42)
# What was given in this pass, as the format's authors have it: the word that the first pass printed.
sys.exit(42 if ["decode", text[::-1]] == open(sys.argv[1]).read().split() else 43)
"""


def test_a_problem_of_two_passes(tmp_path):
    checker = {"language": "python", "source": PASSES, "convention": "icpc", "passes": 2}
    problem = {"task_id": "code", "tests": [{"stdin": "encode abc", "stdout": ""}], "checker": checker}
    right = "way, text = input().split()\nprint(text[::-1])"
    found = marked(tmp_path, problem, [("right", right, {}), ("wrong", "print(input().split()[1] + 'x')", {})])

    assert found == {"right": ["AC"], "wrong": ["WA"]}
    one = {**problem, "checker": {**checker, "passes": 1}}
    assert marked(tmp_path / "one", one, [("right", right, {})]) == {"right": ["JE"]}


def test_an_interactor_sees_the_input_of_each_pass(tmp_path):
    source = (
        "import os, sys\n"
        "word = open(sys.argv[1]).read().strip()\n"
        "print(word, flush=True)\n"
        "if sys.stdin.readline().strip() != word:\n    sys.exit(43)\n"
        "if word == 'first':\n    open(os.path.join(sys.argv[3], 'nextpass.in'), 'w').write('second')\n"
        "sys.exit(42)\n"
    )
    checker = {"language": "python", "source": source, "convention": "icpc", "passes": 2, "interactive": True}
    problem = {"task_id": "echo", "tests": [{"stdin": "first", "stdout": ""}], "checker": checker}

    found = marked(tmp_path, problem, [("echo", "print(input())", {}), ("fixed", "print('first')", {})])

    assert found == {"echo": ["AC"], "fixed": ["WA"]}


def test_an_interactor_that_ends_its_words_is_heard_to_end_while_it_lives(tmp_path):
    source = (
        "import os, sys, time\n"
        "print(1, flush=True)\nos.close(1)\n"
        "said = sys.stdin.read()\n"  # as long as the program has not ended
        "sys.exit(42 if said.split() == ['end'] else 43)\n"
    )
    checker = {"language": "python", "source": source, "convention": "icpc", "interactive": True}
    problem = {"task_id": "eof", "time_limit": 2, "tests": [{"stdin": "", "stdout": ""}], "checker": checker}
    reads = "import sys\nsys.stdin.read()\nprint('end')"

    assert marked(tmp_path, problem, [("reads", reads, {})]) == {"reads": ["AC"]}


def test_a_program_holds_no_pipe_of_its_interactor_but_its_own_two(tmp_path):
    looks = (
        "import os, stat\n"
        "pipes = [n for n in range(3, 64) if os.path.exists(f'/proc/self/fd/{n}')"
        " and stat.S_ISFIFO(os.fstat(n).st_mode)]\n"
        "print(len(pipes), flush=True)\n"
    )
    source = "import sys\nsys.exit(42 if sys.stdin.readline().strip() == '0' else 43)\n"
    checker = {"language": "python", "source": source, "convention": "icpc", "interactive": True}
    problem = {"task_id": "pipes", "tests": [{"stdin": "", "stdout": ""}], "checker": checker}

    assert marked(tmp_path, problem, [("looks", looks, {})]) == {"looks": ["AC"]}


@pytest.mark.parametrize("seconds", [0.0001, pytest.param(0.01, marks=pytest.mark.slow)])
def test_a_flood_at_a_slow_interactor_is_the_floods_fault(tmp_path, seconds):
    source = (
        f"import sys, time\nprint('go', flush=True)\nfor line in sys.stdin:\n    time.sleep({seconds})\nsys.exit(43)\n"
    )
    checker = {"language": "python", "source": source, "convention": "icpc", "interactive": True}
    problem = {"task_id": "slow", "time_limit": 1, "tests": [{"stdin": "", "stdout": ""}], "checker": checker}
    flood = "import sys\nwhile True:\n    sys.stdout.write('1\\n' * 1000)\n    sys.stdout.flush()"

    run = hold(tmp_path, [problem], [answer("slow", flood, "gpt")])

    (row,) = rows(run, "gpt")
    assert results(row)[0] in ("TLE", "OLE")
    assert row["test_details"][0]["verdict"] == "separated"
    assert "lost" not in json.dumps(row)


def test_a_flood_is_explained_by_the_same_bytes_in_every_run(tmp_path):
    problem = {"task_id": "sum", "tests": [{"stdin": "1 2", "stdout": "3\n"}]}
    flood = [answer("sum", 'import sys\nwhile True:\n    sys.stdout.write("1\\n" * 5000)', "gpt")]
    found = [
        hold(tmp_path / str(n), [{**problem, "language": "python"}], flood).read("gpt/test_results.jsonl")
        for n in range(3)
    ]

    assert json.loads(found[0])["test_details"][0]["result"] == "OLE"
    assert found[0] == found[1] == found[2]


def test_the_same_bytes_for_any_number_of_workers(tmp_path):
    problems = [{**SQUARES, "task_id": f"p{n}", "checker": {"language": "python", "source": TESTLIB}} for n in range(3)]
    answers = [answer(f"p{n}", text, sample=k) for n in range(3) for k, (_, text, _) in enumerate(ANSWERS)]
    found = [hold(tmp_path / str(n), problems, answers, workers=n).read("gpt/test_results.jsonl") for n in (1, 2)]

    assert found[0] == found[1]


@pytest.mark.skipif(not SHARED.exists(), reason="the real packages are not here")
def test_every_authors_submission_gets_its_promised_verdict():
    found = check_benchmark(SHARED / "oddecho", isolation="weak")

    assert [one.detail for one in found.submissions if not one.holds] == []
    assert (found.holds, len(found.submissions), found.time_limit) == (True, 3 if shutil.which("g++") else 2, 1.0)


@pytest.mark.skipif(not SHARED.exists(), reason="the real packages are not here")
def test_an_exam_by_a_scored_package_gives_part_of_the_points(tmp_path):
    folder = SHARED / "oddecho" / "submissions"
    names = {"whole": "accepted/js.py", "part": "partially_accepted/sol.py"}
    given = [answer("oddecho", (folder / name).read_text(), model) for model, name in names.items()]
    run = exam(SHARED / "oddecho", write_rows(tmp_path / "a.jsonl", given), tmp_path / "out", isolation="weak")

    assert {model: rows(run, model)[0]["score"] for model in names} == {"whole": 100.0, "part": 50.0}


def test_check_benchmark_tells_a_package_that_breaks_its_promise(tmp_path):
    package = tmp_path / "sum"
    files = {
        "problem.yaml": "name: Sum\nlimits: {time_limit: 1}\n",
        "data/secret/a.in": "2 3\n",
        "data/secret/a.ans": "5\n",
        "submissions/accepted/a.py": "print(sum(map(int, input().split())))",
        "submissions/wrong_answer/w.py": "print(5)",
        "submissions/accepted/a.hs": "main = interact id",
    }
    for place, text in files.items():
        (package / place).parent.mkdir(parents=True, exist_ok=True)
        (package / place).write_text(text)
    code, out, err = markbook("exam", "--benchmark", package, "--check-benchmark", "--isolation", "weak", "--json")
    said = json.loads(out)

    assert code == 1, err
    assert [(one["name"], one["result"], one["holds"]) for one in said["submissions"]] == [
        ("accepted/a.py", "AC", True), ("wrong_answer/w.py", "AC", False)
    ]  # fmt: skip
    assert said["not_run"] == ["accepted/a.hs: in no language that is known here"]
