"""Network streams that check the deadline while they wait, so that a call ends soon after its deadline or cancellation.

The timeouts of httpcore count from one piece to the next: a server that sends a byte now and then could hold a call for ever,
and a wait that has begun could not be cancelled. In a module of its own, because httpcore is an optional dependency.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2

from engram.deadline import POLL_S, deadline_passed


class DeadlineStream(httpcore2.NetworkStream):
    """A network stream that checks the deadline while it waits."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        waited = 0.0
        while not deadline_passed() and (timeout is None or waited < timeout):
            try:
                return self._stream.read(max_bytes, POLL_S)
            except httpcore2.ReadTimeout:
                waited += POLL_S
        raise httpcore2.ReadTimeout

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if deadline_passed():
            raise httpcore2.WriteTimeout
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class DeadlineBackend(httpcore2.SyncBackend):
    """A network backend whose connections are `DeadlineStream`s."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        return DeadlineStream(super().connect_tcp(host, port, timeout, local_address, socket_options))
