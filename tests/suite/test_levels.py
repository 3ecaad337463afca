"""What each level of the suite runs: quick, test, all."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from support import honest_kit, levels
from support.paths import TESTS

HERE = TESTS
CASES = [(f"file{n % 7}", n) for n in range(100)]


def strata(case):
    return case[0]


def test_a_part_touches_every_stratum_and_is_as_large_as_said():
    drawn = levels.draw(CASES, 6, "one", stratum=strata)

    assert Counter(map(strata, drawn)) == {"file0": 3, "file1": 3} | dict.fromkeys(
        [f"file{n}" for n in range(2, 7)], 3
    )  # of 15 or 14 one in six, rounded up
    assert drawn == sorted(drawn, key=CASES.index)


def test_the_same_sources_draw_the_same_and_others_another_part_until_all_was_drawn():
    assert levels.draw(CASES, 6, "one", stratum=strata) == levels.draw(CASES, 6, "one", stratum=strata)
    every = [set(levels.draw(CASES, 6, f"commit {n}", stratum=strata)) for n in range(40)]

    assert len(set(map(frozenset, every))) == 40
    assert set.union(*every) == set(CASES)


def test_a_stratum_of_one_case_is_always_drawn():
    assert levels.draw([("alone", 1)], 50, "any", stratum=strata) == [("alone", 1)]


@pytest.mark.parametrize(("level", "count"), [("all", 100), ("test", 15)])
def test_a_product_inside_a_test_is_whole_at_all_only(level, count):
    part = levels.Part(level, "one")

    assert len(part.of(CASES, 7)) == count
    assert 0 <= part.offset(3, "name") < 3
    assert part.is_whole == (level == "all")


def test_every_honest_program_has_a_file():
    assert {*honest_kit.files()} == {program.name for program in honest_kit.read_programs()}
    assert len(set(honest_kit.files().values())) == len(list(honest_kit.FOLDER.glob("*.py")))


def test_what_the_levels_name_is_there():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py")}

    assert levels.QUICK - texts.keys() == set()
    assert levels.LAWS.keys() - texts.keys() == set()
    named = levels.PARTS.keys() | levels.EXPENSIVE | {name.partition("[")[0] for name in levels.RARE}
    assert [name for name in named if sum(f"def {name}(" in text for text in texts.values()) != 1] == []


def test_laws_are_tried_with_fewer_examples_by_the_same_seed():
    @settings(max_examples=60, deadline=None)
    @given(integers())
    def many(_number):
        tried.append(1)

    @settings(max_examples=8, derandomize=True)
    @given(integers())
    def few(_number):
        tried.append(1)

    counts = []
    levels.with_fewer_examples([SimpleNamespace(obj=many), SimpleNamespace(obj=few), SimpleNamespace(obj=strata)])
    for law in (many, few):
        tried = []
        law()
        counts.append(len(tried))

    assert counts == [15, 8]
    assert many._hypothesis_internal_use_settings.deadline is None


def test_of_the_long_tests_one_in_ten_is_run_and_all_of_them_in_the_end():
    names = sorted(levels.RARE)
    items = [case(name, "test_any") for name in names]

    kept = [[item.name for item in levels.select(items, "test", f"commit {n}")[0]] for n in range(100)]

    assert {len(chosen) for chosen in kept} == {1}  # of ten
    assert {name for chosen in kept for name in chosen} == set(names)
    assert levels.select(items, "all", "any") == (items, [])


def test_of_each_law_some_metrics_are_drawn_however_expensive_it_is():
    expensive = "test_a_row_has_the_same_value_alone_and_among_others"
    assert expensive in levels.EXPENSIVE
    items = [
        case(f"test_{law}[{name}]", "test_metrics_laws", originalname=f"test_{law}", params={"name": name})
        for law in ("one", "two", expensive.removeprefix("test_"))
        for name in range(30)
    ]

    kept, left = levels.select(items, "test", "any")

    assert Counter(item.originalname for item in kept) == {"test_one": 4, "test_two": 4, expensive: 4}
    assert len(kept) + len(left) == len(items)


@dataclass(eq=False)
class Case:
    """What is read of a collected case."""

    name: str
    path: Path
    originalname: str
    callspec: SimpleNamespace

    @property
    def nodeid(self):
        return f"{self.path}::{self.name}"

    def get_closest_marker(self, _name):
        return None


def case(name, stem, *, originalname=None, params=None):
    return Case(name, HERE / f"{stem}.py", originalname or name.partition("[")[0], SimpleNamespace(params=params or {}))


def test_a_file_is_left_out_by_quick_alone():
    slow, quick = HERE / "test_browse.py", HERE / "test_text.py"

    assert levels.is_left_out(slow, "quick")
    assert not levels.is_left_out(quick, "quick")
    assert not levels.is_left_out(HERE / "command_kit.py", "quick")
    assert not levels.is_left_out(slow, "test")
