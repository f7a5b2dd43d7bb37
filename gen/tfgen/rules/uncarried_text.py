"""Text that kustomize would change, or fail on, however it is written.

kustomize 5 resolves the keys of an object's own annotations once more when it applies a patch, as YAML 1.1 does and
quotes or not, and writes their values as blocks whose indentation it then cannot read. It does the first with the keys
of labels, too, of what it renames and of a ConfigMap that it makes of files, and with the name that it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema.workload_kinds import FACTS
from tfgen.text.yaml_text import is_misread_by_kustomize
from tfgen.words import path_name, shown

# Of the forms that goyaml's resolve.go reads as something else, those that a label key can have.
NOT_TEXT: Final = re.compile(
    r"""
      null | Null | NULL | true | True | TRUE | false | False | FALSE
    | 0[bB][01_]+ | 0[oO][0-7_]+ | 0[xX][0-9a-fA-F_]+
    | [0-9][0-9_]* (\.[0-9_]*)? ([eE][-+]?[0-9_]+)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
    """,
    re.VERBOSE,
)
"""The keys of an object's labels and annotations that kustomize takes for something else."""


def _check(view: View) -> Iterator[Finding]:
    for base, metadata in _metadata(view):
        yield from _of_metadata(base, metadata)
    yield from _of_new_name(view)


def _of_new_name(view: View) -> Iterator[Finding]:
    """The Service of a run without a name has the job's own, to which kustomize renames the base's."""
    name, run = view.job.name, view.values["run"]
    if NOT_TEXT.fullmatch(name) and not run and run != view.spec.get("run", ""):
        message = (
            f"kustomize takes {shown(name)}, the name to which objects go back here, for a truth value or null, even "
            "in quotes; give the run a name, or the job another"
        )
        yield Finding(("run",), message)


def _metadata(view: View) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """What has labels and annotations of objects: the job, its patches, and each object that stands in it as it is.

    A role's own are its pods', which kustomize leaves alone where a controller makes them.
    """
    yield (), view.values
    yield ("serviceAccount",), _map(view.values.get("serviceAccount"))
    if FACTS[view.job.structure.kind].makes_pods:
        for role in view.roles:
            yield ("roles", role.name), view.values["roles"][role.name]
            for path, data in pod_parts.templates(view, role.name):
                yield (*path, "metadata"), _map(data.get("metadata"))
    for name, item in view.values["objects"].items():
        yield ("objects", name, "metadata"), _map(item.get("metadata"))
    for patch in view.patches:
        yield ("patches", patch.name, "merge", "metadata"), _map(patch.merge.get("metadata"))


def _of_metadata(base: Path, metadata: Mapping[str, Any]) -> Iterator[Finding]:
    for field, noun in (("labels", "label"), ("annotations", "annotation")):
        for key in _map(metadata.get(field)):
            if NOT_TEXT.fullmatch(key):
                message = (
                    f"kustomize takes the {noun} {shown(key)} for a number, a date, a truth value or null, even in "
                    f'quotes; give it a prefix, such as "example.com/{key}"'
                )
                yield Finding((*base, field, key), message)
    for key, text in _map(metadata.get("annotations")).items():
        path: Path = (*base, "annotations", key)
        if isinstance(text, str) and is_misread_by_kustomize(text):
            message = f"{path_name(path)}: kustomize cannot read several lines that begin with a tab; indent by blanks"
            yield Finding(path, message)


def _map(part: Any) -> Mapping[str, Any]:
    """What is said as it is written; nothing where it has another shape, of which other checks speak."""
    return part if isinstance(part, Mapping) else {}


RULES: Final = (Rule("uncarried-text", "error", "kustomize would change a text, or fail on it.", _check),)
