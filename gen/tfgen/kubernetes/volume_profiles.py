"""The volume types that the Pod Security Standards refuse.

https://kubernetes.io/docs/concepts/security/pod-security-standards/: the profile baseline refuses hostPath only. The
page does not list image volumes, which the profile restricted allows since Kubernetes 1.33
(policy/check_restrictedVolumes.go of k8s.io/pod-security-admission).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

Profile: TypeAlias = Literal["restricted", "baseline", "privileged"]
PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)
"""The Pod Security Standards, the strictest first."""

_OF_RESTRICTED: Final = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)


def refuses(profile: Profile, source: str) -> bool:
    """Return whether a profile refuses a type of volume, such as `hostPath`."""
    return PROFILES.index(strictest_profile(source)) > PROFILES.index(profile)


def strictest_profile(source: str) -> Profile:
    """Return the strictest profile that allows a type of volume, for example `privileged` for `hostPath`."""
    if source in _OF_RESTRICTED:
        return "restricted"
    return "privileged" if source == "hostPath" else "baseline"
