"""The trace record: joining runs, and the summary that a judge reads."""

import pytest

from markbook.trace import Step, StepKind, join, planning_summary
from markbook.traces.plain import make_trace


def call(tool, **more):
    return Step(StepKind.TOOL, "a", tool, **more)


def test_joining_keeps_unknown_unknown():
    one = make_trace([call("x")], reader="t", input_tokens=3, start=5.0, end=6.0)
    other = make_trace([call("y")], reader="t", start=1.0, end=2.0, unrecognised={"odd": 2})
    both = join([one, other])

    assert (both.input_tokens, both.output_tokens, both.start, both.end) == (3, None, 1.0, 6.0)
    assert (both.tool_calls, both.agents, both.unrecognised) == (2, ("a",), {"odd": 2})
    assert join([one]) is one


def test_a_clock_that_runs_backwards_gives_no_duration():
    assert call("x", start=2.0, end=1.0).seconds is None


def test_a_short_run_is_told_whole():
    steps = [
        call("look", arguments={"q": "bleu"}, result="two\nlines", ok=True),
        Step(StepKind.HANDOFF, "a", "delegation", "b", text="please"),
        Step(StepKind.MESSAGE, "a", "assistant", text="thinking aloud"),
        call("save", ok=False, error="DiskFull"),
    ]
    told = planning_summary(make_trace(steps, reader="t"))

    assert told.text.split("\n") == [
        "1. a calls look with {'q': 'bleu'}: two lines [ok]",
        "2. a sends delegation to b: please",
        "3. a calls save [failed DiskFull]",
    ]
    assert (told.coverage, told.steps) == (1.0, 3)


def test_details_go_first_then_repetitions_fold_and_only_then_steps_are_cut():
    long = make_trace([call("look", result="x" * 100) for _ in range(50)], reader="t")
    mixed = make_trace([call(f"tool{at}") for at in range(50)], reader="t")

    assert planning_summary(long, 60).text == "1-50. a calls look (50 times)"
    assert planning_summary(long, 60).coverage == 1
    told = planning_summary(mixed, 400)
    assert told.coverage == pytest.approx(10 / 50)
    assert told.text.endswith("[40 more steps are not shown]")


@pytest.mark.parametrize("characters", [0, 50, 100, 1000, 5000])
def test_the_text_keeps_to_its_length_and_says_what_it_leaves(characters):
    told = planning_summary(
        make_trace([call(f"tool{at}", arguments="x" * 50) for at in range(40)], reader="t"), characters
    )

    assert len(told.text) <= characters + 40
    assert (told.coverage == 1) == ("not shown" not in told.text)


def test_chat_without_acts_is_told_by_its_messages():
    chat = make_trace([Step(StepKind.MESSAGE, "a", "assistant", text="hello")], reader="t")

    assert planning_summary(chat).text == "1. a says: hello"
    assert planning_summary(make_trace([], reader="t")).coverage == 1
