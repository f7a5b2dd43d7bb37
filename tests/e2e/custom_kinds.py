"""The CustomResourceDefinitions of the custom kinds that jobs are rendered to.

    cluster.install(definitions(cluster.client, objects))

They are the projects' own where the folder ../shared/crds has them; else stand-ins by which the API server takes any
content: what may be in it is then held against schemas/ alone (tests/support/rendered.py).
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
"""The kinds whose stand-ins are, as the real ones are, of the cluster."""

REAL = ROOT.parent / "shared" / "crds"


def definitions(client: Client, objects: Iterable[Mapping[str, Any]]) -> list[Object]:
    """A definition for each kind of some objects that an API server does not serve by itself.

    Also for those that another test has defined there: maybe for fewer versions, or as a stand-in.
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
    # A group of k8s.io is Kubernetes' own to give: https://github.com/kubernetes/enhancements/pull/1111.
    unapproved = {"annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}}
    return [definition | {"metadata": definition["metadata"] | unapproved} for definition in found]


def real_definitions(group: str = "") -> list[Object]:
    """The projects' own definitions, of the kinds whose group ends so; none where the folder is not there."""
    return [definition for definition in definitions_in(REAL) if definition["spec"]["group"].endswith(group)]


def operators_definitions(programs: Path, group: str) -> list[Object]:
    """An operator's own definitions: those of the folder `crds` beside its programs, else those that REAL has."""
    return definitions_in(programs / "crds") or real_definitions(group)


def definitions_in(folder: Path) -> list[Object]:
    """The definitions in the files of a folder; none where it is not there."""
    return [definition for path in sorted(folder.glob("*.yaml")) for definition in _read(path)]


@functools.cache
def _read(path: Path) -> Sequence[Object]:
    # The files of one project have a megabyte, which PyYAML's loader in Python reads in half a minute.
    found = [*yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)]
    return [obj for obj in found if obj and obj["kind"] == "CustomResourceDefinition"]


def stand_in(group: str, kind: str, versions: Sequence[str]) -> Object:
    """The definition of a kind whose objects may say anything."""
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
