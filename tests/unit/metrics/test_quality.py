"""The four quality scores: what each point decides, what is missing, and the documented textual checks."""

import json
import re
import string

import pytest
from hypothesis import given, strategies as st

import markbook
from markbook.errors import IncompleteError, UsageError
from markbook.metrics.quality import scores
from markbook.metrics.quality.scores import (
    check_text,
    context_adherence,
    performance_awareness,
    security_compliance,
    style_compliance,
)
from markbook.types import Attempt, Item, Sample

NAMES = ("context_adherence", "style_compliance", "security_compliance", "performance_awareness")
MAKERS = (context_adherence, style_compliance, security_compliance, performance_awareness)
GOOD = '''def mean_of(values: list[float]) -> float:
    """Return the mean."""
    if not isinstance(values, list):
        raise TypeError("values must be a list")
    try:
        return sum(value for value in values) / len([one for one in values])
    except ZeroDivisionError:
        return 0.0
'''


def mark(name, code, **options):
    return markbook.measure(name, [code], **options)[0]


def points(name, code, **options):
    return {point["id"]: point for point in mark(name, code, **options).stats["points"]}


def passed(name, code, point):
    return points(name, code)[point]["passed"]


@pytest.mark.parametrize(("name", "total"), list(zip(NAMES, (5, 6, 4, 4), strict=True)))
def test_each_score_is_the_share_of_its_documented_points(name, total):
    found = mark(name, GOOD)

    assert len(found.stats["points"]) == total
    assert set(found.stats["points"][0]) == {"id", "passed", "vacuous", "line", "evidence"}
    assert found.value == sum(point["passed"] for point in found.stats["points"]) / total
    assert found.value == 1.0


def test_a_score_worked_out_by_hand():
    # names: xs, x, s are short, so 0 of 3: no; hints no; docstring no; lines yes; def with return yes: 2 of 5.
    code = "def f(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s\n"

    assert mark("context_adherence", code).value == 0.4
    # indents of 4 yes, names no, docstring no, hints no, lines yes, operators (= and +=) yes: 3 of 6.
    assert mark("style_compliance", code).value == 0.5
    # no validation, no try; no credentials and no eval, both with nothing that could have been: 2 of 4.
    assert mark("security_compliance", code).value == 0.5
    assert mark("security_compliance", code).stats["non_vacuous"] == 0.0
    # one loop and nothing inside it, nothing else: 1 of 4.
    assert mark("performance_awareness", code).value == 0.25


@pytest.mark.parametrize(
    ("code", "rung", "line"),
    [
        (GOOD, "as-is", 2),
        (f"Here it is:\n\n```python\n{GOOD}```\nDone.", "fenced", 5),
        ("    " + GOOD.strip().replace("\n", "\n    "), "dedent", 2),
        (GOOD.replace("\n", "\r\n"), "as-is", 2),
        ("\ufeff" + GOOD, "as-is", 2),
    ],
)
def test_every_shape_of_answer_is_read_and_lines_are_the_answers_own(code, rung, line):
    found = mark("context_adherence", code)

    assert found.value == 1.0
    assert found.stats["read"] == rung
    assert points("context_adherence", code)["docstring"]["line"] == line


def test_a_function_body_alone_is_read_as_one():
    found = mark("context_adherence", '    """Add."""\n    total = 1 + 2\n    return total\n')

    assert {point["id"]: point["passed"] for point in found.stats["points"]} == {
        "names": True,
        "hints": False,
        "docstring": True,
        "lines": True,
        "structure": True,
    }


@pytest.mark.parametrize(
    ("code", "bound"),
    [
        ("match command:\n    case [xy, *zz]:\n        pass\n", 2),
        ("if (no := value):\n    pass\n", 1),
        ("async def go():\n    async for ab in cd:\n        pass\n    async with x as ef:\n        pass\n", 2),
        ("class Thing:\n    def go(self, to):\n        self.at = to\n", 1),
        ("try:\n    pass\nexcept OSError as no:\n    pass\n", 1),
        ("print([ab for ab, cd in rows])\n", 2),
        ("go = lambda xy: xy\n", 2),
    ],
)
def test_names_are_found_wherever_python_binds_them(code, bound):
    assert points("context_adherence", code)["names"]["evidence"].startswith(f"0 of {bound} ")


def test_a_loop_index_counts_as_descriptive_only_where_asked():
    code = "for i in range(3):\n    pass\n"

    assert not points("style_compliance", code)["names"]["passed"]
    allowed = mark("style_compliance", code, loop_names=["i", "j"])
    assert allowed.stats["points"][1]["passed"]
    assert "short:i+j" in allowed.signature


def test_line_length_is_counted_in_code_points_and_eighty_still_fits():
    assert passed("context_adherence", "x = '" + "é" * 74 + "'\n", "lines")
    assert not passed("context_adherence", "x = '" + "é" * 75 + "'\n", "lines")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("total = 1 + 2\n", True),
        ("total=1\n", False),
        ("total = 1+2\n", False),
        ("done = call(key=1, *rest, **more)\n", True),
        ("url = 'a=b+c'\n", True),
        ("total = -1\nsquare = total ** 2\n", True),
        ("def go(first: int = 1) -> None: ...\n", True),
        ("shown = f'{1+2}'\n", True),
        ("@decorate\ndef go(first, /, *, second=lambda one: one): ...\n", False),
    ],
)
def test_operator_spacing_is_read_from_the_tokens(code, expected):
    # The last has no operator that needs a space, and an absence earns nothing.
    assert passed("style_compliance", code, "operators") is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def go():\n    pass\n", True),
        ("def go():\n  pass\n", False),
        ("def go():\n\tpass\n", False),
        ("go(one,\n   two)\n", True),
    ],
)
def test_indents_are_multiples_of_four_spaces_and_continuation_lines_are_none(code, expected):
    assert passed("style_compliance", code, "indentation") is expected


@pytest.mark.parametrize(
    ("code", "is_safe"),
    [
        ("eval(text)\n", False),
        ("import builtins\nbuiltins.exec(text)\n", False),
        ("from builtins import compile as c\n", False),
        ("run = eval\n", False),
        ("import re\nre.compile(text)\nmodel.eval()\n", True),
        ('"""Never use eval(text)."""\ngo()\n', True),
        ("def eval(text):\n    return text\neval(text)\n", True),
    ],
)
def test_only_the_built_in_eval_exec_and_compile_are_unsafe(code, is_safe):
    assert passed("security_compliance", code, "unsafe_calls") is is_safe


@pytest.mark.parametrize(
    ("code", "is_clean"),
    [
        ("password = 'hunter2'\n", False),
        ("password: str = 'hunter2'\n", False),
        ("settings['api_key'] = 'abc'\n", False),
        ("self.auth_token = 'abc'\n", False),
        ("connect(password='abc')\n", False),
        ("config = {'secret': 'abc'}\n", False),
        ("def go(passwd='abc'): ...\n", False),
        ("password = ''\n", True),
        ("password = os.environ['PASSWORD']\n", True),
        ("# password = 'abc'\nname = 'abc'\n", True),
        ("tokenizer = 'abc'\nkey = 'name'\n", True),
    ],
)
def test_credentials_are_text_constants_bound_to_names_for_secrets(code, is_clean):
    assert passed("security_compliance", code, "credentials") is is_clean


def test_the_secret_itself_never_stands_in_the_evidence():
    assert "hunter2" not in points("security_compliance", "password = 'hunter2'\n")["credentials"]["evidence"]


def test_a_handler_that_swallows_everything_earns_the_point_and_is_named():
    found = points("security_compliance", "try:\n    go()\nexcept:\n    pass\n")["errors"]

    assert found["passed"]
    assert "weak" in found["evidence"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for one in rows:\n    for two in one:\n        pass\n", False),
        ("for one in rows:\n    go(one)\n    while one:\n        pass\n", False),
        ("cells = [cell for row in rows for cell in row]\n", False),
        ("for one in rows:\n    pass\nfor two in rows:\n    pass\n", True),
        ("for one in rows:\n    def go():\n        for two in one:\n            pass\n", True),
    ],
)
def test_loops_are_nested_only_in_one_function(code, expected):
    assert passed("performance_awareness", code, "nested_loops") is expected


def test_a_built_in_that_the_code_rebinds_is_not_the_built_in():
    assert passed("performance_awareness", "total = sum(values)\n", "built_ins")
    assert not passed("performance_awareness", "def sum(a):\n    return a\ntotal = sum(values)\n", "built_ins")
    assert not passed("performance_awareness", "text = 'sum(values)'\n", "built_ins")


def test_what_was_earned_by_absence_is_marked_vacuous():
    found = points("security_compliance", "value = 1\n")

    assert found["credentials"]["vacuous"]
    assert found["unsafe_calls"]["vacuous"]
    assert not points("security_compliance", "name = 'x'\ngo()\n")["credentials"]["vacuous"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("", "no_completion"),
        (" \n\t", "no_completion"),
        ("def f(:", "undefined"),
        ("a\0b", "undefined"),
        ("This is prose, and no program.", "undefined"),
        ("(" * 5000 + ")" * 5000, "undefined"),
        ("x = 1\n" * 400_000, "undefined"),
        (None, "absent"),
        (7, "undefined"),
    ],
)
def test_code_that_does_not_parse_is_missing_and_not_zero(name, code, kind):
    assert mark(name, code).missing.kind == kind


@pytest.mark.parametrize("name", NAMES)
def test_comments_alone_parse_and_earn_only_what_absence_earns(name):
    found = mark(name, "# nothing here\n")

    assert found.value is not None
    assert found.stats["non_vacuous"] <= found.value


@given(st.text(alphabet=string.printable, max_size=200))
def test_any_text_has_a_score_in_range_or_a_reason(text):
    for name in NAMES:
        found = mark(name, text)
        assert found.missing is not None or 0.0 <= found.value <= 1.0


@given(st.permutations([GOOD, "x=1\n", "for a in b:\n    eval(a)\n", "def f(:"]))
def test_the_order_of_a_batch_changes_nothing(codes):
    alone = {code: mark("style_compliance", code).value for code in codes}

    assert [one.value for one in markbook.measure("style_compliance", codes)] == [alone[code] for code in codes]


def test_the_score_agrees_with_the_stored_facts_about_real_code(shared_data):
    file = shared_data / "metric-fixtures" / "code.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    compared = 0
    for row in rows:
        facts = row["expected"].get("ast_facts", {})
        if not facts.get("parses") or not row["candidate"].strip():
            continue
        compared += 1
        performance = points("performance_awareness", row["candidate"])
        assert performance["comprehension"]["passed"] == (facts["comprehensions"] > 0), row["id"]
        assert performance["generator"]["passed"] == (facts["generator_expressions"] > 0), row["id"]
        assert points("security_compliance", row["candidate"])["errors"]["passed"] == (facts["try"] > 0), row["id"]
        assert points("context_adherence", row["candidate"])["lines"]["passed"] == (facts["lines_over_80"] == 0)
    assert compared > 60


# The documented profile


def by_regular_expression(name, text):
    """Return the documented points as their regular expressions decide them."""
    found = re.findall(r"\b[a-z_][a-z0-9_]*\b", text)
    lines = text.split("\n")
    indented = [line for line in lines if line.strip() and line.startswith(" ")]
    any_of = lambda words, where: any(word in where for word in words)  # noqa: E731
    hints, docstring = "->" in text or ": " in text, '"""' in text or "'''" in text
    short_lines = all(len(line) <= 80 for line in lines)
    if name == "context_adherence":
        return [any(len(w) > 2 for w in found), hints, docstring, short_lines, "def " in text and "return" in text]
    if name == "style_compliance":
        return [
            all((len(line) - len(line.lstrip(" "))) % 4 == 0 for line in indented),
            sum(len(word) > 2 for word in found) >= len(found) * 0.8,
            docstring,
            hints,
            short_lines,
            re.search(r"\w\s*[+\-*/=]\s*\w", text) is not None,
        ]
    if name == "security_compliance":
        secret = r"(password|secret|key|token|api_key)\s*=\s*[\"'][^\"']+[\"']"
        return [
            any_of(("validate", "check", "verify", "isinstance", "assert"), text.lower()),
            any_of(("try:", "except", "raise", "ValueError", "TypeError"), text),
            re.search(secret, text, re.IGNORECASE) is None,
            re.search(r"\b(eval|exec|compile)\s*\(", text) is None,
        ]
    return [
        bool(re.search(r"\[.*for.*in.*\]", text)) or not re.search(r"for.*:\s*\n.*append", text),
        bool(re.search(r"\(.*for.*in.*\)", text)),
        not re.search(r"for.*:\s*\n.*for.*:", text),
        any_of(("sum(", "max(", "min(", "any(", "all(", "enumerate(", "zip("), text),
    ]


PIECES = st.lists(
    st.sampled_from(
        [
            "for",
            "in",
            "[",
            "]",
            "(",
            ")",
            ":",
            "\n",
            " ",
            "    ",
            "append",
            "a",
            "_b1",
            "=",
            "+",
            '"',
            "key",
            "eval",
            "É",
        ]
    ),
    max_size=30,
).map("".join)


@given(PIECES)
def test_the_documented_checks_decide_as_their_regular_expressions(text):
    for name in NAMES:
        assert list(check_text(name, text).values()) == by_regular_expression(name, text)


def test_the_documented_checks_decide_as_their_regular_expressions_on_real_code(shared_data):
    file = shared_data / "metric-fixtures" / "code.jsonl"
    texts = [json.loads(line)["candidate"] for line in file.read_text("utf-8").splitlines()]
    for text in filter(None, texts):
        for name in NAMES:
            expected = by_regular_expression(name, text)
            assert mark(name, text, profile="documented").value == sum(expected) / len(expected)


def test_the_documented_profile_counts_words_in_strings_and_says_so_in_its_signature():
    prose = '"""never use eval( or password = "x" """\n'

    documented = mark("security_compliance", prose, profile="documented")
    assert documented.value == 0.0
    assert "profile:documented" in documented.signature
    assert mark("security_compliance", prose).value == 0.5


def test_an_empty_answer_in_the_documented_profile_is_left_out_of_one_mean_and_zero_in_the_others():
    assert mark("context_adherence", "", profile="documented").missing.kind == "no_completion"
    assert [mark(name, "", profile="documented").value for name in NAMES[1:]] == [0.0, 0.0, 0.0]


def test_a_long_line_costs_the_documented_checks_linear_time():
    text = "[" + "for in " * 100_000 + "\n"

    assert mark("performance_awareness", text, profile="documented").value is not None


# The problem's own context


def in_context(context, code, *, field=True):
    sample = Sample("s", "" if field else context, context=context if field else None)
    return context_adherence(context="stated").measure([Item(sample, Attempt("s", code))])[0]


@pytest.mark.parametrize("field", [True, False])
def test_the_context_is_read_and_each_rule_it_states_is_a_point(field):
    context = "Use snake_case names, type hints and docstrings for all functions. Maximum line length 60 characters."

    assert in_context(context, GOOD, field=field).value == 0.75  # one line has more than 60
    found = in_context(context, "def addAll(a):\n    return a\n")
    assert {point["id"]: point["passed"] for point in found.stats["points"]} == {
        "lines": True,
        "hints": False,
        "docstring": False,
        "snake_case": False,
    }
    assert "context:stated" in found.signature


def test_a_rule_that_is_not_wanted_is_no_point():
    found = in_context("No type hints. Include a docstring. Docstrings for helpers are optional.", GOOD)

    assert [point["id"] for point in found.stats["points"]] == ["docstring"]


@pytest.mark.parametrize(
    ("context", "ids"),
    [
        ("No docstrings needed but type annotations are required.", ["hints"]),
        ("Follow PEP 8 naming.", ["snake_case"]),
        ("Use built-in functions like sum(), max(), min().", ["built_ins"]),
        ("Lines must not exceed 100 columns; do not use eval.", ["lines", "unsafe_calls"]),
        ("Avoid nested loops. Never hard-code credentials.", ["nested_loops", "credentials"]),
        ("Handle errors with try/except, never without validation.", ["errors"]),
    ],
)
def test_rules_are_read_from_the_ways_in_which_people_state_them(context, ids):
    assert [point["id"] for point in in_context(context, GOOD).stats["points"]] == ids


def test_a_context_without_a_rule_is_not_applicable():
    assert in_context("Sort a list of numbers.", GOOD).missing.kind == "not_applicable"


def test_what_a_body_alone_cannot_show_is_not_judged():
    body = "    try:\n        total = 1\n    except OSError:\n        total = 2\n    return total\n"
    found = in_context("Use type hints. Error handling is required.", body)

    assert [point["id"] for point in found.stats["points"]] == ["errors"]
    assert found.stats["not_judged"] == ["hints"]


# Evidence and options


def test_linters_are_evidence_beside_the_score_in_one_batch():
    codes = ["import os\n\nos.system('ls ' + name)\n", "def f(:", "value = 1\n"]
    found = markbook.measure("security_compliance", codes, evidence=["ruff", "bandit"])

    assert found[0].stats["evidence"]["bandit"]["rules"]["B605"] == 1
    assert "S605" in found[0].stats["evidence"]["ruff"]["rules"]
    assert found[1].stats["evidence"] == {}
    plain = markbook.measure("security_compliance", codes)
    assert [one.value for one in found] == [one.value for one in plain]


def test_a_linter_that_gives_no_findings_is_named_with_its_own_words():
    with pytest.raises(IncompleteError, match=r"(?s)json\.tool gave no findings \(exit [12]\): .*nothere"):
        scores._run("json.tool", ["nothere.json"])


@pytest.mark.parametrize("make", MAKERS)
def test_an_unknown_profile_or_evidence_is_refused(make):
    with pytest.raises(UsageError, match="profile"):
        make(profile="strict")
    with pytest.raises(UsageError, match="evidence"):
        make(evidence=["pylint"])


def test_the_documented_profile_does_not_read_the_context():
    with pytest.raises(UsageError, match="context"):
        context_adherence(profile="documented", context="stated")


@pytest.mark.parametrize("name", NAMES)
def test_the_documented_spelling_is_an_alias(name):
    assert mark(f"{name}_score", GOOD).value == mark(name, GOOD).value


def test_a_hinted_self_makes_up_for_no_other_hint():
    code = "class Box:\n    def put(self: 'Box', item) -> int:\n        return item\n"

    (measured,) = markbook.measure(
        "context_adherence", [code], contexts=["Add type hints to every parameter."], context="stated"
    )

    # the item and the return value could be hinted, the return value is
    assert measured.value == 0.0
    assert measured.stats["points"][0]["evidence"] == "1 of 2 are hinted"
    assert measured.stats["hint_coverage"] == 0.5
