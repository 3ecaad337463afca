"""Ruby programs whose tests are classes of test/unit, which runs them by itself when a program ends."""

import pytest
from test_languages import marked

from markbook.languages import language

RIGHT = "def twice(x)\n  2 * x\nend\n"
WRONG = "def twice(x)\n  x\nend\n"
TESTS = """require 'test/unit'
class TestTwice < Test::Unit::TestCase
  def test_twice
    assert_equal(4, method(:twice).call(2))
  end
end
"""
UNIT = "require 'test/unit'\n" + WRONG
FORGERS = {
    "runs nothing": UNIT + "class << Test::Unit::AutoRunner; def run(*given); true; end; end\n",
    "every assertion holds": UNIT + "module Test::Unit::Assertions; def assert_equal(*given); end; end\n",
    "every assertion of a test holds": UNIT + "module Test::Unit::Assertions; alias real assert_equal\n"
    "def assert_equal(*all); caller.any? { |line| line.include?('test_twice') } ? assert(true) : real(*all); end; end\n",
    "has no test": UNIT
    + "class Test::Unit::TestCase; def self.method_added(name); remove_method(name) if name == :test_twice; end; end\n"
    "class << Test::Unit::AutoRunner; def run(*given); super; true; end; end\n",
    "exits": WRONG + "exit 0\n",
    "exits hard at the end": WRONG + "at_exit { exit!(0) }\n",
    "exits in the answer": "def twice(x)\n  exit!(0)\nend\n",
}


def test_tests_of_test_unit_are_run_and_forgers_do_not_pass():
    if any(not library.places for library in language("ruby").libraries):
        pytest.skip("no test-unit here")

    found = marked("ruby", TESTS, {"right": RIGHT, "wrong": WRONG, **FORGERS})

    assert {name: one.passed for name, one in found.items()} == {"right": 1, "wrong": 0} | dict.fromkeys(FORGERS, 0)
    assert (found["wrong"].error, found["wrong"].tests[0].error_type) == (None, "AssertionError")
