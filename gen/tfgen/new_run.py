"""What a job that runs cannot take over from its job.yaml, and the line that asks for it.

    job.yaml:9:24: roles.worker.replicas was 4 and is 8: the tasks of a run keep their TF_CONFIG; for a new run: ...

A job and the one that is committed are compared by the objects that come of them, for the job itself and for each
environment. What Kubernetes refuses to change, or what it accepts and no running pod would ever see, needs another
name: of the run, or of the volume. To find the line, each change is tried alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple, get_args

from tfgen import quantity, schema, tunables
from tfgen.document import Document, Path
from tfgen.job import RoleName
from tfgen.objects import labels
from tfgen.problems import Position, Problem, shown
from tfgen.render import plain_objects

NEW_RUN: Final = "new-run"
CLAIM_CHANGE: Final = "claim-change"

RULES: Final[Mapping[str, str]] = {
    CLAIM_CHANGE: "A claim that is made would change in more than its size, or become smaller.",
    NEW_RUN: "A run that is committed would change in what Kubernetes or its tasks cannot change while it lasts.",
}
"""What each rule says; it begins the rule's section of docs/rules.md."""

MOST: Final = 20
"""Changes that are tried, of one form of a job: each makes all of its objects anew, and one new run is for them all."""

_LONGEST: Final = 100
"""Characters of a value in a message: an image's tag stands at its end."""

_Object = Mapping[str, Any]


class _Blame(NamedTuple):
    """A change in the document that a rule forbids. The path is the document's."""

    path: Path
    rule: str
    why: str
    is_alone: bool
    """Whether it would be forbidden without the other changes."""


def new_runs(before: Document, after: Document) -> Iterator[Problem]:
    """What is wrong with the second job as long as what the first one made may be running.

    Both have the same name, and the schema accepts both. An environment that is new, or has a new run, is compared
    with nothing but its claims.
    """
    known: dict[Path, set[str]] = {}
    for environment in (None, *_environments(before, after)):
        says_run = environment is not None and "run" in _said(after.data, environment)
        # One command for the job, and one for each environment that it does not reach.
        for blame in _blames(before, after, environment, {} if says_run else known):
            if environment is None:
                known.setdefault(blame.path, set()).add(blame.rule)
            path = _innermost(before.data, after.data, blame.path)
            message = _message(before, after, environment, blame._replace(path=path))
            yield Problem(after.file, _position(after, path), message, blame.rule)


# -- which change is to blame ------------------------------------------------------------------------------------


def _environments(before: Document, after: Document) -> Iterator[str]:
    known = before.data["spec"].get("environments", {})
    return (name for name in after.data["spec"].get("environments", {}) if name in known)


def _said(data: Any, environment: str | None) -> Mapping[str, Any]:
    """What the job, or an environment itself, says."""
    spec: Mapping[str, Any] = data["spec"]
    return spec if environment is None else spec["environments"][environment]


def _run(data: Any, environment: str | None) -> str:
    run: str = {**data["spec"], **_said(data, environment)}.get("run", "")
    return run


def _form(document: Document, environment: str | None) -> dict[str, Any]:
    """The document's data with that environment alone, or with none."""
    spec = {key: value for key, value in document.data["spec"].items() if key != "environments"}
    if environment is not None:
        spec["environments"] = {environment: _said(document.data, environment)}
    return {**document.data, "spec": spec}


def _blames(
    before: Document, after: Document, environment: str | None, known: Mapping[Path, set[str]]
) -> Iterator[_Blame]:
    """What is to blame in a form, but for the changes of which all is known."""
    was, now = _form(before, environment), _form(after, environment)
    runs = {("spec", "run"), ("spec", "environments", environment, "run")}
    changed = [path for path in _changed(was["spec"], now["spec"], ("spec",)) if path not in runs]
    if not changed:
        return
    committed = plain_objects(was, environment)
    lost = _lost(committed, plain_objects(now, environment))
    if _run(was, environment) != _run(now, environment):
        lost.pop(NEW_RUN, None)
    unexplained = dict(lost)
    for path in islice(changed, MOST) if lost else ():
        tried = _with(was, now, path)
        if path in known:
            found = dict.fromkeys(known[path], "")
        elif schema.check(replace(before, data=tried)):
            continue  # half of a change, such as one of two sources without the other
        else:
            found = _lost(committed, plain_objects(tried, environment))
        for rule in found.keys() & lost.keys():
            unexplained.pop(rule, None)
            if path not in known:
                yield _Blame(path, rule, found[rule], is_alone=True)
    together = _above(changed)
    for rule in unexplained.keys() - known.get(together, set()):
        yield _Blame(together, rule, unexplained[rule], is_alone=False)


def _above(paths: Iterable[Path]) -> Path:
    """The path that all of them begin with."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*paths, strict=False)))


def _changed(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """The paths at which two values differ: as deep as both are mappings."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if key in before and key in after:
                yield from _changed(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):  # to Python, true is 1
        yield path


def _with(before: Mapping[str, Any], after: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The first with what the second has at one of the paths at which they differ."""
    key, *rest = map(str, path)
    changed = dict(before)
    if rest:
        changed[key] = _with(before[key], after[key], tuple(rest))
    elif key in after:
        changed[key] = after[key]
    else:
        del changed[key]
    return changed


# -- what cannot change ------------------------------------------------------------------------------------------


def _lost(before: Iterable[_Object], after: Iterable[_Object]) -> dict[str, str]:
    """The rules that the change of some objects into others breaks, each with the first reason.

    What exists once only is no loss, but for the tasks of a run.
    """
    was, now = _by_name(before), _by_name(after)
    reasons: dict[str, str] = {}
    for key in {**was, **now}:
        _, kind, name = key
        rule = CLAIM_CHANGE if kind == "PersistentVolumeClaim" else NEW_RUN
        if key in was and key in now:
            why = _KEPT[kind](name, was[key], now[key]) if kind in _KEPT else None
        elif _is_task(was.get(key) or now[key]):
            why = f"the {kind} {name} would {'go' if key in was else 'come'} while its run lasts"
        else:
            why = None
        if why:
            reasons.setdefault(rule, why)
    return reasons


def _by_name(objects: Iterable[_Object]) -> dict[tuple[str, str, str], _Object]:
    return {(each["apiVersion"], each["kind"], each["metadata"]["name"]): each for each in objects}


def _is_task(found: _Object) -> bool:
    """Whether an object makes the tasks of a role. The finisher does not, and may come and go."""
    template = found.get("spec", {}).get("template", {})
    return template.get("metadata", {}).get("labels", {}).get(labels.ROLE) in get_args(RoleName)


def _config_map(name: str, was: _Object, now: _Object) -> str | None:
    """All ConfigMaps are immutable, and the others are named after their content.

    https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable
    """
    del name  # there is one in a run
    return None if was["data"] == now["data"] else "the tasks of a run keep their TF_CONFIG"


# ValidateJobSpecUpdate in pkg/apis/batch/validation/validation.go of Kubernetes 1.31. It lets `completions` change
# too, together with `parallelism`; but that is the size of the cluster, which the tasks that run cannot learn.
_FREE_IN_A_JOB: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "backoffLimit",
        "maxFailedIndexes",
        "parallelism",
        "podReplacementPolicy",
        "suspend",
        "ttlSecondsAfterFinished",
    }
)


def _job(name: str, was: _Object, now: _Object) -> str | None:
    field = next((field for field in _fields(was["spec"], now["spec"]) if field not in _FREE_IN_A_JOB), None)
    return field and f"Kubernetes refuses another {field} for the Job {name}"


def _stateful_set(name: str, was: _Object, now: _Object) -> str | None:
    """Kubernetes accepts another template and another size, and neither reaches a pod.

    The template waits for pods to be deleted (`updateStrategy: OnDelete`); and the size is no matter of git while the
    finisher may scale to 0. https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#on-delete
    """
    return f"the pods of the StatefulSet {name} would stay as they are" if was["spec"] != now["spec"] else None


def _claim(name: str, was: _Object, now: _Object) -> str | None:
    """Kubernetes lets a claim grow, and no more (ValidatePersistentVolumeClaimUpdate in pkg/apis/core/validation)."""
    fields = set(_fields(was["spec"], now["spec"]))
    shrinks = quantity.parse(_size(now)) < quantity.parse(_size(was))
    return f"the claim {name} can only grow" if fields - {"resources"} or shrinks else None


def _size(claim: _Object) -> str:
    size: str = claim["spec"]["resources"]["requests"]["storage"]
    return size


def _fields(was: _Object, now: _Object) -> Iterator[str]:
    """The fields in which two objects differ."""
    return (field for field in {**was, **now} if was.get(field) != now.get(field))


_KEPT: Final[Mapping[str, Callable[[str, _Object, _Object], str | None]]] = {
    "ConfigMap": _config_map,
    "Job": _job,
    "PersistentVolumeClaim": _claim,
    "StatefulSet": _stateful_set,
}
"""By kind: why an object cannot become another, or None where it can. Of all other kinds it can."""


# -- how it is said ----------------------------------------------------------------------------------------------


def _innermost(before: Any, after: Any, path: Path) -> Path:
    """The path of the one thing that a key which is new, or gone, brings along."""
    was, now = _at(before, path), _at(after, path)
    only = now if was is None else was if now is None else None
    while isinstance(only, Mapping) and len(only) == 1:
        ((key, only),) = only.items()
        path = (*path, key)
    return path


def _position(document: Document, path: Path) -> Position:
    return document.value(path) if document.text(path) is not None else document.key(path)


def _message(before: Document, after: Document, environment: str | None, blame: _Blame) -> str:
    path = blame.path[1:]
    if path[:2] == ("environments", environment):
        path = path[2:]
    name = ".".join(map(str, path)) or "spec"
    change = _change(_value(before.data, environment, path), _value(after.data, environment, path))
    if blame.rule == CLAIM_CHANGE:
        way_out = "for another one, give the volume another name"
    else:
        command = ["tfgen", "rerun", after.file, *(["--env", environment] if environment else [])]
        way_out = f"for a new run: {shlex.join(command)}"
    return f"{name} {change if blame.is_alone else 'changed'}: {blame.why}; {way_out}"


def _value(data: Any, environment: str | None, path: Path) -> Any:
    """The value at a values path: with its default, as the environment has it; None where there is none."""
    spec = data["spec"]
    found: Any = tunables.values(spec) if environment is None else tunables.environment_values(spec, environment)
    inside = _at(found, path)
    return _at(spec, path) if inside is None else inside


def _at(found: Any, path: Path) -> Any:
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found


def _change(was: Any, now: Any) -> str:
    if was is None:
        return "is new"
    if now is None:
        return "is gone"
    if isinstance(was, (Mapping, list)) or isinstance(now, (Mapping, list)):
        return "changed"
    return f"was {shown(was, _LONGEST)} and is {shown(now, _LONGEST)}"
