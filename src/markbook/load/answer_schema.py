"""The JSON schema of a row of answers, out of the names by which they are read."""

from __future__ import annotations

from typing import Annotated, Required, TypedDict

from markbook.load.answers import SAMPLE_KEYS
from markbook.load.assembly import ANSWER_KEYS
from markbook.text.schema import Schema, schema_of


class AnswerRow(TypedDict, total=False):
    """One answer of a model to a problem."""

    task_id: Required[Annotated[str | int, "The problem."]]
    model: Annotated[str | None, "Whose answer it is; without it the file's or folder's name."]
    language: Annotated[str | None, "What a program is written in, where its problem leaves that to the answers."]


def answers_schema() -> Schema:
    """Return the JSON schema of a row of answers."""
    schema = schema_of("Markbook answers: one row of a .jsonl file", AnswerRow)
    texts: Schema = {key: {"type": ["string", "null"]} for key in ANSWER_KEYS}
    texts["candidate_solution"] = texts["candidate_solution"] | {
        "description": "The answer: code, or a raw reply with a fenced block; null is missing, empty an empty answer."
    }
    texts["extracted_solution"] = texts["extracted_solution"] | {"description": "The code taken from it; it wins."}
    number = {"type": ["integer", "null"], "minimum": 0, "description": "Which of several answers, from 0."}
    schema["properties"] |= texts | dict.fromkeys(SAMPLE_KEYS, number)
    schema["properties"]["sample_id"] = number | {
        "type": ["integer", "string", "null"],
        "description": "Which of several answers, from 0; a text names the problem, as `task_id` does.",
    }
    return {**schema, "anyOf": [{"required": [key]} for key in ANSWER_KEYS]}
