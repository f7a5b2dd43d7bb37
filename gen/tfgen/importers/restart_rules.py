"""Reader of the restart rules of a container, with which the kubelet restarts the container in its pod.

    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
        -> restart: {inPlace: true, ignoreExitCodes: [42]}

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.pod_template import RESTART_IN_PLACE
from tfgen.schema import kinds

_WHY_SHARED: Final = "in the imported job, each task restarts in its pod after each of these exit codes"


def shared_exit_codes(codes_by_pod: Iterable[frozenset[int]], report: ImportReport) -> frozenset[int]:
    """Return the exit codes for `restart.ignoreExitCodes` of the job, which has one list of exit codes for all pods.

    The result contains each exit code of each set in `codes_by_pod`. If the sets differ, report a change.

    Args:
        codes_by_pod: a set of exit codes for each pod or role, after which the containers restart in the pod. A set may
            also contain the exit codes that a podFailurePolicy ignores.
        report: the import report.
    """
    pods = list(codes_by_pod)
    codes = frozenset[int]().union(*pods)
    if any(pod_codes != codes for pod_codes in pods):
        report.change_target(RESTART_IN_PLACE, _WHY_SHARED)
    return codes


def add_restart_in_place(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """Add `restart.inPlace` to a spec if the pods of the foreign job have restart rules."""
    by_role = {name: role.pod.restart_codes for name, role in job.roles.items()}
    if not any(by_role.values()):
        return
    if why := kinds.lacking(spec, RESTART_IN_PLACE[1:]):
        report.drop_target(RESTART_IN_PLACE, why)
        return
    restart = spec.get("restart", {})
    ignored = frozenset(restart.get("ignoreExitCodes", ()))
    # A ps restarts in its pod after each exit code, with rules or without.
    restarted = [codes for name, codes in by_role.items() if name != "ps" or codes]
    codes = shared_exit_codes([*restarted, *([ignored] if ignored else [])], report)
    spec["restart"] = {**restart, "inPlace": True, "ignoreExitCodes": sorted(codes)}
