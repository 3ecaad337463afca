"""Asking language models, for answers and for judgements alike: pace, retries, budget, prices, cassette, replay."""

from markbook.model.requests import GenerationSettings, Generator, ModelReply, PromptRequest

__all__ = ["GenerationSettings", "Generator", "ModelReply", "PromptRequest"]
