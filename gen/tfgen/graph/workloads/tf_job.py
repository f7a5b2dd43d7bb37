"""The workload kind TFJob, which runs all roles in a TFJob of the Kubeflow training operator.

The operator sets TF_CONFIG and the names of the pods. API versions and their fields:

    kubeflow.org/v1        spec.runPolicy, spec.successPolicy, spec.tfReplicaSpecs
    kubeflow.org/v1beta1   spec.cleanPodPolicy, spec.ttlSecondsAfterFinished, spec.tfReplicaSpecs

The definitions of the fields: manifests/base/crds/kubeflow.org_tfjobs.yaml of
https://github.com/kubeflow/trainer/tree/release-1.9, and pkg/apis/tensorflow/v1beta1/types.go of its v0.5-branch. tfgen
sets all fields whose default has changed between versions. For example, the default of cleanPodPolicy changed from
Running to None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph import schedulers
from tfgen.graph.holes import Default, Equal, Guard, Key, Node, When, if_set
from tfgen.graph.objects import cluster, naming
from tfgen.graph.objects.values import overridden, value
from tfgen.graph.schedulers import queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import role_pod
from tfgen.graph.workloads.workload import Workload, never
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys

# The operator looks for a port with this name in the container tensorflow, and uses 2222 if the port does not exist.
_PORT_NAME: Final = "tfjob-port"

_REPLICAS: Final[Mapping[RoleName, str]] = {"chief": "Chief", "ps": "PS", "worker": "Worker", "evaluator": "Evaluator"}


def tf_job(structure: Structure) -> Node:
    """Return the TFJob of a run."""
    version = structure.tf_job.api_version
    pods = role_pod.pods(structure, dict.fromkeys((role.name for role in structure.roles), _controller(structure)))
    policies = {"runPolicy": _run_policy(structure), **_success(structure)} if version == "v1" else _clean_up(structure)
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "TFJob",
        "metadata": naming.metadata(naming.RUN, labels=queue_labels(structure)),
        "spec": {
            **policies,
            **({"enableDynamicWorker": True} if structure.tf_job.dynamic_workers else {}),
            "tfReplicaSpecs": {
                _type(structure, role.name): {
                    "replicas": cluster.replicas(role.name),
                    "restartPolicy": overridden(
                        value(f"roles.{role.name}.restartPolicy"), value("workload.tfJob.restartPolicy")
                    ),
                    "template": pods.for_role(role.name),
                }
                for role in structure.roles
            },
        },
    }


def _type(structure: Structure, role: RoleName) -> str:
    """Return the replica type of a role in a TFJob, such as `Worker`."""
    return structure.tf_job.leader if role == "chief" else _REPLICAS[role]


def _clean_up(structure: Structure) -> dict[Key, Node]:
    """Return the fields that delete the pods and the TFJob after the end of the run."""
    by_completion = "Running" if structure.releases else "None"
    return {
        "cleanPodPolicy": Default(value("workload.tfJob.cleanPodPolicy"), by_completion),
        "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
    }


def _run_policy(structure: Structure) -> Node:
    return {
        **_clean_up(structure),
        "backoffLimit": value("retries"),
        "activeDeadlineSeconds": if_set(value("workload.tfJob.activeDeadlineSeconds")),
        "suspend": When(value("workload.suspend"), True),
        **({"schedulingPolicy": _scheduling(structure)} if structure.gang and structure.tf_job.operator_gangs else {}),
    }


def _scheduling(structure: Structure) -> Node:
    """Return the scheduling policy, from which the operator creates the PodGroup.

    tfgen sets minAvailable, because the operator would count the evaluator as a member of the gang.
    """
    policy: Node = {
        "minAvailable": schedulers.min_members(structure),
        "queue": if_set(schedulers.QUEUE),
        "priorityClass": if_set(value("gang.priorityClassName")),
        "minResources": schedulers.MIN_RESOURCES,
    }
    return When(schedulers.ENABLED, policy)


def _success(structure: Structure) -> dict[Key, Node]:
    """Return the success policy. By default, the job succeeds with its chief, or with worker 0 if no chief exists."""
    return {"successPolicy": "AllWorkers"} if structure.completion == "AllWorkers" else {}


def _controller(structure: Structure) -> role_pod.Controller:
    """Return a `Controller` that describes the training operator, which creates the pods.

    The operator sets the restart policy of the pods, so `fields` is empty.
    """
    return role_pod.Controller(
        index_label=keys.TF_JOB_INDEX if structure.tf_job.api_version == "v1" else keys.OLD_TF_JOB_INDEX,
        fields={},
        sets_tf_config=True,
        binds_gang=structure.tf_job.operator_gangs,
        port_name=_PORT_NAME,
        publishes_unready=False,  # the Services of the operator do not publish a pod that is not ready
    )


def _guards(structure: Structure) -> list[Guard]:
    """Return the guard that limits the length of pod names. The operator uses each pod name as a Service name."""
    leader = _type(structure, "chief").lower()

    def pod_name(role: Node, index: Node) -> Node:
        name = naming.operator_pod(role, index)
        return name if leader == "chief" else When(Equal(role, "chief"), naming.operator_pod(leader, index), name)

    return [naming.role_hosts_guard(pod_name)]


def _has_pod_group(structure: Structure) -> bool:
    return not structure.tf_job.operator_gangs


WORKLOAD: Final = Workload(
    templates=lambda structure: (Template("tfjob", tf_job(structure)),),
    guards=_guards,
    has_service=never,
    has_config_map=never,
    has_pod_group=_has_pod_group,
    port_name=_PORT_NAME,
)
