"""CodeBLEU: what holds for every program, and what hostile texts do to it."""

import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st
from support.codebleu_kit import ADD, score
from support.load import PATIENCE

import markbook
from markbook.metrics.code import parsers
from markbook.metrics.code.flow import _Run
from markbook.metrics.code.parsers import Shapes


def program(seed, depth=3, indent=0):
    """Return a made program: assignments, uses, loops and branches of five variables, nested."""
    rng = seed if isinstance(seed, random.Random) else random.Random(seed)
    name = lambda: rng.choice("abcde")  # noqa: E731
    lines, space = [], "    " * indent
    for _ in range(rng.randint(1, 3)):
        kind = rng.random() if depth else 0
        if kind < 0.45:
            simple = [f"{name()} = {name()} + {name()}", f"{name()} += 1", f"{name()}[{name()}] = {name()}"]
            simple += [f"print({name()})", f"{name()} = [{name()} for {name()} in {name()} if {name()}]"]
            lines.append(space + rng.choice(simple))
            continue
        head = f"while {name()}:" if kind < 0.65 else f"for {name()} in {name()}:" if kind < 0.8 else f"if {name()}:"
        lines += [space + head, program(rng, depth - 1, indent + 1)]
        if head.startswith("if") and rng.random() < 0.3:
            lines += [space + f"elif {name()}:", program(rng, depth - 1, indent + 1)]
        if rng.random() < 0.3:
            lines += [space + "else:", program(rng, depth - 1, indent + 1)]
    return "\n".join(lines)


PROGRAMS = st.integers(0, 10**9).map(program)


class _RunsEveryRound(_Run):
    """The definition to the letter: a loop runs twice wherever it stands."""

    def _loop(self, step, states):
        self.steps(step.first, states)
        self.steps(step.again, states)


@settings(max_examples=150, deadline=None)
@given(PROGRAMS)
def test_a_loop_inside_a_loop_need_not_run_four_times(code):
    program = parsers.read("python", code, Shapes()).program
    runs = [kind(program) for kind in (_Run, _RunsEveryRound)]
    for run in runs:
        run.steps(program.steps, {})

    assert runs[0].edges() == runs[1].edges()


@settings(max_examples=60, deadline=None)
@given(PROGRAMS)
def test_a_program_is_its_own_best_match(code):
    code = "for first in second:\n    pass\n" + code  # enough words, and keywords among them

    assert score(code, code).value == pytest.approx(1.0, abs=1e-12)


def test_a_text_of_fewer_than_four_words_misses_one_by_the_orders_that_it_lacks():
    found = score("a = b", "a = b")

    # 3 of 3 words, 2 of 2 pairs, 1 of 1 triple, no quadruple: (1 * 1 * 1 * .1)^(1/4), as in the package
    assert found.stats["ngram"] == pytest.approx(0.1**0.25)
    # and of the words, which weigh .2 each, 3 * .2 out of at least 1
    assert found.stats["weighted_ngram"] == pytest.approx((0.6 * 0.1) ** 0.25)
    assert found.stats["syntax"] == found.stats["dataflow"] == 1.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(PROGRAMS, PROGRAMS), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(pairs, rng):
    shuffled = rng.sample(pairs, len(pairs))
    values = {
        pair: one.value
        for pair, one in zip(pairs, markbook.measure("codebleu", *zip(*pairs, strict=True)), strict=True)
    }

    found = markbook.measure("codebleu", *zip(*shuffled, strict=True))

    assert [one.value for one in found] == [values[pair] for pair in shuffled]


def test_the_hash_seed_changes_nothing():
    texts = [program(seed) for seed in range(40)] + [ADD]
    code = (
        "import markbook\n"
        f"texts = {texts!r}\n"
        "for options in ({}, {'lang': 'java'}):\n"
        "    for one in markbook.measure('codebleu', texts, texts[1:] + texts[:1], **options):\n"
        "        print(one.value, dict(one.stats))\n"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(outputs) == 1


def test_a_full_table_of_shapes_is_given_up_and_no_value_changes(monkeypatch):
    texts = [program(seed) for seed in range(30)]
    others = texts[1:] + texts[:1]
    straight = [one.value for one in markbook.measure("codebleu", texts, others)]

    monkeypatch.setattr("markbook.metrics.code.parsers.MAX_SHAPES", 5)

    assert [one.value for one in markbook.measure("codebleu", texts, others)] == straight


# Hostile texts

BOMBS = {
    "brackets": "x = " + "(" * 100_000 + ")" * 100_000,
    "open brackets": "[" * 100_000,
    "signs": "x = " + "-" * 100_000 + "1",
    "nots": "x = " + "not " * 100_000 + "y",
    "attributes": "x = a" + ".b" * 100_000,
    "calls": "x = a" + "()" * 100_000,
    "sums": "x = " + " + ".join(["y"] * 100_000),
    "chain": " = ".join(["y"] * 100_000),
    "lambdas": "x = " + "lambda: " * 100_000 + "y",
    "ifs": "".join(" " * i + "if x:\n" for i in range(300)) + " " * 300 + "y = x\n",
    "elifs": "if x:\n    y = 1\n" + "elif y:\n    y = x\n" * 5_000,
    "texts": "x = " + "'a' " * 100_000,
    "f-string": "x = f'" + "{" * 100_000 + "'",
    "nul": "x = 1\0",
    "surrogate": "x = '\ud800'",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_has_a_value_or_a_reason_on_either_side(bomb):
    found = markbook.measure("codebleu", [bomb, ADD, ADD], [ADD, bomb, ADD])

    for one in found:
        assert (one.value is None) != (one.missing is None)
        assert one.missing is None or one.missing.kind == "undefined"
    assert found[2].value == 1.0


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_stops_no_quality_score(bomb):
    for name in ("context_adherence", "style_compliance", "security_compliance", "performance_awareness"):
        found = markbook.measure(name, [bomb, ADD])

        assert found[0].value is not None or found[0].missing.kind == "undefined"
        assert found[1].value is not None


STRANGE = {
    "white space": " \t\n\x0c\u00a0\u2028 ",
    "chinese": "\u6a21\u578b = \u5f88\u597d + 1",
    "emoji": "x = '\U0001f469\u200d\U0001f4bb'",
    "nfd": "cafe\u0301 = 1\nprint(cafe\u0301)",
    "direction": "abc \u202e cba",
    "long word": "y" * 20_000,
    "quotes": "'' \" ` ' ''' \"\"\"",
    "carriage returns": "a = 1\r\nb = a\r\nc = b\r\nprint(c)",
}
QUALITY = ("context_adherence", "style_compliance", "security_compliance", "performance_awareness")


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_strange_texts_have_a_value_or_a_reason(strange):
    found = markbook.measure("codebleu", [strange, ADD, strange, ADD], [ADD, strange, strange, ADD])
    rows = [*found, *(one for name in QUALITY for one in markbook.measure(name, [strange]))]

    for one in rows:
        assert (one.value is None) != (one.missing is None)
        assert one.missing is None or one.missing.kind in ("undefined", "no_completion")
    assert found[3].value == 1.0


@pytest.mark.parametrize("candidate", [None, 3, float("nan"), b"x", ["x"]])
def test_a_row_that_is_no_text_is_missing_alone(candidate):
    for name in ("codebleu", *QUALITY):
        first, second = markbook.measure(name, [candidate, ADD], [ADD, ADD])

        assert first.missing.kind == ("absent" if candidate is None else "undefined")
        assert second.value is not None


@pytest.mark.parametrize("reference", [None, [], [None], 3, ""])
def test_a_row_without_a_reference_is_missing_alone(reference):
    first, second = markbook.measure("codebleu", [ADD, ADD], [reference, ADD])

    assert first.missing.kind == "undefined"
    assert second.value == 1.0


@pytest.mark.slow
def test_ten_megabytes_have_a_value_for_their_words():
    text = "total = total + value\n" * 460_000
    assert len(text) > 10_000_000

    both, cut = markbook.measure("codebleu", [text, "total = total + value"], [text, text])

    assert both.value == 1.0
    assert both.stats["dropped"] == cut.stats["dropped"] == ["syntax", "dataflow"]
    assert cut.value < 0.01
