"""The CustomResourceDefinitions of the custom kinds of rendered jobs.

    cluster.install(definitions(cluster.client, objects))

The folder ../shared/crds contains the definitions of the projects. Without the folder, stand-ins let the API server
accept any content: only schemas/ then validates the content (tests/support/rendered.py).
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.client import Client, Object
from tests.support.tools import ROOT

IN_NO_NAMESPACE = {"ImageCache"}
"""The cluster-scoped kinds: their stand-ins are cluster-scoped as well."""

REAL = ROOT.parent / "shared" / "crds"


def definitions(client: Client, objects: Iterable[Mapping[str, Any]]) -> list[Object]:
    """Return a definition for each kind of some objects that an API server does not serve by itself.

    The result includes the kinds that another test has defined, maybe for fewer versions or as a stand-in.
    """
    there = [each["spec"] for each in client.list("CustomResourceDefinition")]
    defined = {(spec["group"], spec["names"]["kind"]) for spec in there}
    versions: dict[tuple[str, str], set[str]] = defaultdict(set)
    for obj in objects:
        group, _, version = obj["apiVersion"].rpartition("/")
        if (group, obj["kind"]) in defined or not client.serves(obj["apiVersion"], obj["kind"]):
            versions[group, obj["kind"]].add(version)
    real = {(each["spec"]["group"], each["spec"]["names"]["kind"]): each for each in real_definitions()}
    found: list[Object] = []
    for kind, wanted in versions.items():
        served = {version["name"] for version in real[kind]["spec"]["versions"]} if kind in real else set()
        found.append(real[kind] if wanted <= served else stand_in(*kind, sorted(wanted)))
    # Only Kubernetes itself may use a group of k8s.io: https://github.com/kubernetes/enhancements/pull/1111.
    unapproved = {"annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}}
    return [definition | {"metadata": definition["metadata"] | unapproved} for definition in found]


def real_definitions(group: str = "") -> list[Object]:
    """Return the projects' definitions of kinds whose group ends in `group`. Without the folder, the list is empty."""
    return [definition for definition in definitions_in(REAL) if definition["spec"]["group"].endswith(group)]


def operators_definitions(programs: Path, group: str) -> list[Object]:
    """Return an operator's definitions: those in the folder `crds` beside its programs, or else those in REAL."""
    return definitions_in(programs / "crds") or real_definitions(group)


def definitions_in(folder: Path) -> list[Object]:
    """Return the definitions in the files of a folder. The list is empty if the folder does not exist."""
    return [definition for path in sorted(folder.glob("*.yaml")) for definition in _read(path)]


@functools.cache
def _read(path: Path) -> Sequence[Object]:
    # The files of one project have a megabyte, and PyYAML's loader in Python needs half a minute for them.
    found = [*yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)]
    return [obj for obj in found if obj and obj["kind"] == "CustomResourceDefinition"]


def stand_in(group: str, kind: str, versions: Sequence[str]) -> Object:
    """Return the definition of a kind whose objects may have any content."""
    plural = f"{kind.lower()}s"
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if kind in IN_NO_NAMESPACE else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [
                {"name": version, "served": True, "storage": version == versions[0], "schema": anything}
                | {"subresources": {"status": {}}}
                for version in versions
            ],
        },
    }
