"""The workload kind ElasticDL, in which a master creates the pods of the ps and workers, and replaces lost workers.

The pod `elasticdl-RUN-master` creates the pods `RUN-ps-0`, `RUN-worker-0` and so on.

https://github.com/sql-machine-learning/elasticdl. tfgen writes the objects that the client of ElasticDL would create:
the pod of the master, with the arguments of elasticdl_client/common/args.py, and the service account of the master.

The key `workload.elasticDL.workerPriority` is ``high``, ``low``, or the fraction of the workers that get high priority,
such as 0.5 (_parse_worker_pod_priority in elasticdl/python/master/pod_manager.py).
"""

from __future__ import annotations

from typing import Final

from tfgen.graph import holes as h
from tfgen.graph import naming, podspec, storage, supporting
from tfgen.graph.fill import Template
from tfgen.graph.holes import Node, call, if_set
from tfgen.graph.naming import value, value_for_role
from tfgen.graph.podspec import pod_spec
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys

MASTER: Final = "master"
_IMAGE: Final = value("image")
_PULL: Final = value("imagePullPolicy")
_PRIORITY: Final = value("workload.elasticDL.workerPriority")
_STORAGE: Final = value("storage")


_RULES: Final[list[Node]] = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list", "watch", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["services"], "verbs": ["create", "get", "patch"]},
    # The owner references of the pods set blockOwnerDeletion. Some clusters require this permission for that field:
    # https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement
    {"apiGroups": [""], "resources": ["pods/finalizers"], "verbs": ["update"]},
]
"""The RBAC rules of the master. The rules cannot name objects, because the master names its pods itself."""


def _pod(structure: Structure) -> Node:
    """Return the pod of the master. The workers and the client of ElasticDL require the fixed name of this pod."""
    amounts: Node = {name: if_set(value(f"workload.elasticDL.resources.{name}")) for name in ("cpu", "memory")}
    pod: Node = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": naming.ELASTIC_DL_MASTER,
            "labels": {
                h.Splice("selector"): naming.role_selector(MASTER),
                keys.ELASTIC_DL_JOB: naming.RUN,
                keys.ELASTIC_DL_TYPE: MASTER,
                keys.ELASTIC_DL_INDEX: "0",
                keys.NAME: naming.NAME,
                keys.INSTANCE: naming.RELEASE,
                **naming.INSTALLED,
                h.Splice("labels"): naming.POD_LABELS,
            },
            "annotations": value("annotations"),
        },
        "spec": pod_spec(
            {"priorityClassName": if_set(value("priorityClassName")), "serviceAccountName": naming.ELASTIC_DL_ACCOUNT},
            {"restartPolicy": "Never"},
            {
                "securityContext": podspec.pod_context_template(structure.profile),
                "volumes": storage.all_volumes(structure),
                "containers": [
                    {
                        "name": MASTER,
                        "image": _IMAGE,
                        "imagePullPolicy": if_set(_PULL),
                        "command": ["python", "-m", "elasticdl.python.master.main"],
                        "args": _arguments(structure),
                        "env": [
                            podspec.from_pod("MY_POD_IP", "status.podIP"),
                            podspec.from_pod("MY_POD_NAMESPACE", "metadata.namespace"),
                            podspec.HOME,
                            podspec.NO_GPUS,
                        ],
                        "resources": {"requests": amounts, "limits": amounts},
                        "securityContext": podspec.container_context_template(structure.profile),
                        "volumeMounts": storage.all_mounts(),
                    }
                ],
            },
            needs_token=True,
        ),
    }
    return h.Let(naming.POD_LABELS.name, h.Merged((h.MapOf({"app": "elasticdl"}), value("labels"))), pod)


def _arguments(structure: Structure) -> list[Node]:
    """Return the arguments of the master. The arguments from the job file come last, and override tfgen's arguments."""
    names: tuple[RoleName, ...] = ("ps", "worker")
    role_arguments = [argument for name in names if structure.role(name) for argument in _role_arguments(name)]
    ps_priority = value_for_role("ps", "priorityClassName")
    return [
        h.Text(("--job_name=", naming.RUN)),
        "--namespace=$(MY_POD_NAMESPACE)",
        h.Text(("--worker_image=", _IMAGE)),
        h.When(_PULL, h.Text(("--image_pull_policy=", _PULL))),
        "--restart_policy=Never",
        "--distribution_strategy=ParameterServerStrategy",
        "--need_tf_config=true",
        h.Text(("--num_ps_pods=", value("roles.ps.replicas"))),
        h.Text(("--num_workers=", value("roles.worker.replicas"))),
        *role_arguments,
        h.When(ps_priority, h.Text(("--ps_pod_priority=", ps_priority))),
        h.When(_PRIORITY, h.Text(("--worker_pod_priority=", _PRIORITY))),
        h.Text(("--relaunch_on_worker_failure=", value("retries"))),
        h.When(_STORAGE, h.Text(("--volume=", _volumes(structure)))),
        h.Text(("--cluster_spec_json=", _CLUSTER_SPEC)),
        h.Items(value("args")),
    ]


def _role_arguments(role: RoleName) -> list[Node]:
    """Return the arguments of the master for the resources of a role.

    For example, the arguments for ps are ``--ps_resource_request=cpu=2,memory=4096Mi`` and ``--ps_resource_limit=...``
    with the same value.
    """
    has_any = h.AnyOf(tuple(value(f"roles.{role}.resources.{name}") for name in ("cpu", "memory", "gpu.count")))
    amounts = call(_AMOUNTS, resources=h.Value(f"roles.{role}.resources", "map"))
    return [h.When(has_any, h.Text((f"--{role}_resource_{bound}=", amounts))) for bound in ("request", "limit")]


def _amounts() -> h.Text:
    """Return the text of the amounts in the parameter `resources`, for example ``cpu=2,memory=2048Mi,gpu=1``."""
    cpu, memory = (h.Parameter("resources", "quantity", name) for name in ("cpu", "memory"))
    gpus = h.Parameter("resources", "integer", "gpu.count")
    return h.Text(
        (
            h.When(cpu, h.Text(("cpu=", cpu))),
            h.When(h.AllOf((cpu, h.AnyOf((memory, gpus)))), ","),
            h.When(memory, h.Text(("memory=", memory))),
            h.When(h.AllOf((memory, gpus)), ","),
            h.When(gpus, h.Text(("gpu=", gpus))),
        )
    )


_AMOUNTS: Final = h.NamedTemplate(
    "resources", "The resources of a role, as an argument of ElasticDL.", _amounts(), parameters=("resources",)
)


_CLUSTER_SPEC: Final = h.NamedTemplate(
    "clusterSpec",
    "The labels that the master adds to its pods.",
    h.Text((f'{{"pod_spec":{{"labels":{{"{keys.JOB}":"', naming.JOB, f'","{keys.RUN}":"', value("run"), '"}}}')),
)


def _volumes(structure: Structure) -> h.NamedTemplate:
    """Return a named template with the value of --volume, such as ``claim_name=c,mount_path=/data``.

    The file k8s_volume.py of https://github.com/sql-machine-learning/elasticdl defines the format.
    """
    path = h.Bound("storage", "string", "hostPath.path")
    sub_path = h.Bound("storage", "string", "subPath")
    claim: Node = h.Text(("claim_name=", storage.claim_name()))
    has_paths = "hostPath" in storage.sources(structure)
    body = h.Text(
        (
            h.When(h.Bound("storage", "map", "hostPath"), h.Text(("host_path=", path)), claim) if has_paths else claim,
            ",mount_path=",
            h.Bound("storage", "string", "mountPath"),
            h.When(sub_path, h.Text((",sub_path=", sub_path))),
        )
    )
    return h.NamedTemplate(
        "volumes", "The volumes, as the argument --volume.", h.JoinEntries(_STORAGE, ";", body, item="storage")
    )


GUARDS: Final = (
    naming.host_name_guard(naming.ELASTIC_DL_MASTER),
    h.Guard(
        "elasticdl-priority",
        at="workload.elasticDL.workerPriority",
        when=h.Not(h.Matches(_PRIORITY, r"^(|high|low|0|1|0?\.[0-9]+|1\.0+)$")),
        say="workload.elasticDL.workerPriority is {}, but ElasticDL accepts only high, low or the fraction of the "
        "workers with high priority, such as 0.5",
        about=(_PRIORITY,),
    ),
)


def templates(structure: Structure) -> tuple[Template, ...]:
    """Return the service account of the master, with its rights, and the pod of the master."""
    account = naming.ELASTIC_DL_ACCOUNT
    return (
        *supporting.rbac_templates(MASTER, account, _RULES),
        Template(f"{MASTER}-networkpolicy", supporting.api_server_policy(account, MASTER)),
        Template(MASTER, _pod(structure)),
    )
