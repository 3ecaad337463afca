"""Names of model providers, for whoever mistypes one."""

from __future__ import annotations

from markbook.errors import UsageError
from markbook.plugins import suggest

PROVIDERS = (
    "anthropic", "azure", "bedrock", "cerebras", "cohere", "deepseek", "fireworks", "github", "google", "google-cloud",
    "groq", "heroku", "huggingface", "litellm", "mistral", "moonshotai", "nebius", "ollama", "openai", "openai-responses",
    "openrouter", "ovhcloud", "together", "vercel", "xai",
)  # fmt: skip
"""Those that a name is compared with; a client may know more."""


def not_set_up(what: str, model: str, why: str) -> UsageError:
    """Return the error for a model that its client cannot set up: of a mistyped provider, with the nearest one.

    Args:
        what: `model` or `judge`.
        model: as the user named it.
        why: what the client says.
    """
    provider = model.partition(":")[0]
    if why.startswith("Unknown") and provider not in PROVIDERS:
        message = f"the {what} {model!r} cannot be set up: there is no provider {provider!r}"
        return UsageError(message, hint=suggest(provider, list(PROVIDERS)))
    return UsageError(f"the {what} {model!r} cannot be set up: {why}")
