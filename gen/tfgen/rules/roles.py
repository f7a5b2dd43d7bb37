"""Rules about the roles and the workload kind of a job, and about values that have no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import assignment, hint, removal
from tfgen.graph import podspec
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.graph.podspec import DEVICES
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.facts import own_data
from tfgen.job.training_job import RoleName, Strategy
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.schema import file as schema_file
from tfgen.schema import kinds
from tfgen.schema.kinds import idle_values
from tfgen.words import either, path_name, shown

# -- roles needed ------------------------------------------------------------------------------------------------------
#
# Roles that a strategy needs or does not use, and the role whose task ends the job.


_REQUIRED: Final[Mapping[Strategy, Mapping[RoleName, str]]] = {
    # tf.distribute.ParameterServerStrategy requires at least one ps and one worker.
    "ParameterServer": {"ps": "whose tasks hold the variables", "worker": "whose tasks compute"},
    "MultiWorkerMirrored": {"worker": "whose tasks compute and hold all variables"},
    "KerasDistribution": {"worker": "whose tasks compute"},
    "Single": {"chief": "the only task"},
}
_USED: Final[Mapping[Strategy, tuple[RoleName, ...]]] = {
    "ParameterServer": ("chief", "ps", "worker", "evaluator"),
    "MultiWorkerMirrored": ("worker", "evaluator"),
    "KerasDistribution": ("worker",),
    "Single": ("chief",),
}


@rule("missing-role", "error", "The strategy needs a role that the job does not have.")
def missing_role(view: View) -> Iterator[Finding]:
    strategy = view.job.structure.strategy
    for role, purpose in _REQUIRED[strategy].items():
        if role not in view.values["roles"]:
            added = assignment(("roles", role), {}, f"add roles.{role}: {{}}")
            yield advise(("roles",), f"strategy {strategy} needs the role {role}, {purpose}", hint(added))


@rule("unused-role", "error", "The job has a role that the strategy does not use.")
def unused_role(view: View) -> Iterator[Finding]:
    strategy = view.job.structure.strategy
    for role in view.roles:
        if role.name not in _USED[strategy]:
            used = either(_USED[strategy], "and")
            path = ("roles", role.name)
            message = f"strategy {strategy} does not use the role {role.name}, only {used}"
            yield advise(path, message, hint(removal(path)))


@rule("nothing-ends-the-job", "error", "The job has no task whose exit ends the job.")
def nothing_ends_the_job(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    by, chief = structure.completion, structure.role("chief")
    # Without completion.by, the workload kind determines the task that ends the job, and reports a missing role.
    sets_by = bool(view.spec.get("completion", {}).get("by"))
    path = ("completion", "by")
    chief_ends = hint(assignment(path, "Chief", "set completion.by to Chief"))
    worker_ends = assignment(path, "Worker0", "set completion.by to Worker0", is_choice=True)
    if structure.strategy == "ParameterServer" and by == "Chief" and not chief:
        added = assignment(("roles", "chief"), {}, "add roles.chief: {}")
        yield advise(("roles",), "no task ends this job", hint(added, worker_ends, end=" or AllWorkers"))
    if structure.strategy == "ParameterServer" and by != "Chief" and chief and sets_by:
        yield advise(path, f"completion.by is {by}, so the end of the chief would not end the job", chief_ends)
    if structure.has_equal_workers and by == "Chief":
        message = f"completion.by is Chief, but strategy {structure.strategy} has no chief"
        yield advise(path, message, hint(worker_ends, end=" or AllWorkers"))
    if structure.strategy == "Single" and by != "Chief" and sets_by:
        yield advise(path, f"completion.by is {by}, but strategy Single has no workers", chief_ends)


@rule(
    "legacy-flags",
    "error",
    "The job sets the flags or variables of TensorFlow 1, but its strategy has no parameter servers.",
)
def legacy_flags(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    for key, is_set in (("legacyFlags", structure.legacy_flags), ("legacyVariables", structure.legacy_variables)):
        if is_set and structure.strategy != "ParameterServer":
            message = (
                f"{key} passes the hosts of ps and worker to the program, but strategy {structure.strategy} has no ps"
            )
            yield advise((key,), message, hint(removal((key,), key)))


# -- unknown role ------------------------------------------------------------------------------------------------------
#
# Roles that a volume lists under `for`, and that the job does not have.


@rule("unknown-role", "error", "A volume is for a role that the job does not have.")
def unknown_role(view: View) -> Iterator[Finding]:
    roles = [*(role.name for role in view.roles), *([TENSORBOARD] if "tensorboard" in view.values else [])]
    for name, volume in view.values["storage"].items():
        for index, role in enumerate(volume.get("for", ())):
            if role not in roles:
                path = ("storage", name, "for", index)
                message = f"storage.{name}.for lists {role}, but the job has only {either(roles, 'and')}"
                yield advise(path, message, hint(removal(path, "this entry"), other=f"add {role} to the job"))


# -- evaluator cluster -------------------------------------------------------------------------------------------------
#
# Evaluators that an operator adds to the TF_CONFIG of every task, so that the chief waits for the evaluator.
#
# https://github.com/kubeflow/trainer/issues/650. The chief connects to every task of the cluster, but an evaluator
# starts no server. If tfgen writes TF_CONFIG, the evaluator appears only in the TF_CONFIG of the evaluator.


@rule(
    "evaluator-in-cluster",
    "warning",
    "The TF_CONFIG of the chief lists the evaluator, so the chief waits for the evaluator.",
)
def evaluator_in_cluster(view: View) -> Iterator[Finding]:
    structure, path = view.job.structure, ("roles", "evaluator")
    if view.environment is not None or structure.strategy != "ParameterServer" or structure.role("evaluator") is None:
        return
    has_config_map = WORKLOADS[structure.kind].has_config_map(structure)
    if not has_config_map and not kinds.lacking(view.spec, path):
        operator, why = kinds.FACTS[structure.kind].tf_config_setter
        message = (
            f"{operator} adds the evaluator to the TF_CONFIG of every task, so that the chief waits forever for the "
            "evaluator"
        )
        yield advise(path, message, kinds.hint_of(f"; {why}", path))


# -- gpu on ps ---------------------------------------------------------------------------------------------------------
#
# GPUs of parameter servers, which hold variables and do not compute.


@rule("gpu-on-ps", "warning", "A parameter server requests GPUs.")
def gpu_on_ps(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    resources = view.values["roles"]["ps"]["resources"]
    gpu, limits = resources["gpu"], resources["limits"]
    counted_resource = gpu.get("deviceClass") or gpu["resource"]
    counted = {counted_resource: gpu["count"]} if gpu["count"] and counted_resource not in limits else {}
    for resource, amount in {**counted, **view.template_variables("ps")[DEVICES.name]}.items():
        if resource not in counted and resource not in limits:
            continue  # This resource is a share of the GPUs in gpu.count, so skip it.
        key: Path = ("gpu", "count") if resource in counted else ("limits", resource)
        message = (
            f"role ps requests {amount} of {resource} for each task, but a parameter server only holds variables and "
            "leaves GPUs idle; remove the request"
        )
        yield Finding(("roles", "ps", "resources", *key), message)


# -- restart in place --------------------------------------------------------------------------------------------------
#
# Jobs with `restart.inPlace` that list no exit code for a restart in place.


_KEY: Final = ("restart", "inPlace")


@rule("restart-in-place", "warning", "The job sets `restart.inPlace`, but lists no exit code for a restart in place.")
def restart_in_place(view: View) -> Iterator[Finding]:
    is_supported = all(lack.path != ".".join(_KEY) for lack in kinds.unsupported_keys(view.spec))
    if view.job.structure.in_place and is_supported and not view.values["restart"]["ignoreExitCodes"]:
        message = (
            "restart.inPlace has no effect, because restart.ignoreExitCodes lists no exit code; list the exit codes "
            "after which a task starts again in its pod"
        )
        yield Finding(_KEY, message)


# -- workload kind -----------------------------------------------------------------------------------------------------
#
# Keys that the workload kind of the job does not support, as `tfgen.schema.kinds` lists them.


@rule("workload-kind", "error", "The job sets a value that its workload kind does not support.")
def workload_kind(view: View) -> Iterator[Finding]:
    kind = view.job.structure.kind
    for lack in kinds.unsupported_keys(view.spec):
        for path, data in _find_values(view.variant_data, lack.path.split(".")):
            value_text = "" if isinstance(data, (Mapping, list)) else f" (found {shown(data)})"
            name = ".".join(map(str, path))
            message = f"the workload kind {kind} does not support {name}{value_text}: "
            yield advise(path, message, kinds.hint_of(lack.why, path))
    if view.environment is not None:
        yield from _unsupported_empty_mappings(view, view.variant_data)
    else:  # An environment cannot change the workload kind, so check only the job.
        for key in kinds.limited_keys(view.spec):
            value = kinds.value_of(view.spec, key.path)
            if value is not None and value not in key.values:
                allowed = either([value or '""' for value in key.values], "and")
                path = tuple(key.path.split("."))
                message = f"the workload kind {kind} does not support {key.path} {shown(value)}, only {allowed}: "
                yield advise(path, message, kinds.hint_of(key.why, path))


def _unsupported_empty_mappings(view: View, settings: Any, parent: Path = ()) -> Iterator[Finding]:
    """Report each empty mapping of an environment, as in `KEY: {}`, if the workload kind supports no key inside KEY.

    The rule finds the other values by the keys inside KEY, which an empty mapping does not have. `settings` is the
    mapping of the environment, or a part of the mapping at the path `parent`.
    """
    for key, value in settings.items():
        path = (*parent, key)
        node = schema_file.node(schema_file.load(), ("spec", *path))
        if isinstance(value, Mapping) and node and schema_file.is_record(node) and not kinds.lacking(view.spec, path):
            yield from _unsupported_empty_mappings(view, value, path)
            if not value and data_path.at(view.job.values, path) is None:
                kind, name = view.job.structure.kind, ".".join(map(str, path))
                message = f"an environment cannot set {name} with the workload kind {kind}"
                yield advise(path, message, hint(removal(path)))


def _find_values(data: Any, steps: Sequence[str], parent: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of each field of `data` whose path matches `steps`. The step ``*`` matches any key."""
    if not steps:
        yield parent, data
    elif isinstance(data, Mapping):
        for key in data if steps[0] == "*" else [steps[0]]:
            if key in data:
                yield from _find_values(data[key], steps[1:], (*parent, key))


# -- idle value --------------------------------------------------------------------------------------------------------
#
# Values of a job that have no effect, because the feature that uses the value is disabled or missing.


@rule("idle-value", "warning", "The job sets a value that has no effect.")
def idle_value(view: View) -> Iterator[Finding]:
    for path, why in _idle(view):
        # The rule workload-kind reports the keys that the workload kind does not support.
        if view.is_set(path) and not kinds.lacking(view.spec, path):
            yield Finding(path, f"{path_name(path)} has no effect: {why}")


def _idle_tiers(view: View, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the tiers of a network topology without a mode. `path` is the path of the network topology."""
    for key in ("highestTierAllowed", "highestTierName"):
        if not any(data_path.at(values, (*path, "mode")) for values in _affected_values(view, (*path, key))):
            yield (*path, key), "networkTopology.mode is empty, so Volcano ignores the tier"


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
    if structure.kind == "VolcanoJob":
        yield from _idle_tiers(view, ("workload", "volcanoJob", "networkTopology"))
    elif structure.gang == "volcano":
        yield from _idle_tiers(view, ("gang", "networkTopology"))
    annotations: Path = ("serviceAccount", "annotations")
    accounts = [values.get("serviceAccount", {}) for values in _affected_values(view, annotations)]
    if not any(account.get("create", True) for account in accounts):
        yield annotations, "serviceAccount.create is false, so the job does not create the account"
    rules: Path = ("network", "egress", "rules")
    egress = view.values["network"]["egress"]
    if egress["rules"] and not any(values["network"]["egress"]["limited"] for values in _affected_values(view, rules)):
        yield rules, "network.egress.limited is false, so the tasks may connect to every address"
    for role in view.roles:
        gpu: Path = ("roles", role.name, "resources", "gpu")
        for key in ("product", "share", "deviceClass"):
            resources = (values["roles"][role.name]["resources"] for values in _affected_values(view, (*gpu, key)))
            setting = view.values["roles"][role.name]["resources"]["gpu"].get(key)
            if setting and not any(map(_has_gpus, resources)):
                yield (*gpu, key), f"the role has no GPU; set {path_name((*gpu, 'count'))}"


def _has_gpus(resources: Mapping[str, Any]) -> bool:
    return bool(resources["gpu"]["count"]) or any(re.search(podspec.IS_GPU, name) for name in resources["limits"])


def _affected_values(view: View, path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the chart values of each variant in which the key at `path` may have an effect.

    If the environment of `view` sets the key, the result has only the values of this environment. If the job sets the
    key, the result has the values of all variants.
    """
    return (view.values,) if view.is_set_in_environment(path) else view.all_values


# -- team defaults -----------------------------------------------------------------------------------------------------
#
# Defaults in a tfgen.yaml that have a surprising effect, such as an environment which every job of the folder gets.


_TOLERATIONS = "tolerations"


@rule("tolerations-replaced", "warning", "The tolerations of a job replace the tolerations that a tfgen.yaml sets.")
def tolerations_replaced(view: View) -> Iterator[Finding]:
    layer = view.document.under
    if layer is None:
        return
    path: Path = ("spec", "environments", view.environment or "", _TOLERATIONS)
    if not data_path.has(layer.data, path):
        path = ("spec", _TOLERATIONS)
    default, roles = data_path.at(layer.data, path), view.values["roles"]
    lists: list[tuple[Path, Any]] = [((_TOLERATIONS,), view.values[_TOLERATIONS])] if default else []
    names = [role.name for role in view.roles if default]
    lists += [(("roles", name, _TOLERATIONS), roles[name].get(_TOLERATIONS, [])) for name in names]
    for list_path, tolerations in lists:
        missing = [toleration for toleration in default if toleration not in tolerations]
        if missing and (tolerations or list_path == (_TOLERATIONS,)):
            message = (
                f"{path_name(list_path)} replaces the tolerations of {layer.place(path)}, but lacks "
                f"{shown(missing[0])}; add the toleration, or remove this list"
            )
            yield Finding(list_path, message)


@rule("environment-of-all", "warning", "A tfgen.yaml adds an environment to a job that already lists environments.")
def environment_of_all(view: View) -> Iterator[Finding]:
    if view.environment is not None or view.document.under is None:
        return
    environments = data_path.at(own_data(view.document), ("spec", "environments"))
    for name in view.spec.get("environments", {}) if environments else ():
        if name not in environments:
            message = (
                f"every job of this folder runs in the environment {name}, even a job that lists different "
                f"environments; to exclude {name}, set {name}: {{enabled: false}} or {name}: null in the job"
            )
            yield Finding(("environments", name), message)
