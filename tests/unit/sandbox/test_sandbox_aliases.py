"""Which containers of a test are watched: those that somebody still holds, however many have crossed."""

from types import SimpleNamespace

import pytest

from markbook.sandbox.guest.exchange.peer import Crossed


def _cross(crossed: Crossed, *values: list[int]) -> None:
    crossed.add(SimpleNamespace(numbered=list(values)))


def test_what_nobody_holds_is_forgotten_at_the_next_call():
    crossed, held = Crossed(), [0]
    _cross(crossed, [1], held, [2])
    assert not crossed.has_changed()
    assert [value for value, _ in crossed.known.values()] == [[0]]


def test_what_is_within_a_watched_container_is_watched_as_long_as_that_is():
    crossed, inner = Crossed(), [1]
    outer = [inner]
    _cross(crossed, outer, inner)
    del inner
    crossed.has_changed()
    assert len(crossed.known) == 2
    del outer
    crossed.has_changed()
    crossed.has_changed()
    assert crossed.known == {}


def test_a_change_is_seen_after_any_number_of_containers():
    crossed, mine = Crossed(), [1, 2]
    for number in range(3000):  # 33,000 items in all, more than are kept in mind at a time
        _cross(crossed, [number] * 10)
        assert not crossed.has_changed()
    _cross(crossed, mine)
    assert not crossed.has_changed()
    mine.append(3)
    assert crossed.has_changed()
    assert not crossed.has_changed()  # said once


def test_a_last_change_is_seen_though_nobody_holds_what_was_changed():
    crossed, mine = Crossed(), [1, 2]
    _cross(crossed, mine)
    mine.append(3)
    del mine
    assert crossed.has_changed()
    assert crossed.known == {}


def test_no_more_is_kept_in_mind_than_there_is_room_for():
    crossed, held = Crossed(), [[number] * 999 for number in range(150)]
    _cross(crossed, *held)
    assert len(crossed.known) == 99  # fewer than 100,000 items in all, the container itself one of them


def test_each_of_very_many_has_its_turn():
    crossed, held = Crossed(), [[number] for number in range(5000)]
    _cross(crossed, *held)
    for _ in range(5):
        assert not crossed.has_changed()
    held[500].append(1)
    assert sum(crossed.has_changed() for _ in range(3)) == 1  # 3 x 4,000 items are all of them


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("holds", [True, False])
def test_a_change_over_there_counts_only_for_what_the_test_holds(count, holds):
    crossed, lists = Crossed(), [[number] for number in range(count)]
    _cross(crossed, *lists)
    if not holds:
        lists.clear()

    assert crossed.is_holding() == (holds and count > 0)
