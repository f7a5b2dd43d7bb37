"""Secrets written into a job, and so into git.

A name gives a value away by how it ends (`HUB_TOKEN`, not `TOKEN_LIMIT`); a value by the form that issuers give their
tokens so that they can be found. The value itself is never in the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.schema.hints import path_name
from tfgen.text.document import Path

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


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Between the words of a name such as akSecret, as drivers call their options."""

_REFERENCE: Final = {"flexVolume": "secretRef", "csi": "nodePublishSecretRef"}


def _check(view: View) -> Iterator[Finding]:
    for path, name, value in _variables(view):
        if not isinstance(value, str):
            continue
        looks = "value" if _SECRET_VALUE.search(value) else "name" if _is_secret(name, value) else None
        if looks:
            message = (
                f"the {looks} of the variable {name} looks like a secret's, which would stand in git; "
                "put it into a Secret, and write secretKeyRef: {name: ..., key: ...}"
            )
            yield Finding(path, message)
    for path, name, value in _options(view):
        if looks_secret(_HUMP.sub("-", name), value):
            message = (
                f"{path_name(path)} looks like a secret, which would stand in git; put it into a Secret, and let the "
                f"volume name that ({_REFERENCE[str(path[2])]})"
            )
            yield Finding(path, message)
    for path, text in _arguments(view):
        if _SECRET_VALUE.search(text):
            message = "this argument looks like a secret, which would stand in git; pass a variable with secretKeyRef"
            yield Finding(path, message)


def looks_secret(name: str, value: str) -> bool:
    """Whether a value, or the name that it has, looks like a secret's."""
    return _SECRET_VALUE.search(value) is not None or _is_secret(name, value)


def _is_secret(name: str, value: str) -> bool:
    return _SECRET_NAME.search(name) is not None and not _HARMLESS.fullmatch(value)


def _variables(view: View) -> Iterator[tuple[Path, str, Any]]:
    yield from ((("env", name), name, value) for name, value in view.values["env"].items())
    for role in view.roles:
        own = view.values["roles"][role.name]["env"]
        yield from ((("roles", role.name, "env", name), name, value) for name, value in own.items())
        for parts in (
            pod_parts.beside(view, role.name),
            pod_parts.patched(view, role.name, "containers"),
            pod_parts.patched(view, role.name, "initContainers"),
        ):
            for container in parts:
                for item in pod_parts.items(container, "env"):
                    yield (*item.path, "value"), pod_parts.name(item), item.data.get("value")


def _options(view: View) -> Iterator[tuple[Path, str, str]]:
    """What storage tells drivers."""
    for volume, said in view.values["storage"].items():
        for source, field in (("flexVolume", "options"), ("csi", "volumeAttributes")):
            for name, value in said.get(source, {}).get(field, {}).items():
                yield ("storage", volume, source, field, name), name, value


def _arguments(view: View) -> Iterator[tuple[Path, str]]:
    for role in view.roles:
        for field in ("command", "args"):
            path, texts = view.effective(role.name, field)
            yield from (((*path, index), text) for index, text in enumerate(texts))


RULES: Final = (Rule("plaintext-secret", "warning", "A secret seems to stand in the job as text.", _check),)
