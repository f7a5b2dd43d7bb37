"""Detection of passwords and tokens in names, values and arguments.

A name marks a secret by its last word (`HUB_TOKEN`, not `TOKEN_LIMIT`). A value is a secret if it has the format of a
well-known token, for example of GitHub.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

_SECRET_NAME: Final = re.compile(
    r"(^|[-_.])(pass(word|wd|phrase)?|pwd|secret|token|credentials?"
    r"|(access|account|api|auth|encryption|private|secret|signing|storage)[-_.]?key)$",
    re.IGNORECASE,
)

# Paths, flags, references and placeholders (a tokenizer's <eos>) contain no secret.
_HARMLESS: Final = re.compile(r"|true|false|/.*|<.*>|\[.*\]|.*\$\(.*", re.IGNORECASE | re.DOTALL)

# The look-behind also makes the search linear: a sequence of letters is tested only at its beginning.
_SECRET_VALUE: Final = re.compile(
    r"""
    (?<![A-Za-z0-9_-]) (?:
        (?: AKIA | ASIA ) [0-9A-Z]{16}                      # AWS
      | AIza [\w-]{35}                                      # Google
      | gh[pousr]_ [A-Za-z0-9]{36} | github_pat_ \w{22}     # GitHub
      | glpat- [\w-]{20}                                    # GitLab
      | hf_ [A-Za-z0-9]{30}                                 # Hugging Face
      | npm_ [A-Za-z0-9]{36}                                # npm
      | pypi-AgE [\w-]{20}                                  # PyPI
      | sk- [\w-]{20}                                       # OpenAI and others
      | xox[abprs]- [\w-]{10}                               # Slack
      | eyJ [\w-]{8,} \. [\w-]{8,} \. [\w-]{8}              # a JSON Web Token
    )
    | -----BEGIN\ [A-Z ]{0,20}PRIVATE\ KEY-----
    | :// [^/\s:@]+ : [^/\s:@$]+ @                          # a password in an address
    """,
    re.VERBOSE | re.ASCII,
)

# A flag with a value, or an assignment, alone or in a shell command: --password=hunter2, db.password='hunter2'.
_FLAG: Final = re.compile(
    r"""(?<![^\s"';&|(])(?:--?(?P<flag>[A-Za-z][\w.-]*)(?:=|[ \t]+(?!-))|(?P<variable>[A-Za-z][\w.-]*)=)["']?"""
    r"""(?P<value>[^\s"']*)"""
)
_FLAG_NAME: Final = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")
_SHELL_VARIABLE: Final = re.compile(r"\$[{(]?\w")


def looks_secret(name: str, value: str) -> bool:
    """Test whether a value looks like a secret, or has a name that marks a secret."""
    return has_secret(value) or names_secret(name, value)


def names_secret(name: str, value: str) -> bool:
    """Test whether a name marks a secret, such as `HUB_TOKEN`, and the value could be a secret.

    A path or a placeholder, for example, is not a secret.
    """
    return _SECRET_NAME.search(name) is not None and not _HARMLESS.fullmatch(value)


def has_secret(text: str) -> bool:
    """Test whether a text contains a secret in a known format."""
    return _SECRET_VALUE.search(text) is not None


def find_secret_arguments(arguments: Sequence[Any]) -> Iterator[int]:
    """Yield the index of each argument that contains a well-known token, or the value of a flag such as --password."""
    flag = ""
    for index, text in enumerate(arguments):
        if isinstance(text, str):
            flags = [(flag, text)] if flag and not text.startswith("-") else []
            flags += ((match["flag"] or match["variable"], match["value"]) for match in _FLAG.finditer(text))
            if has_secret(text) or any(_is_secret_flag(name, value) for name, value in flags):
                yield index
        alone = _FLAG_NAME.fullmatch(text) if isinstance(text, str) else None
        flag = alone["name"] if alone else ""


def _is_secret_flag(name: str, value: str) -> bool:
    return names_secret(name, value) and not _SHELL_VARIABLE.match(value)
