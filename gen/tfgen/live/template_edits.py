"""Finds pod templates and pods that somebody changed after the render: `kubectl set image`, `kustomize edit set image`.

    worker: StatefulSet mnist-worker: image of the container tensorflow is mnist:2, and job.yaml has mnist:1; ...

Such a change leaves the label `tfgen/pod-template-hash` as it was. So tfgen compares a template with the template of
job.yaml only if both have the same hash. Templates with different hashes come from different versions of job.yaml.

The API server adds defaults, and admission webhooks add containers, volumes and variables. So tfgen compares only the
fields that tfgen renders, and compares containers and variables by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfgen import data_path
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import identity
from tfgen.live.run import DeclaredRun, Snapshot
from tfgen.live.tasks import ROLE_LABEL, index_of, pod_templates, role_of, task_name
from tfgen.record import Record
from tfgen.schema.hints import find_secret_arguments, looks_secret
from tfgen.words import listed, shown_pair


class TemplateEdit(Record):
    """A field of a container that differs from job.yaml, although the hash of the pod template is the same.

    Attributes:
        owners: the object with the pod template, such as `StatefulSet mnist-worker`, or the tasks whose pods differ.
        field: the field of the container, such as `image`, `env.LEVEL` or `resources.limits.memory`.
        found: the value in the cluster; None for a missing value.
        expected: the value that tfgen renders.
        is_of_pods: whether only pods have the value, and not the object that creates the pods.
    """

    role: str
    owners: tuple[str, ...]
    container: str
    field: str
    found: Any
    expected: Any
    is_of_pods: bool

    def __str__(self) -> str:
        found, expected = shown_pair(self.found, self.expected)
        text = (
            f"{self.role}: {listed(self.owners, most=6)}: {self.field} of the container {self.container} is "
            f"{'missing' if self.found is None else found}, and job.yaml renders {expected}"
        )
        if self.is_of_pods:
            return f"{text}; an admission webhook or an edit of the pods changed the value"
        key = "image" if self.field == "image" else "value"
        return f"{text}; to keep the {key}, set it in job.yaml with a new run; to undo the edit, apply the job again"


def template_edits(run: DeclaredRun, snapshot: Snapshot) -> Iterator[TemplateEdit]:
    """Yield each field of a container that somebody changed in the cluster without a new hash of the pod template.

    For pods, the function compares only the images, and omits an image that the template has as well.
    """
    edits: dict[tuple[str, str, str, str], TemplateEdit] = {}
    expected = {
        (role, key): template
        for item in run.rendered
        for template in pod_templates(item)
        for role, key in _hashes(template)
    }
    live_items = filter(None, map(snapshot.find, map(identity, run.rendered)))
    templates = [(item, template) for item in live_items for template in pod_templates(item)]
    owned = [(f"{item['kind']} {item['metadata']['name']}", template, False) for item, template in templates]
    pods = sorted(snapshot.pods_of(run), key=lambda pod: (role_of(pod), index_of(pod)))
    owned += [(task_name(pod), pod, True) for pod in pods]
    for owner, template, is_of_pods in owned:
        for label in _hashes(template):
            for container, field, found, wanted in _differences(template, expected.get(label)):
                key = (label[0], container, field, repr(found))
                known = edits.get(key)
                if (is_of_pods and field != "image") or (known and not known.is_of_pods):
                    continue
                owners = (*(known.owners if known else ()), owner)
                edits[key] = TemplateEdit(label[0], owners, container, field, found, wanted, is_of_pods)
    yield from edits.values()


def _hashes(template: Any) -> Iterator[tuple[str, str]]:
    """Yield the role and the hash in the labels of a template; nothing for a template without a hash."""
    role, labels = data_path.at(template, ROLE_LABEL), data_path.at(template, ("metadata", "labels")) or {}
    if isinstance(role, str) and keys.POD_TEMPLATE_HASH in labels:
        yield role, labels[keys.POD_TEMPLATE_HASH]


def _differences(found: Any, expected: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield container, field, found value and expected value for each rendered field with another value."""
    for key in ("initContainers", "containers"):
        by_name = {item.get("name"): item for item in data_path.at(found, ("spec", key)) or ()}
        for container in data_path.at(expected, ("spec", key)) or ():
            name = container["name"]
            for field, *values in _container_differences(by_name.get(name), container):
                live, wanted = (_hidden(field.removeprefix("env."), value) for value in values)
                yield name, field, live, wanted


def _container_differences(
    found: Mapping[str, Any] | None, expected: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    if found is None:
        yield "image", None, expected["image"]
        return
    for field in ("image", "command", "args"):
        if field in expected and found.get(field) != expected[field]:
            yield field, found.get(field), expected[field]
    variables = {variable["name"]: variable for variable in found.get("env") or ()}
    for variable in expected.get("env") or ():
        name, live = variable["name"], variables.get(variable["name"])
        if live is None or not _contains(live, variable):
            value, wanted = (item and item.get("value", item.get("valueFrom", "")) for item in (live, variable))
            yield f"env.{name}", value, wanted
    for kind in ("requests", "limits"):
        live_amounts = data_path.at(found, ("resources", kind)) or {}
        for resource, amount in (data_path.at(expected, ("resources", kind)) or {}).items():
            live = live_amounts.get(resource)
            if live is None or quantity.canonical(live) != quantity.canonical(amount):
                yield f"resources.{kind}.{resource}", live, amount


def _hidden(name: str, value: Any) -> Any:
    """Replace each text that may be a secret: the value of a variable, or a word of a command."""
    if isinstance(value, list):
        secrets = {*find_secret_arguments(value)}
        return ["(hidden)" if index in secrets else _hidden("", word) for index, word in enumerate(value)]
    return "(hidden)" if isinstance(value, str) and looks_secret(name, value) else value


def _contains(found: Any, expected: Any) -> bool:
    """Test whether found data has all expected data. The API server omits an empty text, and adds defaults."""
    if isinstance(expected, Mapping):
        return all(_contains((found or {}).get(key), value) for key, value in expected.items())
    return bool(found == expected or (expected == "" and found is None))
