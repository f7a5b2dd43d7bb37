"""What a team's defaults may say: the schema of ``tfgen.yaml``, made from the job schema.

    >>> spec = defaults_schema(schema_file.load())["properties"]["spec"]
    >>> "tolerations" in spec["properties"], "run" in spec["properties"]
    (True, False)

It has the shape of a job without what makes it that job, and nothing in it is required. The published file holds the
result, for editors and for `schema.check_defaults`; `make schema` makes it anew after a change of the job schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from derived_schemas.environment import STRUCTURE, PartMaker, part
from tfgen.schema.file import Schema, resolve, used_definitions
from tfgen.schema.tunables import ValuesPath

OF_ONE_JOB: Final = ("run", "resumeFrom", "roles")
"""What each job says for itself. Which roles there are is the job's; an environment may say what they have there."""

_OF_ONE_RUN: Final = ("run", "resumeFrom")
_PARTS: Final = "#/definitions/part/definitions/"

_REGISTRY: Final = {
    "description": (
        "Registry, and folder in it, of every image that names no registry. A podTemplate's stay as they are."
    ),
    "type": "string",
    "pattern": r"^([a-z0-9]+([.-][a-z0-9]+)*)(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$",
    "x-pattern-says": 'a host, and folders after it, such as registry.example.com/ml, without a "/" at the end',
    "maxLength": 255,
    "examples": ["registry.example.com/ml"],
}
_ROOT: Final = {
    "description": (
        "Whether this folder is a root, as that of a git repository is: charts/ and overlays/ of the jobs below it are "
        "in it, and no tfgen.yaml above it counts for them."
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
        "What no job below may override: registry, or paths of spec. The value is the one that this file says. What it "
        "says nothing of, nobody below may say. Of a map its keys here are enforced. An entry with except enforces a "
        "whole block."
    ),
    "type": "array",
    "uniqueItems": True,
    "maxItems": 200,
    "items": {
        "description": "registry, a path of spec as messages write it, or a block with the keys that a job may set.",
        **_ENFORCED_PATH,
        "type": ["string", "object"],
        "additionalProperties": False,
        "required": ["path", "except"],
        "properties": {
            "path": {
                "description": "A path of spec. A job below sets no key in the block.",
                **_ENFORCED_PATH,
                "examples": ["spec.gitops"],
            },
            "except": {
                "description": "The keys in the block that a job may set all the same. An empty list means none.",
                "type": "array",
                "uniqueItems": True,
                "maxItems": 200,
                "items": {
                    "description": "A key, or a path from the block.",
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
        "description": "What holds for each job below that Argo CD applies.",
        "type": "object",
        "additionalProperties": False,
        "required": ["project"],
        "properties": {
            "project": {
                "$ref": project["$ref"],
                "description": "The AppProject of all Applications. No job, and no nearer tfgen.yaml, names another.",
                "examples": ["ads"],
            },
        },
        "examples": [{"project": "ads"}],
    }


def _allowed(names: str, name: Schema, example: Sequence[str]) -> dict[str, Any]:
    return {
        "description": f"The {names} that the jobs below may name. A nearer tfgen.yaml lists these or fewer.",
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "maxItems": 1000,
        "items": {"description": f"One of the {names}.", **name, "examples": example[:1]},
        "examples": [example],
    }


def _number(description: str, example: int) -> dict[str, Any]:
    return {"description": description, "type": "integer", "minimum": 0, "maximum": 1_000_000, "examples": [example]}


def _quantity(description: str, example: str) -> dict[str, Any]:
    return {"$ref": "#/definitions/quantity", "description": description, "examples": [example]}


_MOST_OF: Final = {
    "gpus": _number("GPUs, and parts of them that are counted. A share of one by its memory counts as one.", 16),
    "cpu": _quantity("CPUs that the pods request.", "128"),
    "memory": _quantity("Memory that the pods request.", "512Gi"),
    "replicas": _number("Tasks of all roles together.", 32),
    "storage": _quantity("Size of all claims, those of objects too.", "2Ti"),
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
    "description": ("What jobs may ask for at most. A nearer tfgen.yaml may allow less than one above it, never more."),
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "job": _amounts("One job, in each of its environments."),
        "environments": {
            "description": "All jobs below this folder together, in an environment.",
            "type": "object",
            "additionalProperties": _amounts("All jobs together in one environment."),
            "maxProperties": 50,
            "examples": [{"prod": {"gpus": 64}}],
        },
        "namespaces": {
            "description": "All jobs below this folder together, in a namespace of one cluster.",
            "type": "object",
            "additionalProperties": _amounts("All jobs together in one namespace."),
            "maxProperties": 1000,
            "examples": [{"ml-ads": {"gpus": 24}}],
        },
    },
    "examples": [{"job": {"gpus": 16}, "namespaces": {"ml-ads": {"gpus": 24}}}],
}
_RULES: Final = {
    "description": (
        "Severity of the warnings of a rule, by the id of the rule. An error remains an error, because the cluster "
        "refuses the job. A nearer tfgen.yaml may raise a severity, and never lowers a severity."
    ),
    "type": "object",
    "additionalProperties": {
        "description": "Severity of the warnings of one rule.",
        "type": "object",
        "additionalProperties": False,
        "required": ["severity"],
        "properties": {
            "severity": {
                "description": (
                    "error: a warning stops the rendering, unless a comment ignores the warning. off: tfgen reports "
                    "no warning, and reason is required."
                ),
                "type": "string",
                "enum": ["error", "warning", "off"],
                "examples": ["error"],
            },
            "ignorable": {
                "description": (
                    "Whether a comment `# tfgen: ignore RULE REASON` in a job may ignore the problems of the rule. A "
                    "nearer tfgen.yaml keeps false."
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
_POLICIES: Final = {
    "description": (
        "Folder of ValidatingAdmissionPolicies, their bindings and their parameters, relative to the folder of this "
        "file. The objects of all jobs below are validated against these policies and those of each tfgen.yaml above."
    ),
    "type": "string",
    "pattern": r"^(?!/)(?!(.*/)?\.\.(/|$)).*[^/]$",
    "x-pattern-says": "a folder below that of the file, such as policies",
    "maxLength": 255,
    "examples": ["policies"],
}
_UNLISTED_FILES: Final = {
    "description": (
        "Files below charts/ and overlays/ that somebody else writes. Only the tfgen.yaml beside these folders lists "
        "them. A path that ends with a slash is a whole folder. * stands for any characters and ? for one character."
    ),
    "type": "array",
    "uniqueItems": True,
    "maxItems": 1000,
    "items": {
        "description": "A path from the folder of this file.",
        "type": "string",
        "pattern": r"^(charts|overlays)/(?!(.*/)?\.\.(/|$)).*[^/]",
        "x-pattern-says": "a path below charts/ or overlays/, such as overlays/argocd/root.yaml",
        "maxLength": 500,
        "examples": ["overlays/argocd/root.yaml"],
    },
    "examples": [["overlays/argocd/root.yaml", "overlays/shared/"]],
}
_WARNINGS_AS_ERRORS: Final = {
    "description": "Whether each warning of the jobs below is an error, unless a comment beside it ignores it.",
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
    """The whole schema of ``tfgen.yaml``."""
    maker = _Defaults(schema)
    spec = maker.record(schema["properties"]["spec"])
    spec["description"] = "What is merged under each job's spec: maps merge, all else is the job's where it says it."
    spec["examples"] = [_EXAMPLE["spec"]]
    derived = {
        "$schema": schema["$schema"],
        "title": "Defaults",
        "description": "What the jobs of a repository have in common. A job that says otherwise has its own way.",
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
            "enforce": _ENFORCE,
            "limits": _LIMITS,
            "policies": _POLICIES,
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
    """The text of the published file, made from the job schema."""
    return json.dumps(defaults_schema(schema), indent=2) + "\n"


class _Defaults(PartMaker):
    """All that jobs may have in common."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, _PARTS)

    def has(self, path: ValuesPath) -> bool:
        return path[0] not in OF_ONE_JOB

    def inside(self, written: Schema, path: ValuesPath) -> dict[str, Any]:
        """An environment is a part already."""
        return part(written) if path == ("environments",) else super().inside(written, path)

    def entry(self, written: Schema) -> dict[str, Any]:
        """What has no keys of its own has no parts."""
        node = resolve(self.schema, written)
        has_parts = "properties" in node or "additionalProperties" in node
        return self.changed(written, self.some) if has_parts and written != STRUCTURE else part(written)

    def some(self, node: Schema) -> dict[str, Any]:
        """A part of an entry."""
        derived = part(node)
        if "properties" in derived:
            derived["properties"] = {key: self.entry(inner) for key, inner in derived["properties"].items()}
        if isinstance(derived.get("additionalProperties"), Mapping):
            derived["additionalProperties"] = self.entry(derived["additionalProperties"])
        return derived
