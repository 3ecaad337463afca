"""Hostile programs in compiled languages: none passes, honest answers between them do, and nothing of the machine is said."""

from __future__ import annotations

import pytest
from support import language_forgers
from support.language_forgers_ts import TYPESCRIPT
from test_languages import marked

from markbook.languages import language

FORGERS = {
    "c": language_forgers.C,
    "go": language_forgers.GO,
    "java": language_forgers.JAVA,
    "rust": language_forgers.RUST,
    "typescript": TYPESCRIPT,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERS)
def test_no_forger_passes_and_honest_answers_between_them_do(name, part):
    right, _, tests = language(name).self_test
    forgers = dict(part.of(FORGERS[name].items(), 20))
    answers = {}
    for number, (key, text) in enumerate(forgers.items()):
        answers[key] = text
        if number % 6 == 0:
            answers[f"honest {number}"] = f"{right}// {number}\n"

    found = marked(name, tests, answers)

    assert len(FORGERS[name]) >= 20
    assert {key for key, one in found.items() if one.passed} == answers.keys() - forgers.keys()
    said = "".join(one.error_message for one in found.values())
    assert "\x1b" not in said
    assert "root:" not in said
