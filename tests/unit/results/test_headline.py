"""The first sentence of a report says what the statistics bear and no more."""

import pytest

from markbook.results.comparison import compare_sheet, headline, headline_of_one
from markbook.results.sheet import Cell, Sheet
from markbook.results.summary import summarise_values


def compared(n=140, **right):
    """Return a comparison of models that solve the first so many of n problems, with every third swapped for a few."""
    names = [str(at) for at in range(n)]
    marks = {}
    for number, (model, share) in enumerate(right.items()):
        solved = {(13 * at + 31 * number) % n for at in range(round(share * n))}
        marks[model] = {name: Cell(float(int(name) in solved), passed=int(name) in solved) for name in names}
    sheet = Sheet("score", marks)
    return compare_sheet(sheet)


def test_two_that_cannot_be_told_apart_and_one_that_is_worse():
    found = compared(a=0.80, b=0.76, c=0.50)
    said = headline(found, "problems")

    assert [pair.distinguishable for pair in found.pairs] == [False, True, True]
    low = min(abs(pair.difference.low) for pair in found.pairs[1:])
    high = max(abs(pair.difference.high) for pair in found.pairs[1:])
    assert said.text == (
        f"a and b do not differ significantly on these 140 problems; both are better than c by {100 * low:.0f} to {100 * high:.0f} points."
    )
    assert said.step.startswith("To confirm a difference of ")
    assert " points between a and b, plan for about " in said.step
    assert said.step.endswith(" problems (80 % power).")


def test_the_number_advised_is_the_one_that_the_power_formula_gives():
    from markbook.stats.difference import items_needed

    found = compared(a=0.80, b=0.76)
    (pair,) = found.pairs
    needed = items_needed(abs(pair.difference.value), pair.difference.stats["sd"], alpha=0.05)
    advised = int(headline(found).step.split("about ")[1].split()[0].replace(",", ""))

    assert needed <= advised <= 1.1 * needed
    assert advised > 140


def test_the_best_alone_is_said_to_be_better_than_each():
    said = headline(compared(a=0.9, b=0.5, c=0.48), "problems")

    assert said.text.startswith("a (90.0) is better than b and c by ")
    assert "between b and c, plan for about" in said.step


def test_where_nothing_differs_nothing_is_claimed():
    said = headline(compared(n=10, a=0.5, b=0.5))

    assert said.text == "a and b do not differ significantly on these 10 samples."
    assert "better" not in said.text


def test_many_models_are_counted_instead_of_named():
    said = headline(compared(n=20, **{f"m{at}": 0.5 + at / 100 for at in range(9)}))

    assert "and 8 others do not differ significantly on these 20 samples" in said.text


def test_one_model_says_its_interval_and_what_would_halve_it():
    summary = summarise_values([1.0] * 60 + [0.0] * 40, metric="score")
    said = headline_of_one("a", summary, (0.0, 1.0), "problems")

    assert said.text.startswith("a scores 60.0 on 100 problems (95 % CI ")
    assert "about 400" in said.step


def test_means_over_different_samples_never_call_the_worse_one_better():
    both = [str(at) for at in range(60)]
    a = {name: Cell(float(int(name) < 30)) for name in both} | {f"x{at}": Cell(1.0) for at in range(900)}
    b = {name: Cell(1.0) for name in both} | {f"y{at}": Cell(0.0) for at in range(900)}
    said = headline(compare_sheet(Sheet("score", {"a": a, "b": b})))

    assert (
        said.text
        == "On the 60 samples that both have b is better than a by 38 to 62 points, though a has the higher mean over its own."
    )


@pytest.mark.parametrize("n", [3, 12])
def test_a_model_without_scores_is_no_crash(n):
    summary = summarise_values([], n_missing={"failed": n}, metric="score")

    assert f"none of {n} problems could be scored" in headline_of_one("a", summary, (0.0, 1.0), "problems").text


def test_a_model_that_shares_nothing_is_named_apart():
    cells = {model: {f"{model}{at}": Cell(1.0) for at in range(4)} for model in ("far", "dead")}
    marks = {"a": dict.fromkeys(map(str, range(40)), Cell(1.0)), "b": dict.fromkeys(map(str, range(40)), Cell(0.0))}
    said = headline(compare_sheet(Sheet("score", {**marks, **cells})), "problems")

    assert said.text.startswith("a (100.0) is better than b by ")
    assert said.text.endswith(
        " on these 40 problems. Not compared with these, for want of problems in common: dead and far."
    )


def test_three_of_which_every_two_share_other_samples():
    def solved(*names):
        return {name: Cell(1.0) for part in names for name in (f"{part}{at}" for at in range(3))}

    said = headline(
        compare_sheet(Sheet("score", {"a": solved("x", "y"), "b": solved("x", "z"), "c": solved("y", "z")}))
    )

    assert said.text == "a, b and c do not differ significantly on the samples that they share."


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([1.0], [0.0], "a and b share only one of the rows: too few to estimate the uncertainty of their difference."),
        (
            [0.7] * 4,
            [0.6] * 4,
            "a and b differ by the same amount on all 4 shared rows: more are needed to estimate the uncertainty.",
        ),
        (
            [0.7] * 4,
            [0.7] * 4,
            "a and b have the same score here; more rows of this kind are unlikely to separate them, harder ones may.",
        ),
    ],
)
def test_only_those_that_did_are_said_to_have_scored_alike(a, b, said):
    cells = {name: {str(at): Cell(value) for at, value in enumerate(values)} for name, values in (("a", a), ("b", b))}

    assert headline(compare_sheet(Sheet("score", cells)), "rows").step == said


def test_a_name_with_the_word_and_in_it_stays_as_it_is():
    names = [str(at) for at in range(140)]
    right = {"oil": 14, "salt and pepper": 130, "vinegar": 70}
    marks = {
        model: {name: Cell(float(at < solved)) for at, name in enumerate(names)} for model, solved in right.items()
    }
    marks["oil"] = {name: Cell(float(at < 14)) for at, name in enumerate(names[:14])}  # all it has are right
    marks["salt and pepper"] |= {names[0]: Cell(0.0)}

    said = headline(compare_sheet(Sheet("score", marks)), "problems")

    assert said.text.startswith(
        "oil does not differ significantly from salt and pepper or vinegar on these 14 problems"
    )


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ("samples", "a and b do not differ significantly on this one sample."),
        ("papers", "a and b do not differ significantly on this one paper."),
    ],
)
def test_one_sample_is_not_called_these_samples(samples, words):
    found = compared(n=1, a=1.0, b=0.0)

    assert headline(found, samples).text == words


def test_the_score_of_one_model_on_one_sample_says_so():
    said = headline_of_one("a", summarise_values([1.0], metric="score"), (0.0, 1.0), "problems")

    assert said.text.startswith("a scores 100.0 on one problem")


def test_long_names_are_cut_unless_they_would_look_alike():
    long = "org/a-model-whose-name-is-long-and-begins-alike-step-"
    said = headline(compared(**{f"{long}1": 0.9, f"{long}2": 0.5, "z" * 60: 0.5}))

    assert said.text.startswith(f"{long}1 (90.0) is better than {long}2 and {'z' * 47}… by ")
    assert said.step.startswith(f"{long}2 and {'z' * 47}… have the same score")
