"""What each level of the suite runs: quick, test, all."""

from collections import Counter
from pathlib import Path

import honest_kit
import pytest
from support import levels

HERE = Path(__file__).parent
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
    texts = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")}

    assert levels.QUICK - texts.keys() == set()
    assert [name for name in levels.PARTS if sum(f"def {name}(" in text for text in texts.values()) != 1] == []


def test_a_file_is_left_out_by_quick_alone():
    slow, quick = HERE / "test_browse.py", HERE / "test_text.py"

    assert levels.is_left_out(slow, "quick")
    assert not levels.is_left_out(quick, "quick")
    assert not levels.is_left_out(HERE / "command_kit.py", "quick")
    assert not levels.is_left_out(slow, "test")
