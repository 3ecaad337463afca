"""From `PROVIDER:NAME` to a model of pydantic-ai that can be asked: providers, addresses, keys and listed prices."""

from __future__ import annotations

import inspect
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args
from urllib.parse import urlsplit

from markbook.errors import IncompleteError, MarkbookError, UsageError, suggest
from markbook.installed import version
from markbook.model.budget import Price, listed_price, parse_price
from markbook.model.chat import LeanServer
from markbook.model.http import Address, HttpClient, http_client
from markbook.plugins import need
from markbook.text import redact

_ADDRESSES = ("base_url", "azure_endpoint", "api_base")
"""What providers call the address that they speak to."""
_HOMES = {
    "openai": "api.openai.com",
    "anthropic": "api.anthropic.com",
    "google": ".googleapis.com",
    "azure": ".azure.com",
}
"""Where a provider's own servers are, to tell them from others that speak its protocol."""
_ELSEWHERE = {"google": "GOOGLE_GEMINI_BASE_URL", "azure": "AZURE_OPENAI_ENDPOINT"}
_SAME = {"completions": "openai"}
"""Providers that are another endpoint of a provider."""
_OLD_NAMES = {"google-gla": "google", "google-vertex": "google-cloud"}


def split_name(model: str) -> tuple[str, str]:
    """Return provider and name.

    >>> split_name("openai:gpt-4o-mini")
    ('openai', 'gpt-4o-mini')

    Raises:
        UsageError: it has not both.
    """
    provider, _, name = model.partition(":")
    if not provider or not name:
        raise UsageError(f"{model!r} names no model", hint="PROVIDER:NAME, such as openai:gpt-4o-mini")
    return provider, name


def parse_address(url: str) -> Address:
    """Return the parts of a server's address.

    Raises:
        UsageError: it is not an address.
    """
    try:
        return Address.parse(url)
    except ValueError as error:
        raise UsageError(f"{url!r} is not an address of a server", hint="http://127.0.0.1:8000/v1") from error


def _find_address(provider: str, base_url: str) -> str:
    family = _SAME.get(provider, provider.partition("-")[0])
    return base_url or os.environ.get(_ELSEWHERE.get(family, f"{family.upper()}_BASE_URL"), "")


def find_asked_address(model: str | None, base_url: str) -> str:
    """Return the address at which a model is asked, an option's or the environment's, as run.json may hold it."""
    return without_secrets(_find_address(model.partition(":")[0], base_url) if model else base_url).rstrip("/")


def is_foreign(provider: str, base_url: str) -> bool:
    """Return whether the address, an option's or the environment's, is not the provider's own."""
    family, stated = _SAME.get(provider, provider.partition("-")[0]), _find_address(provider, base_url)
    if not stated:
        return False
    try:
        home, host = _HOMES.get(family, ""), urlsplit(stated).hostname or ""
    except ValueError:  # nobody's: that it is not an address is said where it is used
        return True
    return not home or not (host == home or (home.startswith(".") and host.endswith(home)))


def find_price(model: str, base_url: str, stated: Price | str | None) -> Price | None:
    """Return the price that was stated, else the listed one, which holds at the provider's own address only.

    Raises:
        UsageError: what was stated is not a price.
    """
    if stated:
        return parse_price(stated) if isinstance(stated, str) else stated
    provider, name = split_name(model)
    return None if is_foreign(provider, base_url) else listed_price(_SAME.get(provider, provider), name)


def check(model: str, base_url: str = "", key: str | None = None) -> None:
    """Find out before any work whether a model can be set up; nothing is asked.

    `base_url` is where its server is, if not at the provider's own address; `key` is sent to it in place of that of
    the provider's usual environment variable.

    Raises:
        UsageError: an unknown provider, no key, an address that is none or that the provider cannot have.
        ExtraMissingError: the extra `judge` is not installed.
    """
    _make(model, base_url, http_client(1.0), key)


@asynccontextmanager
async def connect(model: str, base_url: str, seconds: float, key: str | None = None) -> AsyncIterator[Any]:
    """Open a model; leaving closes its connections. The key is as `check` has it.

    Raises:
        UsageError: as `check`.
        ExtraMissingError: the extra `judge` is not installed.
    """
    async with http_client(seconds) as http:
        yield _make(model, base_url, http, key)


def _make(model: str, base_url: str, http: Any, key: str | None = None) -> Any:
    provider, name = split_name(model)
    if stated := base_url or (os.environ.get("OPENAI_BASE_URL", "") if provider in ("openai", "openai-chat") else ""):
        parse_address(stated)
    need("pydantic_ai", extra="judge")
    models = need("pydantic_ai.models", extra="judge")
    try:
        if provider in ("openai", "openai-chat"):
            return _openai(name, base_url, http, key)
        return models.infer_model(model, lambda kind: _provider(kind, name, base_url, http, key))
    except MarkbookError:
        raise
    except Exception as error:  # the plugin border: a provider's own set-up fails in its own ways
        if unset := re.search(r"`(\w+_API_KEY)`", str(error)):  # what else the package advises is code of its own
            raise UsageError("the model needs a key", hint=f"set {unset[1]}") from error
        raise UsageError(f"the model {model!r} cannot be set up: {redact(str(error))}") from error


def _openai(name: str, base_url: str, http: Any, stated: str | None = None) -> Any:
    need("openai", extra="judge")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    key = os.environ.get("OPENAI_API_KEY", "") if stated is None else stated
    if not key and not base_url and not os.environ.get("OPENAI_BASE_URL"):
        raise UsageError("the model needs a key", hint="set OPENAI_API_KEY, or name a local server with --base-url")
    profile: Any = None
    if is_foreign("openai", base_url):
        # OpenAI's own servers want `max_completion_tokens`; others know the older `max_tokens` only. And a server that
        # is asked in words, because it knows nothing else, may not know a JSON mode either.
        profile = {"openai_chat_supports_max_completion_tokens": False, "supports_json_object_output": False}
    provider = OpenAIProvider(base_url=base_url or None, api_key=key or "none", http_client=http)
    return OpenAIChatModel(name, provider=provider, profile=profile)


def _provider(kind: str, name: str, base_url: str, http: Any, key: str | None = None) -> Any:
    from pydantic_ai import exceptions
    from pydantic_ai.models import KnownModelName
    from pydantic_ai.providers import infer_provider, infer_provider_class

    try:
        provider_class: Any = infer_provider_class(kind)
    except ValueError as error:
        listed = get_args(getattr(KnownModelName, "__value__", KnownModelName))
        providers = sorted({str(model).partition(":")[0] for model in listed} - {"test"})
        hint = f"{_OLD_NAMES[kind]}:{name}" if kind in _OLD_NAMES else suggest(kind, providers)
        raise UsageError(f"unknown provider {kind!r}", hint=hint) from error
    if kind.startswith("gateway/"):
        return infer_provider(kind)
    parameters = inspect.signature(provider_class.__init__).parameters
    options: dict[str, Any] = {"http_client": http} if "http_client" in parameters else {}
    if base_url:
        address_option = next((word for word in _ADDRESSES if word in parameters), None)
        if address_option is None:
            hint = f"openai:{name}, if the server speaks the chat-completions protocol"
            raise UsageError(f"--base-url does not go with {kind}:, whose address is fixed", hint=hint)
        options[address_option] = base_url
    if key is not None and "api_key" in parameters:
        options["api_key"] = key or "none"
    try:
        return provider_class(**options)
    except exceptions.UserError:
        if not base_url or "api_key" not in parameters:
            raise
        return provider_class(**options, api_key="none")  # a server of one's own may ask for no key


def without_secrets(url: str) -> str:
    """Return an address without a user name, a password or a query, which may hold a key.

    Raises:
        UsageError: it is not an address.
    """
    if not url:
        return ""
    parse_address(url)
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{parts.path}"


# Asking OpenAI-compatible servers without a provider's package: the address, the key, one pool of connections.

COMPLETIONS = "completions"
"""The provider whose server continues texts, and says how likely they are, instead of answering in turns."""
_CHAT = ("openai", "openai-chat")
_HOME = "https://api.openai.com/v1"
_CONNECT_SECONDS = 10.0


def lean_address(model: str, base_url: str) -> Address | None:
    """Return where to ask a model without its provider's package; None where only that knows how.

    Raises:
        UsageError: it is not an address, or cannot be spoken to in the only way that is left.
    """
    from urllib.request import getproxies, proxy_bypass

    provider, _ = split_name(model)
    stated = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if provider == COMPLETIONS:
        stated = stated or _HOME
    elif provider not in _CHAT or not is_foreign("openai", base_url):
        return None
    address, parts = parse_address(stated), urlsplit(stated)
    proxies = getproxies()
    has_proxy = (proxies.get(address.scheme) or proxies.get("all")) and not proxy_bypass(address.host)
    if not (parts.username or parts.query or has_proxy):
        return address
    if provider == COMPLETIONS:
        raise UsageError(f"{COMPLETIONS}: takes an address without a login, a query or a proxy", at=address.origin)
    return None


@asynccontextmanager
async def lean_server(model: str, address: Address) -> AsyncIterator[LeanServer]:
    """Yield a model's server; leaving closes its connections.

    Raises:
        UsageError: the key cannot be sent.
    """
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key.isascii() or not (key.isprintable() or not key):
        raise UsageError("OPENAI_API_KEY holds what no key can", hint="is there a line break at its end?")
    headers = {"User-Agent": f"markbook/{version()}", "Authorization": f"Bearer {key or 'none'}"}
    http = HttpClient(address, headers)
    try:
        yield LeanServer(split_name(model)[1], http)
    finally:
        await http.close()


def check_reached(address: Address) -> None:
    """Find out whether anything listens; nothing is asked.

    Raises:
        IncompleteError: nothing does, with the address.
    """
    try:
        socket.create_connection((address.host, address.port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error)
        hint = "is it running, and is --base-url right?"
        raise IncompleteError(f"no server answers at {address.origin}: {why}", hint=hint) from error
