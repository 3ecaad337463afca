"""Templates of task files: what they may make, and that what they cannot make is a sentence at the row."""

import pytest

from markbook.datasets.prompts import RenderError, compile_template, render
from markbook.errors import ConfigError


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ q|regex_replace('(', '') }}", "the template fails: (error|PatternError): missing \\)"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "the template fails: RecursionError"),
        ("{{ range(10000000000)|list|length }}", "Range too big"),
        ("{{ range(99999)|list|length }}{{ nobody }}", "no field 'nobody'"),
    ],
)
def test_a_template_that_fails_is_a_sentence(template, words):
    with pytest.raises(RenderError, match=words):
        render(template, {"q": "a"}, "")


def test_a_template_that_is_nested_too_deeply_is_a_sentence():
    with pytest.raises(ConfigError, match="nested too deeply"):
        compile_template("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "t.yaml:1")
