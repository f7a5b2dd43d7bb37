"""Code that cannot be put into the pods, or that may be another for a task that is started again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tfgen.job.training_job import FileCode, GitCode
from tfgen.kubernetes.limits import CONFIG_MAP_MAX
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.tree.file_tree import path_fault
from tfgen.words import shown

# Patterns, which few jobs need compiled.
_COMMIT: Final = r"[0-9a-f]{40}|[0-9a-f]{64}"
_SHORTENED: Final = r"(?=.*[0-9])[0-9a-f]{7,63}"
# A name with a version in it, such as v2, 1.4.0 or train/v1.4.0-rc.1, is a tag, which nobody moves.
_TAG: Final = r"v[0-9]+(\.[0-9]+)?|(.*[-_/@])?v?[0-9]+\.[0-9]+\.[0-9]+([-.+].*)?"


def _check_revision(view: View) -> Iterator[Finding]:
    if not isinstance(view.job.structure.code, GitCode):
        return
    revision = view.values["code"]["git"]["revision"]
    if re.fullmatch(_COMMIT, revision) or re.fullmatch(_TAG, revision):
        return
    if re.fullmatch(_SHORTENED, revision):
        message = f"code.git.revision is {shown(revision)}, a shortened hash, which no git server knows; write it out"
    else:
        message = (
            f"code.git.revision is {shown(revision)}, which may move: a task that is started again would run other "
            "code than its peers; name a commit or a version's tag"
        )
    yield Finding(("code", "git", "revision"), message)


def _check_secret(view: View) -> Iterator[Finding]:
    git = view.job.structure.code
    if isinstance(git, GitCode) and git.is_ssh and not git.secret:
        message = (
            "the repository has an ssh address, but no key; set code.git.secretName to a Secret with ssh-privatekey "
            "and known_hosts, or use its https address"
        )
        yield Finding(("code", "git", "repository"), message)
    gitops = view.job.gitops
    if gitops and gitops.flux is not None and gitops.is_ssh and not gitops.flux["secretName"]:
        message = (
            "the repository has an ssh address, but Flux has no key; set gitops.flux.secretName to a Secret with "
            "identity and known_hosts, or use its https address"
        )
        yield Finding(("gitops", "repository"), message)


def _check_size(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    size = sum(len(text.encode()) for text in code.files.values()) if isinstance(code, FileCode) else 0
    if size > CONFIG_MAP_MAX:
        message = (
            f"the files have {size} bytes, more than the {CONFIG_MAP_MAX} of a ConfigMap; use code.git, or an image"
        )
        yield Finding(("code", "configMap", "files"), message)


def _check_names(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    first: dict[str, str] = {}
    for name in code.files if isinstance(code, FileCode) else ():
        other = first.setdefault(name.casefold(), name)
        if fault := path_fault(name):
            yield Finding(("code", "configMap", "files", name), f"code has a file that tfgen cannot write: {fault}")
        elif other != name:
            message = f"the files {shown(other)} and {shown(name)} are one to a disk that ignores case; rename one"
            yield Finding(("code", "configMap", "files", name), message)


RULES: Final = (
    Rule("code-name", "error", "A file of code has a name that not every disk takes.", _check_names),
    Rule("code-size", "error", "The files of code are too large for a ConfigMap.", _check_size),
    Rule("git-secret", "error", "A repository is read by ssh, without a key.", _check_secret),
    Rule("moving-revision", "warning", "A revision of code may mean another commit tomorrow.", _check_revision),
)
