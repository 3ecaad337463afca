"""A task's own code: where what it prints goes, and what it draws."""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from support.load import PATIENCE

from markbook.config.tree import Function
from markbook.datasets.user_code import call_user_function, kept_generators, seed_generators

FUNCTION = Function("utils.f", "task.yaml:1:1")


def test_what_two_threads_print_at_once_is_sent_to_stderr_until_the_last_of_them_is_done(capfd):
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first():
        first_is_in.set()
        assert second_is_in.wait(PATIENCE)

    def second():
        second_is_in.set()
        assert first_is_out.wait(PATIENCE)
        print("printed by the second")
        os.write(1, b"written by the second\n")

    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(call_user_function, FUNCTION, first)]
        assert first_is_in.wait(PATIENCE)
        calls.append(pool.submit(call_user_function, FUNCTION, second))
        calls[0].result()
        first_is_out.set()
        calls[1].result()
    print("printed after both")
    os.write(1, b"written after both\n")

    output, messages = capfd.readouterr()
    assert sorted(output.splitlines()) == ["printed after both", "written after both"]
    assert sorted(messages.splitlines()) == ["printed by the second", "written by the second"]


def test_what_a_call_inside_a_call_prints_is_sent_to_stderr_and_so_is_what_comes_after_it(capfd):
    def outer():
        call_user_function(FUNCTION, print, "inner")
        print("outer")

    call_user_function(FUNCTION, outer)
    print("after")

    assert capfd.readouterr() == ("after\n", "inner\nouter\n")


def test_each_of_two_threads_draws_as_if_it_were_alone():
    first_is_in, first_has_drawn, second_has_drawn = (threading.Event() for _ in range(3))
    before = random.getstate()

    def first():
        with seed_generators():
            first_is_in.set()
            second_has_drawn.wait(0.2)  # it does not: it waits for its turn
            number = random.random()
            first_has_drawn.set()
            return number

    def second():
        with seed_generators():
            number = random.random()
            second_has_drawn.set()
            assert first_has_drawn.wait(PATIENCE)
            return number

    with ThreadPoolExecutor(2) as pool:
        draws = [pool.submit(first)]
        assert first_is_in.wait(PATIENCE)
        draws.append(pool.submit(second))

        assert [draw.result() for draw in draws] == [random.Random(0).random()] * 2
    assert random.getstate() == before


def test_the_random_state_of_the_caller_is_given_back_once_after_many_rows():
    np.random.seed(3)  # noqa: NPY002 - as tasks draw
    np.random.normal()  # which keeps a second number for the next call  # noqa: NPY002 - as tasks draw
    before, expected = random.getstate(), np.random.RandomState(3).normal(size=2)[1]

    with kept_generators:
        drawn = []
        for row in "aba":
            with seed_generators(row):
                drawn.append((random.random(), np.random.random()))  # noqa: NPY002 - as tasks draw
        assert drawn[0] == drawn[2] != drawn[1]
        assert random.getstate() != before

    assert random.getstate() == before
    assert np.random.normal() == expected  # noqa: NPY002 - as tasks draw
