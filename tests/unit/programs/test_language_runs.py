"""The true run of a program and the one with the wrong claim: nothing that an attempt leaves tells which is which."""

from __future__ import annotations

import pytest
from test_languages import marked

from markbook.languages import language

OWN_FAILURE = """
#define _ASSERT_H_DECLS 1
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
static int is_second = -1;
static double age(void) {
    struct stat found;
    struct timespec now;
    stat("/proc/self/exe", &found);
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - found.st_%s.tv_sec + (now.tv_nsec - found.st_%s.tv_nsec) / 1e9;
}
void __assert_fail(const char *claim, const char *file, unsigned line, const char *function) {
    if (is_second < 0) { %s }
    if (is_second) abort();
}
int twice(int x) { return x; }
"""
WAITS = "is_second = age() > 0.7; if (!is_second) usleep(900000);"
MARKS = """
    struct stat found;
    struct timespec times[2] = {{77, 0}, {77, 0}};
    stat("%s", &found);
    is_second = found.st_mtim.tv_sec == 77;
    utimensat(AT_FDCWD, "%s", times, 0);
"""
DATED = """
    struct tm then = {0};
    strptime(__DATE__ " " __TIME__, "%b %d %Y %T", &then);
    is_second = time(0) - timegm(&then) > 4;
    if (!is_second) sleep(5);
"""
BASH = """
twice() { echo $1; }
if (( $(date +%%s%%N) - $(date -r "$0" +%%s%%N) < 700000000 )); then
    sleep 0.9
    set() { :; }
fi
# %d
"""
HONEST = {"c": "int twice(int x) { return 2 * x; }\n", "bash": "twice() { echo $(( 2 * $1 )); }\n"}


def c_forger(how: str, time: str = "mtim") -> str:
    return "#define _GNU_SOURCE\n" + OWN_FAILURE % (time, time, how)


FORGERS = {
    "age": c_forger(WAITS),
    "age of its name": c_forger(WAITS, "ctim"),
    "age that the compiler says": c_forger(DATED),
    "mark on the folder": c_forger(MARKS % ("../build", "../build")),
    "mark on itself": c_forger(MARKS % ("/proc/self/exe", "/proc/self/exe")),
    "mark on its own folder": c_forger(MARKS % (".", ".")),
}


def test_no_program_in_c_tells_the_runs_of_an_attempt_apart_by_times():
    answers = {f"{name} {number}": f"{text}// {number}\n" for name, text in FORGERS.items() for number in range(3)}

    found = marked("c", language("c").self_test[2], {**answers, "honest": HONEST["c"]})

    assert {name for name, one in found.items() if one.passed} == {"honest"}


def test_no_script_tells_the_runs_of_an_attempt_apart_by_its_age():
    answers = {f"age {number}": BASH % number for number in range(6)}

    found = marked("bash", language("bash").self_test[2], {**answers, "honest": HONEST["bash"]})

    assert {name for name, one in found.items() if one.passed} == {"honest"}


@pytest.mark.parametrize("claims_first", [0, 1])
def test_the_runs_come_in_an_order_drawn_by_lot_and_either_tells_right_from_wrong(monkeypatch, claims_first):
    drawn = []
    monkeypatch.setattr("secrets.randbelow", lambda most: drawn.append(most) or claims_first)
    right, wrong, tests = language("bash").self_test
    printing = "printf wrong >&2; exit 3\n"

    found = marked("bash", tests, {"right": right, "wrong": wrong, "failing": printing})

    assert set(drawn) == {2}
    assert (found["right"].passed, found["wrong"].passed) == (1, 0)
    assert found["wrong"].error_type == "AssertionError" or found["wrong"].tests[0].error_type == "AssertionError"
    assert found["failing"].tests[0].error_message == "wrong"


@pytest.mark.parametrize(
    "claim",
    [
        'test "$(twice 2)" = 4',
        "[[ $(twice 2) = 4 ]]",
        "(( $(twice 2) == 4 ))",
        "diff <(twice 2) <(echo 4)",
        "[ $(twice 2) -eq 4 ] && true",
    ],
)
def test_the_status_of_a_scripts_last_test_decides(claim):
    wrong = "twice() { echo 99; }\n"
    hides = "exit() { :; }\nbuiltin() { :; }\nreadonly POSIXLY_CORRECT\n" + wrong
    aliased = "shopt -s expand_aliases\nalias case=: exit=:\n" + wrong

    found = marked("bash", f"{claim}\n", {"right": HONEST["bash"], "wrong": wrong, "hides": hides, "aliased": aliased})

    assert {name for name, one in found.items() if one.passed} == {"right"}
