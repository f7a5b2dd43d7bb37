"""Reader of the podFailurePolicy of Jobs. The policy lists the exit codes that do not count as a retry.

    rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]   -> restart: {ignoreExitCodes: [42]}

https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tfgen.data_path import Path
from tfgen.importers import pod_template
from tfgen.importers.fields import TFGEN_DEFAULT
from tfgen.importers.job_reader import JobReader
from tfgen.importers.part import Part
from tfgen.schema import kinds

POLICY: Final = "podFailurePolicy"

_TARGET: Final[Path] = ("spec", "restart", "ignoreExitCodes")
_DISRUPTIONS: Final = ({"type": "DisruptionTarget"}, {"type": "DisruptionTarget", "status": "True"})
"""The two spellings of the pod condition that tfgen's Jobs ignore. A node drain or an eviction sets this condition."""


def read_failure_policies(jobs: Sequence[Part], reader: JobReader) -> None:
    """Read the podFailurePolicy of each Job, and set `restart.ignoreExitCodes` of the imported job."""
    codes_by_job = [_read_policy(job, reader) for job in jobs]
    codes = frozenset[int]().union(*codes_by_job)
    if any(job_codes != codes for job_codes in codes_by_job):
        reader.report.change_target(
            _TARGET, "in the imported job, these exit codes do not count as a retry in any task"
        )
    if codes:
        reader.set_value(sorted(codes), *_TARGET)


def _read_policy(job: Part, reader: JobReader) -> frozenset[int]:
    policy, report = job.get(POLICY), reader.report
    if policy is None:
        return frozenset()
    rules = list(policy.items("rules"))
    if not rules:
        report.drop(policy, "the policy has no rules")
    ignored = frozenset[int]()
    for rule in rules:
        codes = _codes(rule, job)
        if rule.data in ({"action": "Ignore", "onPodConditions": [condition]} for condition in _DISRUPTIONS):
            reader.apply_row(rule, TFGEN_DEFAULT)
        elif not codes:
            report.drop(rule, "job.yaml supports only rules that ignore exit codes (restart.ignoreExitCodes)")
        elif why := kinds.lacking({"workload": {"kind": reader.options.kind}}, _TARGET[1:]):
            report.drop(rule, why)
        else:
            report.carry(rule, *_TARGET)
            ignored |= codes
    return ignored


def _codes(rule: Part, job: Part) -> frozenset[int]:
    """Return the exit codes that a rule of a podFailurePolicy ignores for the main container.

    If the rule does not ignore exit codes, the result is empty.
    """
    values = rule.data if isinstance(rule.data, dict) else {}
    on_codes = values.get("onExitCodes")
    if values.keys() != {"action", "onExitCodes"} or values["action"] != "Ignore" or not isinstance(on_codes, dict):
        return frozenset()
    main = pod_template.main_container(job.get("template") or job)
    container = main.get("name") if main else None
    codes = on_codes.get("values")
    if on_codes.get("operator") != "In" or not isinstance(codes, list):
        return frozenset()
    if (name := on_codes.get("containerName")) is not None and (container is None or name != container.value):
        return frozenset()
    return frozenset(code for code in codes if type(code) is int and 0 < code < 256)
