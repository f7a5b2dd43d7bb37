"""Rules about images, about the code that a job mounts, and about example hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Position, Problem
from tfgen.job.sources import names_registry
from tfgen.job.training_job import FileCode, GitCode
from tfgen.kubernetes.object import CONFIG_MAP_MAX
from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, rule
from tfgen.rules.view import View
from tfgen.tree.files import path_fault
from tfgen.words import shown

# -- images ------------------------------------------------------------------------------------------------------------
#
# Search for the images of a job and for the paths that set the images.


def images(view: View) -> Iterator[tuple[Path, str]]:
    """Yield the path and the name of each image of a variant of a job, including default images.

    Example: ``(("image",), "registry.example.com/ml/dist-mnist:1.4.0")``.
    """
    found: dict[Path, Any] = {}
    if isinstance(view.job.structure.code, GitCode):
        found["code", "git", "image"] = view.values["code"]["git"]["image"]
    if view.has_tensorboard:
        found["tensorboard", "image"] = view.values["tensorboard"]["image"]
    for name, volume in view.values["storage"].items():
        found["storage", name, "image", "reference"] = data_path.at(volume, ("image", "reference"))
    for role in view.roles:
        path, image = view.effective_field(role.name, "image")
        found[path] = image
        for container in pod_parts.extra_containers(view, role.name):
            found[(*container.path, "image")] = container.data.get("image")
    return ((path, image) for path, image in found.items() if isinstance(image, str) and image)


# -- latest tag --------------------------------------------------------------------------------------------------------
#
# Images without a fixed version, which may change without a commit.


@rule("latest-tag", "warning", "An image has no fixed version.")
def latest_tag(view: View) -> Iterator[Finding]:
    for path, image in images(view):
        if "@" in image:
            continue
        _, _, tag = image.rpartition("/")[2].partition(":")
        if tag in ("", "latest"):
            version = "the tag latest" if tag else "no tag, which means latest"
            message = (
                f"the image {shown(image)} has {version}, so the image may change without a commit; write a version or "
                "a digest"
            )
            yield Finding(path, message)


# -- code --------------------------------------------------------------------------------------------------------------
#
# Code that the pods cannot fetch or mount, or that may change before a task restarts.


# These patterns are compiled only when they are used, because few jobs need them.
_COMMIT: Final = r"[0-9a-f]{40}|[0-9a-f]{64}"
_SHORTENED: Final = r"(?=.*[0-9])[0-9a-f]{7,63}"
# A name that contains a version, such as v2 or train/v1.4.0-rc.1, is probably a tag, which does not move.
_TAG: Final = r"v[0-9]+(\.[0-9]+)?|(.*[-_/@])?v?[0-9]+\.[0-9]+\.[0-9]+([-.+].*)?"

_SSH_PORT: Final = 22
_PORTS: Final[Mapping[str, int]] = {"https": 443, "http": 80}


@rule("moving-revision", "warning", "A branch or a tag of the code repository may refer to a different commit later.")
def moving_revision(view: View) -> Iterator[Finding]:
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


@rule("git-secret", "error", "The job uses a git repository over ssh, but names no Secret with the ssh key.")
def git_secret(view: View) -> Iterator[Finding]:
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


@rule("git-egress", "warning", "The job limits egress, but no rule allows connections to the git server.")
def git_egress(view: View) -> Iterator[Finding]:
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


@rule("code-size", "error", "The code files are too large for a ConfigMap.")
def code_size(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    size = sum(len(text.encode()) for text in code.files.values()) if isinstance(code, FileCode) else 0
    if size > CONFIG_MAP_MAX:
        message = (
            f"the files have {size} bytes, but a ConfigMap can have at most {CONFIG_MAP_MAX}; use code.git, or build "
            "the files into the image"
        )
        yield Finding(("code", "configMap", "files"), message)


@rule("code-name", "error", "The name of a code file is not valid in some file systems.")
def code_name(view: View) -> Iterator[Finding]:
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


# -- example host ------------------------------------------------------------------------------------------------------
#
# Example addresses, which no cluster can reach, in jobs that a GitOps tool applies and in the workflow of CI.
#
# https://www.rfc-editor.org/rfc/rfc2606 reserves some host names for examples. The rule checks only jobs with `gitops`.
# A job without `gitops` may be a new job, into which `tfgen init` wrote example addresses.


_EXAMPLE: Final = re.compile(r"(?:.*\.)?(?:example\.(?:com|net|org)|example)", re.IGNORECASE)
_HOST_OF_REPOSITORY: Final = re.compile(r"(?:[a-z]+://)?(?:[^@/]+@)?([^:/]+)")

_INSTALLED: Final = re.compile(r"tfgen-charts\S* @ (?P<address>git\+https?://(?P<host>[^/:\s]+)[^\s\"']*)")
"""The requirement in the workflow that `tfgen init --repo` writes."""

_REPOSITORIES: Final[tuple[Path, ...]] = (("gitops", "repository"), ("code", "git", "repository"))


@rule("example-host", "warning", "A job with `gitops` uses an example host such as `example.com`.")
def example_host(view: View) -> Iterator[Finding]:
    if not view.spec.get("gitops"):
        return
    for path in _REPOSITORIES:
        repository = data_path.at(view.spec, path)
        if isinstance(repository, str) and _is_example(_HOST_OF_REPOSITORY.match(repository)):
            yield Finding(
                path,
                f"the repository {shown(repository)} has an example host, which no cluster can reach; write the "
                "address of your repository",
            )
    finisher: Path = ("completion", "image")
    finisher_image: str = data_path.at(view.values, finisher) or ""
    for path, image in (*images(view), (finisher, finisher_image)):
        if names_registry(image) and _is_example(re.match("[^/:]+", image)):
            yield Finding(
                path,
                f"the image {shown(image)} is in an example registry, which no cluster can reach; write your registry "
                "here, or as registry in tfgen.yaml",
            )


def example_installations(file: str, text: str) -> Iterator[Problem]:
    """Yield a problem for each line of a workflow that installs tfgen from an example host.

    Args:
        file: the path of the workflow.
        text: the text of the workflow.
    """
    for number, line in enumerate(text.splitlines(), 1):
        found = _INSTALLED.search(line)
        if found and _EXAMPLE.fullmatch(found["host"]):
            yield Problem(
                file,
                Position(number, found.start("address") + 1),
                f"{shown(found['address'])} has an example host, so CI cannot install tfgen; write the address of your "
                "tfgen and a commit",
                "example-host",
                "warning",
            )


def _is_example(host: re.Match[str] | None) -> bool:
    return host is not None and _EXAMPLE.fullmatch(host[host.lastindex or 0]) is not None
