"""What the values schema cannot say: the checks that a chart makes when it is installed.

Each is written once, here. The chart prints it as a ``fail``; `rules` evaluates it for the job and for every
environment, and reports it at the job's own line.
"""

from __future__ import annotations

from tfgen import cluster_spec
from tfgen.holes import AllOf, Default, Equal, Greater, Guard, Hole, Length, Matches, Not, Sum, Text
from tfgen.job import RoleName, Scheduler, Structure
from tfgen.objects import names
from tfgen.objects.values import of_role, value
from tfgen.schedulers import GANGS
from tfgen.schedulers.gang import MIN_RESOURCES, is_partial, members


def guards(structure: Structure) -> tuple[Guard, ...]:
    """The guards of a job, in the order in which a chart's user meets them."""
    roles = [role.name for role in structure.roles]
    return (
        _dns_label(),
        *(
            _short_stateful_set(role)
            for role in sorted((r.name for r in structure.roles if structure.is_stateful(r)), key=len)[-1:]
        ),
        *(_short_host(role) for role in roles),
        *(_has_image(role) for role in roles),
        *([_short_tf_config(structure)] if structure.is_distributed else []),
        *(_of_gang(structure, structure.gang) if structure.gang else []),
        *(_of_tensorboard() if structure.tensorboard_port else []),
        *([_not_root()] if structure.profile == "restricted" else []),
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
                "choose another release name",
            )
        ),
    )


def _short_stateful_set(role: RoleName) -> Guard:
    name = names.workload(role)
    return Guard(
        rule="statefulset-name",
        path="run",
        test=Greater(Length(name), names.STATEFUL_SET_NAME_MAX),
        message=Text(
            (
                "the StatefulSet's name ",
                name,
                " has ",
                Length(name),
                f" characters, more than the {names.STATEFUL_SET_NAME_MAX} with which it makes pods; "
                "shorten the job's, the release's or the run's name",
            )
        ),
    )


def _short_host(role: RoleName) -> Guard:
    last = names.pod(role, Sum((cluster_spec.replicas(role), -1)))
    return Guard(
        rule="host-name",
        path="run",
        test=Greater(Length(last), names.HOST_NAME_MAX),
        message=Text(
            (
                "the host name ",
                last,
                " has ",
                Length(last),
                f" characters, more than the {names.HOST_NAME_MAX} of a DNS label; "
                "shorten the job's, the release's or the run's name",
            )
        ),
    )


def _has_image(role: RoleName) -> Guard:
    return Guard(
        rule="no-image",
        path=f"roles.{role}",
        test=Not(of_role(role, "image")),
        message=Text((f"role {role} has no image: set image for the job, or roles.{role}.image",)),
    )


def _short_tf_config(structure: Structure) -> Guard:
    size = cluster_spec.longest_tf_config(structure)
    return Guard(
        rule="tf-config-size",
        path="roles.worker.replicas" if structure.role("worker") else "roles",
        test=Greater(size, cluster_spec.ENVIRONMENT_STRING_MAX),
        message=Text(
            (
                "TF_CONFIG would have ",
                size,
                f" bytes, more than the {cluster_spec.ENVIRONMENT_STRING_MAX} that one environment variable "
                "may have: fewer tasks, or shorter names",
            )
        ),
    )


def _of_gang(structure: Structure, scheduler: Scheduler) -> list[Guard]:
    scheduled = [role.name for role in structure.roles if role.name != "evaluator"]
    whole = [_whole_gang(structure)] if structure.strategy == "MultiWorkerMirrored" else []
    resources = [] if GANGS[scheduler].has_min_resources else [_no_min_resources(scheduler)]
    return [_possible_gang(structure), *whole, *resources, *map(_scheduled, scheduled)]


def _no_min_resources(scheduler: Scheduler) -> Guard:
    return Guard(
        rule="gang-min-resources",
        path="gang.minResources",
        test=MIN_RESOURCES,
        message=Text((f"gang.minResources is for volcano's PodGroup; that of {scheduler} has no such field",)),
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
                members(structure),
                " workers or not at all: the first would hold their GPUs, and wait for the rest; 0 means all of them",
            )
        ),
    )


def _scheduled(role: RoleName) -> Guard:
    path = f"roles.{role}.nodeName"
    return Guard(
        rule="node-name-and-gang",
        path=path,
        test=AllOf((value("gang.enabled"), value(path))),
        message=Text(
            (
                f"{path} is ",
                value(path),
                ", which goes past the scheduler that starts the gang together; "
                "name the node in nodeSelector, as kubernetes.io/hostname, or do without the gang",
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
    wanted, all_ = value("gang.minAvailable"), members(structure)
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
    user: Hole = value("security.runAsUser")
    return Guard(
        rule="root-user",
        path="security.runAsUser",
        test=Not(user),
        message=Text(
            (
                "security.runAsUser is 0, which Pod Security restricted refuses: "
                "another user, or a job with security.profile baseline",
            )
        ),
    )
