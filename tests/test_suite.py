"""The suite itself: its verdict does not depend on luck."""

from hypothesis import settings


def test_examples_and_order_are_drawn_by_fixed_seeds(pytestconfig):
    searches = pytestconfig.getoption("--hypothesis-profile") == "search"

    assert settings().derandomize is not searches
    assert isinstance(getattr(pytestconfig.option, "randomly_seed", 0), int)
