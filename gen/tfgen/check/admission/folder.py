"""Folders of admission policies that tfgen.yaml files name.

    tfgen.yaml            policies: policies
    policies/gpus.yaml    kind: ValidatingAdmissionPolicy ...
                          kind: ValidatingAdmissionPolicyBinding ...
                          kind: ConfigMap ...                           the params of a binding (paramRef)
                          kind: Namespace ...                           the labels for a namespaceSelector

A binding refers to manifests in the policy folder of the same tfgen.yaml, or of a tfgen.yaml in a parent folder. So the
policy folder of a subfolder cannot replace the params or the Namespace that a policy of a parent folder reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tfgen import data_path
from tfgen.check.admission.expressions import require_library
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.severities import GUARD_RAIL
from tfgen.errors import TfgenError
from tfgen.problems import Place, Problem
from tfgen.real_path import real_path
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.tree.disk_file import read_file
from tfgen.words import path_name, shown

KEY: Final = "policies"
"""Key of tfgen.yaml that names the folder."""

POLICY: Final = "ValidatingAdmissionPolicy"
BINDING: Final = "ValidatingAdmissionPolicyBinding"

_GROUP: Final = "admissionregistration.k8s.io/"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_KUSTOMIZATION: Final = "kustomization.yaml"


class PolicyFolder(Record):
    """The manifests in a folder of admission policies.

    Attributes:
        layer: the tfgen.yaml that names the folder.
        documents: the manifests that have no problems.
        problems: the problems of all other manifests.
        error: the error that prevents the evaluation of the policies, or None.
    """

    layer: str
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    error: TfgenError | None = None

    def of_kind(self, kind: str) -> tuple[Document, ...]:
        """Return the manifests of a kind."""
        return tuple(document for document in self.documents if document.data["kind"] == kind)


PolicyFolders = Mapping[str, PolicyFolder]
"""The policy folders of a repository, each under the path of the tfgen.yaml that names the folder."""

NO_POLICIES: Final[PolicyFolders] = EMPTY


def read_policy_folders(documents: Iterable[Document]) -> PolicyFolders:
    """Read the policy folders that apply to the jobs in `documents`.

    Return each policy folder under the path of the tfgen.yaml that names the folder. Example: {"ads/tfgen.yaml":
    PolicyFolder(...)}.

    Raises:
        UsageError: the repository has policies, but the packages that evaluate policies are not installed.
        TfgenError: the disk fails.
    """
    folders = read_folders_of(document.under for document in documents if document.under)
    for folder in folders.values():
        if folder.error:
            raise folder.error
    return folders


def read_folders_of(defaults: Iterable[Document]) -> PolicyFolders:
    """Read the policy folders of the tfgen.yaml files `defaults` and of the tfgen.yaml files in their parent folders.

    An error is stored in `PolicyFolder.error`.
    """
    layers = {layer.file: layer for under in defaults for layer in under.layers() if _named(layer)}
    return {file: _with_error(layer) for file, layer in layers.items()}


def folders_of(document: Document, folders: PolicyFolders) -> tuple[PolicyFolder, ...]:
    """Return the policy folders that apply to a job. The policy folder of the root tfgen.yaml comes first."""
    files = [layer.file for layer in _layers(document) if layer.file in folders]
    return tuple(folders[file] for file in reversed(files))


def folder_paths(document: Document) -> tuple[Path, ...]:
    """Return the paths of the policy folders that apply to a job."""
    return tuple(folder_path(layer) for layer in _layers(document) if _named(layer))


def error_of(document: Document, folders: PolicyFolders) -> TfgenError | None:
    """Return the error that prevents the evaluation of the policies for a job, or None."""
    return next((folder.error for folder in folders_of(document, folders) if folder.error), None)


def find_duplicates(folders: Iterable[PolicyFolder]) -> Iterator[Problem]:
    """Yield a problem for each manifest that describes the same object as an earlier manifest."""
    places: dict[tuple[Any, ...], Place] = {}
    for folder in folders:
        for document in folder.documents:
            data = document.data
            place = document.place(("metadata", "name"))
            if (first := places.setdefault(identity(document), place)) != place:
                message = (
                    f"{data['kind']} {data['metadata']['name']} is already at {first}; remove one of the manifests"
                )
                yield Problem(*place, message, GUARD_RAIL)


_NAMESPACE: Final = ("metadata", "namespace")
_IDENTITY: Final = (("apiVersion",), ("kind",), _NAMESPACE, ("metadata", "name"))


def _layers(document: Document) -> Iterator[Document]:
    return iter(()) if document.under is None else document.under.layers()


def _named(layer: Document) -> str:
    name: str = layer.data.get(KEY) or ""
    return name


def folder_path(layer: Document) -> Path:
    """Return the path of the policy folder that a tfgen.yaml names."""
    return Path(layer.file).parent / _named(layer)


def _with_error(layer: Document) -> PolicyFolder:
    try:
        require_library()
        return read_folder(layer)
    except TfgenError as error:
        return PolicyFolder(layer.file, error=error)


def read_folder(layer: Document) -> PolicyFolder:
    """Read the policy folder that a tfgen.yaml names.

    Raises:
        TfgenError: the disk fails.
    """
    path = folder_path(layer)
    place = layer.place((KEY,))
    root = real_path(Path(layer.file).parent)
    if not path.is_dir():
        message = f"the folder {path} does not exist; create the folder, or correct {KEY}"
        return PolicyFolder(layer.file, problems=(Problem(*place, message, GUARD_RAIL),))
    problems: list[Problem] = []
    contents: dict[Path, bytes] = {}
    for file in sorted(_files(path)):
        if real_path(file).is_relative_to(root):
            contents[file] = _read(file)
        else:
            message = (
                f"the symbolic link {file} points outside the folder of the tfgen.yaml; replace the link by the file"
            )
            problems.append(Problem(*place, message, GUARD_RAIL))
    folder = parse_folder(layer, contents)
    problems += folder.problems
    if not folder.documents and not problems:
        problems.append(Problem(*place, f"the folder {path} has no policy; add a {POLICY}", GUARD_RAIL))
    return folder.replaced(problems=tuple(problems))


def parse_folder(layer: Document, contents: Mapping[Path, bytes]) -> PolicyFolder:
    """Return the manifests in the policy folder that `layer` names.

    Args:
        layer: the tfgen.yaml.
        contents: the content of each file in the policy folder, by the path of the file.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    for file, content in contents.items():
        text = decode(content, str(file))
        if isinstance(text, Problem):
            problems.append(text)
            continue
        parsed = parse(text, str(file))
        problems += parsed.problems
        for document in () if parsed.problems else parsed.documents:
            faults = tuple(_faults(document))
            problems += faults
            documents += () if faults else (document,)
    return PolicyFolder(layer.file, tuple(documents), tuple(problems))


def is_manifest_file(file: Path) -> bool:
    """Return True if tfgen reads manifests from a file. The path of the file is relative to the policy folder."""
    is_hidden = any(step.startswith(".") for step in file.parts)
    return file.name.endswith(_SUFFIXES) and not is_hidden and file.name != _KUSTOMIZATION


def identity(document: Document) -> tuple[Any, ...]:
    """Return the API version, kind, namespace and name of a manifest, such as ("v1", "ConfigMap", "ml", "limits")."""
    return tuple(data_path.at(document.data, path) for path in _IDENTITY)


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if is_manifest_file(Path(name)))


def _read(file: Path) -> bytes:
    try:
        return read_file(file, MAX_BYTES + 1)
    except TfgenError as error:
        raise TfgenError(f"{error}; correct or remove this file of the folder of policies") from error


def _faults(document: Document) -> Iterator[Problem]:
    """Yield a problem if a manifest is not a Kubernetes object, or is a policy that the API server refuses."""
    data = document.data
    api_version, kind, name = (data_path.at(data, path) for path in (("apiVersion",), ("kind",), ("metadata", "name")))
    if not all(isinstance(text, str) and text for text in (api_version, kind, name)):
        message = "expected a Kubernetes object, with apiVersion, kind and metadata.name"
        yield Problem(*document.place(()), message, GUARD_RAIL)
    elif not isinstance(data_path.at(data, _NAMESPACE), str | None):
        yield Problem(*document.place(_NAMESPACE), "metadata.namespace: expected text", GUARD_RAIL)
    elif kind in (POLICY, BINDING) and api_version != f"{_GROUP}v1":
        message = f"apiVersion: found {shown(api_version)}, expected {_GROUP}v1"
        yield Problem(*document.place(("apiVersion",)), message, GUARD_RAIL)
    elif kind in (POLICY, BINDING):
        for fault in ObjectSchemas().faults(data):
            field = path_name(fault.path) + ": " if fault.path else ""
            yield Problem(*document.place(fault.path), f"{field}{fault.message}", GUARD_RAIL)
        spec = data.get("spec")
        if (
            kind == POLICY
            and isinstance(spec, Mapping)
            and not (spec.get("validations") or spec.get("auditAnnotations"))
        ):
            message = "spec: expected validations or auditAnnotations"
            yield Problem(*document.place(("spec",)), message, GUARD_RAIL)
    elif not isinstance(data_path.at(data, ("metadata", "labels")) or {}, Mapping):
        yield Problem(*document.place(("metadata", "labels")), "metadata.labels: expected a mapping", GUARD_RAIL)
