"""The table of the rules for single fields of the objects of a job.

`Row` in `row.py` describes the columns. A source without an address is a function of Kubernetes 1.36, in
pkg/apis/core/validation/validation.go unless the source names a different file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.check.object_rules import conditions as find
from tfgen.check.object_rules.row import (
    JOBSET_WEBHOOK,
    KERNEL,
    NOBODY,
    OBJECT_VERSION,
    POD_SECURITY,
    RUNTIME,
    Row,
    Table,
)

OBJECT_REFUSED: Final = "object-refused"

SUMMARIES: Final[Mapping[str, str]] = {
    "annotations-size": "The annotations of an object are larger than Kubernetes allows.",
    "device-in-parts": "A role requests a fraction of a device.",
    "device-request": "A role requests a device without an equal limit.",
    "dns-policy": "The pods of a role cannot resolve the hosts of the other tasks.",
    "exit-code-order": "The exit codes of a job are not in ascending order.",
    "huge-pages": "Kubernetes refuses a request for huge pages.",
    "job-set-rules": (
        "Two failure policy rules of a JobSet have the same name, or a rule names a role that the job does not have."
    ),
    "limits-below-requests": "A role requests more of a resource than the limit of the role allows.",
    "low-port": "The port of TensorFlow is below 1024, and the user is not root.",
    "network-range": "A range of ports or addresses is empty.",
    "odd-amount": "The amount of a resource probably has the wrong unit.",
    "object-kind": "The API group of an object does not contain the kind of the object.",
    OBJECT_REFUSED: "The API server, a webhook, the kubelet or the container runtime refuses a field of an object.",
    OBJECT_VERSION: "Only some versions of Kubernetes accept a field of an object.",
    "program-size": "The arguments or variables of a container are larger than Linux allows.",
    "second-container": "A container beside the main container keeps a task from ending.",
    "shm-size": "The shared memory (`shm`) of a role is larger than the memory limit of the role.",
    "ttl-with-gitops": "A GitOps tool would train a job again after each end, because the operator deletes the job.",
    "unknown-volume": "A container mounts a volume that its pod does not have.",
    "used-port": "Two containers of a pod listen on the same port.",
    "visible-devices": "A container can use GPUs without a request for GPUs.",
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""

_CONTAINER: Final = "pod.initContainers|containers.*"
_PROBES: Final = "readinessProbe|livenessProbe|startupProbe"
_REQUESTS: Final = f"{_CONTAINER}.resources.requests.*"
_AMOUNTS: Final = f"{_CONTAINER}.resources.requests|limits.*"
_NODE_TERMS: Final = (
    "pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.*",
    "pod.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.*.preference",
)
_POD_TERMS: Final = (
    "pod.affinity.podAffinity|podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.*",
    "pod.affinity.podAffinity|podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.*.podAffinityTerm",
)
_PREFERRED: Final = (
    "pod.affinity.nodeAffinity|podAffinity|podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
)
_SET_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_FIELDS_OF_ENV: Final = "metadata.name, metadata.labels['KEY'], spec.nodeName or status.podIP"
_GATES: Final = "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/"


def _refused(path: str, test: find.Test, fix: str, source: str, refused_by: str = Row.refused_by) -> Row:
    return Row(OBJECT_REFUSED, path, test, fix, source, refused_by)


_CONTAINERS: Final = (
    _refused(_CONTAINER, find.without("name", "image"), "set both keys", "validateContainerCommon"),
    _refused(
        f"pod.initContainers.*.{_PROBES}|lifecycle",
        find.is_no_sidecar("a probe or lifecycle of an init container that is no sidecar"),
        "remove the key, or move the container to sidecars",
        "validateInitContainers",
    ),
    _refused(
        "pod.ephemeralContainers",
        find.exists("an ephemeral container in a new pod"),
        "remove the key, and use kubectl debug",
        "ValidatePodTemplateSpec",
    ),
    _refused(
        f"{_CONTAINER}.{_PROBES}",
        find.not_one_of_keys(
            "handler",
            (
                "initialDelaySeconds",
                "timeoutSeconds",
                "periodSeconds",
                "successThreshold",
                "failureThreshold",
                "terminationGracePeriodSeconds",
            ),
        ),
        "write exec, httpGet, tcpSocket or grpc",
        "validateHandler",
    ),
    _refused(
        f"{_CONTAINER}.lifecycle.postStart|preStop",
        find.not_one_of_keys("handler"),
        "write exec, httpGet, tcpSocket or sleep",
        "validateHandler",
    ),
    _refused(
        f"{_CONTAINER}.livenessProbe|startupProbe.successThreshold", find.not_in(1), "write 1", "validateLivenessProbe"
    ),
    _refused(
        f"{_CONTAINER}.imagePullPolicy",
        find.not_in("Always", "IfNotPresent", "Never"),
        "write Always, IfNotPresent or Never",
        "validatePullPolicy",
    ),
    _refused(
        f"{_CONTAINER}.terminationMessagePolicy",
        find.not_in("File", "FallbackToLogsOnError"),
        "write File or FallbackToLogsOnError",
        "validateContainerCommon",
    ),
    _refused(
        f"{_CONTAINER}.ports.*.containerPort|hostPort",
        find.outside(0, 65535),
        "write a port from 1 to 65535",
        "validateContainerPorts",
    ),
    _refused(
        f"{_CONTAINER}.ports.*.name",
        find.not_matching(find.PORT_NAME),
        "write at most 15 lower-case letters, digits and dashes, with a letter",
        "validateContainerPorts",
    ),
    _refused(
        f"{_CONTAINER}.ports.*.protocol",
        find.not_in("TCP", "UDP", "SCTP"),
        "write TCP, UDP or SCTP",
        "validateContainerPorts",
    ),
    _refused(
        f"{_CONTAINER}.env.*.valueFrom", find.not_one_of_keys("source"), "write one source", "validateEnvVarValueFrom"
    ),
    _refused(
        f"{_CONTAINER}.env.*.valueFrom.fieldRef.fieldPath",
        find.is_wrong_field_path,
        f"write a field such as {_FIELDS_OF_ENV}",
        "validateObjectFieldSelector",
    ),
    _refused(
        f"{_CONTAINER}.env.*.valueFrom.resourceFieldRef.resource",
        find.is_wrong_resource,
        "write limits or requests of cpu, memory, ephemeral-storage or huge pages",
        "validateContainerResourceFieldSelector",
    ),
    _refused(
        f"{_CONTAINER}.env.*.valueFrom.resourceFieldRef.divisor",
        find.is_wrong_divisor,
        "write 1 or 1m for cpu, or a unit such as 1Mi for memory",
        "validateContainerResourceDivisor",
    ),
    _refused(
        f"{_CONTAINER}.env.*.valueFrom.configMapKeyRef|secretKeyRef.key",
        find.not_matching(find.DATA_KEY),
        "write letters, digits, dashes, underscores and dots, without two dots at the beginning",
        "validateSecretKeySelector",
    ),
)

_VOLUMES: Final = (
    _refused(
        "pod.volumes.*",
        find.not_one_of_keys("source", ("name",), may_be_none=True),
        "split the volume, or remove one source",
        "validateVolumeSource",
    ),
    _refused(
        "pod.volumes.*.name",
        find.not_matching(find.DNS_LABEL),
        "write at most 63 lower-case letters, digits and dashes",
        "ValidateVolumes",
    ),
    _refused(
        "pod.volumes.*.projected.sources.*",
        find.not_one_of_keys("source", may_be_none=True),
        "write one source in each entry",
        "validateProjectionSources",
    ),
    _refused(
        "pod.volumes.*.projected.sources.*",
        find.repeats_projected_path,
        "write a different path",
        "validateProjectionSources",
    ),
    _refused(
        "pod.volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds",
        find.outside(600, 1 << 32),
        "write 600 or more",
        "validateProjectionSources",
    ),
    _refused(
        "pod.volumes.*.projected.sources.*.serviceAccountToken|clusterTrustBundle.path",
        find.is_reserved_file,
        "write a relative path without ..",
        "ValidateLocalNonReservedPath",
    ),
    _refused(
        "pod.volumes.*.projected.sources.*.secret|configMap|downwardAPI.items.*.path",
        find.is_reserved_file,
        "write a relative path without ..",
        "ValidateLocalNonReservedPath",
    ),
    _refused(
        "pod.volumes.*.secret|configMap|downwardAPI.items.*.path",
        find.is_reserved_file,
        "write a relative path without ..",
        "ValidateLocalNonReservedPath",
    ),
    _refused(
        "pod.volumes.*.secret|configMap|downwardAPI|projected.defaultMode",
        find.outside(0, 0o777),
        "write a mode from 0 to 0o777",
        "validateSecretVolumeSource",
    ),
    _refused(
        "pod.volumes.*.secret|configMap|downwardAPI.items.*.mode",
        find.outside(0, 0o777),
        "write a mode from 0 to 0o777",
        "validateKeyToPath",
    ),
    _refused(
        "pod.volumes.*.downwardAPI.items.*.fieldRef.fieldPath",
        find.is_wrong_file_path,
        "write a field such as metadata.labels",
        "validateDownwardAPIVolumeFile",
    ),
    _refused(
        "pod.volumes.*.downwardAPI.items.*.resourceFieldRef.divisor",
        find.is_wrong_divisor,
        "write 1 or 1m for cpu, or a unit such as 1Mi for memory",
        "validateContainerResourceDivisor",
    ),
    _refused(
        "pod.volumes.*.csi.driver",
        find.not_matching(find.CSI_DRIVER),
        "write a DNS name such as secrets-store.csi.k8s.io",
        "ValidateCSIDriverName",
    ),
    _refused("pod.volumes.*.hostPath.path", find.has_backsteps, "write a path without ..", "validatePathNoBacksteps"),
    _refused(
        "pod.volumes.*.hostPath.type",
        find.not_in(
            "",
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ),
        "write a type such as Directory",
        "validateHostPathType",
    ),
    Row(
        "unknown-volume",
        f"{_CONTAINER}.volumeMounts.*.name",
        find.is_not_in_pod,
        "declare the volume in storage, or add the role to storage.NAME.for",
        "ValidateVolumeMounts",
    ),
    _refused(
        f"{_CONTAINER}.volumeMounts.*", find.is_mounted_twice, "write a different mountPath", "ValidateVolumeMounts"
    ),
    _refused(f"{_CONTAINER}.volumeMounts.*", find.has_two_sub_paths, "remove one of the keys", "ValidateVolumeMounts"),
    _refused(
        f"{_CONTAINER}.volumeMounts.*.subPath|subPathExpr",
        find.leaves_folder,
        "write a relative path without ..",
        "validateLocalDescendingPath",
    ),
    _refused(
        f"{_CONTAINER}.volumeMounts.*.mountPropagation",
        find.not_in("None", "HostToContainer", "Bidirectional"),
        "write None, HostToContainer or Bidirectional",
        "validateMountPropagation",
    ),
    _refused(
        f"{_CONTAINER}.volumeMounts.*.mountPath",
        find.is_below_proc,
        "mount the volume at a path outside /proc",
        "checkProcMount of libcontainer/rootfs_linux.go in https://github.com/opencontainers/runc",
        RUNTIME,
    ),
    Row(
        "object-schema",
        "pod.volumes.*.image",
        find.exists("an image as a volume"),
        "use a claim, a csi volume or spec.code",
        _GATES,
        until=(1, 35),
    ),
)

_PODS: Final = (
    _refused(
        "pod.dnsPolicy",
        find.not_in("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        "write ClusterFirst, ClusterFirstWithHostNet, Default or None",
        "validateDNSPolicy",
    ),
    _refused(
        "pod.dnsPolicy",
        find.has_no_nameserver,
        "set dnsConfig.nameservers, or remove dnsPolicy",
        "validatePodDNSConfig",
    ),
    _refused("pod.os.name", find.not_in("linux", "windows"), "write linux", "validateOS"),
    _refused("pod.os.name", find.has_linux_fields, "write linux", "validateWindows"),
    Row(
        "object-schema",
        f"{_CONTAINER}.restartPolicyRules",
        find.exists("a restart of a container in place"),
        "remove inPlace",
        _GATES,
        until=(1, 35),
        key="restart.inPlace",
    ),
    Row(
        "dns-policy",
        "pod.dnsPolicy|hostNetwork",
        find.resolves_no_hosts,
        "write dnsPolicy: ClusterFirst, or ClusterFirstWithHostNet with hostNetwork",
        "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy",
        NOBODY,
        "warning",
        of_literals=False,
    ),
    Row(
        "second-container",
        "pod.containers.*",
        find.keeps_pod_running,
        "move the container to sidecars",
        "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#jobs-with-sidecar-containers",
        NOBODY,
        "warning",
        of_literals=False,
    ),
    Row(
        "used-port",
        f"{_CONTAINER}.ports.*",
        find.has_port_of_main_container,
        "choose a different port",
        "https://kubernetes.io/docs/concepts/services-networking/#the-kubernetes-network-model",
        NOBODY,
        of_literals=False,
    ),
    Row(
        "low-port",
        f"{_CONTAINER}.ports.*.containerPort",
        find.needs_root,
        "choose port 1024 or higher",
        "enable_unprivileged_ports of https://github.com/containerd/containerd/blob/main/docs/cri/config.md",
        NOBODY,
        "warning",
        of_literals=False,
        key="port",
    ),
    Row(
        "shm-size",
        "pod.volumes.*.emptyDir.sizeLimit",
        find.is_larger_than_memory,
        "raise the memory limit, or lower shm",
        "https://kubernetes.io/docs/concepts/storage/volumes/#emptydir",
        NOBODY,
        "warning",
        of_literals=False,
    ),
    Row(
        "visible-devices",
        f"{_CONTAINER}.env.*.value",
        find.exposes_devices,
        "remove the variable, or request GPUs",
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
        NOBODY,
        "warning",
        of_literals=False,
    ),
)

_SECURITY: Final = (
    Row(
        "pod-security",
        "template.metadata.annotations.*",
        find.is_weak_app_armor,
        "remove the annotation",
        "https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline",
        POD_SECURITY,
        profile="privileged",
        of_literals=False,
    ),
)

_RESOURCES: Final = (
    Row(
        "limits-below-requests",
        _REQUESTS,
        find.is_above_limit,
        "raise the limit, or lower the request",
        "validateResourceRequirements",
    ),
    Row(
        "device-request",
        _REQUESTS,
        find.of_devices(find.differs_from_limit),
        "set only the limit",
        "validateResourceRequirements",
    ),
    Row(
        "device-in-parts",
        _AMOUNTS,
        find.of_devices(find.is_fraction),
        "request whole devices, a MIG profile, or gpu.share",
        "ValidateResourceQuantityValue",
    ),
    Row(
        "huge-pages",
        _REQUESTS,
        find.of_huge_pages(find.differs_from_limit),
        "set only the limit",
        "validateResourceRequirements",
    ),
    Row(
        "huge-pages",
        f"{_CONTAINER}.resources.limits.*",
        find.of_huge_pages(find.is_alone),
        "set cpu or memory",
        "validateResourceRequirements",
    ),
    Row(
        "huge-pages",
        _AMOUNTS,
        find.of_huge_pages(find.is_partial_page),
        "set a multiple of the page size",
        "validateResourceQuantityHugePageValue",
    ),
)

_ODD_AMOUNTS: Final = tuple(
    Row(
        "odd-amount",
        path,
        find.has_odd_unit,
        "write cpu as 2 or 500m, and memory or storage as 8Gi",
        "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/",
        NOBODY,
        "warning",
        of_literals=False,
    )
    for path in (_AMOUNTS, "PersistentVolumeClaim.spec.resources.requests.storage")
)

_LINUX_STRING: Final = "MAX_ARG_STRLEN of include/uapi/linux/binfmts.h in Linux"
_SIZES: Final = (
    Row(
        "annotations-size",
        "template.metadata.annotations",
        find.has_large_annotations,
        "write long texts to a ConfigMap",
        "ValidateAnnotationsSize of k8s.io/apimachinery",
    ),
    *(
        Row(
            "program-size",
            path,
            test,
            "move long texts to files, with spec.code or with a ConfigMap in spec.storage",
            source,
            KERNEL,
        )
        for path, test, source in (
            (f"{_CONTAINER}.command|args.*", find.is_large_text, _LINUX_STRING),
            (f"{_CONTAINER}.env.*.value", find.is_large_text, _LINUX_STRING),
            (_CONTAINER, find.is_large_program, "bprm_stack_limits of fs/exec.c in Linux"),
        )
    ),
)

_AFFINITIES: Final = (
    *(
        Row(
            "affinity",
            f"{term}.matchExpressions.*",
            find.has_wrong_values(*_SET_OPERATORS, "Gt", "Lt"),
            "give values to In and NotIn, one to Gt and Lt",
            "ValidateNodeSelectorRequirement",
        )
        for term in _NODE_TERMS
    ),
    *(
        Row(
            "affinity",
            f"{term}.labelSelector|namespaceSelector.matchExpressions.*",
            find.has_wrong_values(*_SET_OPERATORS),
            "write values only for In and NotIn",
            "ValidateLabelSelectorRequirement of k8s.io/apimachinery",
        )
        for term in _POD_TERMS
    ),
    *(
        Row("affinity", term, find.without("topologyKey"), "set topologyKey", "validatePodAffinityTerm")
        for term in _POD_TERMS
    ),
    Row(
        "affinity",
        f"{_PREFERRED}.*.weight",
        find.outside(1, 100),
        "write a weight from 1 to 100",
        "ValidatePreferredSchedulingTerms",
    ),
    Row(
        "affinity",
        "pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        find.without("nodeSelectorTerms"),
        "write at least one term",
        "ValidateNodeSelector",
    ),
)

_OTHERS: Final = (
    *(
        Row(
            "ttl-with-gitops",
            path,
            find.exists("a GitOps tool would create the deleted job again and repeat the training"),
            "remove the key",
            "https://github.com/argoproj/argo-cd/issues/8586",
            NOBODY,
            of_literals=False,
            of_gitops=True,
        )
        for path in (
            "TFJob|JobSet|Job.spec.ttlSecondsAfterFinished",
            "TFJob.spec.runPolicy.ttlSecondsAfterFinished",
        )
    ),
    _refused(
        "ConfigMap|Secret.data|binaryData|stringData.*",
        find.key_not_matching(find.DATA_KEY),
        "write letters, digits, dashes, underscores and dots, without two dots at the beginning",
        "ValidateConfigMap",
    ),
    Row(
        "object-kind",
        "*.kind",
        find.is_unknown_kind,
        "correct the apiVersion or the kind",
        "https://kubernetes.io/docs/reference/kubernetes-api/",
        NOBODY,
    ),
    _refused(
        "Service.metadata.name",
        find.not_matching(find.DNS_LABEL),
        "write at most 63 lower-case letters, digits and dashes",
        "ValidateServiceName",
    ),
    Row(
        OBJECT_REFUSED,
        "Service.metadata.name",
        find.begins_with_digit,
        "begin the name with a letter",
        f"RelaxedServiceNameValidation of {_GATES}",
        until=(1, 36),
    ),
    _refused(
        "JobSet.metadata.name",
        find.is_long_pod_name,
        "shorten the name of the job or of the run to have at most 63 characters",
        "https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go",
        JOBSET_WEBHOOK,
    ),
    Row(
        "job-set-rules",
        "JobSet.spec.failurePolicy.rules.*",
        find.repeats("name"),
        "choose a different name",
        "https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go",
        JOBSET_WEBHOOK,
    ),
    Row(
        "job-set-rules",
        "JobSet.spec.failurePolicy.rules.*.targetReplicatedJobs.*",
        find.names_no_role,
        "name a role of the job",
        "https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go",
        JOBSET_WEBHOOK,
    ),
    Row(
        "exit-code-order",
        "Job.spec.podFailurePolicy.rules.*.onExitCodes.values",
        find.is_not_ascending,
        "sort the exit codes",
        "validatePodFailurePolicyRuleOnExitCodes of pkg/apis/batch/validation/validation.go",
    ),
    Row(
        "network-range",
        "NetworkPolicy.spec.ingress|egress.*.ports.*.endPort",
        find.ends_before_port,
        "set endPort to the last port",
        "ValidateNetworkPolicyPort of pkg/apis/networking/validation/validation.go",
    ),
    Row(
        "network-range",
        "NetworkPolicy.spec.ingress|egress.*.from|to.*.ipBlock.except.*",
        find.is_outside_block,
        "write a part of the range",
        "ValidateIPBlock of pkg/apis/networking/validation/validation.go",
    ),
)

TABLE: Final = Table(
    (*_CONTAINERS, *_VOLUMES, *_PODS, *_SECURITY, *_RESOURCES, *_ODD_AMOUNTS, *_SIZES, *_AFFINITIES, *_OTHERS)
)

WARNINGS: Final = frozenset((OBJECT_VERSION, *(row.rule for row in TABLE.rows if row.severity == "warning")))
"""The rules whose problems are warnings by default."""
