"""What the values schema cannot say: the checks that a chart makes when it is installed.

Each is written once, here. The chart prints it as a ``fail``; `rules` evaluates it for the job and for every
environment, and reports it at the job's own line.
"""

from __future__ import annotations

from typing import get_args

from tfgen.graph.holes import AllOf, Default, Equal, Expression, Greater, Guard, Length, Matches, Not, Text
from tfgen.graph.interning import intern_node
from tfgen.graph.objects import cluster_spec, names, service_account
from tfgen.graph.objects.name_guards import short_finisher
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value, value
from tfgen.graph.schedulers.gang import is_partial, may_be_partial, member_count
from tfgen.graph.shape import cached_by_shape
from tfgen.graph.value_guards import run_folder_guards, supports_field, volume_and_resource_guards
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import Scheduler, Structure
from tfgen.kubernetes.limits import STRING_MAX
from tfgen.schema.gang_fields import FIELDS, Field
from tfgen.words import either


@cached_by_shape
def guards(structure: Structure) -> tuple[Guard, ...]:
    """The guards of a job, in the order in which a chart's user meets them."""
    workload = WORKLOADS[structure.kind]
    every = (
        _dns_label(),
        *workload.guards(structure),
        *([short_finisher()] if workload.plan(structure) and not structure.is_distributed else []),
        *([_short_tf_config(structure, workload.pod_name)] if workload.has_config_map(structure) else []),
        *(_of_gang(structure, structure.gang) if structure.gang else []),
        *(run_folder_guards() if supports_field(structure, "resumeFrom") else ()),
        _has_image(),
        *([service_account.default_account_guard()] if structure.service_account else []),
        *([_scheduled(structure)] if structure.gang else []),
        *volume_and_resource_guards(structure),
        _limited_egress(),
        *([_priced_spot()] if structure.eci else []),
        *(_of_tensorboard() if structure.tensorboard_port else []),
        *([_not_root()] if structure.profile == "restricted" else []),
    )
    return intern_node(every)


@cached_by_shape
def file_guards(structure: Structure) -> tuple[Guard, ...]:
    """The same of values that job.yaml may say, and the job's chart does not have."""
    scheduler = structure.gang
    if scheduler is None:
        return ()
    unknown = sorted({*get_args(Field)} - FIELDS[scheduler])
    return (
        *([] if may_be_partial(structure) else [_possible_gang(structure)]),
        *([_whole_gang(structure)] if structure.strategy == "MultiWorkerMirrored" else []),
        *(_no_field(scheduler, field) for field in unknown),
    )


def _dns_label() -> Guard:
    return Guard(
        rule="service-name",
        path="run",
        test=Not(Matches(names.RUN, "^[a-z]([-a-z0-9]*[a-z0-9])?$")),
        message=Text(
            (
                "the run's Service would be named ",
                names.RUN,
                ", which is no DNS label: lower-case letters, digits and -, beginning with a letter; "
                "choose another release name, or another fullnameOverride",
            )
        ),
    )


def _has_image() -> Guard:
    return Guard(
        rule="no-image",
        path=("roles", ROLE_NAME),
        over=(ROLE_ENTRIES,),
        test=Not(Default(role_entry_value("image", "string"), value("image"))),
        message=Text(
            ("role ", ROLE_NAME, " has no image: set image for the job, or roles.", ROLE_NAME, ".image"),
        ),
    )


def _short_tf_config(structure: Structure, pod: cluster_spec.PodName) -> Guard:
    size = cluster_spec.longest_tf_config(structure, pod)
    return Guard(
        rule="tf-config-size",
        path="roles.worker.replicas" if structure.role("worker") else "roles",
        test=Greater(size, STRING_MAX),
        message=Text(
            (
                "TF_CONFIG would have ",
                size,
                f" bytes, more than the {STRING_MAX} that one environment variable "
                "may have: fewer tasks, or shorter names",
            )
        ),
    )


def _of_gang(structure: Structure, scheduler: Scheduler) -> list[Guard]:
    return [
        *(_of_kueue(structure) if scheduler == "kueue" else []),
        *([_possible_gang(structure)] if may_be_partial(structure) else []),
    ]


def _of_kueue(structure: Structure) -> list[Guard]:
    enabled = value("gang.enabled")
    no_queue = Guard(
        rule="gang-queue",
        path="gang.queue",
        test=AllOf((enabled, Not(value("gang.queue")))),
        message=Text(("gang.queue is empty: Kueue lets wait only what names one; name a LocalQueue of the namespace",)),
    )
    short_labels = [_short_label(path) for path in ("gang.queue", "gang.priorityClassName")]
    two_topologies = Guard(
        rule="gang-topology",
        path="gang.preferredTopology",
        test=AllOf((enabled, value("gang.requiredTopology"), value("gang.preferredTopology"))),
        message=Text(
            ("gang has both a requiredTopology and a preferredTopology, of which Kueue takes one; remove one",)
        ),
    )
    if not WORKLOADS[structure.kind].plan(structure):
        return [no_queue, *short_labels, two_topologies]
    no_deadline = Guard(
        rule="gang-start-deadline",
        path="startDeadline",
        test=AllOf((enabled, value("startDeadline"))),
        message=Text(
            (
                "startDeadline is ",
                value("startDeadline"),
                ", which nothing can keep: Kueue starts what it admits, however late; remove it",
            )
        ),
    )
    return [no_queue, *short_labels, two_topologies, no_deadline]


def _short_label(path: str) -> Guard:
    """That Kueue's label, whose value it is, takes a name."""
    name = value(path)
    return Guard(
        rule="gang-label",
        path=path,
        test=AllOf((value("gang.enabled"), Greater(Length(name), names.LABEL_VALUE_MAX))),
        message=Text(
            (
                f"{path} has ",
                Length(name),
                f" characters, more than the {names.LABEL_VALUE_MAX} of the label by which Kueue knows it; "
                "take one with a shorter name",
            )
        ),
    )


def _no_field(scheduler: Scheduler, field: Field) -> Guard:
    others = [name for name, fields in FIELDS.items() if field in fields]
    return Guard(
        rule="gang-field",
        path=f"gang.{field}",
        test=AllOf((value("gang.enabled"), value(f"gang.{field}"))),
        message=Text((f"{scheduler} has no {field}: gang.{field} is for {either(others)}; remove it",)),
    )


def _whole_gang(structure: Structure) -> Guard:
    return Guard(
        rule="gang-all-workers",
        path="gang.minAvailable",
        test=AllOf((value("gang.enabled"), is_partial(structure))),
        message=Text(
            (
                "gang.minAvailable is ",
                value("gang.minAvailable"),
                ", but MultiWorkerMirrored trains with all ",
                member_count(structure),
                " workers or not at all: the first would hold their GPUs, and wait for the rest; 0 means all of them",
            )
        ),
    )


def _scheduled(structure: Structure) -> Guard:
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
                ", which goes past the scheduler that starts the gang together; "
                "name the node in nodeSelector, as kubernetes.io/hostname, or do without the gang",
            )
        ),
    )


def _limited_egress() -> Guard:
    return Guard(
        rule="egress-unlimited",
        path="network.policy",
        test=AllOf((value("network.egress.limited"), Equal(value("network.policy"), "Off"))),
        message=Text(
            (
                "network.policy is Off, so that nothing limits egress; set it to Isolated, "
                "or network.egress.limited to false",
            )
        ),
    )


def _priced_spot() -> Guard:
    spot = "cloud.eci.spot"
    limited = Equal(value(f"{spot}.strategy"), "SpotWithPriceLimit")
    return Guard(
        rule="eci-spot-price",
        path=f"{spot}.strategy",
        test=AllOf((value("cloud.eci.enabled"), limited, Not(value(f"{spot}.priceLimit")))),
        message=Text(
            (
                f"{spot}.strategy is SpotWithPriceLimit, but {spot}.priceLimit is empty: say the most that an hour may "
                "cost, or take SpotAsPriceGo",
            )
        ),
    )


def _of_tensorboard() -> list[Guard]:
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
                    f" characters, more than the {names.SERVICE_NAME_MAX} of a DNS label; "
                    "shorten the job's or the release's name",
                )
            ),
        ),
        Guard(
            rule="tensorboard-name",
            path="run",
            test=AllOf((enabled, Equal(value("run"), "tensorboard"))),
            message=Text(("the run tensorboard would have the names of TensorBoard itself; choose another run",)),
        ),
        Guard(
            rule="no-image",
            path="tensorboard",
            test=AllOf((enabled, Not(Default(value("tensorboard.image"), value("image"))))),
            message=Text(("TensorBoard has no image: set image for the job, or tensorboard.image",)),
        ),
    ]


def _possible_gang(structure: Structure) -> Guard:
    wanted, all_ = value("gang.minAvailable"), member_count(structure)
    return Guard(
        rule="gang-min-available",
        path="gang.minAvailable",
        test=AllOf((value("gang.enabled"), Greater(wanted, all_))),
        message=Text(
            (
                "gang.minAvailable is ",
                wanted,
                ", more than the ",
                all_,
                " tasks of the gang: it would never start; 0 means all of them",
            )
        ),
    )


def _not_root() -> Guard:
    user: Expression = value("security.runAsUser")
    return Guard(
        rule="root-user",
        path="security.runAsUser",
        test=Not(user),
        message=Text(
            (
                "security.runAsUser is 0, which Pod Security restricted refuses; "
                "take another user, or security.profile baseline in job.yaml",
            )
        ),
    )
