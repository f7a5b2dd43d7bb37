"""The guards of a job, which check the values of the chart. values.schema.json cannot express these checks.

The chart contains each guard as a call of Helm's function ``fail``, so Helm reports wrong values during the
installation. The package `rules` evaluates the same guard for all variants of a job, and reports the line of a wrong
value in the job file.
"""

from __future__ import annotations

from typing import get_args

from tfgen.graph.holes import AllOf, Default, Equal, Expression, Greater, Guard, Length, Matches, Not, Override, Text
from tfgen.graph.objects import cluster_spec, keras_distribution, names, service_account
from tfgen.graph.objects.name_guards import finisher_name_guard
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value, value
from tfgen.graph.schedulers import is_partial, may_be_partial, member_count
from tfgen.graph.shape import cached_by_shape
from tfgen.graph.value_guards import run_folder_guards, supports_field, volume_and_resource_guards
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import Scheduler, Structure
from tfgen.kubernetes.limits import STRING_MAX
from tfgen.schema.gang_fields import FIELDS, Field
from tfgen.words import either


@cached_by_shape
def guards(structure: Structure) -> tuple[Guard, ...]:
    """Return the guards of a job, in the order in which the chart checks the values."""
    workload = WORKLOADS[structure.kind]
    return (
        _service_name_guard(),
        *workload.guards(structure),
        *([finisher_name_guard()] if workload.plan(structure) and not structure.is_distributed else []),
        *([_cluster_size_guard(structure, workload.pod_name)] if workload.has_config_map(structure) else []),
        *(_gang_guards(structure, structure.gang) if structure.gang else []),
        *(run_folder_guards() if supports_field(structure, "resumeFrom") else ()),
        _image_guard(),
        *([service_account.default_account_guard()] if structure.service_account else []),
        *([_node_name_guard(structure)] if structure.gang else []),
        *volume_and_resource_guards(structure),
        _egress_guard(),
        *([_spot_price_guard()] if structure.eci else []),
        *(_tensorboard_guards() if structure.tensorboard_port else []),
        *([_root_user_guard()] if structure.profile == "restricted" else []),
    )


@cached_by_shape
def file_guards(structure: Structure) -> tuple[Guard, ...]:
    """Return the guards for fields that exist only in a job file, and not in the values of the chart."""
    scheduler = structure.gang
    if scheduler is None:
        return ()
    unsupported = sorted({*get_args(Field)} - FIELDS[scheduler])
    return (
        *([] if may_be_partial(structure) else [_min_available_guard(structure)]),
        *([_all_workers_guard(structure)] if structure.has_equal_workers else []),
        *(_field_guard(scheduler, field) for field in unsupported),
    )


def _service_name_guard() -> Guard:
    return Guard(
        rule="service-name",
        path="run",
        test=Not(Matches(names.RUN, "^[a-z]([-a-z0-9]*[a-z0-9])?$")),
        message=Text(
            (
                "the run's Service would be named ",
                names.RUN,
                ", which is not a DNS label: use lower-case letters, digits and -, and start with a letter; "
                "choose another release name or fullnameOverride",
            )
        ),
    )


def _image_guard() -> Guard:
    return Guard(
        rule="no-image",
        path=("roles", ROLE_NAME),
        over=(ROLE_ENTRIES,),
        test=Not(Override(role_entry_value("image", "string"), value("image"))),
        message=Text(
            ("role ", ROLE_NAME, " has no image: set image for the job, or roles.", ROLE_NAME, ".image"),
        ),
    )


def _cluster_size_guard(structure: Structure, pod: cluster_spec.PodName) -> Guard:
    if structure.uses_keras_distribution:
        variable, size = keras_distribution.JOB_ADDRESSES, keras_distribution.addresses_size(structure, pod)
    else:
        variable, size = "TF_CONFIG", cluster_spec.longest_tf_config_size(structure, pod)
    return Guard(
        rule="tf-config-size",
        path="roles.worker.replicas" if structure.role("worker") else "roles",
        test=Greater(size, STRING_MAX),
        message=Text(
            (
                f"{variable} would have ",
                size,
                f" bytes, but an environment variable may have at most {STRING_MAX}; "
                "reduce the number of tasks, or shorten the names",
            )
        ),
    )


def _gang_guards(structure: Structure, scheduler: Scheduler) -> list[Guard]:
    return [
        *(_kueue_guards(structure) if scheduler == "kueue" else []),
        *([_min_available_guard(structure)] if may_be_partial(structure) else []),
    ]


def _kueue_guards(structure: Structure) -> list[Guard]:
    enabled = value("gang.enabled")
    queue_guard = Guard(
        rule="gang-queue",
        path="gang.queue",
        test=AllOf((enabled, Not(value("gang.queue")))),
        message=Text(
            (
                "gang.queue is empty, but Kueue ignores a job without a queue; "
                "set gang.queue to a LocalQueue of the namespace",
            )
        ),
    )
    label_guards = [_kueue_label_guard(path) for path in ("gang.queue", "gang.priorityClassName")]
    topology_guard = Guard(
        rule="gang-topology",
        path="gang.preferredTopology",
        test=AllOf((enabled, value("gang.requiredTopology"), value("gang.preferredTopology"))),
        message=Text(
            (
                "gang has both a requiredTopology and a preferredTopology, but Kueue accepts only one; "
                "remove one of the two",
            )
        ),
    )
    if not WORKLOADS[structure.kind].plan(structure):
        return [queue_guard, *label_guards, topology_guard]
    deadline_guard = Guard(
        rule="gang-start-deadline",
        path="startDeadline",
        test=AllOf((enabled, value("startDeadline"))),
        message=Text(
            (
                "startDeadline is ",
                value("startDeadline"),
                ", but Kueue starts a job whenever it admits the job, so no deadline applies; remove startDeadline",
            )
        ),
    )
    return [queue_guard, *label_guards, topology_guard, deadline_guard]


def _kueue_label_guard(path: str) -> Guard:
    """Return the guard that limits the length of the value at a path, because Kueue reads the value from a label."""
    name = value(path)
    return Guard(
        rule="gang-label",
        path=path,
        test=AllOf((value("gang.enabled"), Greater(Length(name), names.LABEL_VALUE_MAX))),
        message=Text(
            (
                f"{path} has ",
                Length(name),
                f" characters, but the label that passes the name to Kueue may have at most {names.LABEL_VALUE_MAX}; "
                "choose a shorter name",
            )
        ),
    )


def _field_guard(scheduler: Scheduler, field: Field) -> Guard:
    supporting = [name for name, fields in FIELDS.items() if field in fields]
    return Guard(
        rule="gang-field",
        path=f"gang.{field}",
        test=value(f"gang.{field}"),
        message=Text(
            (f"{scheduler} does not support gang.{field}, which is a key for {either(supporting)}; remove the key",)
        ),
    )


def _all_workers_guard(structure: Structure) -> Guard:
    return Guard(
        rule="gang-all-workers",
        path="gang.minAvailable",
        test=AllOf((value("gang.enabled"), is_partial(structure))),
        message=Text(
            (
                "gang.minAvailable is ",
                value("gang.minAvailable"),
                f", but {structure.strategy} needs all ",
                member_count(structure),
                " workers: the first workers would occupy their GPUs and wait for the last worker; "
                "write 0, which means all workers",
            )
        ),
    )


def _node_name_guard(structure: Structure) -> Guard:
    node = role_entry_value("nodeName", "string")
    in_gang = (Not(Equal(ROLE_NAME, "evaluator")),) if structure.role("evaluator") else ()
    return Guard(
        rule="node-name-and-gang",
        path=("roles", ROLE_NAME, "nodeName"),
        over=(ROLE_ENTRIES,),
        test=AllOf((value("gang.enabled"), *in_gang, node)),
        message=Text(
            (
                *("roles.", ROLE_NAME, ".nodeName is ", node),
                ", which bypasses the scheduler of the gang; "
                "select the node by kubernetes.io/hostname in nodeSelector, or disable the gang",
            )
        ),
    )


def _egress_guard() -> Guard:
    return Guard(
        rule="egress-unlimited",
        path="network.policy",
        test=AllOf((value("network.egress.limited"), Equal(value("network.policy"), "Off"))),
        message=Text(
            (
                "network.policy is Off, so no policy limits egress; set network.policy to Isolated, "
                "or network.egress.limited to false",
            )
        ),
    )


def _spot_price_guard() -> Guard:
    spot = "cloud.eci.spot"
    limited = Equal(value(f"{spot}.strategy"), "SpotWithPriceLimit")
    return Guard(
        rule="eci-spot-price",
        path=f"{spot}.strategy",
        test=AllOf((value("cloud.eci.enabled"), limited, Not(value(f"{spot}.priceLimit")))),
        message=Text(
            (
                f"{spot}.strategy is SpotWithPriceLimit, but {spot}.priceLimit is empty; "
                "set the maximum price per hour, or the strategy SpotAsPriceGo",
            )
        ),
    )


def _tensorboard_guards() -> list[Guard]:
    name, enabled = names.tensorboard(), value("tensorboard.enabled")
    return [
        Guard(
            rule="tensorboard-name",
            path="tensorboard",
            test=AllOf((enabled, Greater(Length(name), names.SERVICE_NAME_MAX))),
            message=Text(
                (
                    "TensorBoard's Service would be named ",
                    name,
                    ", which has ",
                    Length(name),
                    f" characters, but a DNS label may have at most {names.SERVICE_NAME_MAX}; "
                    "shorten the name of the job or of the release",
                )
            ),
        ),
        Guard(
            rule="tensorboard-name",
            path="run",
            test=AllOf((enabled, Equal(value("run"), "tensorboard"))),
            message=Text(("the run tensorboard would have the object names of TensorBoard; choose another run name",)),
        ),
        Guard(
            rule="no-image",
            path="tensorboard",
            test=AllOf((enabled, Not(Default(value("tensorboard.image"), value("image"))))),
            message=Text(("TensorBoard has no image: set image for the job, or tensorboard.image",)),
        ),
    ]


def _min_available_guard(structure: Structure) -> Guard:
    min_available, task_count = value("gang.minAvailable"), member_count(structure)
    return Guard(
        rule="gang-min-available",
        path="gang.minAvailable",
        test=AllOf((value("gang.enabled"), Greater(min_available, task_count))),
        message=Text(
            (
                "gang.minAvailable is ",
                min_available,
                ", but the gang has only ",
                task_count,
                " tasks and would never start; set a smaller number, or 0 for all tasks",
            )
        ),
    )


def _root_user_guard() -> Guard:
    user: Expression = value("security.runAsUser")
    return Guard(
        rule="root-user",
        path="security.runAsUser",
        test=Not(user),
        message=Text(
            (
                "security.runAsUser is 0, which the Pod Security Standard restricted forbids; "
                "set another user, or security.profile baseline in job.yaml",
            )
        ),
    )
