"""The object graph of a job: what the chart, the overlays and the plain objects are three pictures of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfgen.holes import ABSENT, AnyOf, Each, Node, Scope, When, fill
from tfgen.job import FileCode, Role, Structure
from tfgen.objects import code, disruption, network, priority_class, storage, tensorboard
from tfgen.objects.config_map import config_map
from tfgen.objects.connection_test import connection_test
from tfgen.objects.finisher import Plan, finisher
from tfgen.objects.values import value
from tfgen.schedulers import GANGS
from tfgen.workloads.indexed_job import indexed_job
from tfgen.workloads.stateful_set import stateful_set


@dataclass(frozen=True)
class Template:
    """The objects of one role or concern.

    Attributes:
        name: the template file's name in the chart, without its ending.
        objects: each an object, a condition on one, or an `Each` of them.
        chart_only: whether only the chart has it: a test of ``helm test``.
    """

    name: str
    objects: tuple[Node, ...]
    chart_only: bool = False


def graph(structure: Structure) -> tuple[Template, ...]:
    """A job's objects with holes. It is given the structure alone, so it cannot depend on a value."""
    cluster = (
        (Template("service", (network.service(structure),)), Template("configmap", (config_map(structure),)))
        if structure.is_distributed
        else ()
    )
    return (
        *cluster,
        Template("networkpolicy", (network.policy(),)),
        Template("priorityclasses", (priority_class.priority_classes(),)),
        *([Template("podgroup", (GANGS[structure.gang].pod_group(structure),))] if structure.gang else []),
        Template("claims", (storage.claims(),)),
        *([Template("code", (code.config_map(structure.code),))] if isinstance(structure.code, FileCode) else []),
        *(Template(role.name, (_workload(structure, role),)) for role in structure.roles),
        Template("finisher", _finisher(structure)),
        *([Template("disruptionbudgets", disruption.budgets(structure))] if structure.disruption_budget else []),
        *(
            [Template("tensorboard", tensorboard.tensorboard(structure, structure.tensorboard_port))]
            if structure.tensorboard_port
            else []
        ),
        *([Template("tests/connection", (connection_test(structure),), chart_only=True)] if cluster else []),
    )


def _finisher(structure: Structure) -> tuple[Node, ...]:
    """The finisher, where there is something for it to do: tasks that the job's end leaves, or what values ask for."""
    ends = structure.ends
    stateful = tuple(role.name for role in structure.roles if structure.is_stateful(role))
    jobs = tuple(role.name for role in structure.roles if role.name != ends and role.name not in stateful)
    if not structure.releases:
        stateful = jobs = ()
    boards = (tensorboard.released(),) if structure.releases and structure.tensorboard_port else ()
    plan = Plan(ends, scale=stateful, suspend=jobs, deployments=boards)
    made = (*finisher(structure, plan), network.finisher_policy())
    if stateful or jobs:
        return made
    asked = AnyOf((value("startDeadline"), *(board.test for board in boards)))
    return tuple(When(asked, node) for node in made)


def _workload(structure: Structure, role: Role) -> Node:
    return stateful_set(structure, role) if structure.is_stateful(role) else indexed_job(structure, role)


def objects(templates: Sequence[Template], scope: Scope) -> tuple[dict[str, Any], ...]:
    """The plain objects: the graph with its holes filled, in the graph's order."""
    filled: list[dict[str, Any]] = []
    for template in templates:
        if template.chart_only:
            continue
        for node in template.objects:
            made = fill(node, scope)
            if made is not ABSENT:
                filled += made if isinstance(node, Each) else [made]
    return tuple(filled)
