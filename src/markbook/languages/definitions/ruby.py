"""Ruby."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language, Library

_CLAIM = """class MarkbookClaim < Test::Unit::TestCase
    def test_markbook_claim; assert_equal(1, 2); end
  end
  raise 'claim' unless Test::Unit::AutoRunner.run(false, nil, %w[-n test_markbook_claim])"""


def ruby() -> Language:
    """Return the language. The classes of `test/unit` are run by the end of the tests, not behind it."""
    return Language(
        name="ruby",
        title="Ruby",
        aliases=("rb",),
        source="main.rb",
        commands=("ruby",),
        package="ruby",
        run=("{ruby}", "{build}/main.rb"),
        folders=("/var/lib/gems", "/usr/share/rubygems-integration"),
        ending=Ending(
            text=(
                "if defined?(Test::Unit::AutoRunner)\n"
                "  Test::Unit::AutoRunner.need_auto_run = false\n"
                "  exit 1 unless Test::Unit::AutoRunner.run\nend\n"
                "markbook_said, markbook_held = $stdin.read(32), '{nonce}'\n"
                "begin\n  {claim}\nrescue Exception\n  markbook_held = '{token}'\nend\n"
                'puts "\\n#{markbook_held}#{markbook_said}"'
            ),
            claim="raise 'claim'",
            claims=(("Test::Unit::TestCase", _CLAIM),),
            catches=True,
        ),
        failures=Failures(
            tests=r"^Failure:|AssertionFailedError", names=r"NameError|NoMethodError", syntax=r"syntax error"
        ),
        libraries=(Library("test/unit", "/usr/share/rubygems-integration/*/gems/test-unit-*", "ruby-test-unit"),),
        self_test=(
            "def twice(x)\n  2 * x\nend\n",
            "def twice(x)\n  x\nend\n",
            "raise 'AssertionFailedError' unless twice(2) == 4\n",
        ),
    )
