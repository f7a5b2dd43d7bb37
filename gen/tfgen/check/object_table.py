"""The table of the rules for single fields of the objects of a job.

`Row` in `object_rules.py` describes the columns. The comment above a row, or above several rows, names the source of
the rules. A source without an address is a function of Kubernetes 1.36, in pkg/apis/core/validation/validation.go
unless the source names a different file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.check.object_rules import (
    CONTAINER,
    DATA_KEY,
    DATA_KEY_FIX,
    DNS_LABEL,
    NOBODY,
    OBJECT_REFUSED,
    OBJECT_VERSION,
    Field,
    Row,
    Table,
    Test,
    generated,
    outside,
    refused,
    repeats,
    without,
    wrong_value,
)
from tfgen.check.pod_table import POD_ROWS
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import ANNOTATIONS_MAX, KINDS, PROGRAM_MAX, STRING_COST, STRING_MAX, find_groups, group
from tfgen.rules.programs import measure_expanded
from tfgen.words import NEAR, either, nearest, shown

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


# -- resources -----------------------------------------------------------------------------------------------------

_REQUESTS: Final = f"{CONTAINER}.resources.requests.*"
_AMOUNTS: Final = f"{CONTAINER}.resources.requests|limits.*"
_HUGE_PAGES: Final = "hugepages-"
_MIN_BYTES: Final = 2**20
"""Smallest plausible amount of memory or disk: no container starts with fewer bytes, and no disk is smaller."""
_MAX_CPUS: Final = 499
"""Largest plausible number of CPUs of a task. Nodes with more CPUs, up to 1,920, are for in-memory databases."""


def _limit(field: Field) -> Any:
    """Return the limit of the container for the resource of an amount; None without a limit."""
    return (field.parent(2).get("limits") or {}).get(field.key)


def _is_above_limit(field: Field) -> str:
    limit = _limit(field)
    if limit is None or quantity.parse(field.value) <= quantity.parse(limit):
        return ""
    return f"a request of {field.value} with a limit of {limit}"


def _differs_from_limit(field: Field) -> str:
    limit = _limit(field)
    if limit is None:
        return f"a request of {field.value} without a limit"
    is_below = quantity.parse(field.value) < quantity.parse(limit)
    return f"a request of {field.value} with a limit of {limit}" if is_below else ""


def _of_devices(test: Test) -> Test:
    """Return a test of the resources that a device plugin, and not Kubernetes itself, provides."""

    def test_device(field: Field) -> str:
        domain, slash, _ = str(field.key).partition("/")
        return test(field) if slash and not domain.endswith("kubernetes.io") else ""

    return test_device


def _of_huge_pages(test: Test) -> Test:
    return lambda field: test(field) if str(field.key).startswith(_HUGE_PAGES) else ""


def _is_fraction(field: Field) -> str:
    return f"a request for {field.value} devices" if quantity.parse(field.value).denominator != 1 else ""


def _is_partial_page(field: Field) -> str:
    page = quantity.parse(str(field.key).removeprefix(_HUGE_PAGES))
    return f"{field.value} of {field.key}" if quantity.parse(field.value) % page else ""


def _is_alone(field: Field) -> str:
    amounts = {**(field.parent(2).get("requests") or {}), **(field.parent(2).get("limits") or {})}
    return f"{field.key} without cpu or memory" if {"cpu", "memory"}.isdisjoint(amounts) else ""


def _has_odd_unit(field: Field) -> str:
    """Report an amount that is valid but probably has the wrong unit, such as half a byte of memory."""
    text, name = str(field.value), str(field.key)
    amount = quantity.parse(text)
    if name == "cpu" and amount > _MAX_CPUS:
        return f"{text} means {float(amount):,.10g} CPUs"
    if name in ("memory", "ephemeral-storage", "storage") and 0 < amount < _MIN_BYTES:
        return f"{text} means {'one byte' if amount == 1 else f'{float(amount):.5g} bytes'}"
    return ""


_RESOURCES: Final = (
    # validateResourceRequirements
    Row("limits-below-requests", _REQUESTS, _is_above_limit, "raise the limit, or lower the request"),
    Row("device-request", _REQUESTS, _of_devices(_differs_from_limit), "set only the limit"),
    # ValidateResourceQuantityValue
    Row("device-in-parts", _AMOUNTS, _of_devices(_is_fraction), "request whole devices, a MIG profile, or gpu.share"),
    # validateResourceRequirements
    Row("huge-pages", _REQUESTS, _of_huge_pages(_differs_from_limit), "set only the limit"),
    Row("huge-pages", f"{CONTAINER}.resources.limits.*", _of_huge_pages(_is_alone), "set cpu or memory"),
    # validateResourceQuantityHugePageValue
    Row("huge-pages", _AMOUNTS, _of_huge_pages(_is_partial_page), "set a multiple of the page size"),
    *(
        # https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
        generated("odd-amount", path, _has_odd_unit, "write cpu as 2 or 500m, and memory or storage as 8Gi")
        for path in (_AMOUNTS, "PersistentVolumeClaim.spec.resources.requests.storage")
    ),
)


# -- sizes ---------------------------------------------------------------------------------------------------------


def _has_large_annotations(field: Field) -> str:
    total = sum(len(f"{key}{text}".encode()) for key, text in field.value.items())
    return f"annotations of {total:,} bytes" if total > ANNOTATIONS_MAX else ""


def _is_large_text(field: Field) -> str:
    """Refuse an argument, or the value of a variable, that is larger than Linux allows for a string."""
    container, name = (field.parent(3), field.parent()["name"]) if field.key == "value" else (field.parent(2), None)
    earlier = container["env"][: field.path[-2]] if name is not None else container.get("env") or ()
    size = measure_expanded(str(field.value), _sizes_of(earlier))
    size += 0 if name is None else len(f"{name}=".encode())
    return f"a text of {size:,} bytes" if size > STRING_MAX else ""


def _is_large_program(field: Field) -> str:
    """Refuse a container whose arguments and variables are together larger than Linux allows.

    Values from Secrets, ConfigMaps and envFrom count as 0 bytes, because tfgen cannot read them.
    """
    variables = field.value.get("env") or ()
    sizes = _sizes_of(variables)
    texts = [*(field.value.get("command") or ()), *(field.value.get("args") or ())]
    total = sum(len(f"{item['name']}=".encode()) + sizes[item["name"]] for item in variables)
    total += sum(measure_expanded(str(text), sizes) for text in texts) + STRING_COST * (len(variables) + len(texts))
    return f"arguments and variables of {total:,} bytes" if total > PROGRAM_MAX else ""


def _sizes_of(variables: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of bytes in the value of each variable, after Kubernetes expands the references."""
    sizes: dict[str, int] = {}
    for item in variables:
        sizes[item["name"]] = measure_expanded(str(item.get("value") or ""), sizes)
    return sizes


def _too_long(path: str, test: Test) -> Row:
    fix = "move long texts to files, with spec.code or with a ConfigMap in spec.storage"
    return Row("program-size", path, test, fix, "Linux")


_SIZES: Final = (
    # ValidateAnnotationsSize of k8s.io/apimachinery
    Row("annotations-size", "template.metadata.annotations", _has_large_annotations, "write long texts to a ConfigMap"),
    # MAX_ARG_STRLEN of include/uapi/linux/binfmts.h in Linux
    _too_long(f"{CONTAINER}.command|args.*", _is_large_text),
    _too_long(f"{CONTAINER}.env.*.value", _is_large_text),
    # bprm_stack_limits of fs/exec.c in Linux
    _too_long(CONTAINER, _is_large_program),
)


# -- affinities ----------------------------------------------------------------------------------------------------

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_SET_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_POD_TERMS: Final = (
    f"pod.affinity.podAffinity|podAntiAffinity.{_REQUIRED}.*",
    f"pod.affinity.podAffinity|podAntiAffinity.{_PREFERRED}.*.podAffinityTerm",
)


def _has_wrong_values(*operators: str) -> Test:
    """Return a test that refuses an expression with an unknown operator, or with values that the operator refuses."""

    def test(field: Field) -> str:
        operator, count = field.value.get("operator"), len(field.value.get("values") or ())
        if operator not in operators:
            return f"the operator {shown(operator)}"
        wrong = {"In": not count, "NotIn": not count, "Exists": count, "DoesNotExist": count}
        return f"the operator {operator} with {count} values" if wrong.get(operator, count != 1) else ""

    return test


def _affinity(path: str, test: Test, fix: str) -> Row:
    return Row("affinity", path, test, fix)


_AFFINITIES: Final = (
    *(
        # ValidateNodeSelectorRequirement
        _affinity(
            f"pod.affinity.nodeAffinity.{terms}.matchExpressions.*",
            _has_wrong_values(*_SET_OPERATORS, "Gt", "Lt"),
            "give values to In and NotIn, one to Gt and Lt",
        )
        for terms in (f"{_REQUIRED}.nodeSelectorTerms.*", f"{_PREFERRED}.*.preference")
    ),
    *(
        # ValidateLabelSelectorRequirement of k8s.io/apimachinery
        _affinity(
            f"{term}.labelSelector|namespaceSelector.matchExpressions.*",
            _has_wrong_values(*_SET_OPERATORS),
            "write values only for In and NotIn",
        )
        for term in _POD_TERMS
    ),
    # validatePodAffinityTerm
    *(_affinity(term, without("topologyKey"), "set topologyKey") for term in _POD_TERMS),
    # ValidatePreferredSchedulingTerms
    _affinity(
        f"pod.affinity.nodeAffinity|podAffinity|podAntiAffinity.{_PREFERRED}.*.weight",
        outside(1, 100),
        "write a weight from 1 to 100",
    ),
    # ValidateNodeSelector
    _affinity(f"pod.affinity.nodeAffinity.{_REQUIRED}", without("nodeSelectorTerms"), "write at least one term"),
)


# -- other objects -------------------------------------------------------------------------------------------------

_JOBSET_WEBHOOK: Final = "the webhook of JobSet"
_MAX_POD_NAME: Final = 63


def _deletes_job(field: Field) -> str:
    is_set = field.value or field.value == 0
    consequence = "a GitOps tool would create the deleted job again and repeat the training"
    return consequence if is_set and field.destination.has_gitops else ""


def _is_wrong_key(field: Field) -> str:
    return "" if DATA_KEY.fullmatch(str(field.key)) else f"the key {shown(field.key)}"


def _is_unknown_kind(field: Field) -> str:
    version, group_name = field.owner["apiVersion"], group(field.owner)
    kinds = KINDS.get(group_name)
    if kinds is None or field.value in kinds:
        return ""
    if groups := find_groups(field.value):
        names = (shown(name) if name else "core, whose apiVersion is v1" for name in groups)
        return f"{version} has no kind {shown(field.value)}, which is in the group {either(names)}"
    near = nearest(field.value, kinds, NEAR)
    return f"{version} has no kind {shown(field.value)}, but {shown(near)}" if near else ""


def _is_long_pod_name(field: Field) -> str:
    """Refuse the name of a JobSet whose pods, JOBSET-ROLE-JOB-INDEX-abcde, would have more than 63 characters."""
    names = []
    for job in field.parent(2)["spec"]["replicatedJobs"]:
        spec = job["template"]["spec"]
        pods: int = spec.get("completions") or spec.get("parallelism") or 1
        names.append(f"{field.value}-{job['name']}-{job.get('replicas', 1) - 1}-{pods - 1}-abcde")
    longest = max(names, key=len)
    return f"the pod name {longest} with {len(longest)} characters" if len(longest) > _MAX_POD_NAME else ""


def _names_no_role(field: Field) -> str:
    jobs = [job["name"] for job in field.owner["spec"]["replicatedJobs"]]
    return "" if field.value in jobs else f"the role {field.value} that the job does not have"


def _is_not_ascending(field: Field) -> str:
    is_ascending = [*field.value] == sorted(field.value)
    return "" if is_ascending else f"exit codes that are not in ascending order: {shown(field.value)}"


def _ends_before_port(field: Field) -> str:
    first = field.parent()["port"]
    return f"endPort {field.value} after port {first}" if isinstance(first, int) and field.value < first else ""


def _is_outside_block(field: Field) -> str:
    from ipaddress import ip_network  # takes 5 ms, which a job without such a rule saves

    cidr = field.parent(2)["cidr"]
    part, whole = ip_network(field.value, strict=False), ip_network(cidr, strict=False)
    is_part = part.version == whole.version and part.prefixlen > whole.prefixlen and part.network_address in whole
    return "" if is_part else f"the exception {field.value} that is no smaller range inside {cidr}"


_OTHERS: Final = (
    *(
        # https://github.com/argoproj/argo-cd/issues/8586
        generated("ttl-with-gitops", path, _deletes_job, "remove the key", "error")
        for path in ("TFJob|JobSet|Job.spec.ttlSecondsAfterFinished", "TFJob.spec.runPolicy.ttlSecondsAfterFinished")
    ),
    # ValidateConfigMap
    refused("ConfigMap|Secret.data|binaryData|stringData.*", _is_wrong_key, DATA_KEY_FIX),
    # https://kubernetes.io/docs/reference/kubernetes-api/
    Row("object-kind", "*.kind", _is_unknown_kind, "correct the apiVersion or the kind", NOBODY),
    # ValidateServiceName
    refused("Service.metadata.name", *DNS_LABEL),
    # RelaxedServiceNameValidation of
    # https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/
    Row(
        OBJECT_REFUSED,
        "Service.metadata.name",
        wrong_value(lambda name: str(name)[:1].isdigit()),
        "begin the name with a letter",
        until=(1, 36),
    ),
    # https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go
    refused(
        "JobSet.metadata.name",
        _is_long_pod_name,
        "shorten the name of the job or of the run to have at most 63 characters",
        _JOBSET_WEBHOOK,
    ),
    Row(
        "job-set-rules",
        "JobSet.spec.failurePolicy.rules.*",
        repeats("name"),
        "choose a different name",
        _JOBSET_WEBHOOK,
    ),
    Row(
        "job-set-rules",
        "JobSet.spec.failurePolicy.rules.*.targetReplicatedJobs.*",
        _names_no_role,
        "name a role of the job",
        _JOBSET_WEBHOOK,
    ),
    # validatePodFailurePolicyRuleOnExitCodes of pkg/apis/batch/validation/validation.go
    Row(
        "exit-code-order",
        "Job.spec.podFailurePolicy.rules.*.onExitCodes.values",
        _is_not_ascending,
        "sort the exit codes",
    ),
    # ValidateNetworkPolicyPort of pkg/apis/networking/validation/validation.go
    Row(
        "network-range",
        "NetworkPolicy.spec.ingress|egress.*.ports.*.endPort",
        _ends_before_port,
        "set endPort to the last port",
    ),
    # ValidateIPBlock of pkg/apis/networking/validation/validation.go
    Row(
        "network-range",
        "NetworkPolicy.spec.ingress|egress.*.from|to.*.ipBlock.except.*",
        _is_outside_block,
        "write a part of the range",
    ),
)

TABLE: Final = Table((*POD_ROWS, *_RESOURCES, *_SIZES, *_AFFINITIES, *_OTHERS))

WARNINGS: Final = frozenset((OBJECT_VERSION, *(row.rule for row in TABLE.rows if row.severity == "warning")))
"""The rules whose problems are warnings by default."""
