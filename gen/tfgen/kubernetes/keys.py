"""Every label and annotation key that a rendered object has.

Selectors use tfgen's own keys only: Argo CD's label tracking overwrites ``app.kubernetes.io/instance``
(https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/), and a chart's version must never be in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Whose pod it is: the job, the run of it, and the role.
JOB: Final = "tfgen/job"
RUN: Final = "tfgen/run"
ROLE: Final = "tfgen/role"

# Of an object that stands in job.yaml as it is: its name there.
OBJECT: Final = "tfgen/object"

# Of which pod template it was made, as a ReplicaSet's `pod-template-hash` says it. In a StatefulSet's selector and its
# template, of which Kubernetes changes neither without the other and never the first; in no selector of another object.
POD_TEMPLATE_HASH: Final = "tfgen/pod-template-hash"

# Recommended by Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
NAME: Final = "app.kubernetes.io/name"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
CHART: Final = "helm.sh/chart"  # on metadata only: in a pod template it would make each chart version a new pod

# The name and the index of a pod, given to it by its controller (the indexes are stable since Kubernetes 1.32, on by
# default since 1.28).
STATEFUL_SET_POD: Final = "statefulset.kubernetes.io/pod-name"
STATEFUL_SET_INDEX: Final = "apps.kubernetes.io/pod-index"
JOB_INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAMES: Final = ("batch.kubernetes.io/job-name", "job-name")  # the second key is that of Kubernetes before 1.27
TF_JOB_INDEX: Final = "training.kubeflow.org/replica-index"
OLD_TF_JOB_INDEX: Final = "tf-replica-index"  # of operators before 1.3
VOLCANO_INDEX: Final = "volcano.sh/task-index"

# What binds a pod to its gang; each scheduler's module says where it reads it.
GROUP_NAME: Final = "scheduling.k8s.io/group-name"  # of kube-batch, and of Volcano after it
TASK_SPEC: Final = "volcano.sh/task-spec"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
POD_GROUP: Final = "scheduling.x-k8s.io/pod-group"

# Kueue's, on the object that waits in a queue, and on its pods:
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

# By which ElasticDL knows the pods of a job (elasticdl_client/common/k8s_client.py of its repository).
ELASTIC_DL_JOB: Final = "elasticdl-job-name"
ELASTIC_DL_TYPE: Final = "elasticdl-replica-type"
ELASTIC_DL_INDEX: Final = "elasticdl-replica-index"

# Alibaba Cloud's: the way to a container instance, what each wish of a pod's begins with, and an image cache for all.
ECI: Final = "alibabacloud.com/eci"
ECI_PREFIX: Final = "k8s.aliyun.com/eci-"
CACHE_REUSE: Final = "k8s.aliyun.com/imc-enable-reuse"

# Mesh sidecars never end, so a Job with one never completes: https://github.com/istio/istio/issues/6324
ISTIO_INJECT: Final = "sidecar.istio.io/inject"
LINKERD_INJECT: Final = "linkerd.io/inject"

# A training task that is moved loses its work: the two autoscalers' words for "leave it".
CLUSTER_AUTOSCALER_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
KARPENTER_KEEP: Final = "karpenter.sh/do-not-disrupt"

# A claim outlives its run, its release and its place in git: Argo CD, Flux and Helm each have their own word. Argo CD
# would call the job out of sync for as long as a claim is there that git has no more:
# https://argo-cd.readthedocs.io/en/stable/user-guide/compare-options/
FLUX_PRUNE: Final = "kustomize.toolkit.fluxcd.io/prune"
KEEP: Final[Mapping[str, str]] = {
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    FLUX_PRUNE: "disabled",
    "helm.sh/resource-policy": "keep",
}

# Argo CD applies these before the pods, which look for them at their start: a PodGroup that comes after its pods, as
# custom kinds do within a wave, leaves them to be scheduled one by one. Never a part of the gang or of its claims: a
# wave waits for the health of the one before it. https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"
BEFORE_PODS: Final[Mapping[str, str]] = {SYNC_WAVE: "-1"}

# Which folders of the repository an Application is made of, so that other commits leave it alone:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/high_availability/#manifest-paths-annotation
MANIFEST_PATHS: Final = "argocd.argoproj.io/manifest-generate-paths"

# On a namespace: https://kubernetes.io/docs/concepts/security/pod-security-admission/
POD_SECURITY: Final = "pod-security.kubernetes.io/enforce"

# https://helm.sh/docs/topics/charts_hooks/
HOOK: Final = "helm.sh/hook"
HOOK_DELETE: Final = "helm.sh/hook-delete-policy"
