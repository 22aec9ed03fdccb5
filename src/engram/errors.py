"""Every error Engram raises, as one tree with stable codes.

    EngramError
    ├── StorageError
    │   ├── VaultLocked          E1001  no key, or not the key of this vault
    │   ├── VaultDamaged         E1002  a page, the header or an index does not verify
    │   ├── DiskFull             E1003  nothing can be written; reads go on
    │   ├── MigrationFailed      E1004  the format could not be brought up to date
    │   ├── WriteFailed          E1005  a write failed, and nothing of it was stored
    │   ├── VaultBusy            E1006  another process has exclusive use of the vault
    │   ├── VaultTooNew          E1007  written by a later release of Engram
    │   ├── NotFound             E1008  no such memory, backup or vault for this reader
    │   ├── Conflict             E1009  the item changed since the caller read it, or is in use
    │   └── KeyReused            E1010  an idempotency key was used for another request
    ├── SearchError
    │   ├── SearchTimeout        E2001  no answer before the deadline; nothing was changed
    │   ├── NoIndex              E2002  the search index is not ready
    │   ├── RateLimited          E2003  too many questions
    │   └── InvalidQuery         E2004  an argument is not valid
    ├── EmbeddingError
    │   ├── EmbedderUnavailable  E3001  the encoder is not installed or not reachable
    │   ├── EmbeddingFailed      E3002  the encoder returned no usable vector
    │   ├── DimensionMismatch    E3003  vectors of another length than the vault's
    │   └── ModelChanged         E3004  vectors of another model than the vault's
    ├── SecurityError
    │   ├── AccessDenied         E4001  the reader may not do this
    │   ├── EncryptionFailed     E4002  encryption or decryption failed; nothing falls back to plaintext
    │   ├── InjectionBlocked     E4003  the text reads as an attack on the model
    │   ├── ContentTooLarge      E4004  the text is too long for one memory
    │   └── InvalidContent       E4005  empty, or not text that can be stored
    └── SystemError_
        ├── MemoryPressure       E5001  not enough memory
        ├── BackgroundStalled    E5002  background work has stopped
        ├── ConfigInvalid        E5003  a setting is not valid
        ├── GeneratorUnavailable E5004  the language model is down, or its budget is used up
        └── GenerationFailed     E5005  the language model's answer is unusable

An error has a message, which says what happened, and a way out. Neither ever contains the text of a memory or of a question:
messages are made of ids, paths, counts and names of settings only.
"""

from __future__ import annotations


class EngramError(Exception):
    """The base class of all errors. `code` is stable across releases; `way_out` says what to do next."""

    code = "E0000"
    default_way_out = ""

    def __init__(self, message: str, *, way_out: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.way_out = self.default_way_out if way_out is None else way_out

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" {self.way_out}" if self.way_out else "")


class StorageError(EngramError):
    """The vault could not be opened, read or written."""

    code = "E1000"


class VaultLocked(StorageError):
    """Raised when the key is missing, or is not the key of this vault."""

    code = "E1001"
    default_way_out = "Use the key, key file or passphrase of this vault, or `engram key import` its recovery key."


class VaultDamaged(StorageError):
    """Raised when a page, the header or an index does not verify."""

    code = "E1002"
    default_way_out = "Nothing was overwritten. Run `engram doctor --repair`, or `engram restore-backup`."


class DiskFull(StorageError):
    """Raised when nothing can be written. Reads continue."""

    code = "E1003"
    default_way_out = "Free disk space or make the folder writable; writing then resumes automatically."


class MigrationFailed(StorageError):
    """Raised when the format of a vault cannot be brought up to date."""

    code = "E1004"
    default_way_out = "The vault is unchanged. Run `engram doctor`, or open it with the release that wrote it."


class WriteFailed(StorageError):
    """Raised when a write fails. Nothing of it was stored."""

    code = "E1005"
    default_way_out = "Nothing of this write was stored; it is safe to try again."


class VaultBusy(StorageError):
    """Raised when another process has exclusive use of the vault."""

    code = "E1006"
    default_way_out = "Close the other programs that have this vault open, then try again."


class VaultTooNew(StorageError):
    """Raised when a later release of Engram wrote the vault."""

    code = "E1007"
    default_way_out = "Upgrade engram-local on this machine."


class NotFound(StorageError):
    """Raised when there is no such memory, backup or vault for this reader."""

    code = "E1008"
    default_way_out = "Use an id from a search or a listing."


class Conflict(StorageError):
    """Raised when an item changed since the caller read it, or is in use."""

    code = "E1009"
    default_way_out = "Read its present state, then try again."


class KeyReused(StorageError):
    """Raised when an idempotency key was used for another request."""

    code = "E1010"
    default_way_out = "Use a new key for each request, and repeat a key only to retry the same request."


class SearchError(EngramError):
    """A question could not be answered. An empty answer is not an error."""

    code = "E2000"


class SearchTimeout(SearchError):
    """Raised when the deadline passes before the answer. Nothing was changed."""

    code = "E2001"
    default_way_out = "Try again, or allow more time."


class NoIndex(SearchError):
    """Raised when the search index is not ready."""

    code = "E2002"
    default_way_out = "Run `engram doctor`; indexes can always be rebuilt from the vault."


class RateLimited(SearchError):
    """Raised when too many questions were asked. `after_s`: the seconds after which to try again."""

    code = "E2003"
    default_way_out = "Wait a minute and try again."

    def __init__(self, message: str, *, way_out: str | None = None, after_s: float = 5.0) -> None:
        super().__init__(message, way_out=way_out)
        self.after_s = after_s


class InvalidQuery(SearchError):
    """Raised when an argument is not valid."""

    code = "E2004"
    default_way_out = "Correct the argument named here, and try again."


class EmbeddingError(EngramError):
    """A vector could not be made or used."""

    code = "E3000"


class EmbedderUnavailable(EmbeddingError):
    """Raised when the encoder is not installed or not reachable."""

    code = "E3001"
    default_way_out = "Run `engram model install`; until then recall works on text."


class EmbeddingFailed(EmbeddingError):
    """Raised when the encoder returns no usable vector."""

    code = "E3002"
    default_way_out = "The memory is stored; its vector is made later."


class DimensionMismatch(EmbeddingError):
    """Raised when vectors have another length than the vault's."""

    code = "E3003"
    default_way_out = "Use the model that made these vectors, or remake them all: `engram model fill --anew`."


class ModelChanged(EmbeddingError):
    """Raised when vectors come from another model than the vault's."""

    code = "E3004"
    default_way_out = "Remake all vectors: `engram model fill --anew`."


class SecurityError(EngramError):
    """The caller may not do this, or the content may not be stored."""

    code = "E4000"


class AccessDenied(SecurityError):
    """Raised when the reader may not do this."""

    code = "E4001"
    default_way_out = "Open the vault with an identity that may do this."


class EncryptionFailed(SecurityError):
    """Raised when encryption or decryption fails. Nothing falls back to plaintext."""

    code = "E4002"
    default_way_out = "Nothing was written in plaintext. Run `engram doctor`."


class InjectionBlocked(SecurityError):
    """Raised when a text reads as an attack on the model."""

    code = "E4003"


class ContentTooLarge(SecurityError):
    """Raised when a text is too long for one memory."""

    code = "E4004"
    default_way_out = "Shorten it, or pass a long text to `observe` or `ingest`, which split it."


class InvalidContent(SecurityError):
    """Raised when content is empty, or is not text that can be stored."""

    code = "E4005"
    default_way_out = "Correct the content named here, and try again."


class SystemError_(EngramError):
    """The machine or its configuration prevents the operation."""

    code = "E5000"


class MemoryPressure(SystemError_):
    """Raised when there is not enough memory."""

    code = "E5001"
    default_way_out = "Close other programs, or lower the memory settings."


class BackgroundStalled(SystemError_):
    """Raised when background work has stopped."""

    code = "E5002"
    default_way_out = "Run `engram doctor`."


class ConfigInvalid(SystemError_):
    """Raised when a setting is not valid."""

    code = "E5003"
    default_way_out = "See `engram config` for names, ranges and units."


class GeneratorUnavailable(SystemError_):
    """Raised when the language model is down, or its budget is used up."""

    code = "E5004"
    default_way_out = "Rules do its work until then; `engram model show` says whether it answers."


class GenerationFailed(SystemError_):
    """Raised when the language model's answer is unusable."""

    code = "E5005"
    default_way_out = "Rules do its work instead; try another model if it happens often."
