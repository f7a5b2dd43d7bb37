"""All label and annotation keys of rendered objects.

Selectors use only tfgen's own keys, because Argo CD's label tracking overwrites ``app.kubernetes.io/instance``
(https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/). The version of a chart must never be in a
selector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The owner of a pod: the job, the run and the role.
JOB: Final = "tfgen/job"
RUN: Final = "tfgen/run"
ROLE: Final = "tfgen/role"

# The name of an object under `objects` in job.yaml.
OBJECT: Final = "tfgen/object"

# The hash of the pod template, like `pod-template-hash` of a ReplicaSet. The label is in the selector and the template
# of a StatefulSet: the selector is immutable and must match the template. No selector of another object has the label.
POD_TEMPLATE_HASH: Final = "tfgen/pod-template-hash"

# Recommended by Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
NAME: Final = "app.kubernetes.io/name"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
CHART: Final = "helm.sh/chart"  # on metadata only: in a pod template, each version of the chart would replace the pods

# The name and the index of a pod, set by its controller (the indexes are stable since Kubernetes 1.32, on by default
# since 1.28).
STATEFUL_SET_POD: Final = "statefulset.kubernetes.io/pod-name"
STATEFUL_SET_INDEX: Final = "apps.kubernetes.io/pod-index"
JOB_INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAMES: Final = ("batch.kubernetes.io/job-name", "job-name")  # the second key is that of Kubernetes before 1.27
TF_JOB_INDEX: Final = "training.kubeflow.org/replica-index"
OLD_TF_JOB_INDEX: Final = "tf-replica-index"  # of Kubeflow's training operator before 1.3
VOLCANO_INDEX: Final = "volcano.sh/task-index"

# The labels and annotations that assign a pod to its gang. The module of each scheduler documents its use.
GROUP_NAME: Final = "scheduling.k8s.io/group-name"  # of kube-batch and Volcano
TASK_SPEC: Final = "volcano.sh/task-spec"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
POD_GROUP: Final = "scheduling.x-k8s.io/pod-group"
KOORDINATOR_GROUP: Final = "pod-group.scheduling.sigs.k8s.io"
KAI_GROUP: Final = "pod-group-name"
KAI_SKIP: Final = "kai.scheduler/skip-podgrouper"
KAI_QUEUE: Final = "kai.scheduler/queue"

# Labels of Kueue, on the queued object and on its pods:
# https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/
QUEUE: Final = "kueue.x-k8s.io/queue-name"
QUEUED_OBJECT: Final = "kueue.x-k8s.io/job-uid"  # on a Workload: the UID of the object that waits
QUEUE_PRIORITY: Final = "kueue.x-k8s.io/priority-class"
REQUIRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-preferred-topology"

# A JobSet's annotation: https://jobset.sigs.k8s.io/docs/tasks/#exclusive-job-to-topology-placement
EXCLUSIVE_TOPOLOGY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"

# The finisher's annotation on the Job that ends a run, once the run has met its start deadline.
STARTED: Final = "tfgen/started"

# Argo CD ignores an object with this annotation in the health of an Application. A suspended Job is never healthy:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
IGNORE_HEALTH: Final = "argocd.argoproj.io/ignore-healthcheck"

# ElasticDL identifies the pods of a job by these labels (elasticdl_client/common/k8s_client.py of its repository).
ELASTIC_DL_JOB: Final = "elasticdl-job-name"
ELASTIC_DL_TYPE: Final = "elasticdl-replica-type"
ELASTIC_DL_INDEX: Final = "elasticdl-replica-index"

# Alibaba Cloud: the way to a container instance, the prefix of pod annotations, and a shared image cache.
ECI: Final = "alibabacloud.com/eci"
ECI_PREFIX: Final = "k8s.aliyun.com/eci-"
CACHE_REUSE: Final = "k8s.aliyun.com/imc-enable-reuse"

# Mesh sidecars never end, so a Job with one never completes: https://github.com/istio/istio/issues/6324
ISTIO_INJECT: Final = "sidecar.istio.io/inject"
LINKERD_INJECT: Final = "linkerd.io/inject"

# A task that an autoscaler moves loses its work. These annotations of two autoscalers prevent a move.
CLUSTER_AUTOSCALER_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
KARPENTER_KEEP: Final = "karpenter.sh/do-not-disrupt"

# A claim outlives its run, the release of the chart and its manifest in git. Argo CD, Flux and Helm have different
# annotations for this. Without IgnoreExtraneous, Argo CD shows a job with such a claim as out of sync:
# https://argo-cd.readthedocs.io/en/stable/user-guide/compare-options/
FLUX_PRUNE: Final = "kustomize.toolkit.fluxcd.io/prune"
KEEP: Final[Mapping[str, str]] = {
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    FLUX_PRUNE: "disabled",
    "helm.sh/resource-policy": "keep",
}

# Argo CD applies objects of this wave before the pods, which need them at their start: within a wave, custom kinds such
# as PodGroup come after the pods, which would then be scheduled one by one. Pods and claims of a gang must not be in
# this wave, because the next wave waits until the objects of this wave are healthy. https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"
BEFORE_PODS: Final[Mapping[str, str]] = {SYNC_WAVE: "-1"}

# Argo CD 3.6 or newer does not compare the field that this annotation names. With the sync option
# RespectIgnoreDifferences=true of the Application, a sync also does not write the field:
# ExtractIgnoreDifferencesFromAnnotations in https://github.com/argoproj/argo-cd/blob/v3.6.1/util/argo/diff/ignore.go
IGNORED_REPLICAS: Final[Mapping[str, str]] = {"argocd.argoproj.io/ignore-differences": "jsonPointers: [/spec/replicas]"}

# The folders of an Application in the repository. Argo CD ignores commits outside these folders:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/high_availability/#manifest-paths-annotation
MANIFEST_PATHS: Final = "argocd.argoproj.io/manifest-generate-paths"

# On a namespace: https://kubernetes.io/docs/concepts/security/pod-security-admission/
POD_SECURITY: Final = "pod-security.kubernetes.io/enforce"

# https://helm.sh/docs/topics/charts_hooks/
HOOK: Final = "helm.sh/hook"
HOOK_DELETE: Final = "helm.sh/hook-delete-policy"


# -- pods on Alibaba Cloud's Elastic Container Instance ----------------------------------------------------------------
#
# Annotations of pods on Alibaba Cloud's Elastic Container Instance, by the keys of ``cloud.eci`` in job.yaml.
#
# Annotations: https://www.alibabacloud.com/help/en/eci/user-guide/pod-annotations; scheduling:
# https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/comparison-and-introduction-of-virtual-node-scheduling-scheme-ack.


ECI_TEXTS: Final[Mapping[str, str]] = {
    "gpu-type": "gpuType",
    "gpu-driver-version": "gpuDriverVersion",
    "instance-family": "instanceFamily",
    "spot-strategy": "spot.strategy",
    "spot-price-limit": "spot.priceLimit",
    "schedule-strategy": "vSwitchStrategy",
    "security-group": "securityGroup",
    "ram-role-name": "ramRole",
    "extra-ephemeral-storage": "ephemeralStorage",
    "image-snapshot-id": "imageCache.id",
}
"""The keys of `cloud.eci` with a single value, by the name of the pod annotation without the prefix."""
ECI_LISTS: Final[Mapping[str, str]] = {"use-specs": "specs", "vswitch": "vSwitches"}
"""The keys of `cloud.eci` with a list, by the name of the pod annotation without the prefix.

The value of such an annotation is a comma-separated list.
"""
ECI_IMAGE_CACHE: Final = "image-cache"
"""The annotation that requests an image cache. The only value of the annotation is "true"."""
ECI_NODE_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "VirtualNode": ("type", "virtual-kubelet"),
    "VNode": ("k8s.aliyun.com/vnode", "true"),
}
"""For each way to schedule pods to ECI, the key and the value of the label of the virtual nodes."""
ECI_TAINTS: Final[Mapping[str, tuple[str, str]]] = {
    "VirtualNode": ("virtual-kubelet.io/provider", "alibabacloud"),
    "VNode": ("k8s.aliyun.com/vnode", "true"),
}
"""For each way to schedule pods to ECI, the key and the value of the NoSchedule taint of the virtual nodes."""
