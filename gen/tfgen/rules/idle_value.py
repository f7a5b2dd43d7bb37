"""Values of a job that have no effect, because the feature that uses the value is disabled or missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.objects import resources
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import workload_kinds as kinds
from tfgen.schema.idle_values import idle_values
from tfgen.words import path_name


def _check(view: View) -> Iterator[Finding]:
    for path, why in _idle(view):
        # The rule workload-kind reports the keys that the workload kind does not support.
        if view.is_set(path) and not kinds.lacking(view.spec, path):
            yield Finding(path, f"{path_name(path)} has no effect: {why}")


def _idle(view: View) -> Iterator[tuple[Path, str]]:
    structure = view.job.structure
    for idle in idle_values(view.spec):
        if not idle.path.startswith("gang."):  # The guards already report the fields of a gang as errors.
            yield tuple(idle.path.split(".")), idle.why
    wait: Path = ("lockWait",)
    if not any(values.get("deadline") for values in _affected_values(view, wait)):
        yield wait, "deadline is 0, so the pods have no deadline that lockWait extends; set deadline, or remove the key"
    if not view.job.environments:
        yield ("gitops",), "GitOps tools apply only environments, and the job has no environments"
    if structure.kind == "JobSet" and structure.ps_first and structure.role("ps") is None:
        yield ("workload", "jobSet", "startOrder"), "the job has no ps"
    if structure.kind == "VolcanoJob" and not view.values["workload"]["volcanoJob"]["networkTopology"]["mode"]:
        tier: Path = ("workload", "volcanoJob", "networkTopology", "highestTierAllowed")
        modes = [values["workload"]["volcanoJob"]["networkTopology"]["mode"] for values in _affected_values(view, tier)]
        if not any(modes):
            yield tier, "networkTopology.mode is empty, so Volcano ignores the tier"
    annotations: Path = ("serviceAccount", "annotations")
    accounts = [values.get("serviceAccount", {}) for values in _affected_values(view, annotations)]
    if not any(account.get("create", True) for account in accounts):
        yield annotations, "serviceAccount.create is false, so the job does not create the account"
    rules: Path = ("network", "egress", "rules")
    egress = view.values["network"]["egress"]
    if egress["rules"] and not any(values["network"]["egress"]["limited"] for values in _affected_values(view, rules)):
        yield rules, "network.egress.limited is false, so the tasks may connect to every address"
    yield from _idle_gpus(view)


def _idle_gpus(view: View) -> Iterator[tuple[Path, str]]:
    for role in view.roles:
        gpu: Path = ("roles", role.name, "resources", "gpu")
        for key in ("product", "share"):
            path = (*gpu, key)
            setting = view.values["roles"][role.name]["resources"]["gpu"][key]
            if setting and not any(_has_gpus(values, role.name) for values in _affected_values(view, path)):
                yield path, f"the role has no GPU; set {path_name((*gpu, 'count'))}"


def _has_gpus(values: Mapping[str, Any], role: str) -> bool:
    role_resources = values["roles"][role]["resources"]
    return bool(role_resources["gpu"]["count"]) or any(
        re.search(resources.IS_GPU, name) for name in role_resources["limits"]
    )


def _affected_values(view: View, path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the chart values of each variant in which the key at `path` may have an effect.

    If the environment of `view` sets the key, the result has only the values of this environment. If the job sets the
    key, the result has the values of all variants.
    """
    return (view.values,) if view.is_set_in_environment(path) else view.all_values


RULES: Final = (Rule("idle-value", "warning", "The job sets a value that has no effect.", _check),)
