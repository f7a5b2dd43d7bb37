"""ElasticDL: a master that creates the pods of ps and workers."""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts, Only, Without
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

_BY_ARGUMENT: Final = "its master makes the pods; say it by args, which go on to the master"
_OF_ITS_PODS: Final = "its master makes the pods; put it into --cluster_spec_json among args, with the run's labels"
_NONE: Final = "its pods have none; remove it"

FACTS: Final = Facts(
    without=(
        *NO_FINISHER,
        *(Without(f"roles.{role}", "its master leads the training and evaluates; remove it") for role in _LED),
        Without("roles.worker.priorityClassName", "set workload.elasticDL.workerPriority: high, low or a fraction"),
        Without("roles.worker.runs", "its workers end with the data; remove it"),
        *(Without(f"roles.*.{key}", _BY_ARGUMENT) for key in ("args", "command", "env", "envFrom", "image")),
        *(Without(key, _BY_ARGUMENT) for key in ("command", "env", "envFrom")),
        *(Without(f"{at}{key}", _OF_ITS_PODS) for at in ("", "roles.*.") for key in _PLACES),
        *(Without(f"{at}{key}", _NONE) for at in ("", "roles.*.") for key in _EXTRAS),
        *(Without(f"roles.*.{key}", _NONE) for key in _ROLE_EXTRAS),
        *(Without(f"storage.*.{key}", "all of its pods have the volume, as it is") for key in _PARTS_OF_A_MOUNT),
        *(Without(f"storage.*.{key}", "ElasticDL knows claims and hostPath alone") for key in _OTHER_SOURCES),
        Without("cloud", _OF_ITS_PODS),
        Without("imagePullSecrets", "its pods have the namespace's account default; give it the secret"),
        Without("resumeFrom", "ElasticDL has --checkpoint_dir_for_init among args instead"),
        Without("serviceAccount", "its pods have the namespace's account default; remove it"),
        Without("deadline", "its master would end, and its pods go on; remove it"),
        Without("restart.inPlace", "its master makes each failed pod anew; take the kind Job, JobSet or StatefulSet"),
        Without("restart.ignoreExitCodes", "its master counts each failure; take the kind Job, JobSet or StatefulSet"),
        Without("lockWait", "its pods have no deadline; remove it"),
        Without("helpers", "tfgen adds no container to it; remove it"),
        Without("port", "its ps have 2222 and its workers 3333; remove it"),
        Without("gang", "it begins with the workers that find a place; remove it"),
        Without("podDisruptionBudget", "it replaces the workers that are lost; remove it"),
        Without("tensorboard", "take another job for it, or ElasticDL's --tensorboard_log_dir among args"),
        Without("code", "the master makes pods of the image alone; build it into that"),
        Without("completion.by", "it is done when its workers are; remove it"),
        Without("completion.release", "its master deletes its pods; remove it"),
        *NO_LEGACY,
    ),
    only=(
        Only("strategy", ("ParameterServer",), "its master makes ps and workers; take another kind"),
        Only(
            "security.profile",
            ("baseline", "privileged"),
            "its master gives the pods no security context, which restricted refuses; say baseline",
        ),
    ),
    specific=("workload.elasticDL",),
    default_end="AllWorkers",
    asks_api_server=True,
)
