"""Asking language models, for answers and for judgements alike: pace, retries, budget, prices, cassette, replay."""

from markbook.model.records import Generator, Reply, Request, Settings

__all__ = ["Generator", "Reply", "Request", "Settings"]
