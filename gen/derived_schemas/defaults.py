"""The schema of ``tfgen.yaml``, derived from the job schema.

    >>> spec = defaults_schema(schema_file.load())["properties"]["spec"]
    >>> "tolerations" in spec["properties"], "run" in spec["properties"]
    (True, False)

The schema has the fields of a job without the fields that identify a job, and requires no field of the spec. The
published file contains the result, for editors and for `schema.check_defaults`. `make schema` derives the file again
after a change of the job schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from derived_schemas.environment import STRUCTURE, PartMaker, part
from tfgen.schema.file import Schema, resolve, used_definitions
from tfgen.schema.tunables import ValuesPath

OF_ONE_JOB: Final = ("run", "resumeFrom", "roles")
"""Fields that only a job may set. An environment of a tfgen.yaml may set fields of the job's roles."""

_OF_ONE_RUN: Final = ("run", "resumeFrom")
_PARTS: Final = "#/definitions/part/definitions/"

_REGISTRY: Final = {
    "description": (
        "Registry, with an optional folder, for every image without a registry. An image in a podTemplate is unchanged."
    ),
    "type": "string",
    "pattern": r"^([a-z0-9]+([.-][a-z0-9]+)*)(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$",
    "x-pattern-says": 'a host with optional folders, such as registry.example.com/ml, without a "/" at the end',
    "maxLength": 255,
    "examples": ["registry.example.com/ml"],
}
_ROOT: Final = {
    "description": (
        "Whether this folder is a root, such as the root of a git repository. A root folder contains charts/ and "
        "overlays/ of its jobs, and no tfgen.yaml in a parent folder applies to these jobs."
    ),
    "type": "boolean",
    "default": False,
    "examples": [True],
}
_ENFORCED_PATH: Final = {
    "type": "string",
    "pattern": r"\S",
    "x-pattern-says": "a path such as spec.gang.queue",
    "maxLength": 500,
}
_ENFORCE: Final = {
    "description": (
        "Fields that no job in this folder and its subfolders may override: registry, or paths of spec. This file "
        "sets the enforced values. No job may set an enforced path that has no value in this file. For a map, only "
        "the keys in this file are enforced. An entry with except enforces all keys of a block except the listed keys."
    ),
    "type": "array",
    "uniqueItems": True,
    "maxItems": 200,
    "items": {
        "description": "registry, a path of spec such as spec.gang.queue, or a block with the keys that a job may set.",
        **_ENFORCED_PATH,
        "type": ["string", "object"],
        "additionalProperties": False,
        "required": ["path", "except"],
        "properties": {
            "path": {
                "description": "Path of the block in spec. A job may set only the keys in except.",
                **_ENFORCED_PATH,
                "examples": ["spec.gitops"],
            },
            "except": {
                "description": "The keys of the block that a job may set. An empty list allows no key.",
                "type": "array",
                "uniqueItems": True,
                "maxItems": 200,
                "items": {
                    "description": "A key of the block, or a path relative to the block.",
                    **_ENFORCED_PATH,
                    "x-pattern-says": "a key or a path in the block, such as argocd.prune",
                    "examples": ["source"],
                },
                "examples": [["source", "argocd.prune"]],
            },
        },
        "examples": ["spec.gang.queue", {"path": "spec.gitops", "except": ["source"]}],
    },
    "examples": [["registry", "spec.gang.queue", "spec.podTemplate", {"path": "spec.gitops", "except": ["source"]}]],
}


def _argocd(schema: Schema) -> dict[str, Any]:
    project = schema["properties"]["spec"]["properties"]["gitops"]["properties"]["argocd"]["properties"]["project"]
    return {
        "description": "Settings for the jobs in this folder and its subfolders that Argo CD applies.",
        "type": "object",
        "additionalProperties": False,
        "required": ["project"],
        "properties": {
            "project": {
                "$ref": project["$ref"],
                "description": (
                    "AppProject of all Applications. No job and no tfgen.yaml in a subfolder may change the name."
                ),
                "examples": ["ads"],
            },
        },
        "examples": [{"project": "ads"}],
    }


def _allowed(names: str, name: Schema, example: Sequence[str]) -> dict[str, Any]:
    return {
        "description": (
            f"{names.capitalize()} that the jobs in this folder and its subfolders may use. A tfgen.yaml in a "
            "subfolder may only shorten the list."
        ),
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "maxItems": 1000,
        "items": {"description": f"An entry of the list of {names}.", **name, "examples": example[:1]},
        "examples": [example],
    }


_KIND: Final = {
    "type": "string",
    "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Z][A-Za-z0-9]*$",
    "x-pattern-says": "a kind, with its API group if the kind has a group, such as ConfigMap or batch/Job",
    "maxLength": 317,
}


def _number(description: str, example: int) -> dict[str, Any]:
    return {"description": description, "type": "integer", "minimum": 0, "maximum": 1_000_000, "examples": [example]}


def _quantity(description: str, example: str) -> dict[str, Any]:
    return {"$ref": "#/definitions/quantity", "description": description, "examples": [example]}


_MOST_OF: Final = {
    "gpus": _number("GPUs and counted fractions of GPUs. A share of a GPU by memory counts as a whole GPU.", 16),
    "cpu": _quantity("CPUs that the pods request.", "128"),
    "memory": _quantity("Memory that the pods request.", "512Gi"),
    "replicas": _number("Number of the tasks of all roles.", 32),
    "storage": _quantity("Size of all claims, including the claims under objects.", "2Ti"),
}


def _amounts(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "additionalProperties": False,
        "properties": _MOST_OF,
        "examples": [{"gpus": 16, "memory": "512Gi"}],
    }


_LIMITS: Final = {
    "description": (
        "Largest requests of the jobs in this folder and its subfolders. A tfgen.yaml in a subfolder may lower a "
        "limit, but not raise a limit."
    ),
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "job": _amounts("Limits for a single job, in each environment of the job."),
        "environments": {
            "description": "Limits for the sum of all jobs in this folder and its subfolders, by environment.",
            "type": "object",
            "additionalProperties": _amounts("Limits for the sum of all jobs in the environment."),
            "maxProperties": 50,
            "examples": [{"prod": {"gpus": 64}}],
        },
        "namespaces": {
            "description": (
                "Limits for the sum of all jobs in this folder and its subfolders, by namespace of a cluster."
            ),
            "type": "object",
            "additionalProperties": _amounts("Limits for the sum of all jobs in the namespace."),
            "maxProperties": 1000,
            "examples": [{"ml-ads": {"gpus": 24}}],
        },
    },
    "examples": [{"job": {"gpus": 16}, "namespaces": {"ml-ads": {"gpus": 24}}}],
}
_RULES: Final = {
    "description": (
        "Severity of the warnings of a rule, by the id of the rule. An error remains an error, because the cluster "
        "refuses the job, except the error `credential`. A tfgen.yaml in a subfolder may raise a severity, but never "
        "lower a severity."
    ),
    "type": "object",
    "additionalProperties": {
        "description": "Severity of the problems of the rule.",
        "type": "object",
        "additionalProperties": False,
        "required": ["severity"],
        "properties": {
            "severity": {
                "description": (
                    "error: a problem stops the rendering, unless a comment ignores the problem. off: tfgen reports "
                    "no problem, and reason is required."
                ),
                "type": "string",
                "enum": ["error", "warning", "off"],
                "examples": ["error"],
            },
            "ignorable": {
                "description": (
                    "Whether a comment `# tfgen: ignore RULE REASON` in a job may ignore the problems of the rule. A "
                    "tfgen.yaml in a subfolder cannot change false to true."
                ),
                "type": "boolean",
                "default": True,
                "examples": [False],
            },
            "reason": {
                "description": "Reason why the rule is off.",
                "type": "string",
                "pattern": r"\S",
                "x-pattern-says": "a sentence",
                "maxLength": 1000,
                "examples": ["our images are tagged by the day"],
            },
        },
        "examples": [{"severity": "error"}],
    },
    "maxProperties": 200,
    "examples": [{"latest-tag": {"severity": "error"}, "plaintext-secret": {"severity": "error", "ignorable": False}}],
}
_UNLISTED_FILES: Final = {
    "description": (
        "Files below charts/ and overlays/ that tfgen does not write. Only the tfgen.yaml in the folder of charts/ and "
        "overlays/ may set the list. A path with a slash at the end is a whole folder. * stands for any characters and "
        "? for a single character."
    ),
    "type": "array",
    "uniqueItems": True,
    "maxItems": 1000,
    "items": {
        "description": "A path relative to the folder of this file.",
        "type": "string",
        "pattern": r"^(charts|overlays)/(?!(.*/)?\.\.(/|$)).*[^/]",
        "x-pattern-says": "a path below charts/ or overlays/, such as overlays/argocd/root.yaml",
        "maxLength": 500,
        "examples": ["overlays/argocd/root.yaml"],
    },
    "examples": [["overlays/argocd/root.yaml", "overlays/shared/"]],
}
_WARNINGS_AS_ERRORS: Final = {
    "description": (
        "Whether warnings of the jobs in this folder and its subfolders are errors. A comment in a job can still "
        "ignore a warning."
    ),
    "type": "boolean",
    "default": False,
    "examples": [True],
}
_EXAMPLE: Final = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "Defaults",
    "registry": "registry.example.com/ml",
    "spec": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]},
}


def defaults_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of ``tfgen.yaml``."""
    maker = _Defaults(schema)
    spec = maker.record(schema["properties"]["spec"])
    spec["description"] = (
        "Defaults of each job's spec. Maps are merged by key; any other value in the job replaces the default."
    )
    spec["examples"] = [_EXAMPLE["spec"]]
    derived = {
        "$schema": schema["$schema"],
        "title": "Defaults",
        "description": "Defaults of the jobs in a folder and its subfolders. A value in a job replaces the default.",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": schema["properties"]["apiVersion"],
            "kind": {"description": "Kind of this document.", "const": "Defaults", "examples": ["Defaults"]},
            "root": _ROOT,
            "registry": _REGISTRY,
            "argocd": _argocd(schema),
            "allowedNamespaces": _allowed("namespaces", {"$ref": "#/definitions/dnsLabel"}, ["ads-dev", "ads"]),
            "allowedEnvironments": _allowed(
                "environments",
                schema["properties"]["spec"]["properties"]["environments"]["propertyNames"],
                ["dev", "prod"],
            ),
            "allowedKinds": _allowed("kinds of objects", _KIND, ["ConfigMap", "batch/Job"]),
            "enforce": _ENFORCE,
            "limits": _LIMITS,
            "rules": _RULES,
            "unlistedFiles": _UNLISTED_FILES,
            "warningsAsErrors": _WARNINGS_AS_ERRORS,
            "spec": spec,
        },
        "patternProperties": schema["patternProperties"],
        "examples": [_EXAMPLE],
    }
    changed = {"part": {"definitions": dict(sorted(maker.definitions.items()))}}
    environment = schema["definitions"]["environment"]
    changed["environment"] = {
        **environment,
        "properties": {key: value for key, value in environment["properties"].items() if key not in _OF_ONE_RUN},
    }
    return {**derived, "definitions": used_definitions(derived, {**schema["definitions"], **changed})}


def text(schema: Schema) -> str:
    """Return the text of the published file."""
    return json.dumps(defaults_schema(schema), indent=2) + "\n"


class _Defaults(PartMaker):
    """Maker of the schema for the part of the spec that several jobs may share."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, _PARTS)

    def has(self, path: ValuesPath) -> bool:
        return path[0] not in OF_ONE_JOB

    def value(self, written: Schema, path: ValuesPath) -> dict[str, Any]:
        """Return the schema of a value. The schema of an environment already describes a part."""
        return part(written) if path == ("environments",) else super().value(written, path)

    def entry(self, written: Schema) -> dict[str, Any]:
        """Return the schema of an entry. Only an entry with keys can be partial."""
        node = resolve(self.schema, written)
        has_parts = "properties" in node or "additionalProperties" in node
        return self.changed(written, self.partial) if has_parts and written != STRUCTURE else part(written)

    def partial(self, node: Schema) -> dict[str, Any]:
        """Return the schema of a partial entry."""
        derived = part(node)
        if "properties" in derived:
            derived["properties"] = {key: self.entry(value) for key, value in derived["properties"].items()}
        if isinstance(derived.get("additionalProperties"), Mapping):
            derived["additionalProperties"] = self.entry(derived["additionalProperties"])
        return derived
