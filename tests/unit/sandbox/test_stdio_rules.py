"""Comparing outputs: each rule by its name, the first difference, and outputs made to hurt."""

import pytest

from markbook.sandbox.guest.examination.rules import parse


def judged(rule, expected, got):
    return parse(rule).judge(expected, got)


@pytest.mark.parametrize(
    ("rule", "expected", "got", "accepted"),
    [
        ("", b"1 2\n", b"1\n2", True),
        ("tokens", b"1 2\n", b" 1 2\r\n\r\n", True),
        ("tokens", b"Yes\n", b"yes\n", False),
        ("tokens", b"1\n", b"1 1\n", False),
        ("tokens", b"a\xc2\xa0b", b"a b", False),
        ("case", b"Yes\n", b"YES\n", True),
        ("exact", b"1\n", b"1\n", True),
        ("exact", b"1\n", b"1", False),
        ("lines", b"1 2\n3\n", b"1 2 \r\n3\n\n\n", True),
        ("lines", b"1 2\n", b"1  2\n", False),
        ("lines", b"1\n2\n", b"1 2\n", False),
        ("float:1e-6", b"0.5 x\n", b"0.5000001 x", True),
        ("float:1e-6", b"0.5\n", b"0.51", False),
        ("float:1e-6", b"1e9\n", b"1000000001", True),  # REL is ABS where it is not given: within 1e-6 of 1e9
        ("float:1e-6,0", b"1e9\n", b"1000000001", False),
        ("float:0,1e-3", b"1000", b"1000.9", True),
        ("float:1e-6", b"nan", b"nan", True),
        ("float:1e-6", b"1", b"nan", False),
        ("float:1e-6", b"1", b"inf", False),
        ("float:1e-6", b"1e999", b"1e998", False),
        ("float:1e-6", b"1", b"1_0", False),
        ("icpc", b"Yes 0.5", b"YES\n0.5", True),
        ("icpc", b"0.5", b"0.50", False),
        ("icpc:case_sensitive", b"Yes", b"YES", False),
        ("icpc:float_tolerance,1e-4", b"0.5", b"5.00001e-1", True),
        ("icpc:float_absolute_tolerance,1e-4", b"1e6", b"1000001", False),
        ("icpc:float_relative_tolerance,1e-4", b"1e6", b"1000001", True),
        ("icpc:space_change_sensitive", b"1 2\n", b"1  2\n", False),
        ("icpc:space_change_sensitive", b"1 a\n", b"1 A\n", True),
        ("livecodebench", b"1.0 2\n", b" 1 2.00 \n\n", True),
        ("livecodebench", b"1.0 x\n", b"1 x\n", False),
        ("livecodebench", b"1 2\n", b"1\n2\n", False),
        ("livecodebench", b"1", b"sNaN", False),
        ("livecodebench", b"sNaN 1", b"1 1", False),
    ],
)
def test_each_rule_accepts_what_its_name_says(rule, expected, got, accepted):
    assert judged(rule, expected, got).accepted is accepted


@pytest.mark.parametrize(
    ("expected", "got", "form"),
    [
        (b"1\n2\n", b" 1 \n2", "apps/stripped"),
        (b"1\n\n2\n", b"1\n2\n", "apps/lines"),
        (b"0.5\n2\n", b"0.500001\n2.0\n", "apps/floats"),
        (b"1 2 3\n", b"3 2 1 1\n", "apps/sets"),
        (b"1.0001 x\n", b"x 1.0001\n", "apps/sets"),
        (b"1.0001 2\n", b"2 1.0002\n", "apps/rounded sets"),
    ],
)
def test_the_verdict_names_the_form_of_apps_rule_that_held(expected, got, form):
    found = judged("apps", expected, got)

    assert (found.accepted, found.by) == (True, form)


@pytest.mark.parametrize(
    ("rule", "expected", "got", "message"),
    [
        ("tokens", b"1\n2 3\n", b"1\n2\n4", "line 3: expected '3', got '4'"),
        ("tokens", b"1\n2\n", b"1\n", "line 2: expected '2', got the end"),
        ("tokens", b"1", b"1\n2", "line 2: expected the end, got '2'"),
        ("lines", b"a\nb b\n", b"a\nb  b\n", "line 2: expected 'b b', got 'b  b'"),
        ("exact", b"a\n", b"a", "line 2: expected '', got the end"),
        ("livecodebench", b"1\n2", b"1\n3", "line 2: expected '2', got '3'"),
        ("apps", b"1\n2", b"1\n3", "line 2: expected '2', got '3'"),
        ("tokens", b"x" * 100, b"\xff\x1b[31m", "line 1: expected '" + "x" * 60 + "'..., got '\ufffd\\x1b[31m'"),
    ],
)
def test_the_first_difference_is_shown_and_cut(rule, expected, got, message):
    assert judged(rule, expected, got).message == message


@pytest.mark.parametrize(
    "name",
    ["nonsense", "float", "float:", "float:x", "float:1,2,3", "float:-1", "float:nan", "float:1e999", "exact:1", "icpc:no",
     "icpc:float_tolerance"],
)  # fmt: skip
def test_a_rule_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match=r"unknown comparison|not a distance|no flag"):
        parse(name)


@pytest.mark.parametrize(
    "rule", ["tokens", "case", "lines", "exact", "float:1e-6,1e-6", "icpc", "livecodebench", "apps"]
)
@pytest.mark.parametrize(
    "got",
    [b"9" * 10_000_000, b"1e999999999", b"-1e-999999999999999999", b"NaN", b"0." + b"0" * 10_000_000, b"\n" * 1_000_000, b"1 " * 300_000,
     b"e" * 1_000_000, b"\x00\xff" * 100_000, b""],
    ids=["digits", "exponent", "small", "nan", "zeros", "newlines", "words", "letters", "bytes", "nothing"],
)  # fmt: skip
def test_no_output_takes_long_or_passes_by_its_form(rule, got):
    found = judged(rule, b"12345\n", got)

    assert not found.accepted
    assert len(found.message) < 400


def test_equal_outputs_are_accepted_whatever_they_hold():
    for rule in ("tokens", "exact", "float:1e-9", "livecodebench", "apps"):
        assert judged(rule, b"\xff nan 1e999999999", b"\xff nan 1e999999999").accepted
