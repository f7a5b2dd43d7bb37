"""``tfgen plan``: print whether jobs fit on the nodes of a cluster. Also print the missing resources, and the nodes."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml

from tfgen import data_path
from tfgen.cli.arguments import cluster_arguments, jobs_argument, option, path
from tfgen.cli.output import COLOURS, OK, PROBLEMS, is_in_colour, print_json, print_message, print_result, read_jobs
from tfgen.errors import UsageError
from tfgen.job.sources import output_root
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, added_labels, literal_name
from tfgen.kubernetes.pods import Pods, Profile, pods_of
from tfgen.live.run import RunObjects, declared_runs
from tfgen.report.plan import node_lines, node_rows, rows, verdict_text
from tfgen.rules.pod_parts import PodPart
from tfgen.rules.security import find_weak_fields
from tfgen.scheduling.cluster import cluster_of, is_ended, known_kinds_of, namespace_of, read
from tfgen.scheduling.pods import PodTemplate
from tfgen.scheduling.verdict import DOES_NOT_FIT, Plan, PlannedRun, plan_placement
from tfgen.words import count

EXAMPLE: Final = "tfgen plan jobs --env prod --nodes nodes.yaml"


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser, default="the repository")
    nodes = parser.add_mutually_exclusive_group(required=True)
    nodes.add_argument(
        "--nodes", type=path, metavar="FILE", help="a file with nodes and pods, from kubectl get nodes,pods -A -o yaml"
    )
    nodes.add_argument("--cluster", action="store_true", help="read the nodes and the pods of the cluster")
    option(parser, "--env", "ENV", "the environment of the jobs (default: none)")
    cluster_arguments(parser)


def run(args: Namespace) -> int:
    if args.nodes and (args.kubeconfig, args.context, args.namespace) != (None,) * 3:
        raise UsageError("--kubeconfig, --context and --namespace need --cluster")
    jobs = read_jobs(args.jobs or [output_root(Path())])
    runs = []
    for item in declared_runs(jobs.documents, args.env):
        if item.run.is_enabled:
            runs.append(item)
        else:
            print_message(f"{item.run.title}: skipped, because the job is retired in the environment (enabled: false)")
    if args.nodes:  # a file has no kubeconfig context
        objects = read_cluster_file(args.nodes)
        _print_size(str(args.nodes), objects)
        plans: dict[str | None, Plan] = {None: plan_runs([(item, item.run.namespace) for item in runs], objects)}
    else:
        plans = _of_clusters(args, runs)
    verdicts = [verdict for plan in plans.values() for verdict in plan.verdicts]
    for name in (name for plan in plans.values() for name in plan.left_out):
        print_message(f"the node {name} has no status.allocatable, so the plan ignores the node")
    if args.format == "json":
        nodes = [{"cluster": context, **row} for context, plan in plans.items() for row in node_rows(plan.nodes)]
        print_json({"runs": rows(verdicts), "nodes": nodes})
    else:
        for verdict in verdicts:
            print_result(verdict_text(verdict))
        colours = COLOURS if is_in_colour(sys.stdout) else ()
        for context, plan in plans.items():
            print_result(f"\nnodes of {context}:" if len(plans) > 1 else "")
            print("".join(f"{line}\n" for line in node_lines(plan.nodes, colours)), end="")
    return PROBLEMS if any(verdict.answer == DOES_NOT_FIT for verdict in verdicts) else OK


def _of_clusters(args: Namespace, runs: Iterable[RunObjects]) -> dict[str | None, Plan]:
    """Plan the runs on the nodes of their clusters. Return kubeconfig context -> plan for the cluster."""
    from tfgen.cli.live import clusters_of  # takes 100 ms, which a plan for a file does not need
    from tfgen.live.api import ONCE  # 50 ms
    from tfgen.live.clusters import read_cluster  # 10 ms

    clusters = clusters_of(args, ONCE)
    groups: dict[str | None, list[tuple[RunObjects, str | None]]] = {}
    for item in runs:
        live = clusters.place(item.run)
        groups.setdefault(live.context, []).append((item, live.namespace))
    plans = {}
    for context, of_context in groups.items():
        api = clusters.api(context)
        objects, kinds = read_cluster(api, print_message)
        _print_size(api.connection.host, objects)
        plans[context] = plan_runs(of_context, objects, kinds)
    return plans


def _print_size(source: str, objects: Iterable[Object]) -> None:
    """Print the number of nodes and pods in `objects`, so that the user sees whether a node is missing.

    `source` is the origin of the objects: a file name, or the host of an API server.
    """
    kinds = [item["kind"] for item in objects]
    print_message(f"{source}: {count(kinds.count('Node'), 'node')} and {count(kinds.count('Pod'), 'pod')}")


_CLAIM_TEMPLATES: Final = ("spec", "volumeClaimTemplates")
_CLAIM: Final = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
_DECIDERS: Final[Mapping[str, str]] = {
    keys.POD_GROUP: "the coscheduling plugin",
    keys.KAI_GROUP: "KAI",
    keys.KOORDINATOR_GROUP: "Koordinator",
}
"""The label or annotation of a gang -> the scheduler that decides when the pods start."""
_DEFAULT_NAMESPACE: Final = "default"
_KINDS_WITH_PODS: Final = ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")


def plan_runs(
    runs: Sequence[tuple[RunObjects, str | None]], objects: Sequence[Object], known_kinds: Collection[str] | None = None
) -> Plan:
    """Compute for each run whether the run fits on the nodes of a cluster, together with all other runs and pods.

    Args:
        runs: the runs, each with its namespace; None for the namespace `default`.
        objects: the objects of the cluster. Existing pods of the planned runs are not counted a second time.
        known_kinds: the kinds of which `objects` has all objects; None for a file, whose objects show it.

    Raises:
        TfgenError: an object of the cluster is not valid.
    """
    placed = [(item, namespace or _DEFAULT_NAMESPACE) for item, namespace in runs]
    run_keys = {(namespace, item.run.full_name, item.run.run) for item, namespace in placed}
    existing, replaced, earlier = [], defaultdict(list), Counter[tuple[str, str]]()
    gone = set()
    for item in objects:
        key = read(_run_key, item)
        if item["kind"] != "Pod" or not key[1]:
            existing.append(item)
        elif read(is_ended, item):
            gone.add((key[0], item["metadata"]["name"]))
        elif key in run_keys:
            gone.add((key[0], item["metadata"]["name"]))
            replaced[key].append((key[0], item["spec"]))
        else:
            existing.append(item)
            earlier[key[:2]] += bool(item["spec"].get("nodeName"))
    created = {item.run.title: [*_own_objects(item, namespace)] for item, namespace in placed}
    identities = {read(_identity, item) for item in objects}
    planned = [
        PlannedRun(
            title=item.run.title,
            new_objects=tuple(owned for owned in created[item.run.title] if _identity(owned) not in identities),
            pods=tuple(_templates(item, namespace)),
            replaced_pods=tuple(replaced[namespace, item.run.full_name, item.run.run]),
            earlier_pods=earlier[namespace, item.run.full_name],
        )
        for item, namespace in placed
    ]
    kinds = known_kinds_of(objects) if known_kinds is None else known_kinds
    return plan_placement(cluster_of([*chain(*created.values()), *existing], kinds, gone), planned)


def _own_objects(item: RunObjects, namespace: str) -> Iterator[Object]:
    """Yield the objects of a run except for pods, and the claims of its StatefulSets.

    An object of the cluster takes precedence. The tests of Helm run only on demand.
    """
    for owned in item.objects:
        kind = owned["kind"]
        is_test = keys.HOOK in (owned["metadata"].get("annotations") or {})
        if kind not in ("Node", "Pod") and not is_test and isinstance(owned.get("spec", {}), Mapping):
            yield {**owned, "metadata": {**owned["metadata"], "namespace": namespace}}
        if literal_name(owned) is None and kind == "StatefulSet":
            for numbered in added_labels(owned, owned["spec"].get("replicas", 1)).numbered:
                for claim in data_path.at(owned, _CLAIM_TEMPLATES) or ():
                    metadata = {"name": _claim_name(claim, numbered), "namespace": namespace}
                    yield {**_CLAIM, "metadata": metadata, "spec": claim["spec"]}


def _identity(item: Object) -> tuple[str, str, str]:
    """Return the kind, the namespace and the name of an object."""
    return item["kind"], namespace_of(item), item["metadata"]["name"]


def _run_key(pod: Object) -> tuple[str, str, str]:
    """Return the namespace, the job name and the run name of a pod, such as ("ml", "mnist", "2")."""
    labels = pod["metadata"].get("labels") or {}
    return namespace_of(pod), labels.get(keys.JOB, ""), labels.get(keys.RUN, "")


def _templates(item: RunObjects, namespace: str) -> Iterator[PodTemplate]:
    """Yield the pod templates of a run, except for the test pods of Helm, which do not run during the training."""
    with_pods = (owner for owner in item.objects if owner["kind"] in _KINDS_WITH_PODS)
    literal = [name for name in map(literal_name, with_pods) if name]
    owners = (owner for owner in item.objects if keys.HOOK not in (owner["metadata"].get("annotations") or {}))
    all_pods = [pods for owner in owners for pods in pods_of(owner)]
    tasks = sum(pods.count for pods in all_pods if _is_in_gang(pods))
    has_gang = item.run.gang is not None and item.run.gang[1] >= tasks
    for pods in all_pods:
        template = PodTemplate(
            owner=item.run.title,
            role=_role(pods),
            namespace=namespace,
            labels=pods.labels,
            spec=pods.spec,
            count=pods.count,
            in_gang=has_gang and _is_in_gang(pods),
            doubts=(*_doubts(pods, item.objects), *(f"objects.{name} may create additional pods" for name in literal)),
            added=added_labels(pods.owner, pods.count),
            weak_fields=tuple(_weak_fields(pods)),
        )
        claims = data_path.at(pods.owner, _CLAIM_TEMPLATES)
        if not claims:
            yield template
        for numbered in template.added.numbered if claims else ():  # each pod of a StatefulSet has claims of its own
            names = ((claim["metadata"]["name"], _claim_name(claim, numbered)) for claim in claims)
            volumes = [{"name": name, "persistentVolumeClaim": {"claimName": own}} for name, own in names]
            yield template.replaced(
                spec={**template.spec, "volumes": [*(template.spec.get("volumes") or ()), *volumes]},
                count=1,
                added=template.added.replaced(numbered=(numbered,)),
            )


def _weak_fields(pods: Pods) -> Iterator[tuple[Profile, str]]:
    """Yield each field that the Pod Security profile restricted refuses, with the strongest profile that allows it."""
    spec, pod = pods.spec, pods.spec.get("securityContext") or {}
    volumes = (PodPart(("volumes", index), volume) for index, volume in enumerate(spec.get("volumes") or ()))
    for part in (PodPart((), spec), *(PodPart(place, container) for place, container in pods.containers), *volumes):
        for field in find_weak_fields(part):
            yield field.profile, field.description
    for _, container in pods.containers:
        context = container.get("securityContext") or {}
        effective = {**pod, **context}
        is_strong = context.get("allowPrivilegeEscalation") is False and effective.get("runAsNonRoot") is True
        drops_all = "ALL" in (data_path.at(context, ("capabilities", "drop")) or ())
        if not is_strong or not drops_all or not effective.get("seccompProfile"):
            yield "baseline", f"the container {container['name']} without the fields of the profile restricted"


def _claim_name(claim: Object, numbered: Mapping[str, str]) -> str:
    """Return the name of a pod's claim, from its template and the labels of the pod: `data-mnist-ps-0`."""
    return f"{claim['metadata']['name']}-{numbered[keys.STATEFUL_SET_POD]}"


def _role(pods: Pods) -> str:
    owner: Mapping[str, Any] = pods.owner["metadata"]
    role: str = pods.labels.get(keys.ROLE) or pods.labels.get(keys.COMPONENT) or owner["name"]
    return role


def _is_in_gang(pods: Pods) -> bool:
    return _role(pods) in {*ROLE_NAMES} - {"evaluator"}


def _doubts(pods: Pods, objects: Sequence[Object]) -> Iterator[str]:
    """Yield a message for each controller that makes the plan of `pods` uncertain.

    For example, Kueue may delay the pods, and an operator may change the pods. `objects` are all objects of the run.
    """
    queue = (pods.owner["metadata"].get("labels") or {}).get(keys.QUEUE)
    if queue:
        yield f"the queue {queue} decides when the pods start"
    if not pods.has_all_labels:
        yield f"the operator of the {pods.owner['kind']} creates the pods, and may change the pods"
    for key in _DECIDERS.keys() & (pods.labels.keys() | pods.annotations.keys()):
        yield f"{_DECIDERS[key]} decides when the pods start"
    if any(item["kind"] == "PodGroup" and item["spec"].get("schedulingConstraints") for item in objects):
        yield "the topology of the gang limits the choice of nodes"
    if keys.ECI in pods.labels or keys.ECI in pods.annotations:
        yield "Alibaba Cloud may run the pod on a separate instance"
    if keys.ELASTIC_DL_JOB in pods.labels:
        yield "the master of ElasticDL creates the pods of the tasks"


_COMMAND: Final = "kubectl get nodes,pods --all-namespaces -o yaml"


class _Loader(yaml.CSafeLoader):
    """YAML loader that reads a timestamp as text, because the JSON output of kubectl has timestamps as text."""

    yaml_constructors: ClassVar[dict[Any, Any]] = {
        **yaml.CSafeLoader.yaml_constructors,
        "tag:yaml.org,2002:timestamp": yaml.CSafeLoader.construct_yaml_str,
    }


def read_cluster_file(file: Path) -> list[Object]:
    """Return the objects in a YAML file, or in a JSON file with the suffix .json. A List is replaced by its items.

    The function accepts files of any size, because the objects of a thousand nodes need several megabytes.

    Raises:
        UsageError: the file cannot be read, is not YAML, or contains no node or something else than objects.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file}: {error.strerror if isinstance(error, OSError) else 'the file is not UTF-8'}"
        ) from error
    try:
        documents = [json.loads(text)] if file.suffix == ".json" else [*yaml.load_all(text, Loader=_Loader)]
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}:{error.colno}: the text is not JSON: {error.msg}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else str(file)
        raise UsageError(f"{place}: the text is not YAML: {getattr(error, 'problem', None) or error}") from error
    objects: list[Object] = []
    for document in documents:
        is_list = isinstance(document, dict) and str(document.get("kind")).endswith("List")
        if document is not None:
            objects += (document.get("items") or ()) if is_list else (document,)
    for number, item in enumerate(objects, start=1):
        if not _is_object(item):
            raise UsageError(f"{file}: item {number} is not a Kubernetes object with a kind and a name")
    if not any(item["kind"] == "Node" for item in objects):
        raise UsageError(f"{file}: the file contains no node; create the file with {_COMMAND}")
    return objects


def _is_object(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return False
    return isinstance(item.get("kind"), str) and (item["kind"] != "Pod" or isinstance(item.get("spec"), dict))
