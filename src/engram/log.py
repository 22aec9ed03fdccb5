"""A logger that imports `logging` on the first message, since a hook mostly logs nothing and would wait for the import."""

from __future__ import annotations

_STACK_LEVEL = 3  # frames between `logging` and the code that logs


class Log:
    """A lazy `logging.getLogger(name)`. Messages hold codes, counts and Engram's own names, never stored text."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, message: str, *values: object) -> None:
        self._log("INFO", message, values)

    def warning(self, message: str, *values: object) -> None:
        self._log("WARNING", message, values)

    def error(self, message: str, *values: object) -> None:
        self._log("ERROR", message, values)

    def _log(self, level: str, message: str, values: tuple[object, ...]) -> None:
        import logging

        logging.getLogger(self._name).log(getattr(logging, level), message, *values, stacklevel=_STACK_LEVEL)
