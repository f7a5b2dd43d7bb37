"""Rules about the contents of the pods: volumes with their claims and mount paths, images, and code.

The module also finds example hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Position, Problem
from tfgen.fix import Hint, assignment, hint, removal
from tfgen.graph.guards import duplicate_mount_message
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.graph.holes import clean_path
from tfgen.graph.storage import WRITABLE, makes_claim
from tfgen.job.sources import names_registry
from tfgen.job.training_job import FileCode, GitCode, RoleName
from tfgen.kubernetes.object import CONFIG_MAP_MAX
from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.tree.files import path_fault
from tfgen.words import either, path_name, shown

# -- claims ------------------------------------------------------------------------------------------------------------
#
# Claims that more pods or nodes mount than the access mode of the claim allows.
#
# https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes. The rules check only the claims that the
# job creates, because the job does not state the access mode of an existing claim.


@rule(
    "claim-access-mode",
    "warning",
    "Several pods mount a claim whose access mode allows only one node, or only reading.",
)
def claim_access_mode(view: View) -> Iterator[Finding]:
    for path, mode, volume, description in _shared_claims(view):
        if mode == "ReadWriteOnce":
            message = f"{description}, so all pods must run on one node"
            yield advise(path, message, _shared(path, f"list fewer roles in storage.{path[1]}.for"), f"{mode} {path}")
        elif mode == "ReadOnlyMany" and not volume.get("readOnly"):
            message = f"{description}, so the pods cannot write to the claim"
            yield advise(path, message, _shared(path, "set readOnly: true"), f"{mode} {path}")


@rule("claim-single-pod", "error", "Several pods mount a claim whose access mode allows only one pod.")
def claim_single_pod(view: View) -> Iterator[Finding]:
    for path, mode, _, description in _shared_claims(view):
        if mode == "ReadWriteOncePod":
            message = f"{description}, so only one pod would start"
            yield advise(path, message, _shared(path, f"list fewer roles in storage.{path[1]}.for"), f"{mode} {path}")


def _shared(path: Path, other: str) -> Hint:
    return hint(assignment(path, "ReadWriteMany", "set accessMode to ReadWriteMany"), other=other)


def _shared_claims(view: View) -> Iterator[tuple[Path, str, Mapping[str, Any], str]]:
    """Yield each claim that the job creates and that several pods mount.

    Each item has the path of the access mode, the access mode, the volume, and the beginning of a message. Example:
    ``(("storage", "model", "claim", "accessMode"), "ReadWriteOnce", {...}, "storage.model is a ReadWriteOnce claim of 3
    pods (1 of chief and 2 of worker)")``.
    """
    for name, volume in view.values["storage"].items():
        claim = volume.get("claim", {})
        mounting = [role.name for role in view.roles if name in view.volumes(role.name)]
        pods: dict[str, int] = {role: view.values["roles"][role].get("replicas", 1) for role in mounting}
        if view.has_tensorboard and name in view.volumes(TENSORBOARD):
            pods[TENSORBOARD] = 1
        if makes_claim(volume) and sum(pods.values()) > 1:
            counts = either((f"{count} of {role}" for role, count in pods.items()), "and")
            mode = claim.get("accessMode", "ReadWriteMany")
            description = f"storage.{name} is a {mode} claim of {sum(pods.values())} pods ({counts})"
            yield ("storage", name, "claim", "accessMode"), mode, volume, description


# -- ps storage --------------------------------------------------------------------------------------------------------
#
# Volumes for checkpoints that the chief can write and the parameter servers cannot write.
#
# Each parameter server writes its part of a checkpoint to the path that the chief sends. With CheckpointOptions, the
# chief writes all parts: https://www.tensorflow.org/api_docs/python/tf/train/CheckpointOptions. The rule skips a claim
# that only one node can mount: a user who sets such an access mode probably uses CheckpointOptions.


# The complete device name is necessary: TensorFlow fails to save a checkpoint with /job:localhost, and fails to restore
# a checkpoint with /job:chief.
_CHIEF: Final = "/job:chief/replica:0/task:0/device:CPU:0"
_SINGLE_NODE_MODES: Final = ("ReadWriteOnce", "ReadWriteOncePod")


@rule("storage-not-on-ps", "warning", "The chief can write to a volume that ps does not mount.")
def storage_not_on_ps(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    for name, volume in view.values["storage"].items():
        roles = volume.get("for", ["ps"])
        if "chief" in roles and "ps" not in roles and _is_shared(volume):
            message = (
                f"storage.{name}.for lists chief, but not ps, which writes parts of checkpoints; add ps, set readOnly, "
                f"or save with tf.train.CheckpointOptions(experimental_io_device='{_CHIEF}')"
            )
            yield Finding(("storage", name, "for"), message)


def _is_shared(volume: Mapping[str, Any]) -> bool:
    """Return True if pods on several nodes can write to a volume."""
    writable = any(source in volume for source in WRITABLE) and not volume.get("readOnly")
    return writable and not (makes_claim(volume) and volume["claim"].get("accessMode") in _SINGLE_NODE_MODES)


# -- elasticdl volume --------------------------------------------------------------------------------------------------
#
# Paths that contain a separator of ElasticDL's flag ``--volume=claim_name=c,mount_path=/data;...``.


_SYNTAX: Final = ",;="


@rule(
    "elasticdl-volume",
    "error",
    "The path of a volume contains a character that separates volumes in ElasticDL's argument `--volume`.",
)
def elasticdl_volume(view: View) -> Iterator[Finding]:
    if view.job.structure.kind != "ElasticDL":
        return
    for name, volume in view.values["storage"].items():
        volume_path: Path = ("storage", name)
        texts = [((*volume_path, key), volume[key]) for key in ("mountPath", "subPath") if key in volume]
        if "hostPath" in volume:
            texts.append(((*volume_path, "hostPath", "path"), volume["hostPath"]["path"]))
        for path, text in texts:
            if separators := [separator for separator in _SYNTAX if separator in text]:
                message = (
                    f'the path {shown(text)} contains "{separators[0]}", a separator of ElasticDL\'s argument '
                    "--volume; choose a path without commas, semicolons and equals signs"
                )
                yield Finding(path, message)


# -- mount paths -------------------------------------------------------------------------------------------------------
#
# Volumes that one role mounts at the same path.


FOLDERS_OF_EVERY_POD: Final = {"/tmp": "the temporary folder of every pod"}  # noqa: S108 - a path in the pod


@rule("duplicate-mount-path", "error", "A role mounts two volumes at the same path.")
def duplicate_mount_path(view: View) -> Iterator[Finding]:
    for role in view.roles:
        owner_by_folder = dict(FOLDERS_OF_EVERY_POD)
        if view.effective_field(role.name, "shm")[1]:
            owner_by_folder["/dev/shm"] = "shm"  # noqa: S108 - a path in the pod
        yield from _find_duplicates(view, owner_by_folder, mounts_of(view, role.name))
    if view.has_tensorboard:
        yield from _find_duplicates(view, dict(FOLDERS_OF_EVERY_POD), _storage_mounts(view, TENSORBOARD))


def _find_duplicates(
    view: View, owner_by_folder: dict[str, str], mounts: Iterator[tuple[Path, str]]
) -> Iterator[Finding]:
    for path, mount in sorted(mounts, key=lambda mount_point: view.place(mount_point[0]).position):
        folder = clean_path(mount)
        name = path_name(path[:-1])
        if folder in owner_by_folder:
            yield Finding(path, view.evaluate(duplicate_mount_message(name, folder, owner_by_folder[folder])))
        owner_by_folder.setdefault(folder, name)


def mounts_of(view: View, role: RoleName) -> Iterator[tuple[Path, str]]:
    """Yield the path and the value of each field that sets the mount path of a volume of a role.

    Example: ``(("storage", "model", "mountPath"), "/model")``.
    """
    if view.job.structure.code:
        yield ("code", "mountPath"), view.values["code"]["mountPath"]
    yield from _storage_mounts(view, role)
    for container in pod_parts.main_container(view, role):
        for mount in pod_parts.items(container, "volumeMounts"):
            # podTemplate may extend tfgen's mount of /tmp, because Kubernetes merges the two mounts by their paths.
            folder = mount.data.get("mountPath")
            if isinstance(folder, str) and folder != "/tmp":  # noqa: S108 - a path in the pod
                yield (*mount.path, "mountPath"), folder


def _storage_mounts(view: View, role: str) -> Iterator[tuple[Path, str]]:
    for name, volume in view.volumes(role).items():
        yield ("storage", name, "mountPath"), volume["mountPath"]


# -- run folders -------------------------------------------------------------------------------------------------------
#
# Volumes that have a folder for each run (`runs`), although no task can lock the volume.


@rule("volume-runs", "error", "A volume sets `runs`, but no task can lock the volume.")
def volume_runs(view: View) -> Iterator[Finding]:
    ends = view.job.structure.ends
    for name, volume in view.values["storage"].items():
        if "runs" not in volume:
            continue
        if volume.get("readOnly") or not any(source in volume for source in WRITABLE):
            path = ("storage", name, "runs")
            message = f"storage.{name} has runs, but a task cannot write to the volume"
            yield advise(path, message, hint(removal(path, "runs"), other="use a writable volume"))
        elif ends not in volume.get("for", [ends]):
            yield Finding(
                ("storage", name, "runs"),
                f"storage.{name} has runs, but {ends}, which locks the volume, does not mount the volume; add {ends} "
                f"to storage.{name}.for",
            )


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
