"""Output validators of problem packages: scripts that make and start them, and several that decide together."""

import pytest

from markbook.benchmarks.benchmark import load_benchmark
from markbook.benchmarks.packages import group_programs
from markbook.errors import DataError
from markbook.runs.exam.check import check_benchmark

PLAIN = {
    "problem.yaml": "name: Sum\nvalidation: custom\nlimits: {time_limit: 1}\n",
    "data/secret/a.in": "1 2\n",
    "data/secret/a.ans": "3\n",
    "submissions/accepted/a.py": "print(sum(map(int, input().split())))",
    "submissions/accepted/b.py": "print(3.0)",
    "submissions/wrong_answer/w.py": "print(-3)",
}
# `run` comes about only by `build`, which no mode says may be run, and starts a file that `build` made too
BUILD = """#!/usr/bin/env bash
set -e
mkdir -p made
sed s/STATUS/42/ parts/judge.txt > judge
printf '#!/bin/sh\\nexec "$(dirname "$0")/judge" "$@"\\n' > run
"""
JUDGE = """#!/usr/bin/python3
import sys
wanted, got = float(open(sys.argv[2]).read()), float(sys.stdin.read())
open(sys.argv[3] + "/judgemessage.txt", "w").write(f"wanted {wanted}, got {got}")
sys.exit(STATUS if abs(wanted) == abs(got) else 43)
"""
POSITIVE = "import sys\nsys.exit(43 if float(sys.stdin.read()) < 0 else 42)\n"


def package(tmp_path, files):
    for place, text in {**PLAIN, **files}.items():
        path = tmp_path / "sum" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "sum"


def checked(path):
    return {one.name: one.result for one in check_benchmark(path, isolation="weak", workers=1).submissions}


def test_a_validator_is_made_and_started_by_its_own_scripts(tmp_path):
    files = {"output_validators/own/build": BUILD, "output_validators/own/parts/judge.txt": JUDGE}

    found = checked(package(tmp_path, files))

    assert found == {"accepted/a.py": "AC", "accepted/b.py": "AC", "wrong_answer/w.py": "AC"}


def test_several_validators_have_to_accept_each_of_them(tmp_path):
    files = {
        "output_validators/own/build": BUILD,
        "output_validators/own/parts/judge.txt": JUDGE,
        "output_validators/positive/validate.py": POSITIVE,
    }

    found = check_benchmark(package(tmp_path, files), isolation="weak", workers=1)

    assert (found.holds, len(found.submissions)) == (True, 3)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        ("#!/bin/sh\necho some error here >&2\nexit 3\n", "cannot be built: some error here"),
        ("#!/bin/sh\nexit 3\n", "cannot be built: the compiler ended with 3"),
        ("#!/bin/sh\nrm -rf ../0\n", "could not be started"),
        ("#!/bin/sh\ncd ..; mv 0 1; ln -s / 0\n", "could not be started"),
    ],
)
def test_a_validator_that_cannot_be_made_is_the_judges_fault(tmp_path, build, said):
    path = package(tmp_path, {"output_validators/own/build": build, "output_validators/own/x": ""})

    found = check_benchmark(path, isolation="weak", workers=1).submissions

    assert {one.result for one in found} == {"JE"}
    assert all(said in one.detail for one in found), found


def test_several_validators_cannot_talk_to_one_program(tmp_path):
    files = {f"output_validators/{name}/v.py": POSITIVE for name in "ab"}
    files["problem.yaml"] = "validation: custom interactive\n"

    with pytest.raises(DataError, match="2 output validators cannot all talk to one program"):
        load_benchmark(package(tmp_path, files))


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["v/a.cc", "v/a.h"], [["a.cc", "a.h"]]),
        (["v/a.cc", "v/b.py", "v/a.h"], [["a.cc", "a.h"], ["a.h", "b.py"]]),
        (["v/x/a.cc", "v/x/i/a.h", "v/README.md"], [["a.cc", "i/a.h"]]),
        (["v/build", "v/src/a.cc"], [["build", "src/a.cc"]]),
        (["v/y/run", "v/x/a.py", "v/c.py"], [["c.py"], ["a.py"], ["run"]]),
        (["v/notes.txt"], [["notes.txt"]]),
    ],
)
def test_the_files_of_each_validator(names, found):
    assert [sorted(one) for one in group_programs(names)] == found
