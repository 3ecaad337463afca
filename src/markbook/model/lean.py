"""Asking OpenAI-compatible servers without a provider's package: the address, the key, one pool of connections."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from markbook.errors import UsageError
from markbook.installed import version
from markbook.model.chat import decode_reply, encode_payload
from markbook.model.connect import is_foreign, parse_address, split_name
from markbook.model.http import Address, HttpClient

COMPLETIONS = "completions"
"""The provider whose server continues texts, and says how likely they are, instead of answering in turns."""
_CHAT = ("openai", "openai-chat")
_HOME = "https://api.openai.com/v1"
_CONNECT_SECONDS = 10.0


class LeanServer:
    """One model of an OpenAI-compatible server."""

    def __init__(self, name: str, http: HttpClient) -> None:
        """Take the model's name and what posts."""
        self.name = name
        self.takes_several = True
        """Whether it gives several answers to one request, as far as is known."""
        self._http = http

    async def post(self, what: str, payload: Mapping[str, object]) -> Mapping[str, object]:
        """Return the JSON that an endpoint gives for some JSON.

        Raises:
            BadStatus: the server refuses.
            Garbled: what comes back is no JSON.
            Unreached: no connection came about.
        """
        path = f"{self._http.address.path.rstrip('/')}/{what}"
        response = await self._http.post(path, encode_payload(payload))
        return decode_reply(response.status, response.headers, response.body)


def lean_address(model: str, base_url: str) -> Address | None:
    """Return where to ask a model without its provider's package; None where only that knows how.

    Raises:
        UsageError: the address is none, or cannot be spoken to in this way and there is no other.
    """
    provider, _ = split_name(model)
    stated = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if provider == COMPLETIONS:
        stated = stated or _HOME
    elif provider not in _CHAT or not is_foreign("openai", base_url):
        return None
    address, parts = parse_address(stated), urlsplit(stated)
    if not (parts.username or parts.query or _has_proxy(address)):
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
        UsageError: nothing does, with the address.
    """
    try:
        socket.create_connection((address.host, address.port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error)
        hint = "is it running, and is --base-url right?"
        raise UsageError(f"no server answers at {address.origin}: {why}", hint=hint) from error


def _has_proxy(address: Address) -> bool:
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    return bool(proxies.get(address.scheme) or proxies.get("all")) and not proxy_bypass(address.host)
