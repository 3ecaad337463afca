"""Checks that may run away and are bounded in time: `regex` and `json_schema`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import partial

from markbook.errors import ConfigError
from markbook.files import strict
from markbook.metrics.checks.bounded import Helper
from markbook.metrics.checks.check import Check, build_signature, truth
from markbook.metrics.pairs import Score
from markbook.plugins import example, need
from markbook.types import Missing, MissingKind

LONGEST_PATTERN = 10_000
LARGEST_SCHEMA = 200_000


@example(pattern="(a|b)+")
def regex(
    *,
    pattern: str,
    whole: bool = False,
    ignore_case: bool = False,
    multiline: bool = False,
    dot_all: bool = False,
    absent: bool = False,
) -> Check:
    """Return 1 if a pattern is found in the answer, else 0; higher is better.

    Missing: `timeout` where the pattern takes more than a second of processor time on an answer.

    Args:
        pattern: a regular expression as Python's `re` has them.
        whole: the pattern must match the whole answer.
        ignore_case: do not tell upper from lower case.
        multiline: `^` and `$` match at every line.
        dot_all: `.` matches a line break too.
        absent: 1 if the pattern is not found.

    Raises:
        ConfigError: no pattern, or one that does not compile.
    """
    options = {"whole": whole, "ignore_case": ignore_case, "multiline": multiline, "dot_all": dot_all, "absent": absent}
    for option, value in options.items():
        truth("regex", option, value)
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(f"regex: pattern must be a text, not {pattern!r:.60}")
    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(f"regex: the pattern is longer than {LONGEST_PATTERN} characters")
    flags = (re.IGNORECASE * ignore_case) | (re.MULTILINE * multiline) | (re.DOTALL * dot_all)
    # Compiled where it can be given up, too: a short pattern can take long to compile.
    with Helper() as helper:
        tried = helper.ask("regex", pattern=pattern, flags=int(flags), whole=whole, text="")
    if isinstance(tried, Missing):
        raise ConfigError(f"regex: the pattern cannot be used: {tried.detail}")
    signature = build_signature("regex", {"pattern": pattern, **{key: on for key, on in options.items() if on}})
    return Check(
        "regex",
        signature,
        partial(_search_pattern, pattern=pattern, flags=int(flags), is_full_match=whole, absent=absent),
    )


def _search_pattern(
    answer: str,
    _references: tuple[str, ...],
    helper: Helper,
    *,
    pattern: str,
    flags: int,
    is_full_match: bool,
    absent: bool,
) -> Score:
    reply = helper.ask("regex", pattern=pattern, flags=flags, whole=is_full_match, text=answer)
    if isinstance(reply, Missing):
        return reply, {}
    return float(reply["holds"] != absent), {}


def json_schema(*, schema: Mapping[str, object] | bool | None = None) -> Check:
    """Return 1 if the answer is one JSON value that fits a schema, else 0; higher is better.

    The whole answer must be JSON, white space and one Markdown code block around it aside; NaN, infinities and a key that
    stands twice are not JSON. Missing: `timeout` where it takes more than a second of processor time, `budget` where it is
    nested more deeply, or holds an integer of more digits, than Python reads.

    Args:
        schema: a JSON schema, draft 2020-12; without it any JSON will do. What it refers to must be in it.

    Raises:
        ConfigError: it is no schema.
        ExtraMissingError: the extra `checks` is not installed and there is a schema.
    """
    if schema is None:
        return Check("json_schema", build_signature("json_schema", {"schema": "any"}), partial(_fits, schema=None))
    try:
        text = json.dumps(schema, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"json_schema: the schema is no JSON: {error}") from error
    if len(text) > LARGEST_SCHEMA:
        raise ConfigError(f"json_schema: the schema is larger than {LARGEST_SCHEMA} characters")
    validators = need("jsonschema", extra="checks")
    try:
        validators.Draft202012Validator.check_schema(schema)
    except (validators.exceptions.SchemaError, RecursionError) as error:
        raise ConfigError(f"json_schema: this is no schema: {getattr(error, 'message', error)}"[:500]) from error
    return Check("json_schema", build_signature("json_schema", {"schema": schema}), partial(_fits, schema=schema))


def _fits(
    answer: str, _references: tuple[str, ...], helper: Helper, *, schema: Mapping[str, object] | bool | None
) -> Score:
    text = answer.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") + 1 : -3].strip()
    try:
        value = strict.parse_json(text)
    except RecursionError:
        if text[-1] not in "]}":
            return 0.0, {"why": "no JSON: it ends within a value"}
        return Missing(MissingKind.BUDGET, "the answer is nested too deeply to be read"), {}
    except strict.TooManyDigits as error:
        return Missing(MissingKind.BUDGET, str(error)), {}
    except ValueError as error:
        return 0.0, {"why": f"no JSON: {error}"[:300]}
    if schema is None:
        return 1.0, {}
    reply = helper.ask("schema", schema=schema, text=json.dumps(value), path=sys.path)
    if isinstance(reply, Missing):
        return reply, {}
    return float(reply["holds"]), {key: reply[key] for key in ("why", "where") if key in reply}
