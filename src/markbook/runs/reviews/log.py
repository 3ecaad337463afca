"""What a review run says in its log."""

from __future__ import annotations

import logging

from markbook.judge.client import Judged
from markbook.text import terminal

_log = logging.getLogger(__name__)

Key = tuple[str | int, ...]


def log_answer(key: Key, judged: Judged) -> None:
    """Say what became of a question to a judge: an answer at debug level, a missing one at info."""
    paper, system, _index, rubric, model, part, sample = key
    ended = "answered" if judged.missing is None else f"missing ({judged.missing.kind}: {judged.missing.detail})"
    _log.log(
        logging.DEBUG if judged.missing is None else logging.INFO,
        "%s on %s of %s by %s, part %s, sample %s: %s after %d requests, %.2f s, %d and %d tokens%s",
        terminal(str(model), limit=60),
        rubric,
        terminal(str(paper), limit=60),
        terminal(str(system), limit=60),
        part,
        sample,
        terminal(ended, limit=400),
        judged.requests,
        judged.seconds,
        judged.input_tokens,
        judged.output_tokens,
        ", from the cassette" if judged.replayed else "",
    )
