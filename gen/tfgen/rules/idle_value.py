"""Values that a job says and nothing reads, because the part of it that would is not there."""

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
        # Of what the workload kind has no place for at all, the rule workload-kind speaks.
        if view.has(path) and not kinds.lacking(view.spec, path):
            yield Finding(path, f"{path_name(path)} does nothing: {why}")


def _idle(view: View) -> Iterator[tuple[Path, str]]:
    structure = view.job.structure
    for idle in idle_values(view.spec):
        if not idle.path.startswith("gang."):  # the guards of which are errors
            yield tuple(idle.path.split(".")), idle.why
    wait: Path = ("lockWait",)
    if not any(values.get("deadline") for values in _forms(view, wait)):
        yield wait, "deadline is 0, so that the task may wait as long as it likes"
    if not view.job.environments:
        yield ("gitops",), "the job has no environments, and only those are applied"
    if structure.kind == "JobSet" and structure.ps_first and structure.role("ps") is None:
        yield ("workload", "jobSet", "startOrder"), "the job has no ps"
    if structure.kind == "VolcanoJob" and not view.values["workload"]["volcanoJob"]["networkTopology"]["mode"]:
        tier: Path = ("workload", "volcanoJob", "networkTopology", "highestTierAllowed")
        modes = [values["workload"]["volcanoJob"]["networkTopology"]["mode"] for values in _forms(view, tier)]
        if not any(modes):
            yield tier, "networkTopology.mode is empty, so that it does not matter where the tasks are"
    annotations: Path = ("serviceAccount", "annotations")
    accounts = [values.get("serviceAccount", {}) for values in _forms(view, annotations)]
    if not any(account.get("create", True) for account in accounts):
        yield annotations, "serviceAccount.create is false, so that the job makes no account"
    rules: Path = ("network", "egress", "rules")
    egress = view.values["network"]["egress"]
    if egress["rules"] and not any(values["network"]["egress"]["limited"] for values in _forms(view, rules)):
        yield rules, "network.egress.limited is false, so that everyone may be reached"
    yield from _idle_gpus(view)


def _idle_gpus(view: View) -> Iterator[tuple[Path, str]]:
    for role in view.roles:
        gpu: Path = ("roles", role.name, "resources", "gpu")
        for key in ("product", "share"):
            path = (*gpu, key)
            setting = view.values["roles"][role.name]["resources"]["gpu"][key]
            if setting and not any(_has_gpus(values, role.name) for values in _forms(view, path)):
                yield path, f"it gives the role no GPU; say how many in {path_name((*gpu, 'count'))}"


def _has_gpus(values: Mapping[str, Any], role: str) -> bool:
    own = values["roles"][role]["resources"]
    return bool(own["gpu"]["count"]) or any(re.search(resources.IS_GPU, name) for name in own["limits"])


def _forms(view: View, path: Path) -> tuple[Mapping[str, Any], ...]:
    """The values beside which one counts: the job may keep it for an environment that reads it."""
    return (view.values,) if view.says(path) else view.all_values


RULES: Final = (Rule("idle-value", "warning", "The job sets a value that nothing reads.", _check),)
