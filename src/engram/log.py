"""A logger that loads `logging` when it first has something to say: a hook mostly has not, and would wait for it."""

from __future__ import annotations

_HERE = 3  # frames between `logging` and whoever says it


class Log:
    """`logging.getLogger(name)`, later. No words that were kept may be said to it: codes, counts and names of ours alone."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, message: str, *values: object) -> None:
        self._say("INFO", message, values)

    def warning(self, message: str, *values: object) -> None:
        self._say("WARNING", message, values)

    def error(self, message: str, *values: object) -> None:
        self._say("ERROR", message, values)

    def _say(self, level: str, message: str, values: tuple[object, ...]) -> None:
        import logging

        logging.getLogger(self._name).log(getattr(logging, level), message, *values, stacklevel=_HERE)
