"""The local engine."""

import operator

import pytest

from markbook.engine import Inline, local
from markbook.errors import ConfigError


def test_one_worker_is_this_process():
    assert isinstance(local(1), Inline)


def test_inline_hands_results_and_errors_on():
    with Inline() as executor:
        assert executor.submit(operator.add, 1, 2).result() == 3
        assert list(executor.map(abs, [-1, 2])) == [1, 2]
        assert isinstance(executor.submit(operator.truediv, 1, 0).exception(), ZeroDivisionError)


def test_two_workers_do_the_work():
    with local(2) as executor:
        assert list(executor.map(abs, [-1, -2, -3])) == [1, 2, 3]


def test_no_worker_is_an_error():
    with pytest.raises(ConfigError, match="0 workers"):
        local(0)
