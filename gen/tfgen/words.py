r"""Functions for the text of messages: values, paths, commands, names, numbers, tables and the hint "did you mean".

No message contains a credential: a key, a token or a password in the format of a well-known provider.

    >>> text = "cd /data\ngit clone https://me:hunter2@git.ml.internal/data"
    >>> [*find_credentials(text)], without_credentials(text)
    ([('an address with a password', 2)], 'cd /data\ngit clone https://me:...@git.ml.internal/data')

A placeholder, a reference to a variable, or an example of a documentation is no credential: `https://me:$(PASSWORD)@host`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Final

from tfgen.data_path import Path


def shown(value: object, longest: int = 60) -> str:
    r"""Return a user's value for a message, as JSON in a single line of at most `longest` characters.

    The text contains no credential.

    >>> shown("worker\\n"), shown(1.5), shown(None)
    ('"worker\\\\n"', '1.5', 'null')
    """
    text = _as_json(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _as_json(value: object) -> str:
    return printable(without_credentials(json.dumps(value, ensure_ascii=False)))


def shown_pair(first: object, second: object, longest: int = 60) -> tuple[str, str]:
    """Return two different values for a message, as `shown` does, but so that the two texts differ.

    If the first `longest` characters of the values are equal, each text begins shortly before the first difference. The
    texts are equal for values that differ only in a credential.

    >>> shown_pair("registry.ml.internal/mnist:1.4.0", "registry.ml.internal/mnist:1.5.0", 24)
    ('...nal/mnist:1.4.0"', '...nal/mnist:1.5.0"')
    """
    pair = shown(first, longest), shown(second, longest)
    texts = [_as_json(value) for value in (first, second)]
    if texts[0] == texts[1] or pair[0] != pair[1]:
        return pair
    equal = takewhile(lambda characters: characters[0] == characters[1], zip(*texts, strict=False))
    start = max(sum(1 for _ in equal) - _LEAD, 0)
    ends = (text[start:] for text in texts)
    before, after = (end if len(end) <= longest - 3 else f"{end[: longest - 6]}..." for end in ends)
    return f"...{before}", f"...{after}"


_LEAD = 12
"""Number of equal characters that `shown_pair` shows before the first difference of two long texts."""


def printable(text: str) -> str:
    """Escape the characters of a text that control a terminal, such as line endings and escape sequences."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def for_terminal(text: str) -> str:
    """Escape the characters of a text that control a terminal, except line endings and tabs."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


NEAR = 0.8
"""Minimum similarity (0 to 1) of a name and its misspelling, such as a name with a wrong letter or an added s."""


def either(names: Iterable[str], last: str = "or") -> str:
    """Join names as in `a, b or c`, with the word `last` before the last name. An empty name becomes two quotes."""
    *most, end = [name or '""' for name in names]
    return f"{', '.join(most)} {last} {end}" if most else end


def listed(names: Sequence[str], most: int) -> str:
    """Join names as in `a, b and c`, or as in `a, b and 3 more` if there are more than `most` names.

    >>> listed(["a", "b", "c"], most=3), listed(["a", "b", "c"], most=1)
    ('a, b and c', 'a and 2 more')
    """
    unnamed = len(names) - most
    return f"{', '.join(names[:most])} and {unnamed} more" if unnamed > 0 else either(names, "and")


ALSO = "also in"
"""Words before the names of the environments that have the same mistake as the job."""


def in_environments(names: Iterable[str | None], where: str = "in") -> str:
    """Return text such as ` (in the environments dev and prod)`; empty if `names` contains None for the job itself."""
    distinct = list(dict.fromkeys(names))
    named = [name for name in distinct if name is not None]
    if len(named) < len(distinct) or not named:
        return ""
    return f" ({where} the environment{'s' if len(named) > 1 else ''} {either(named, 'and')})"


def meant(name: str | None) -> str:
    """Return the hint `; did you mean "replicas"?` with a name; empty for None."""
    return f"; did you mean {shown(name)}?" if name else ""


def nearest(name: Any, candidates: Iterable[str], least: float = 0.6) -> str | None:
    """Return the candidate that is most similar to `name`; None if no candidate has the similarity `least` (0 to 1).

    The comparison ignores upper and lower case, because a wrong case is the most frequent mistake.
    """
    from difflib import get_close_matches  # imported late: a valid job saves the 5 ms

    by_lower = {choice.lower(): choice for choice in candidates if choice}
    close = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=least)
    return by_lower[close[0]] if close else None


def path_name(path: Path) -> str:
    """Return a path in the notation of messages.

    >>> path_name(("spec", "labels", "example.com/team")), path_name(("spec", "args", 0)), path_name(())
    ('spec.labels["example.com/team"]', 'spec.args[0]', 'the document')
    """
    name = ""
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            name += f".{step}" if re.fullmatch(r"[A-Za-z0-9_-]+", step) else f"[{shown(step)}]"
    return name.removeprefix(".") or "the document"


def command_line(command: str, *arguments: object) -> str:
    """Return a tfgen command for a message. A user can copy the text to a POSIX shell, whatever the arguments contain.

    >>> command_line("render", "--upgrade", "my jobs/job.yaml")
    "tfgen render --upgrade 'my jobs/job.yaml'"
    """
    return shlex.join(["tfgen", command, *map(str, arguments)])


def columns(rows_of_cells: Sequence[Sequence[str]]) -> str:
    """Return a table as text with aligned columns. Each row is a sequence with the texts of the cells."""
    widths = [max(map(len, column)) for column in zip(*rows_of_cells, strict=True)]
    padded = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows_of_cells)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def count(number: int, noun: str) -> str:
    """Return a number with a noun: "1 job", "2 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


# -- credentials -------------------------------------------------------------------------------------------------------


_KEY_TEXT: Final = r"(?:[\s\"'+]|\\{1,2}[nr]){0,99}(?:Proc-Type:|Version:|[A-Za-z0-9+/]{16})"
"""Pattern of the beginning of a private key, after its first line. Programs often contain the first line alone."""

_FORMATS: Final = (
    ("an access key of AWS", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?![A-Z0-9])"),
    ("an API key of Google", "AIza", r"[\w-]{35}(?![\w-])"),
    ("an OAuth secret of Google", "GOCSPX-", r"[\w-]{28}"),
    (
        "a key of a Google service account",
        "private_key",
        r"""["']\s{0,9}:\s{0,9}["']-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----""" + _KEY_TEXT,
    ),
    ("an account key of Azure", "AccountKey=", r"[A-Za-z0-9+/]{86}=="),
    ("a shared access key of Azure", "SharedAccessKey=", r"[A-Za-z0-9+/]{43}="),
    ("a shared access signature of Azure", "sig=", r"(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){43}(?:=|%3[Dd])"),
    ("an access key of Alibaba Cloud", "LTAI", r"(?:[A-Za-z0-9]{20}|[A-Za-z0-9]{12})(?![A-Za-z0-9])"),
    ("a token of GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?:[A-Za-z0-9]{36}|\d{1,12}_eyJ[\w-]{8,}\.)"),
    ("a token of GitHub", "github_pat_", r"[A-Za-z0-9]{22}_\w{40}"),
    ("a token of GitLab", "glpat- gldt- glrt- glcbt- glptt- gloas-", r"[\w-]{20}"),
    ("a token of Bitbucket", "ATBB", r"[A-Za-z0-9]{32}"),
    ("a token of Bitbucket", "ATATT3 ATCTT3", r"[\w=-]{40}"),
    ("a token of Hugging Face", "hf_ api_org_", r"[A-Za-z0-9]{34}"),
    ("an API key of a model provider", "sk-", r"[A-Za-z0-9]{32}"),
    ("an API key of a model provider", "sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-ant-", r"[\w-]{32}"),
    ("a token of npm", "npm_", r"[A-Za-z0-9]{36}"),
    ("a token of PyPI", "pypi-AgE", r"[\w-]{50}"),
    ("a token of Slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"\d[\w-]{10}"),
    ("a webhook of Slack", "hooks.slack.com/services/T", r"\w{6,}/B\w{6,}/\w{16}"),
    ("a webhook of Slack", "hooks.slack.com/workflows/T", r"\w{6,}/A\w{6,}/\d{6,}/\w{16}"),
    ("a JSON Web Token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8}"),
    ("a private key", "-----BEGIN", r"[A-Z ]{0,20} PRIVATE KEY(?: BLOCK)?-----" + _KEY_TEXT),
    # Characters such as $ and { begin a reference to a variable. In the address of an image or of a data set, a digest
    # or a version follows the @.
    (
        "an address with a password",
        "://",
        r"""(?<!docker://)(?<!oci://)(?<!lakefs://)(?<!tfds://)[^/\s:@?#"'`<>]*:(?P<password>(?![$({\[]|%\()"""
        r"""(?:(?!\$[({]|\{\{)[^/\s:@?#"'`<>])+)@(?!sha256:)""",
    ),
)
"""The formats: the kind of a credential, the prefixes of the kind, and the pattern of the text after a prefix.

The formats are those of the providers' documentation, of gitleaks and of detect-secrets. A format without a length,
such as `sk-` and any name, would refuse values that are no credentials.
"""

_LONG_KEYS: Final = ("a key of a Google service account", "a private key")
"""The kinds whose pattern is only the beginning of a credential of many lines."""

_BY_PREFIX: Final = tuple((prefix, rest, kind) for kind, prefixes, rest in _FORMATS for prefix in prefixes.split())

# A base64 text contains some of the prefixes by chance, but not at the beginning of a word. In JSON and in programs, a
# word may begin after the escape of a line end or of an ampersand.
_START: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=\\u0026))"
_TOKEN: Final = re.compile(r"[\w+/=.~%-]*")
"""The rest of a token, after the characters of its format."""

# The last text is from the public key of Azurite, the emulator of Azure's storage.
_PLACEHOLDER: Final = (
    "(?i)example|placeholder|redacted|change[-_]?me|dummy|sample|your[-_]|x{5}|abcdefgh|12345678|Eby8vdM02xNOcqFl"
)
_FEWEST_CHARACTERS: Final = 9
"""Minimum number of different characters in a token. A placeholder repeats a few characters."""

# A documentation writes these texts in place of a password.
_STAND_IN: Final = (
    r"(?i)(.)\1*|%\w|your[-_].*"
    r"|(?-i:[A-Z]+(?:_[A-Z]+)+|[%_]+[A-Z_]+[%_]+)|guest|tiger"
    r"|(?:my|your|the)?[-_]?(?:pass(?:wd|word|phrase)?|pwd?|secret|token|test|example|redacted|change[-_]?(?:me|it))"
)


def find_credentials(text: str) -> Iterator[tuple[str, int]]:
    """Yield the kind of each credential in a text, such as "a token of GitHub", and its line, counted from 1."""
    return ((kind, text.count("\n", 0, match.start()) + 1) for match, kind in _matches(text))


def has_credential(text: str) -> bool:
    """Test whether a text contains a credential."""
    return any(_matches(text))


def without_credentials(text: str) -> str:
    """Return a text in which "..." replaces each password of an address, each token and each private key."""
    for match, kind in reversed([*_matches(text)]):
        start, end = match.span("password" if "password" in match.re.groupindex else 0)
        if kind in _LONG_KEYS:
            end = len(text)
        elif end == match.end() and (rest := _TOKEN.match(text, end)):
            end = rest.end()
        text = f"{text[:start]}...{text[end:]}"
    return text


def _matches(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the match and the kind of each credential in a text."""
    # Most texts contain no prefix, so tfgen compiles few of the patterns.
    found = [
        (match, kind)
        for prefix, rest, kind in _BY_PREFIX
        if prefix in text
        for match in _pattern(prefix, rest).finditer(text)
        if not _is_placeholder(match)
    ]
    end = 0
    for match, kind in sorted(found, key=lambda item: item[0].start()):
        if match.start() >= end:  # A token may be the password of an address.
            yield match, kind
            end = match.end()


def _pattern(prefix: str, rest: str) -> re.Pattern[str]:
    start = _START if prefix[0].isalnum() else ""
    return re.compile(f"{start}{re.escape(prefix)}{rest}", re.ASCII)


def _is_placeholder(match: re.Match[str]) -> bool:
    if "password" in match.re.groupindex:
        return re.fullmatch(_STAND_IN, match["password"]) is not None
    return len({*match[0]}) < _FEWEST_CHARACTERS or re.search(_PLACEHOLDER, match[0]) is not None
