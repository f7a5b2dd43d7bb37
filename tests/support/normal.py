"""Normalized objects, read as a cluster reads them, so that tests can compare two renderings of a job.

    assert_equal({"helm": read(helm_template(...)), "kustomize": read(kustomize_build(...))})

The objects lack the two labels that name the writer of an object, because Helm and tfgen write different values.
"""

from __future__ import annotations

import copy
import difflib
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import yaml

Identity: TypeAlias = tuple[str, str, str]
Objects: TypeAlias = Mapping[Identity, Mapping[str, Any]]
"""Objects by API version, kind and name."""

_WRITER_LABELS = ("app.kubernetes.io/managed-by", "helm.sh/chart")


class GoLoader(yaml.CSafeLoader):
    """A YAML loader that resolves plain scalars like sigs.k8s.io/yaml, with which Kubernetes and Helm read manifests.

    The rules are those of YAML 1.1 with all its booleans and number bases, with Go's `0o17` and `1e3` (a number beyond
    float64 is text), and without dates. A key that is not a string, or that occurs twice, is an error: a manifest with
    correct quotes has neither.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own way

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping. Fail on a key that is not a string, and on a duplicate key."""
        assert isinstance(node, yaml.MappingNode)
        pairs = [(self.construct_object(key), self.construct_object(value, deep=deep)) for key, value in node.value]
        for key, _ in pairs:
            assert isinstance(key, str), f"the key {key!r} is no string{node.start_mark}"
        assert len(dict(pairs)) == len(pairs), f"a key stands there twice{node.start_mark}"
        return dict(pairs)

    def construct_deep_mapping(self, node: yaml.Node) -> dict[Any, Any]:
        """Construct a mapping and its nested values in one step."""
        return self.construct_mapping(node, deep=True)


# goyaml.v2/resolve.go
_PLAIN = {
    "null": r"~|null|Null|NULL|",
    "bool": r"y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    "int": r"[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)",
    "float": r"""[-+]? [0-9] [0-9_]* (\.[0-9_]*)? ([eE][-+]?[0-9]+)? | [-+] \.[0-9_]+ ([eE][-+]?[0-9]+)?
                 | \.[0-9]+ (_[0-9]+)* ([eE][-+]?[0-9]+)? | [-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)""",
}
for _kind, _form in _PLAIN.items():
    GoLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"\A(?:{_form})\Z", re.VERBOSE), None)


def _bool(_: GoLoader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in ("y", "yes", "true", "on")


def _int(_: GoLoader, node: yaml.ScalarNode) -> int | str:
    digits = node.value.replace("_", "").lstrip("-+")
    base = 8 if digits.startswith("0") and digits[1:].isdigit() else 0
    try:
        return int(node.value.replace("_", ""), base)
    except ValueError:
        return str(node.value)


def _float(_: GoLoader, node: yaml.ScalarNode) -> float | str:
    try:
        value = float(node.value.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return str(node.value)
    too_large = math.isinf(value) and "inf" not in node.value.lower()
    return str(node.value) if too_large else value


GoLoader.add_constructor("tag:yaml.org,2002:bool", _bool)
GoLoader.add_constructor("tag:yaml.org,2002:int", _int)
GoLoader.add_constructor("tag:yaml.org,2002:float", _float)
GoLoader.add_constructor("tag:yaml.org,2002:map", GoLoader.construct_deep_mapping)


def read(manifest: str) -> Objects:
    """Read the objects of a stream of YAML documents."""
    return _by_identity(item for item in yaml.load_all(manifest, GoLoader) if item is not None)


def by_identity(objects: Iterable[Mapping[str, Any]]) -> Objects:
    """Return normalized copies of plain objects. Fail on a duplicate object."""
    return _by_identity(copy.deepcopy(dict(item)) for item in objects)


def _by_identity(objects: Iterable[dict[str, Any]]) -> Objects:
    found: dict[Identity, Mapping[str, Any]] = {}
    for item in objects:
        key = (item["apiVersion"], item["kind"], item["metadata"]["name"])
        assert key not in found, f"{key} is there twice"
        for label in _WRITER_LABELS:
            item["metadata"].get("labels", {}).pop(label, None)
        found[key] = item
    return found


def in_namespace(objects: Objects, namespace: str | None) -> Objects:
    """Return the objects as a server stores them after a request for a namespace.

    A server drops the namespace from an object of a cluster-wide kind. An account of a RoleBinding without a namespace
    is in the namespace of the RoleBinding, and a service of a webhook must name its namespace.
    """
    if namespace is None:
        return objects
    return {key: _in_namespace(item, namespace) for key, item in objects.items()}


def _in_namespace(item: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
    metadata = {key: value for key, value in item["metadata"].items() if key != "namespace"}
    assert item["metadata"].get("namespace", namespace) == namespace
    subjects = item.get("subjects")
    placed = [{"namespace": namespace, **subject} for subject in subjects] if isinstance(subjects, list) else None
    return {**item, "metadata": metadata, **({"subjects": placed} if placed else {})}


def assert_equal(renderings: Mapping[str, Objects]) -> None:
    """Fail with a unified diff for each pair of neighbors that differ. The values 1, true, 1.0 and "1" all differ."""
    differences = [
        difference
        for (name, objects), (other_name, others) in itertools.pairwise(renderings.items())
        if (difference := _difference(name, objects, other_name, others))
    ]
    assert not differences, "\n" + "\n".join(differences)


def _difference(name: str, objects: Objects, other_name: str, others: Objects) -> str:
    return "\n".join(
        line
        for key in sorted({*objects, *others})
        if _json(objects.get(key)) != _json(others.get(key))
        for line in difflib.unified_diff(
            _lines(objects.get(key)),
            _lines(others.get(key)),
            f"{name}: {' '.join(key)}",
            f"{other_name}: {' '.join(key)}",
            lineterm="",
        )
    )


def _lines(item: Mapping[str, Any] | None) -> list[str]:
    return [] if item is None else _json(item, indent=1).split("\n")


def _json(item: Mapping[str, Any] | None, indent: int | None = None) -> str:
    """Return JSON, whose text distinguishes all types. With an indent, Python writes the text, ten times slower."""
    return json.dumps(item, indent=indent, sort_keys=True, ensure_ascii=False)
