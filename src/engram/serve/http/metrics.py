"""Prometheus metrics: requests by operation and status, their duration, and figures of the vault. They hold no text and no
ids."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from engram.types import Health

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one server, in their own registry."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("engram_requests", "Requests answered.", ["operation", "status"], registry=self._registry)
        self._seconds = Histogram(
            "engram_request_seconds", "How long they took.", ["operation"], buckets=_SECONDS, registry=self._registry
        )
        self.in_flight = Gauge("engram_requests_in_flight", "Requests being answered.", registry=self._registry)
        self._gauges = {
            name: Gauge(f"engram_{name}", help, registry=self._registry)
            for name, help in (
                ("memories", "Memories in the vault."),
                ("vault_bytes", "Size of the database."),
                ("log_bytes", "Size of its log."),
                ("resident_bytes", "Resident memory of the server."),
                ("writes_waiting", "Writes in the queue."),
                ("vectors_pending", "Memories without a vector."),
            )
        }

    def count_request(self, operation: str, status: int, seconds: float) -> None:
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def exposition(self, health: Health) -> bytes:
        """Return all metrics in the Prometheus text format, with the gauges set from the vault's health."""
        figures = {
            "memories": health.counts.memories,
            "vault_bytes": health.vault_bytes,
            "log_bytes": health.wal_bytes,
            "resident_bytes": health.rss_bytes,
            "writes_waiting": health.queue_depth,
            "vectors_pending": health.pending_embeddings,
        }
        for name, value in figures.items():
            self._gauges[name].set(value)
        return generate_latest(self._registry)
