"""The object graph of a job: what the chart, the overlays and the plain objects are three pictures of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfgen.graph.fill import Scope, fill
from tfgen.graph.holes import ABSENT, AnyOf, Each, Node, When
from tfgen.graph.objects import code, disruption, eci, names, network, priority_class, storage, tensorboard
from tfgen.graph.objects.config_map import config_map
from tfgen.graph.objects.connection_test import connection_test
from tfgen.graph.objects.finisher import ROLE, Plan, finisher
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers import GANGS
from tfgen.graph.template import Template
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import FileCode, Structure


def graph(structure: Structure) -> tuple[Template, ...]:
    """A job's objects with holes. It is given the structure alone, so it cannot depend on a value."""
    workload = WORKLOADS[structure.kind]
    told = workload.tells_cluster(structure)
    group = GANGS[structure.gang].pod_group(structure) if structure.gang and workload.makes_pod_group(structure) else ()
    plan = workload.plan(structure)
    return (
        *([Template("service", (network.service(structure),))] if workload.makes_service(structure) else []),
        *([Template("configmap", (config_map(structure, workload.pod_name),))] if told else []),
        Template("networkpolicy", (network.policy(workload.pods),)),
        Template("priorityclasses", (priority_class.priority_classes(),)),
        *([Template("podgroup", group)] if group else []),
        *(
            [Template("imagecache", (eci.image_cache(structure),))]
            if structure.eci and structure.eci.makes_cache
            else []
        ),
        Template("claims", (storage.claims(),), outlives=True),
        *([Template("code", (code.config_map(structure.code),))] if isinstance(structure.code, FileCode) else []),
        *workload.templates(structure),
        *([Template("finisher", _finisher(structure, plan))] if plan else []),
        *(
            [Template("disruptionbudgets", disruption.budgets(structure, workload.is_scalable))]
            if structure.disruption_budget
            else []
        ),
        *(
            [Template("tensorboard", tensorboard.tensorboard(structure, structure.tensorboard_port))]
            if structure.tensorboard_port
            else []
        ),
        *([Template("tests/connection", (connection_test(structure),), chart_only=True)] if told else []),
    )


def _finisher(structure: Structure, plan: Plan) -> tuple[Node, ...]:
    """The finisher, where there is something for it to do: tasks that the job's end leaves, or what values ask for."""
    made = (*finisher(structure, plan), network.to_api_server(names.finisher(), ROLE))
    if plan.scale or plan.suspend:
        return made
    asked = AnyOf((value("startDeadline"), *(board.test for board in plan.deployments if isinstance(board, When))))
    return tuple(When(asked, node) for node in made)


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
