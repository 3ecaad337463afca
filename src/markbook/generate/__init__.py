"""From a question to an answer: out of a file (replay), or from a model."""

from markbook.generate.records import Generator, Reply, Request, Settings

__all__ = ["Generator", "Reply", "Request", "Settings"]
