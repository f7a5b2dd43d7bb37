"""Keys and values that a job with the workload kind ElasticDL cannot set, and properties of the objects of the job.

The job creates the pod of the master, and the master creates the pods of ps and workers.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts, LimitedKey, UnsupportedKey
from tfgen.schema.workload_kinds.shared import NO_FINISHER, NO_LEGACY

_LED: Final = ("chief", "evaluator")
_PLACES: Final = ("affinity", "nodeSelector", "placement", "spot", "tolerations", "topologySpreadConstraints")
_EXTRAS: Final = (
    "initContainers",
    "podTemplate",
    "runtimeClassName",
    "serviceAccountName",
    "shm",
    "sidecars",
    "workingDir",
)
_ROLE_EXTRAS: Final = (
    "annotations",
    "imagePullPolicy",
    "labels",
    "nodeName",
    "ports",
    "resources.gpu.product",
    "resources.gpu.productLabel",
    "resources.gpu.resource",
    "resources.gpu.share",
    "resources.limits",
    "resources.requests",
    "terminationGracePeriodSeconds",
)
_PARTS_OF_A_MOUNT: Final = ("for", "readOnly", "runs", "subPathExpr")
_OTHER_SOURCES: Final = (
    *("azureFile", "configMap", "csi", "emptyDir", "flexVolume", "image", "nfs", "projected", "secret"),
)

_BY_ARGUMENT: Final = "the master creates the pods; pass the setting in args, which the master reads"
_OF_ITS_PODS: Final = (
    "the master creates the pods; pass the setting and the labels of the run with --cluster_spec_json in args"
)
_NONE: Final = "the pods of ElasticDL do not support this field; remove the key"

FACTS: Final = Facts(
    unsupported_keys=(
        *NO_FINISHER,
        *(
            UnsupportedKey(f"roles.{role}", "the master leads the training and evaluates the model; remove the key")
            for role in _LED
        ),
        UnsupportedKey(
            "roles.worker.priorityClassName",
            "set workload.elasticDL.workerPriority to high, low or a fraction",
        ),
        UnsupportedKey("roles.worker.runs", "the workers end when the data ends; remove the key"),
        *(UnsupportedKey(f"roles.*.{key}", _BY_ARGUMENT) for key in ("args", "command", "env", "envFrom", "image")),
        *(UnsupportedKey(key, _BY_ARGUMENT) for key in ("command", "env", "envFrom")),
        *(UnsupportedKey(f"{at}{key}", _OF_ITS_PODS) for at in ("", "roles.*.") for key in _PLACES),
        *(UnsupportedKey(f"{at}{key}", _NONE) for at in ("", "roles.*.") for key in _EXTRAS),
        *(UnsupportedKey(f"roles.*.{key}", _NONE) for key in _ROLE_EXTRAS),
        *(
            UnsupportedKey(f"storage.*.{key}", "every pod of ElasticDL mounts the whole volume; remove the key")
            for key in _PARTS_OF_A_MOUNT
        ),
        *(
            UnsupportedKey(
                f"storage.*.{key}",
                "ElasticDL supports only the volume sources claim and hostPath; use claim or hostPath",
            )
            for key in _OTHER_SOURCES
        ),
        UnsupportedKey("cloud", _OF_ITS_PODS),
        UnsupportedKey(
            "imagePullSecrets",
            "the pods use the service account default of the namespace; add the secret to this service account",
        ),
        UnsupportedKey("resumeFrom", "use --checkpoint_dir_for_init in args"),
        UnsupportedKey(
            "serviceAccount", "the pods use the service account default; remove the key, or use the kind Job"
        ),
        UnsupportedKey("deadline", "the deadline would end the master, but not the pods of the master; remove the key"),
        UnsupportedKey(
            "restart.inPlace", "the master replaces each failed pod; use the kind Job, JobSet or StatefulSet"
        ),
        UnsupportedKey(
            "restart.ignoreExitCodes",
            "the master counts every failure as a retry; use the kind Job, JobSet or StatefulSet",
        ),
        UnsupportedKey("lockWait", "the pods have no deadline; remove the key"),
        UnsupportedKey("helpers", "tfgen adds no helper container to the pods; remove the key"),
        UnsupportedKey("port", "the ps use port 2222 and the workers use port 3333; remove the key"),
        UnsupportedKey("gang", "ElasticDL starts with the workers that can be scheduled; remove the key"),
        UnsupportedKey("podDisruptionBudget", "the master replaces lost workers; remove the key"),
        UnsupportedKey(
            "tensorboard",
            "tfgen creates no TensorBoard for ElasticDL; set --tensorboard_log_dir in args, or set tensorboard in a "
            "separate job",
        ),
        UnsupportedKey("code", "the master creates pods without a volume for code; add the code to the image"),
        UnsupportedKey("completion.by", "the job ends when all workers end; remove the key"),
        UnsupportedKey("completion.release", "the master deletes the pods at the end of the job; remove the key"),
        *NO_LEGACY,
    ),
    limited_keys=(
        LimitedKey(
            "strategy", ("ParameterServer",), "the master creates only ps and workers; use the kind Job or JobSet"
        ),
        LimitedKey(
            "security.profile",
            ("baseline", "privileged"),
            "the master creates pods without a security context, which the profile restricted refuses; "
            "set security.profile to baseline",
        ),
    ),
    supported_by_few=("workload.elasticDL",),
    default_end="AllWorkers",
    has_pod_that_calls_api_server=True,
)
