"""What looks like a secret.

A name gives a value away by how it ends (`HUB_TOKEN`, not `TOKEN_LIMIT`); a value by the form that issuers give their
tokens so that they can be found.
"""

from __future__ import annotations

import re
from typing import Final

_SECRET_NAME: Final = re.compile(
    r"(^|[-_.])(pass(word|wd|phrase)?|pwd|secret|token|credentials?"
    r"|(access|account|api|auth|encryption|private|secret|signing|storage)[-_.]?key)$",
    re.IGNORECASE,
)

# Paths, flags, references and placeholders (a tokenizer's <eos>) keep no secret.
_HARMLESS: Final = re.compile(r"|true|false|/.*|<.*>|\[.*\]|.*\$\(.*", re.IGNORECASE | re.DOTALL)

# The look-behind also keeps the search linear: a run of letters is tried once, at its beginning.
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


def looks_secret(name: str, value: str) -> bool:
    """Whether a value, or the name that it has, looks like a secret's."""
    return has_secret(value) or names_secret(name, value)


def names_secret(name: str, value: str) -> bool:
    """Whether a name says that its value is a secret, and the value could be one."""
    return _SECRET_NAME.search(name) is not None and not _HARMLESS.fullmatch(value)


def has_secret(text: str) -> bool:
    """Whether a text holds what has the form of a secret."""
    return _SECRET_VALUE.search(text) is not None
