"""Volumes that the Pod Security Standard of the job refuses, in `storage`, in `podTemplate` and in patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.objects.storage import SOURCES
from tfgen.graph.value_guards import refused_volume_message
from tfgen.kubernetes.volume_profiles import refuses
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields
from tfgen.words import path_name

_ID: Final = "volume-profile"


def _check(view: View) -> Iterator[Finding]:
    profile = view.job.structure.profile
    for name, storage in view.values["storage"].items():
        for source in SOURCES:
            if source in storage and refuses(profile, source):
                message = refused_volume_message(f"storage.{name}", source, profile)
                yield Finding(("storage", name, source), view.evaluate(message))
    volumes = [part for role in view.roles for part in pod_parts.template_items(view, role.name, "volumes")]
    volumes += [part for spec in pod_parts.patch_specs(view) for part in pod_parts.items(spec, "volumes")]
    for volume in volumes:
        for key, value in volume.data.items():
            is_source = key != "name" and not key.startswith("$") and not kubernetes_fields.is_misspelt(key, "Volume")
            if is_source and value is not None and refuses(profile, key):
                message = refused_volume_message(path_name(volume.path), key, profile)
                yield Finding((*volume.path, key), view.evaluate(message))


RULES: Final = (
    Rule(_ID, "error", "A volume needs a weaker Pod Security profile than the profile of the job.", _check),
)
