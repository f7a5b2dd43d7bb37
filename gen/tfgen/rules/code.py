"""Code that the pods cannot fetch or mount, or that may change before a task restarts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tfgen.job.training_job import FileCode, GitCode
from tfgen.kubernetes.limits import CONFIG_MAP_MAX
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.tree.file_tree import path_fault
from tfgen.words import shown

# These patterns are compiled only when they are used, because few jobs need them.
_COMMIT: Final = r"[0-9a-f]{40}|[0-9a-f]{64}"
_SHORTENED: Final = r"(?=.*[0-9])[0-9a-f]{7,63}"
# A name that contains a version, such as v2 or train/v1.4.0-rc.1, is probably a tag, which does not move.
_TAG: Final = r"v[0-9]+(\.[0-9]+)?|(.*[-_/@])?v?[0-9]+\.[0-9]+\.[0-9]+([-.+].*)?"

_SSH_PORT: Final = 22
_PORTS: Final[Mapping[str, int]] = {"https": 443, "http": 80}


def _check_revision(view: View) -> Iterator[Finding]:
    if not isinstance(view.job.structure.code, GitCode):
        return
    revision = view.values["code"]["git"]["revision"]
    if re.fullmatch(_COMMIT, revision) or re.fullmatch(_TAG, revision):
        return
    if re.fullmatch(_SHORTENED, revision):
        message = (
            f"code.git.revision is {shown(revision)}, a shortened hash, which a git server cannot resolve; write the "
            "full hash"
        )
    else:
        message = (
            f"code.git.revision is {shown(revision)}, which may refer to a different commit later, so a restarted task "
            "could run different code from the other tasks; write the hash of a commit, or the tag of a version"
        )
    yield Finding(("code", "git", "revision"), message)


def _check_secret(view: View) -> Iterator[Finding]:
    git = view.job.structure.code
    if isinstance(git, GitCode) and git.is_ssh and not git.secret:
        message = (
            "the address of the repository uses ssh, but code.git has no key; set code.git.secretName to a Secret with "
            "ssh-privatekey and known_hosts, or write the https address"
        )
        yield Finding(("code", "git", "repository"), message)
    gitops = view.job.gitops
    if gitops and gitops.flux is not None and gitops.is_ssh and not gitops.flux["secretName"]:
        message = (
            "the address of the repository uses ssh, but Flux has no key; set gitops.flux.secretName to a Secret with "
            "identity and known_hosts, or write the https address"
        )
        yield Finding(("gitops", "repository"), message)


def _check_egress(view: View) -> Iterator[Finding]:
    """Report a limited egress without a rule for the port of the git server."""
    git, egress = view.job.structure.code, view.values["network"]["egress"]
    if not isinstance(git, GitCode) or not egress["limited"]:
        return
    address = urlsplit(git.repository)
    port = (address.port if address.scheme else None) or _PORTS.get(address.scheme, _SSH_PORT)
    if not any(_allows(rule, port) for rule in egress["rules"]):
        message = (
            f"network.egress.limited blocks port {port} of the git server, so no pod can fetch the code; add the "
            "server to network.egress.rules"
        )
        yield Finding(("network", "egress", "limited"), message)


def _allows(rule: Mapping[str, Any], port: int) -> bool:
    ports = rule.get("ports")
    if not ports:
        return True
    return any(
        entry.get("protocol", "TCP") == "TCP" and entry["port"] <= port <= entry.get("endPort", entry["port"])
        for entry in ports
    )


def _check_size(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    size = sum(len(text.encode()) for text in code.files.values()) if isinstance(code, FileCode) else 0
    if size > CONFIG_MAP_MAX:
        message = (
            f"the files have {size} bytes, but a ConfigMap can have at most {CONFIG_MAP_MAX}; use code.git, or build "
            "the files into the image"
        )
        yield Finding(("code", "configMap", "files"), message)


def _check_names(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    names: dict[str, str] = {}
    for name in code.files if isinstance(code, FileCode) else ():
        namesake = names.setdefault(name.casefold(), name)
        if fault := path_fault(name):
            message = f"tfgen cannot write the code file {fault}; rename the file"
            yield Finding(("code", "configMap", "files", name), message)
        elif namesake != name:
            message = (
                f"the file names {shown(namesake)} and {shown(name)} differ only in case, which some file systems "
                "ignore; rename one of the files"
            )
            yield Finding(("code", "configMap", "files", name), message)


RULES: Final = (
    Rule("code-name", "error", "The name of a code file is not valid in some file systems.", _check_names),
    Rule("code-size", "error", "The code files are too large for a ConfigMap.", _check_size),
    Rule(
        "git-egress",
        "warning",
        "The job limits egress, but no rule allows connections to the git server.",
        _check_egress,
    ),
    Rule(
        "git-secret",
        "error",
        "The job uses a git repository over ssh, but names no Secret with the ssh key.",
        _check_secret,
    ),
    Rule(
        "moving-revision",
        "warning",
        "A branch or a tag of the code repository may refer to a different commit later.",
        _check_revision,
    ),
)
