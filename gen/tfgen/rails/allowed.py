"""The project, the namespaces, the environments and the kinds that a tfgen.yaml allows the jobs in its folder to use.

    argocd: {project: ads}
    allowedNamespaces: [ads-dev, ads]
    allowedEnvironments: [dev, prod]
    allowedKinds: [ConfigMap, batch/Job]

A tfgen.yaml in a subfolder may shorten a list, but cannot name a different project. The project is also the default of
`spec.gitops.argocd.project` (`job.sources`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place, Problem
from tfgen.fix import Assignment, Hint, Rename, meant, removal
from tfgen.kubernetes.object import group
from tfgen.rails.enforce import ENFORCED, literal_path
from tfgen.rails.rail import LooserSetting, Rail, values_of
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.words import either, in_environments, nearest, path_name, shown

PROJECT: Final[Path] = ("argocd", "project")

_NAMES: Final = {
    "allowedNamespaces": "namespace",
    "allowedEnvironments": "environment",
    "allowedKinds": "kind of object",
}
"""The keys of a tfgen.yaml that list the names which a job may use, each with the noun for a name."""

_UNLISTED_FILES: Final = "unlistedFiles"
"""Key of the root tfgen.yaml that lists patterns for files which tfgen does not write."""

_PROJECT_OF_JOB: Final[Path] = ("spec", "gitops", "argocd", "project")
_ENVIRONMENTS: Final[Path] = ("spec", "environments")
_ARGO_CD: Final = "argoproj.io"
_FLUX: Final = "kustomize.toolkit.fluxcd.io"
"""The API group of the Flux Kustomization, which applies objects to any namespace if it sets no `targetNamespace`."""
_PROJECTS: Final = ("Application", "ApplicationSet")
"""The kinds of Argo CD whose objects name a project."""

_UNREAD_FIELDS: Final = ("labels", "annotations", "data", "stringData")
"""Fields of an object that tfgen does not search, because the keys in these fields are free text."""


def find_disallowed(document: Document) -> Iterator[Problem]:
    """Yield a problem for each project, namespace and environment that a job or a tfgen.yaml may not name.

    Args:
        document: a job or a tfgen.yaml that the schema accepts. The layers of the document have no errors.
    """
    rails = document if document.data["kind"] == "Defaults" else document.under
    if rails is None:
        return
    finders = (_other_namespaces, _other_environments, _other_kinds)
    for layer in rails.layers():
        if data_path.has(layer.data, PROJECT):
            yield from _other_projects(document, layer)
        for key, find in zip(_NAMES, finders, strict=True):
            # The owner of a list of kinds may set any object.
            if key in layer.data and not (find is _other_kinds and layer.file == document.file):
                yield from find(document, layer.data[key], layer.place((key,)))


# -- the rails -----------------------------------------------------------------------------------------------------


def _project_words(comparison: LooserSetting) -> str:
    enforced = f"{comparison.base} enforces {shown(comparison.old)}"
    if comparison.is_change and comparison.new is None:
        return f"jobs may now name any Argo CD project, but {enforced}"
    return f"{path_name(PROJECT)}: found {shown(comparison.new)}, but {enforced}"


def _added(old: Sequence[str], new: Sequence[str] | None) -> list[Path]:
    return [()] if new is None else [(index,) for index, name in enumerate(new) if name not in old]


def _name_words(comparison: LooserSetting) -> str:
    key = str(comparison.path[0])
    if comparison.new is None:
        names = either(map(shown, comparison.old))
        return f"jobs may now name any {_NAMES[key]}, but {comparison.base} allows only {names}"
    (index,) = comparison.part
    return f"{key}: found {shown(comparison.new[index])}, which {comparison.base} does not list"


def _uncovered(old: Sequence[str], new: Sequence[str] | None) -> list[Path]:
    """Return the index of each new pattern that matches a file which no old pattern matches.

    >>> _uncovered(["overlays/shared/", "charts/a*"], ["overlays/shared/*.yaml", "charts/abc.yaml", "charts/b.yaml"])
    [(2,)]
    """
    found: list[Path] = []
    for index, pattern in enumerate(new or ()):
        is_path = not any(character in pattern for character in "*?[")
        if pattern not in old and not any(
            pattern.startswith(listed) if listed.endswith("/") else is_path and fnmatchcase(pattern, listed)
            for listed in old
        ):
            found.append((index,))
    return found


ALLOWED_RAILS: Final = (
    Rail(
        # The line `argocd: null` removes the project.
        read=lambda layer: [(PROJECT, data_path.at(layer.data, PROJECT))] if PROJECT[0] in layer.data else [],
        looser=lambda old, new: [()] if new != old else [],
        words=_project_words,
        removed="the key",
    ),
    Rail(values_of(*((key,) for key in _NAMES)), _added, _name_words, removed="this entry"),
    Rail(
        read=values_of((_UNLISTED_FILES,)),
        looser=_uncovered,
        words=_name_words,
        removed="this entry",
        default=lambda _: (),
        is_of_file=True,
    ),
)


# -- projects ------------------------------------------------------------------------------------------------------


def _other_projects(document: Document, layer: Document) -> Iterator[Problem]:
    enforced, place = data_path.at(layer.data, PROJECT), layer.place(PROJECT)
    alone = document.alone()
    project = data_path.at(alone.data, _PROJECT_OF_JOB)
    if project is not None and project != enforced:
        fix = removal(_PROJECT_OF_JOB)
        message = (
            f"{path_name(_PROJECT_OF_JOB)}: found {shown(project)}, but {place} enforces {shown(enforced)}; {fix.words}"
        )
        yield Problem(*alone.place(_PROJECT_OF_JOB), message, ENFORCED, fixes=(fix,))
    for environment, path, item in _literals(document):
        if group(item) != _ARGO_CD:
            continue
        if item["kind"] == "AppProject":
            message = (
                f"{path_name(path)} is an AppProject, but {place} confines the jobs to the project {enforced}; remove "
                "the object"
            )
            yield _problem(document, environment, path, message)
        for field, value in _fields(item, path) if item["kind"] in _PROJECTS else ():
            if field[-1] == "templatePatch" or (field[-1] == "project" and value != enforced):
                message = (
                    f"{path_name(field)}: found {shown(value)}, but {place} enforces the project {shown(enforced)}"
                )
                yield _problem(document, environment, field, message)


# -- namespaces ----------------------------------------------------------------------------------------------------


def _other_namespaces(document: Document, allowed: Sequence[str], place: Place) -> Iterator[Problem]:
    without: list[str | None] = []
    alone = document.alone()
    for environment, path in _namespace_paths(document):
        namespace = data_path.at(document.data, path)
        if namespace is None:
            without.append(environment)
        elif namespace not in allowed and (document.data["kind"] != "Defaults" or data_path.has(alone.data, path)):
            hint = _not_listed(path, namespace, allowed, place)
            yield Problem(*document.place(path), hint.text, ENFORCED, fixes=hint.fixes)
    if without:
        message = (
            f"the job sets no namespace, but {place} allows only {either(allowed)}; set an allowed namespace"
            f"{in_environments(without)}"
        )
        at = (*_ENVIRONMENTS, without[0]) if without[0] is not None else ("metadata", "name")
        yield Problem(*document.place(at), message, ENFORCED)
    for environment, path, item in _literals(document):
        for field, value in _fields(item, path):
            # The field sets the namespace of the object, or of an object that a GitOps tool applies.
            is_namespace = field[-2:] in (("metadata", "namespace"), ("destination", "namespace"))
            if (is_namespace or field[-1] == "targetNamespace") and value not in allowed:
                yield _problem(document, environment, field, _not_listed(field, value, allowed, place).text)
        target: Path = ("spec", "targetNamespace")
        if group(item) == _FLUX and item["kind"] == "Kustomization" and not data_path.has(item, target):
            message = f"{path_name((*path, *target))}: found no value, but {place} allows {either(allowed)}"
            yield _problem(document, environment, path, message)


def _namespace_paths(document: Document) -> Iterator[tuple[str | None, Path]]:
    """Yield each path where a job or a tfgen.yaml sets a namespace, or where a job must set a namespace.

    Example: ("prod", ("spec", "environments", "prod", "namespace")). The first item is the environment, or None for the
    namespace of the job itself.
    """
    environments: Mapping[str, Any] = data_path.at(document.data, _ENVIRONMENTS) or {}
    of_job: Path = ("metadata", "namespace")
    is_job = document.data["kind"] != "Defaults"
    if is_job and (not environments or data_path.has(document.data, of_job)):
        yield None, of_job
    for name in environments:
        path = (*_ENVIRONMENTS, name, "namespace")
        if data_path.has(document.data, path) or (is_job and not data_path.has(document.data, of_job)):
            yield name, path


def _not_listed(path: Path, name: Any, allowed: Sequence[str], place: Place) -> Hint:
    near = nearest(name, allowed) if isinstance(name, str) else None
    hint = meant(near, Assignment(path, near), written=name)
    return Hint(f"{path_name(path)}: found {shown(name)}, but {place} allows {either(allowed)}{hint.text}", hint.fixes)


# -- environments --------------------------------------------------------------------------------------------------


def _other_environments(document: Document, allowed: Sequence[str], place: Place) -> Iterator[Problem]:
    alone = document.alone()
    for name in data_path.at(alone.data, _ENVIRONMENTS) or ():
        if name not in allowed and data_path.has(document.data, (*_ENVIRONMENTS, name)):
            path = (*_ENVIRONMENTS, name)
            message = f"{path_name(_ENVIRONMENTS)}: found {shown(name)}, but {place} allows {either(allowed)}"
            near = nearest(name, allowed)
            hint = meant(near, Rename(path, near or name), written=name)
            yield Problem(alone.file, alone.key(path), f"{message}{hint.text}", ENFORCED, fixes=hint.fixes)


# -- kinds ---------------------------------------------------------------------------------------------------------


def _other_kinds(document: Document, allowed: Sequence[str], place: Place) -> Iterator[Problem]:
    written = document.alone().data
    for environment, path, item in _literals(document):
        base: Path = (*_ENVIRONMENTS, environment) if environment is not None else ("spec",)
        if not data_path.has(written, (*base, *path)):
            continue  # A tfgen.yaml sets the object.
        kind = f"{group(item)}/{item['kind']}".removeprefix("/")
        if kind not in allowed:
            message = (
                f"{path_name(path)}: found the kind {kind}, but {place} allows {either(allowed)}; remove the object"
            )
            yield _problem(document, environment, (*path, "kind"), message)


# -- objects -------------------------------------------------------------------------------------------------------


def _literals(document: Document) -> Iterator[tuple[str | None, Path, Mapping[str, Any]]]:
    """Yield each entry of `objects`, first of the job itself, and then of each environment.

    Example: ("prod", ("objects", "quota"), {"apiVersion": "v1", "kind": "ResourceQuota"}), which lists the environment,
    the path below `spec` and the entry. The environment is None for an entry of the job. An entry of an environment is
    merged over the job's entry.
    """
    spec = document.data.get("spec", {})
    shared = spec.get("objects", {})
    forms = {None: shared, **{name: form.get("objects", {}) for name, form in spec.get("environments", {}).items()}}
    for environment, objects in forms.items():
        for name, item in objects.items():
            merged = item
            if environment is not None and item is not None:
                merged = tunables.merge({"": shared.get(name, {})}, {"": item})[""]
            if merged is not None and {"apiVersion", "kind"} <= merged.keys():
                yield environment, ("objects", name), merged


def _fields(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of each scalar field in `value`, which is an object or a part of an object."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            if key not in _UNREAD_FIELDS:
                yield from _fields(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _fields(child, (*path, index))
    else:
        yield path, value


def _problem(document: Document, environment: str | None, path: Path, message: str) -> Problem:
    return Problem(*document.place(literal_path(document, environment, path)), message, ENFORCED)
