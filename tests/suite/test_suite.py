"""The suite itself: its verdict does not depend on luck."""

import re
from pathlib import Path

from hypothesis import HealthCheck, settings
from support.paths import TESTS

AT_MOST = re.compile(
    r"^ *assert .*(?:monotonic\(\)|perf_counter\(\)|\btime\(\)|wall_seconds|elapsed)[^<]*<=? *(?!allowed\()\S"
)
"""An assertion that something took at most so long by the clock."""


def test_examples_and_order_are_drawn_by_fixed_seeds(pytestconfig):
    searches = pytestconfig.getoption("--hypothesis-profile") == "search"

    assert settings().derandomize is not searches
    assert isinstance(getattr(pytestconfig.option, "randomly_seed", 0), int)


def test_no_example_has_a_time_limit():
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_no_assertion_says_how_long_something_may_take_on_a_machine_that_does_other_work_too():
    assert AT_MOST.match("    assert time.monotonic() - begun < 5")
    assert AT_MOST.match("assert run.wall_seconds <= 2.5")
    assert not AT_MOST.match("    assert time.monotonic() - begun < allowed(5)")
    assert not AT_MOST.match("    assert time.monotonic() - begun >= 0.3")

    assert [
        f"{path.name}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.name != Path(__file__).name and "attacks" not in path.parts and "honest" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if AT_MOST.match(line)
    ] == []
