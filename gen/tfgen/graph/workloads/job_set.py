"""The workload kind JobSet, which runs all roles in a JobSet. Each role is a replicated Job with one Indexed Job.

    replicatedJobs: [{name: chief, ...}, {name: ps, ...}, {name: worker, ...}]
    successPolicy: {operator: All, targetReplicatedJobs: [chief]}

https://jobset.sigs.k8s.io/docs/concepts/. When the role that ends the job has succeeded, the JobSet deletes the active
Jobs. The definition of the fields: https://github.com/kubernetes-sigs/jobset/tree/v0.12.0/config/components/crd.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Key, Node, When, if_set
from tfgen.graph.objects import naming
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers import queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import role_pod
from tfgen.graph.workloads.indexed_job import job_spec
from tfgen.graph.workloads.workload import Workload, never
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes import keys

_EXCLUSIVE: Final = value("workload.jobSet.exclusiveTopology")

# The JobSet sets the subdomain of the pods. A Job with a pod failure policy requires the restart policy `Never`.
_CONTROLLER: Final = role_pod.Controller(keys.JOB_INDEX, {"restartPolicy": "Never"})

# A failed Job fails or restarts its JobSet, and the restart of only one Job needs a feature gate. A failure of the
# evaluator must not restart the training, so the Job of the evaluator has practically no limit of retries.
_MAX_RETRIES: Final = 2**31 - 1


def job_set(structure: Structure) -> Node:
    """Return the JobSet of a run."""
    pods = role_pod.pods(structure, dict.fromkeys((role.name for role in structure.roles), _CONTROLLER))
    network: Node = {"enableDNSHostnames": True, "subdomain": naming.RUN, "publishNotReadyAddresses": True}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": naming.metadata(
            naming.RUN,
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
            "replicatedJobs": [_replicated(structure, role, pods.for_role(role.name)) for role in _in_order(structure)],
        },
    }


def _in_order(structure: Structure) -> list[Role]:
    """Return the roles in the order of their start. With `ps_first`, all other roles wait for the ps."""
    roles = list(structure.roles)
    return sorted(roles, key=lambda role: role.name != "ps") if structure.ps_first else roles


def _replicated(structure: Structure, role: Role, template: Node) -> Node:
    dependency: dict[Key, Node] = {"dependsOn": [{"name": "ps", "status": "Ready"}]}
    job = job_spec(structure, role, template)
    if role.name == "evaluator":
        job["backoffLimit"] = _MAX_RETRIES
    return {
        "name": role.name,
        "replicas": 1,
        **(dependency if structure.ps_first and role.name != "ps" and structure.role("ps") else {}),
        "template": {"spec": job},
    }


WORKLOAD: Final = Workload(
    templates=lambda structure: (Template("jobset", job_set(structure)),),
    guards=lambda _: [naming.role_hosts_guard(naming.job_set_pod)],
    has_service=never,
    pod_name=naming.job_set_pod,
)
