"""Volumes that the job's Pod Security Standard refuses.

https://kubernetes.io/docs/concepts/security/pod-security-standards/: baseline refuses hostPath alone, restricted
every source but those in `_RESTRICTED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.document import Path
from tfgen.job import Profile
from tfgen.objects.storage import SOURCES
from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View

_RESTRICTED: Final = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
)
_OF_STORAGE: Final = tuple(source for source in SOURCES if source not in _RESTRICTED)

_PROFILES: Final[tuple[Profile, ...]] = ("restricted", "baseline", "privileged")


def _check(view: View) -> Iterator[Finding]:
    has = view.job.structure.profile
    for path, source in _sources(view):
        needs: Profile = "privileged" if source == "hostPath" else "baseline"
        if _PROFILES.index(needs) > _PROFILES.index(has):
            instead = "an emptyDir or a claim" if source == "hostPath" else "a claim, or a CSI volume"
            message = (
                f"security.profile {has} refuses {source} volumes, which need at least {needs}; "
                f"use {instead}, or set security.profile to {needs}"
            )
            yield Finding(path, message)


def _sources(view: View) -> Iterator[tuple[Path, str]]:
    for name, volume in view.values["storage"].items():
        yield from ((("storage", name, source), source) for source in _OF_STORAGE if source in volume)
    for role in view.roles:
        for volume in pod_parts.patched(view, role.name, "volumes"):
            for key, value in volume.data.items():
                if key not in ("name", "$patch", *_RESTRICTED) and value is not None:
                    yield (*volume.path, key), key


RULES: Final = (Rule("volume-profile", "error", "A volume needs a weaker Pod Security profile.", _check),)
