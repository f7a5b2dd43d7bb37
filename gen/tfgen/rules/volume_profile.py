"""Volumes that the job's Pod Security Standard refuses: those of storage, as the chart does, and podTemplate's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.fill import evaluate
from tfgen.graph.value_guards import refused_volume, refuses
from tfgen.rules import guarded, pod_parts
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.schema import pod_fields
from tfgen.words import path_name

_ID: Final = "volume-profile"


def _check(view: View) -> Iterator[Finding]:
    yield from guarded.find_broken_guards(_ID, view)
    profile = view.job.structure.profile
    for role in view.roles:
        for volume in pod_parts.patched(view, role.name, "volumes"):
            for key, value in volume.data.items():
                is_source = key != "name" and not key.startswith("$") and not pod_fields.is_misspelt(key, "Volume")
                if is_source and value is not None and refuses(profile, key):
                    message = refused_volume(path_name(volume.path), key, profile)
                    yield Finding((*volume.path, key), evaluate(message, view.scope))


RULES: Final = (Rule(_ID, "error", "A volume needs a weaker Pod Security profile.", _check),)
