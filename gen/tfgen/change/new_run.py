"""Changes of job.yaml that need a new run, because Kubernetes cannot apply the changes to a started run.

    job.yaml:9:24: roles.worker.replicas was 4 and is 8: running tasks keep their list of hosts; for a new run: ...

tfgen compares the objects of the current job with the objects of the committed job, for the job without an environment
and for each environment. Kubernetes refuses some changes, and does not apply others to running pods. Such a change
needs a new name for the run, the volume or the priority class. To find the line that causes the change of an object,
tfgen tests each changed value of the job separately.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import dropwhile, islice
from operator import eq
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple, TypeAlias, get_args

from tfgen import data_path
from tfgen.change.field_diff import NOTHING, in_words
from tfgen.data_path import Path
from tfgen.errors import Problem
from tfgen.git.history import all_contents, earlier_contents, histories
from tfgen.git.tree import HEAD
from tfgen.graph.graph import BuiltJob, build, plain_objects, variant_objects
from tfgen.graph.helper_pods import FINISHER
from tfgen.job.facts import command_for, environments_of, name_of, next_run, own_data, precedes, run_of
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object, group, identity, literal_name
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.schema import validate as schema
from tfgen.schema.kinds import RESOURCES
from tfgen.text.document import Document
from tfgen.text.parse import decode, parse
from tfgen.words import shown

NEW_RUN: Final = "new-run"
CLAIM_CHANGE: Final = "claim-change"
OBJECT_CHANGE: Final = "object-change"
PRIORITY_CLASS_CHANGE: Final = "priority-class-change"
RUN_GOES_BACK: Final = "run-goes-back"
NOT_FRESH: Final = "not-fresh"

RULES: Final[Mapping[str, str]] = {
    CLAIM_CHANGE: "A change makes an existing claim smaller, or changes an immutable field of the claim.",
    NEW_RUN: (
        "A change of a committed run needs a new run, because Kubernetes refuses the change or the running tasks "
        "ignore the change."
    ),
    OBJECT_CHANGE: "A change of an object under `objects` changes an immutable field.",
    PRIORITY_CLASS_CHANGE: "A change of an existing priority class changes an immutable field.",
    RUN_GOES_BACK: "A run has the name of an earlier run, so the earlier run would train again.",
    NOT_FRESH: "A fresh run finds the files of earlier runs, because no volume has a separate folder for each run.",
}
"""Summary of each rule, which is also the first line of the rule's section in docs/rules.md."""


MOST: Final = 20
"""Maximum number of changes that tfgen tests per job or environment, because each test builds all objects."""

_LONGEST: Final = 100
"""Maximum number of characters of a value in a message. The tag at the end of a long image should be visible."""


class _Cause(NamedTuple):
    """A change of the job that breaks a rule.

    Attributes:
        path: the path of the change in the job.
        rule: the id of the rule.
        effect: the effect of the change in the cluster.
        is_alone: True if this change alone breaks the rule, False if only all changes of the job together break the
            rule.
    """

    path: Path
    rule: str
    effect: str
    is_alone: bool


def find_new_runs(
    before: Document, after: Document, built_before: BuiltJob | None = None, built_after: BuiltJob | None = None
) -> Iterator[Problem]:
    """Yield a problem for each change of a job that needs a new run, because the committed run may still be active.

    Both versions must be valid, and have the same name. If the run name of a variant changes, the variant gets a new
    run, so tfgen reports only forbidden changes of claims, priority classes and entries of `objects`. A job with
    environments never runs without an environment.

    Args:
        before: the committed version.
        after: the current version.
        built_before: the objects of the committed version; None if the caller has not built the objects.
        built_after: the objects of the current version; None if the caller has not built the objects.
    """
    reported: dict[Path, set[str]] = {}
    environments = tuple(environments_enabled_in_both(before, after))
    following = [name for name in environments if "run" not in _spec_of(after.data, name)]
    runs_itself = not environments_of(before)
    committed, current = built_before or build(before.data), built_after or build(after.data)
    for environment in (None, *environments):
        names_run = environment is not None and environment not in following
        forbidden = find_forbidden_changes(
            variant_objects(committed, environment), variant_objects(current, environment)
        )
        # `tfgen rerun` without --env changes the run of each environment that does not set `run`.
        for cause in _causes(before, after, environment, forbidden, {} if names_run else reported):
            if environment is None:
                if not runs_itself and not any(_breaks_rule_in(before, after, name, cause) for name in following):
                    continue
                reported.setdefault(cause.path, set()).add(cause.rule)
            path = _deepest(before.data, after.data, cause.path)
            message = _message(before, after, environment, cause._replace(path=path))
            yield Problem(*after.place(path), message, cause.rule)


# -- cause of a problem ------------------------------------------------------------------------------------------


def environments_enabled_in_both(before: Document, after: Document) -> Iterator[str]:
    """Yield the environments that are enabled in both versions. The run of a retired environment has ended."""
    was, now = (environments_of(document) for document in (before, after))
    return (name for name in now if name in was and all(data[name].get("enabled", True) for data in (was, now)))


def environments_enabled_again(before: Document, after: Document) -> Iterator[str]:
    """Yield the environments that are retired in the committed version and enabled in the current version."""
    retired = [name for name, environment in environments_of(before).items() if not environment.get("enabled", True)]
    return (name for name, now in environments_of(after).items() if name in retired and now.get("enabled", True))


def _spec_of(data: Any, environment: str | None) -> Mapping[str, Any]:
    """Return the spec of the job for the environment None, or the mapping of the given environment."""
    spec: Mapping[str, Any] = data["spec"]
    return spec if environment is None else spec["environments"][environment]


def _variant_data(document: Document, environment: str | None) -> Mapping[str, Any]:
    """Return the data of a job without the other environments. If `environment` is None, remove all environments."""
    spec: Any = tunables.without_environments(document.data["spec"])
    if environment is not None:
        spec["environments"] = {environment: _spec_of(document.data, environment)}
    return {**document.data, "spec": spec}


def _causes(
    before: Document,
    after: Document,
    environment: str | None,
    forbidden: Mapping[str, ForbiddenChange],
    reported: Mapping[Path, set[str]],
) -> Iterator[_Cause]:
    """Yield each change in a variant of a job that breaks a rule, with the rule and the effect in the cluster.

    If only all changes together break a rule, yield one cause with the common parent of their paths.

    Args:
        before: the committed version.
        after: the current version.
        environment: the environment of the variant; None for the job without an environment.
        forbidden: the forbidden change for each rule that the variant breaks, by rule id.
        reported: the rule ids for which tfgen has already reported a change, by path of the change.
    """
    if not forbidden:
        return
    was, now = _variant_data(before, environment), _variant_data(after, environment)
    if run_of(was, environment) != run_of(now, environment):
        forbidden = {rule: change for rule, change in forbidden.items() if rule != NEW_RUN}
    runs = {("spec", "run"), ("spec", "environments", environment, "run")}
    changed = [path for path in _changed_paths(was["spec"], now["spec"], ("spec",)) if path not in runs]
    if not forbidden or not changed:
        return
    unexplained = dict(forbidden)
    objects = plain_objects(was, environment)
    for path in islice(changed, MOST):
        if path in reported:
            for rule in reported[path]:
                unexplained.pop(rule, None)
            continue
        tried = _with_change(was, now, path)
        if schema.check(before.replaced(data=tried)):
            continue  # an incomplete change, such as a removed source without the new source
        forbidden_alone = find_forbidden_changes(objects, plain_objects(tried, environment))
        for rule in forbidden_alone.keys() & forbidden.keys():
            unexplained.pop(rule, None)
            yield _Cause(path, rule, forbidden_alone[rule].effect, is_alone=True)
    together = data_path.shared(changed)
    for rule in unexplained.keys() - reported.get(together, set()):
        yield _Cause(together, rule, unexplained[rule].effect, is_alone=False)


def _breaks_rule_in(before: Document, after: Document, environment: str, cause: _Cause) -> bool:
    """Return True if the change in `cause` also breaks the rule in `environment`.

    If the environment overrides the changed value, the change has no effect in the environment.
    """
    was, now = _variant_data(before, environment), _variant_data(after, environment)
    tried = _with_change(was, now, cause.path) if cause.is_alone else now
    if schema.check(before.replaced(data=tried)):
        tried = now  # the change alone makes the job invalid, so test all changes together
    return cause.rule in find_forbidden_changes(plain_objects(was, environment), plain_objects(tried, environment))


def _changed_paths(before: Any, after: Any, path: Path) -> Iterator[Path]:
    """Yield the paths at which two nested mappings have different values."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if key in before and key in after:
                yield from _changed_paths(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):  # in Python, true equals 1
        yield path


def _with_change(before: Any, after: Any, path: Path) -> Any:
    """Return the data `before` with the value of `after` at `path`. If `after` has no such value, remove the path."""
    if data_path.has(after, path):
        return data_path.with_value(before, path, data_path.at(after, path))
    return data_path.without(before, path)


# -- words of a problem ------------------------------------------------------------------------------------------


def _deepest(before: Any, after: Any, path: Path) -> Path:
    """Extend the path of a new or removed mapping by the only key of the mapping, so that a message can be exact.

    For the new block `gang: {queue: research}`, for example, the path ends with `queue`. The function extends the path
    until the value is a mapping with several keys, or not a mapping. If both versions have a value at `path`, return
    `path` unchanged.
    """
    was, now = data_path.at(before, path), data_path.at(after, path)
    only = now if was is None else was if now is None else None
    while isinstance(only, Mapping) and len(only) == 1:
        ((key, only),) = only.items()
        path = (*path, key)
    return path


def _message(before: Document, after: Document, environment: str | None, cause: _Cause) -> str:
    path = cause.path[1:]
    if path[:2] == ("environments", environment):
        path = path[2:]
    name = ".".join(map(str, path)) or "spec"
    was, now = (_value(document.data, environment, path) for document in (before, after))
    change = in_words(NOTHING if was is None else was, NOTHING if now is None else now, _LONGEST)
    return f"{name} {change if cause.is_alone else 'changed'}: {cause.effect}; {advice(after, environment, cause.rule)}"


_ADVICE: Final = {
    CLAIM_CHANGE: "for a new claim, rename the volume",
    OBJECT_CHANGE: "for a new object, change metadata.name",
    PRIORITY_CLASS_CHANGE: "for a new class, rename the class",
}


def advice(document: Document, environment: str | None, rule: str) -> str:
    """Return the advice for a change that a rule forbids, such as `for a new claim, rename the volume`."""
    if rule in _ADVICE:
        return _ADVICE[rule]
    return f"for a new run: {command_for(document, 'rerun', *(('--env', environment) if environment else ()))}"


def _value(data: Any, environment: str | None, path: Path) -> Any:
    """Return the value at `path` below `spec` that applies in an environment; None without a value.

    The environment overrides the job, and the job overrides the default of the tunable. `environment` is None for the
    job without an environment.
    """
    spec = data["spec"]
    values: Any = tunables.values(spec, environment)
    places = (values, spec) if environment is None else (values, spec["environments"][environment], spec)
    return next((value for place in places if (value := data_path.at(place, path)) is not None), None)


# -- changes that Kubernetes refuses or ignores --------------------------------------------------------------------


class ForbiddenChange(Record):
    """A change that Kubernetes refuses, or that reaches no running pod.

    Attributes:
        effect: effect of the change as text for a message, such as `the claim model can only grow`.
        before: old object; None for a new object.
        after: new object; None for a removed object.
    """

    effect: str
    before: Object | None
    after: Object | None


def find_forbidden_changes(before: Iterable[Object], after: Iterable[Object]) -> dict[str, ForbiddenChange]:
    """Return the first forbidden change for each rule that the change from `before` to `after` breaks.

    The key is the id of the rule, such as `new-run`. The objects of the finisher come last. So if a change affects both
    a task and the finisher, the result has the change of the task, because a user knows the tasks better. A new or
    removed object breaks a rule only if the object creates tasks.
    """
    was, now = ({identity(item): item for item in objects} for objects in (before, after))
    forbidden: dict[str, ForbiddenChange] = {}
    objects = {**was, **now}
    for key in sorted(objects, key=lambda key: _role(objects[key]) == FINISHER):
        _, kind, name = key
        item = objects[key]
        is_literal = literal_name(item) is not None
        effect = None
        if key in was and key in now:
            changes_entry = literal_name(was[key]) is not None
            effect = _effect_on_entry(was[key], now[key]) if changes_entry else _effect(was[key], now[key])
        elif not is_literal and ((group(item), kind) in RESOURCES or _role(item) in get_args(RoleName)):
            effect = f"the change would {'delete' if key in was else 'add'} the {kind} {name} of a run that has started"
        if effect:
            rule = OBJECT_CHANGE if is_literal else _RULE.get(kind, NEW_RUN)
            forbidden.setdefault(rule, ForbiddenChange(effect, was.get(key), now.get(key)))
    return forbidden


_RULE: Final = {"PersistentVolumeClaim": CLAIM_CHANGE, "PriorityClass": PRIORITY_CLASS_CHANGE}

# ValidateJobSpecUpdate in pkg/apis/batch/validation/validation.go of Kubernetes 1.31. The function also accepts a
# change of `completions` together with `parallelism`. But these fields are the size of the TensorFlow cluster, and
# running tasks cannot receive a new size.
_MUTABLE_IN_A_JOB: Final = frozenset(
    (
        *("activeDeadlineSeconds", "backoffLimit", "maxFailedIndexes", "parallelism", "podReplacementPolicy"),
        *("suspend", "ttlSecondsAfterFinished"),
    )
)

# Fields that the controller reads at each sync of the StatefulSet (pkg/controller/statefulset of Kubernetes).
_MUTABLE_IN_A_STATEFUL_SET: Final = frozenset(
    ("minReadySeconds", "persistentVolumeClaimRetentionPolicy", "revisionHistoryLimit")
)

# For each kind: the part of an entry of `objects` that is immutable, and the fields of this part that are mutable
# nevertheless (Validate...Update in pkg/apis/*/validation of Kubernetes 1.31).
_MUTABLE_IN_ENTRIES: Final[Mapping[tuple[str, str], tuple[str, frozenset[str]]]] = {
    ("", "PersistentVolumeClaim"): ("spec", frozenset(("resources", "volumeAttributesClassName"))),
    ("", "Pod"): ("spec", frozenset()),
    ("apps", "StatefulSet"): (
        "spec",
        _MUTABLE_IN_A_STATEFUL_SET | {"ordinals", "replicas", "template", "updateStrategy"},
    ),
    ("batch", "Job"): ("spec", _MUTABLE_IN_A_JOB),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef", frozenset()),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef", frozenset()),
}


def _effect(was: Object, now: Object) -> str | None:
    """Describe the effect of a change that Kubernetes refuses or ignores; None if Kubernetes applies the change.

    Kubernetes applies changes of the kinds that the function does not name.
    """
    kind, name = was["kind"], was["metadata"]["name"]
    refused: str | None = None
    match group(was), kind:
        case "", "ConfigMap":
            # All ConfigMaps of a run are immutable. Only the ConfigMap with TF_CONFIG has no digest in its name.
            # https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable
            return None if was["data"] == now["data"] else "running tasks keep their list of hosts"
        case "", "PersistentVolumeClaim":
            # Kubernetes accepts only a larger size (ValidatePersistentVolumeClaimUpdate in pkg/apis/core/validation).
            old, new = (quantity.parse(item["spec"]["resources"]["requests"]["storage"]) for item in (was, now))
            is_fixed = new < old or {*_fields(was["spec"], now["spec"])} - {"resources"}
            return f"the claim {name} can only grow" if is_fixed else None
        case "", "Pod":
            # Kubernetes restarts the container for a new image (ValidatePodUpdate in pkg/apis/core/validation).
            return f"the Pod {name} cannot change without a restart" if was["spec"] != now["spec"] else None
        case "batch", "Job":
            changed = _fields(was["spec"], now["spec"])
            refused = next((field for field in changed if field not in _MUTABLE_IN_A_JOB), None)
        case "apps", "StatefulSet":
            # A changed template changes the hash in the selector, and Kubernetes refuses to change the selector
            # (`hashed` in graph/podspec.py). Kubernetes accepts a new number of replicas and a new update strategy. But
            # the finisher sets the number of replicas to 0, and the update strategy has no effect on the pods of a run.
            fixed = {*_fields(was["spec"], now["spec"])} - _MUTABLE_IN_A_STATEFUL_SET
            if fixed and "template" not in fixed:
                return f"the pods of the StatefulSet {name} would stay unchanged"
            refused = "template" if fixed else None
        case ("scheduling.k8s.io", "PodGroup") | ("resource.k8s.io", "ResourceClaimTemplate"):
            refused = "spec" if was["spec"] != now["spec"] else None
        case "scheduling.k8s.io", "PriorityClass":
            # ValidatePriorityClassUpdate in pkg/apis/scheduling/validation
            refused = next((field for field in ("value", "preemptionPolicy") if was[field] != now[field]), None)
        case kind_of_operator if kind_of_operator in RESOURCES:
            # The operator refuses a change of any other field, or keeps the running pods.
            old_spec, new_spec = was["spec"], now["spec"]
            for path in RESOURCES[kind_of_operator].free:
                old_spec, new_spec = (data_path.without(spec, path.split(".")) for spec in (old_spec, new_spec))
            return f"the pods of the {kind} {name} would stay unchanged" if old_spec != new_spec else None
    return refused and f"Kubernetes refuses to change the {refused} of the {kind} {name}"


def _effect_on_entry(was: Object, now: Object) -> str | None:
    """Describe the effect of a changed entry of `objects` in job.yaml; None if Kubernetes applies the change.

    The user writes such an entry, so the entry may be invalid. If the `spec` of the entry is a text, for example,
    return None.
    """
    kind, name = was["kind"], was["metadata"]["name"]
    if kind in ("ConfigMap", "Secret") and was.get("immutable") is True:
        field = next((field for field in _fields(was, now) if field != "metadata"), None)
        return field and f"the {kind} {name} is immutable, so Kubernetes refuses to change {field}"
    part, mutable = _MUTABLE_IN_ENTRIES.get((group(was), kind), ("", frozenset[str]()))
    before, after = was.get(part), now.get(part)
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return None
    field = next((field for field in _fields(before, after) if field not in mutable), None)
    return field and f"Kubernetes refuses to change the {field} of the {kind} {name}"


def _fields(was: Object, now: Object) -> Iterator[str]:
    """Yield the names of the fields in which two mappings differ."""
    return (field for field in {**was, **now} if was.get(field) != now.get(field))


def _role(item: Object) -> str | None:
    """Return the role of the pods that an object creates."""
    template = item if item["kind"] == "Pod" else item.get("spec", {}).get("template", {})
    labels: Mapping[str, str] = template.get("metadata", {}).get("labels", {})
    return labels.get(keys.ROLE)


# -- runs with the name of an earlier run ------------------------------------------------------------------------------
#
# Check for a run with the name of an earlier run, after a `git revert` or in an environment that is enabled again.
#
#     job.yaml:9:8: run was "3" and is "2", the name of an earlier run: ...; for a new run: tfgen set job.yaml run=4
#
# The objects of the earlier run no longer exist. The old name would create the objects again, and the run would train
# again in the folder with the results of the earlier run. The job file does not list the names of earlier runs.


Runs: TypeAlias = Collection[tuple[str | None, str]]
"""The environment and the name of each run. The environment is None for the run of the job itself."""


def find_runs_back(before: Document, after: Document, earlier: Runs = ()) -> Iterator[Problem]:
    """Yield a problem for each run name, of the job or of an environment, that an earlier run already had.

    Args:
        before: committed version of the job.
        after: current version of the job.
        earlier: earlier runs of the job. A run name with a lower number is earlier, even if the list lacks the name.
    """
    environments = environments_of(after)
    reported: set[str | None] = set()
    again = (*environments_enabled_again(before, after),)
    for environment in (*(() if environments else (None,)), *environments_enabled_in_both(before, after), *again):
        was, run = run_of(before.data, environment), run_of(after.data, environment)
        of_both = [environments_of(document).get(environment or "", {}) for document in (before, after)]
        target = environment if any("run" in settings for settings in of_both) else None
        is_back = precedes(run, was) or (environment, run) in earlier or (target, run) in earlier
        if run != was and is_back and target not in reported:
            reported.add(target)
            path: Path = ("spec", "run") if target is None else ("spec", "environments", target, "run")
            yield Problem(*after.place(path), _message_of_run(after, target, was, run, earlier), RUN_GOES_BACK)
        elif run == was and environment in again and (environment, run) in earlier:
            path = ("spec", "environments", environment, "enabled")
            yield Problem(*after.place(path), _message_of_run(after, environment, run, run, earlier), RUN_GOES_BACK)


def earlier_runs(before: Document, after: Document, revision: str) -> Runs:
    """Return the earlier runs of a job in the git history of the job file.

    The result has each run up to a revision. Of the commits after the revision, the result has each run that a later
    commit replaced. The function skips an environment in each commit in which the environment is retired.

    Args:
        before: the version of the job in the revision.
        after: current version of the job.
        revision: the revision.
    """
    contents = earlier_contents(FilePath(before.file), revision)
    runs = {run for of_content in _runs_in(before, contents) for run in of_content}
    if revision == HEAD:
        return runs
    path = FilePath(after.file)
    later = (commit.content for commit in histories([path], since=revision)[path] if commit.content is not None)
    versions = [dict(of_content) for of_content in _runs_in(after, later)]
    for environment, run in _runs_of(own_data(after), _layer_environments(after)):
        names = (version[environment] for version in versions if environment in version)
        runs |= {(environment, name) for name in dropwhile(partial(eq, run), names)}
    return runs


def all_runs(document: Document) -> Runs:
    """Return the runs of a job in all commits of the git history of the job file, up to HEAD.

    Raises:
        TfgenError: git fails.
    """
    contents = {*all_contents(FilePath(document.file))}
    return {run for of_content in _runs_in(document, contents) for run in of_content}


def _runs_in(job: Document, contents: Iterable[bytes]) -> Iterator[set[tuple[str | None, str]]]:
    """Yield the runs of a job in each content of its file. If a content does not have the job, yield nothing."""
    layer_environments = _layer_environments(job)
    for content in contents:
        text = decode(content, job.file)
        for document in parse(text, job.file).documents if isinstance(text, str) else ():
            if data_path.at(document.data, ("metadata", "name")) == name_of(job):
                yield _runs_of(document.data, layer_environments)


def _layer_environments(job: Document) -> set[str]:
    return {name for layer in job.layers() if layer.file != job.file for name in _environments(layer.data)}


def _runs_of(data: Any, layer_environments: Collection[str]) -> set[tuple[str | None, str]]:
    """Return the environment and the run name of each run in the data of a job. Omit retired environments.

    Example: {(None, ""), ("prod", "2")}. The environment is None for the run of the job itself. The data may be
    invalid.

    Args:
        data: data of the job, without the values of its layers.
        layer_environments: names of the environments that the layers of the job define, because `data` may lack such an
            environment.
    """
    run = data_path.at(data, ("spec", "run"))
    of_job = run if isinstance(run, str) else ""
    runs: set[tuple[str | None, str]] = {(None, of_job)}
    for name, environment in {**dict.fromkeys(layer_environments), **_environments(data)}.items():
        environment_run = data_path.at(environment, ("run",))
        if data_path.at(environment, ("enabled",)) is not False:
            runs.add((name, environment_run if isinstance(environment_run, str) else of_job))
    return runs


def _environments(data: Any) -> Mapping[str, Any]:
    environments = data_path.at(data, ("spec", "environments"))
    return environments if isinstance(environments, Mapping) else {}


def _message_of_run(after: Document, environment: str | None, was: str, run: str, earlier: Runs) -> str:
    """Return the message about the name `run` of an earlier run; equal to `was` in an environment enabled again."""
    if run == was:
        title = f"run {shown(run)}" if run else "run without a name"
        change = (
            f"the environment {environment} is enabled again with the {title}, which has ended: the run would start "
            "again in its old folder"
        )
    else:
        old_name = shown(was) if was else "without a name"
        new_name = f"{shown(run)}, the name of an earlier run" if run else "without a name, like an earlier run"
        change = f"run was {old_name} and is {new_name}: the earlier run would start again in its old folder"
    unused = next_run(was, {name for _, name in earlier})
    env = ("--env", environment) if environment else ()
    return f"{change}; for a new run: {command_for(after, 'set', *env, f'run={unused}')}"
