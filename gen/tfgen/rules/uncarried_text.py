"""Texts of a job that kustomize changes or cannot read, even in quotes.

kustomize 5 reads some names as YAML 1.1, so that the name "true" becomes a boolean. These names are the annotation keys
of a patched object, the label keys of a renamed object or of a generated ConfigMap, and the new name of a renamed
object. kustomize also cannot read a multi-line annotation of a patched object if the first line begins with a tab.
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

# The label keys that kustomize reads as a number, date, boolean or null (resolve.go of goyaml).
NOT_TEXT: Final = re.compile(
    r"""
      null | Null | NULL | true | True | TRUE | false | False | FALSE
    | 0[bB][01_]+ | 0[oO][0-7_]+ | 0[xX][0-9a-fA-F_]+
    | [0-9][0-9_]* (\.[0-9_]*)? ([eE][-+]?[0-9_]+)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
    """,
    re.VERBOSE,
)
"""Pattern of keys of labels and annotations that kustomize reads as a value other than text, such as a number."""


def _check(view: View) -> Iterator[Finding]:
    for base, metadata in _metadata(view):
        yield from _check_metadata(base, metadata)


def _metadata(view: View) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the path and the content of each mapping that may have the keys `labels` and `annotations`.

    The mappings are in the job, in patches and in the objects under ``objects``. Only for the workload kind Pod, the
    mappings include the roles and the pod templates, because kustomize changes the label keys of a Pod, but not the
    label keys in the pod template of a controller.
    """
    yield (), view.values
    yield ("serviceAccount",), _mapping_or_empty(view.values.get("serviceAccount"))
    if FACTS[view.job.structure.kind].makes_pods:
        for role in view.roles:
            yield ("roles", role.name), view.values["roles"][role.name]
            for path, data in pod_parts.templates(view, role.name):
                yield (*path, "metadata"), _mapping_or_empty(data.get("metadata"))
    for name, item in view.values["objects"].items():
        yield ("objects", name, "metadata"), _mapping_or_empty(item.get("metadata"))
    for patch in view.patches:
        yield ("patches", patch.name, "merge", "metadata"), _mapping_or_empty(patch.merge.get("metadata"))


def _check_metadata(base: Path, metadata: Mapping[str, Any]) -> Iterator[Finding]:
    for field, noun in (("labels", "label"), ("annotations", "annotation")):
        for key in _mapping_or_empty(metadata.get(field)):
            if NOT_TEXT.fullmatch(key):
                message = (
                    f"kustomize reads the {noun} {shown(key)} as a number, a date, a boolean or null, even in "
                    f'quotes; write the key with a prefix, such as "example.com/{key}"'
                )
                yield Finding((*base, field, key), message)
    for key, text in _mapping_or_empty(metadata.get("annotations")).items():
        path: Path = (*base, "annotations", key)
        if isinstance(text, str) and is_misread_by_kustomize(text):
            message = (
                f"{path_name(path)}: kustomize cannot read a multi-line text that begins with a tab; indent with spaces"
            )
            yield Finding(path, message)


def _mapping_or_empty(part: Any) -> Mapping[str, Any]:
    """Return a mapping unchanged. Return an empty mapping for another value, which the rule wrong-shape reports."""
    return part if isinstance(part, Mapping) else {}


RULES: Final = (
    Rule("uncarried-text", "error", "kustomize would change a text of the job, or cannot read the text.", _check),
)
