"""All roles as one JobSet: a replicated Job each, of one Indexed Job.

    replicatedJobs: [{name: chief, ...}, {name: ps, ...}, {name: worker, ...}]
    successPolicy: {operator: All, targetReplicatedJobs: [chief]}

https://jobset.sigs.k8s.io/docs/concepts/. When what ends the job has succeeded, the JobSet deletes the Jobs that are
still active. Fields by its own definition: https://github.com/kubernetes-sigs/jobset/tree/v0.12.0/config/components/crd.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Key, Node, When, if_set
from tfgen.graph.objects import labels, name_guards, names
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers import queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import pod
from tfgen.graph.workloads.indexed_job import job_spec
from tfgen.graph.workloads.workload import Workload, never
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes import keys

_EXCLUSIVE: Final = value("workload.jobSet.exclusiveTopology")

# The JobSet gives the pods their subdomain. What a Job's policy of failures asks for, `Never`, is not its default.
_CONTROLLER: Final = pod.Controller(keys.JOB_INDEX, {"restartPolicy": "Never"})

# A Job that fails fails its JobSet or starts it again, and to start that Job alone again is behind a feature gate. So
# the evaluator's Job, whose failure is no reason to train again, never fails: its pods are tried without end.
_WITHOUT_END: Final = 2**31 - 1


def job_set(structure: Structure) -> Node:
    """The JobSet of a run."""
    pods = pod.pods(structure, dict.fromkeys((role.name for role in structure.roles), _CONTROLLER))
    network: Node = {"enableDNSHostnames": True, "subdomain": names.RUN, "publishNotReadyAddresses": True}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": labels.metadata(
            names.RUN,
            annotations={keys.EXCLUSIVE_TOPOLOGY: When(_EXCLUSIVE, _EXCLUSIVE)},
            labels=queue_labels(structure),
        ),
        "spec": {
            "suspend": When(value("workload.suspend"), True),
            "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
            **({"network": network} if structure.is_distributed else {}),
            "successPolicy": {"operator": "All", "targetReplicatedJobs": [structure.ends]},
            "failurePolicy": {
                "maxRestarts": value("workload.jobSet.maxRestarts"),
                "rules": value("workload.jobSet.rules"),
            },
            "replicatedJobs": [_replicated(structure, role, pods.of(role.name)) for role in _in_order(structure)],
        },
    }


def _in_order(structure: Structure) -> list[Role]:
    """The roles: what others wait for stands before them."""
    roles = list(structure.roles)
    return sorted(roles, key=lambda role: role.name != "ps") if structure.ps_first else roles


def _replicated(structure: Structure, role: Role, template: Node) -> Node:
    waits: dict[Key, Node] = {"dependsOn": [{"name": "ps", "status": "Ready"}]}
    job = job_spec(structure, role, template)
    if role.name == "evaluator":
        job["backoffLimit"] = _WITHOUT_END
    return {
        "name": role.name,
        "replicas": 1,
        **(waits if structure.ps_first and role.name != "ps" and structure.role("ps") else {}),
        "template": {"spec": job},
    }


WORKLOAD: Final = Workload(
    templates=lambda structure: (Template("jobset", job_set(structure)),),
    guards=lambda _: [name_guards.short_hosts(names.job_set_pod)],
    has_service=never,
    pod_name=names.job_set_pod,
)
