"""The marks by which a line is told for code or for output of a program."""

from __future__ import annotations

import enum
import re
from itertools import pairwise

_LONGEST_CODE = 400  # characters of a line of code

_NAME = r"[\w.$\[\]\"']+"
_MARKED = re.compile(
    r"\s*+(?:"
    # Definitions, imports and declarations: a keyword, and what only code has after it.
    r"(?:async\s+)?(?:def|fn|func|function)\s+\w+\s*[(<].*|function\s*\(.*"
    r"|(?:class|struct|interface|enum|impl|trait|namespace)\s+\w+\s*(?:[(<].*)?[:{]"
    r"|(?:public|private|protected|static|export|final)\s.*[{(]|(?:public|private|protected|static|export|final)\s.*[)=].*;"
    r"|from\s+[\w.]+\s+import\s.*|import\s+[\w.]+\s+as\s+\w+|import\s+(?:\w+\.)+[\w*]+;?|import\s.*\sfrom\s+[\"'].*"
    r"|import\s*[\"{*(].*|#include\s*[<\"].*|using\s+[\w.]+;|use\s+\w+::.*"
    r"|(?:const|let|var|val|auto|int|float|double|char|bool|string)\s+[\w{\[*&][\w{}\[\]:<>, ]{0,60}=[^=].*"
    # Control flow.
    r"|(?:if|while|else if|switch|for|foreach|catch)\s*\(.*\)\s*[{:;]?|(?:if|while|elif)\s+(?:not\s+)?[\w.]+:"
    r"|(?:if|while|elif)\s.*(?:[=!<>]=|\s[<>]\s|\w\(|\w\.\w|\sis\s|\sin\s|\snot\s).*:|for\s+\w+(?:,\s*\w+)*\s+in\s.*:"
    r"|(?:else|try|finally|do)\s*[:{]|with\s+[\w.]+\(.*:|except(?:\s+[\w.(), ]*(?:Error|Exception)[\w., )]*)?:"
    r"|return\b.*;|[{}\[\]();,]+"
    # Assignments and calls with quotes, brackets or an end that prose does not have.
    rf"|{_NAME}\s*(?:[-+*/|&]?=|:=)\s*(?:[\"'\[{{].*|\w+(?:\.\w+)*[(\[].*|.*;|None|True|False|true|false|null)"
    r"|(?:[a-z]{1,2}|\w+_\w+)\s*[-+*/|&]?=\s*\S+|print\(.*\)|\w+\(.*\s[-+*/%]\s.*\)"
    r"|(?:export\s+)?[A-Z][A-Z0-9_]{2,}=\S*|(?:await\s+)?\w+(?:\.\w+)+\(.*\)\s*[;{:]?"
    r"|\w+\((?:|.*[\"'=].*)\)\s*[;{:]?|.*[{}]|.*\w\(.*;|.*[=\[\]<>].*;|.*(?:::|->).*;|.*\)\s*=>.*|\w+\s*=>\s*[{(].*"
    # SQL, Dockerfiles, comments, JSON and HTML.
    r"|SELECT\s.*(?:[*,(]|\sFROM\s).*|FROM\s+[\w./:-]+(?:\s+(?:AS\s+)?\w+)?;?|WHERE\s.*[=<>].*"
    r"|(?:INSERT INTO|DELETE FROM|CREATE (?:TABLE|INDEX|VIEW)|(?:ALTER|DROP) TABLE|UPDATE \w+ SET|GROUP BY|ORDER BY)\s.*"
    r"|(?:(?:LEFT|RIGHT|INNER|OUTER) )*JOIN\s.*\sON\s.*"
    r"|(?:RUN|CMD|COPY|ADD|ENV|WORKDIR|EXPOSE|ENTRYPOINT|ARG|LABEL|USER|VOLUME)\s.*[/\[=.:&\d-].*"
    r"|//.*|/\*.*|\*/.*|<!--.*|</?[a-zA-Z][\w-]*(?:\s[^>]*)?>.*|@[\w.]+\(.*\)"
    r"|[\"'][\w-]+[\"']\s*:\s*(?:[\"'\[{\d-]|true|false|null).*|[\w-]+\s*:\s*[\[{].*[,{}\[\]]"
    r")|(?:[ ]{2,}|\t)\s*+(?:return\s+(?:\S+|.*(?:\w\(|\w\.\w|[=+*<>{\[]).*)|[\w.]+\s*[-+*/|&]?=\s*(?:\S+|.*\s[-+*/%|&]\s.*))"
)
"""A line with a mark of code that prose has seldom; two such neighbours are code."""
_RESEMBLING = re.compile(
    r"\s*+(?:"
    r"(?:import|from|using|include|require|use)\s[\w.:{}\"'<>/@*, -]+;?|(?:if|for|while|elif|with|switch|case|do|except)\b.*[:{]"
    r"|return\b[^.]*;?|[\w.\[\]\"']+\s*(?:[-+*/|&]?=|:=|=>)\s*\S+[^.!?]*|[\w.]+\([^)]*\)\s*[;{:]?|.*;|@\w+"
    r"|[\"']?[\w-]+[\"']?\s*:\s*(?:[\"'][^\"']*[\"'],?|[-\d.]+,?|true|false|null)"
    r"|(?:RUN|CMD|COPY|ADD|ENV|WORKDIR|EXPOSE|ENTRYPOINT|ARG|LABEL|USER|VOLUME)\s.*"
    r"|(?:raise|yield|assert|pass|break|continue|print|echo|del|await|throw|new)\b.*"
    r")"
)
"""A line that may be code beside other lines of code, and is prose elsewhere."""
_KEY = re.compile(r"(?P<indent> *)(?:- +)?(?P<name>[a-z][\w.-]*):(?P<value> .*)?")


def code_mark(line: str) -> bool | None:
    """Return True for a line with a mark of code, False for one that only resembles code, None for any other."""
    words = line.rstrip()
    if len(words) > _LONGEST_CODE:
        return None
    if _MARKED.fullmatch(words):
        return True
    return False if _RESEMBLING.fullmatch(words) else None


def is_key(line: str) -> bool:
    """Return True for a line that may be a key of a configuration, with or without its value."""
    return _KEY.fullmatch(line.rstrip()) is not None


def is_nested(lines: list[str]) -> bool:
    """Return True for keys of a configuration that stand inside each other, as in YAML, more than once."""
    found = [_KEY.fullmatch(line.rstrip()) for line in lines]
    if any(match is None and not line.lstrip().startswith(("-", "#")) for match, line in zip(found, lines, strict=True)):
        return False
    keys = [match for match in found if match is not None]
    deeper = sum(not first["value"] and len(second["indent"]) > len(first["indent"]) for first, second in pairwise(keys))
    return deeper > 1


class LogMark(enum.Enum):
    """The evidence that a line was written by a program."""

    SURE = "sure"
    TIME = "time"  # a time with seconds, or columns: two neighbours are a log
    LEVEL = "level"


_LEVEL = r"(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)"
_SURE_LOG = re.compile(
    r"[ \t]*+(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,Z+: -]{0,16}\]?\s+\S"  # 2026-03-02 09:14:07 …
    rf"|\[?(?:\d{{4}}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?[\d.,Z+: -]{{0,16}}\]?\s+\[?{_LEVEL}\b"
    r"|\[\d\d:\d\d:\d\d(?:[.,]\d+)?\]\s+\S"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S"  # Mar  2 09:14:07 host …
    r"|Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|[A-Z][\w.]*(?:Error|Exception): \S"
    r"|at [\w$<>]+\.[\w$.<>]+\([^)]*\)\s*$|at [^\n]{0,200}:\d+:\d+\)?\s*$"
    r"|(?:warning|error): [\w-]*[./][\w./-]*:|npm (?:ERR|WARN)!|(?:FAILED|PASSED|ERROR) [\w.-]*[/:][\w./:\[\]-]+|={5,}|E {3}\S"
    r"|\$ [a-z][\w./-]*(?: \S+)*$"
    r"|commit [0-9a-f]{7,40}\b|Author: [^<\n]{1,80}<[^>\n]+@|Date: {3}[A-Z][a-z]{2} [A-Z][a-z]{2} "  # of git
    r"|[-dlbcps][-rwxsStT]{9}[.+@]?\s+\d+\s"  # of ls
    r"|[\w./\\-]+\.\w{1,5}(?::\d+:\d+|:\d+: |\(\d+,\d+\))|diff --git |@@ -\d+,\d+ "  # of compilers, grep and diff
    r")"
)
_TIMED_LOG = re.compile(r"[ \t]*+(?:\d\d:\d\d:\d\d(?:[.,]\d+)?\s+\S|(?:[\w/:%-]+\s{2,}){2,}\S+|total \d+$)")
_LEVEL_LOG = re.compile(rf"[ \t]*+(?:\[?{_LEVEL}\]?[:\s]|(?:[Ee]rror|[Ww]arning): )")


def log_mark(line: str) -> LogMark | None:
    """Return the evidence that a line belongs to a log; None without any."""
    if _SURE_LOG.match(line):
        return LogMark.SURE
    if _TIMED_LOG.match(line):
        return LogMark.TIME
    return LogMark.LEVEL if _LEVEL_LOG.match(line) else None
