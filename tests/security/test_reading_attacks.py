"""Answers that attack the rules which are younger than the first attacks: replies that are whole programs, Python by its name, partial
credit, loose limits of the kernel, several passes, criteria of judges. None scores what it did not earn."""

from __future__ import annotations

import asyncio

import pytest
from test_languages import LIMITS, here
from test_rewards import marked as rewarded
from test_stdio_turns import marked as marked_in_turns

import markbook
from markbook.errors import UsageError
from markbook.programs.marker import ProgramMarker
from markbook.rewards import Rewarder
from markbook.sandbox import Job
from markbook.testcode.extraction import extract_answer
from markbook.types import Sample, Test

CPP = "int twice(int x) {\n"
CPP_TESTS = "}\n#include <cassert>\nint main() { assert(twice(2) == 4); assert(twice(5) == 10); return 0; }\n"
JS = "function twice(x){\n"
JS_TESTS = "const assert = require('node:assert');\nfunction test() {\n  assert.deepEqual(twice(2), 4);\n}\ntest();\n"
BASH = "#!/bin/bash\ntwice() {\n"
BASH_TESTS = "}\nset -e\n[[ $(twice 2) = 4 ]]\n[[ $(twice 5) = 10 ]]\n"
PERL = "sub twice {\n    my($x) = @_;\n"
PERL_TESTS = (
    "use Test::Deep;\nsub t { if (eq_deeply(twice(2), 4)) { print 'ok!' } else { print STDERR 'no'; exit 1 } }\nt();\n"
)
REPLIES = {
    "cpp": (CPP, CPP_TESTS, {
        "a comment that stays open": "int twice(int y) {\n  return y;\n}\nint main() { return 0; }\n/*",
        "a condition that stays open": "int twice(int y) {\n  return y;\n}\nint main() { return 0; }\n#if 0",
        "a main before the definition": "#include <cstdlib>\nint main() { return 0; }\n#define main other\nint twice(int y) {\n  return y;\n}",
        "a raw text that stays open": 'int twice(int y) {\n  return y;\n}\nint main() { return 0; }\nconst char *t = R"(',
        "another assert": "#undef assert\n#define NDEBUG 1\nint twice(int y) {\n  return y;\n}",
        "an exit in an object before main": "#include <unistd.h>\nstruct A { A() { _exit(0); } } a;\nint twice(int y) {\n  return y;\n}",
        "the definition twice": "int twice(int y) {\n  return y;\n}\nint twice(long y) {\n  return 2 * y;\n}",
    }),
    "javascript": (JS, JS_TESTS, {
        "a comment that stays open": "function twice(y){\n  return y;\n}\n/*",
        "a template that stays open": "function twice(y){\n  return y;\n}\nconst t = `",
        "an exit behind the definition": "function twice(y){\n  return y;\n}\nprocess.exit(0);",
        "another definition of the tests' function": "function test() {}\nfunction twice(y){\n  return y;\n}",
    }),
    "bash": (BASH, BASH_TESTS, {
        "a document that stays open": "twice() {\n  echo $1\n}\n: <<'END'",
        "an exit behind the definition": "twice() {\n  echo $1\n}\nexit 0",
        "a trap": "trap 'exit 0' ERR EXIT\ntwice() {\n  echo $1\n}",
    }),
    "perl": (PERL, PERL_TESTS, {
        "the end of the program": "sub twice {\n    my($x) = @_;\n    return $x;\n}\n__END__",
        "documentation that stays open": "sub twice {\n    my($x) = @_;\n    return $x;\n}\n\n=pod\n",
    }),
}  # fmt: skip


@pytest.mark.parametrize("language", REPLIES)
def test_no_reply_that_is_a_whole_program_takes_the_tests_with_it(language):
    here(language)
    prompt, tests, replies = REPLIES[language]
    sample = Sample("one", tests=(Test(program=tests),), language=language, prompt_code=prompt)
    marker = ProgramMarker([language], workers=1, isolation="weak")
    try:
        jobs = [
            Job(f"{name}, {form}", extract_answer(reply, prompt, tests)[0], sample, LIMITS)
            for name, text in replies.items()
            for form, reply in (("plain", text), ("fenced", f"Here:\n```{language}\n{text}\n```\n"))
        ]
        passed = {job.key for job, outcome in marker.run(jobs) if outcome.passed}
    finally:
        marker.close()

    assert len(jobs) == 2 * len(replies)
    assert passed == set()


PYTHON = {
    "reads its own text": "import re\ndef f(x):\n    return int(re.findall(r'== (\\d+)', open(__file__).read())[-1])\n",
    "leaves a text open": "def f(x):\n    return x\n'''",
    "ends the program": "def f(x):\n    return x\nimport os\nos._exit(0)\n",
    "reads its callers": "import sys\ndef f(x):\n    return sys._getframe(1).f_locals.get('expected', x)\n",
}


@pytest.mark.parametrize("name", ["python", "py", "Python3"])
def test_python_by_any_name_is_apart_from_its_tests(name):
    items = [{"code": code, "language": name, "tests": ["f(2) == 41", "f(3) == 43"]} for code in PYTHON.values()]

    assert [one.reward for one in rewarded(items, timeout=5)] == [0.0] * len(PYTHON)
    measured = markbook.measure(
        "pass_at_k", [[code] for code in PYTHON.values()], ["assert f(2) == 41"] * 4, language=name
    )
    assert [one.value for one in measured] == [0.0] * len(PYTHON)


STREAMS = [{"stdin": f"{n}\n", "stdout": f"{n * n + 7}\n"} for n in (3, 4, 5, 6)]
PARTIAL = {
    "prints what another test expects": "import os\nn = int(input())\nfor place in ('/tmp/seen', '../seen', 'seen'):\n    try:\n"
    "        print(open(place).read() if os.path.exists(place) else 0)\n        open(place, 'w').write(str(n * n + 7))\n    except OSError: pass",
    "hunts for expectations": "import glob\nfor n in glob.glob('/proc/*/fd/*') + glob.glob('../*/*') + glob.glob('/tmp/*'):\n"
    "    try: print(open(n).read(999))\n    except OSError: pass",
    "prints every number": "print(*range(100))",
    "leaves a child that answers later": "import os, time\nif os.fork() == 0:\n    time.sleep(.5)\n    print(16)",
}


def test_partial_credit_is_for_tests_that_were_passed():
    honest = "n = int(input())\nprint(n * n + 7 if n < 5 else 0)"
    items = [{"code": code, "tests": STREAMS} for code in (*PARTIAL.values(), honest)]

    rewards = rewarded(items, error_policy="partial", timeout=3)

    assert [one.reward for one in rewards] == [0.0] * len(PARTIAL) + [0.5]


@pytest.mark.parametrize("points", [-1, float("nan"), float("inf"), True, "1", 1e30])
def test_no_item_is_worth_what_is_not_a_number_of_points(points):
    tests = [{**test, "points": points} for test in STREAMS]

    async def main():
        async with Rewarder(workers=1, isolation="weak", error_policy="partial") as rewarder:
            return await rewarder.mark([{"code": "print(1)", "tests": tests}])

    with pytest.raises(UsageError, match="'points' is"):
        asyncio.run(main())


SPENDS = {
    "past its limit": "import time\nwhile time.process_time() < 1.6: pass\nprint(16)",
    "in children that together pass it": "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n"
    "        while time.process_time() < .7: pass\n        os._exit(0)\nfor _ in range(4): os.wait()\nprint(16)",
    "with the kernel's signal ignored": "import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
    "while time.process_time() < 3: pass\nprint(16)",
    "in an orphan": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    while time.process_time() < 1.6: pass\n    print(16)\n",
}


@pytest.mark.parametrize("name", SPENDS)
def test_the_kernels_loose_limit_gives_nobody_more_time(tmp_path, name):
    problem = {"task_id": "slow", "time_limit": 1.0, "language": "bash", "tests": [STREAMS[0]]}
    script = f"exec python3 - <<'END'\n{SPENDS[name]}\nEND\n"
    here("bash")

    assert marked_in_turns(tmp_path, problem, [("spends", script, {})])["spends"] in (["TLE"], ["WA"], ["RTE"])


def test_no_pass_sees_what_an_earlier_one_was_given_beside_its_input(tmp_path):
    source = (
        "import os, sys\nfolder = sys.argv[3]\nstate = os.path.join(folder, 'state')\n"
        "text = sys.stdin.read().strip()\n"
        "if not os.path.exists(state):\n"
        "    open(state, 'w').write(text)\n"
        "    open(os.path.join(folder, 'nextpass.in'), 'w').write('second')\n    sys.exit(42)\n"
        "sys.exit(42 if text == 'secret' else 43)\n"
    )
    checker = {"language": "python", "source": source, "convention": "icpc", "passes": 2}
    problem = {"task_id": "two", "tests": [{"stdin": "secret", "stdout": ""}], "checker": checker}
    keeps = (
        "import glob, os\ntext = input()\n"
        "for place in ('/tmp/kept', '/scratch/kept', '../kept', '../build/kept', '/dev/shm/kept'):\n"
        "    try:\n        if text == 'second' and os.path.exists(place): text = open(place).read()\n"
        "        else: open(place, 'w').write(text)\n    except OSError: pass\nprint(text)"
    )

    assert marked_in_turns(tmp_path, problem, [("keeps", keeps, {})]) == {"keeps": ["WA"]}
