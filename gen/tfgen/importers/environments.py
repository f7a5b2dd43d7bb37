"""Several variants of one foreign job as one job, whose environments say only what differs.

    dev   {image: "x:1", roles: {worker: {replicas: 1}}}
    prod  {image: "x:1", roles: {worker: {replicas: 4}}}
      ->  {image: "x:1", roles: {worker: {replicas: 1}},
           environments: {dev: {}, prod: {roles: {worker: {replicas: 4}}}}}

The job is the variant that the others differ least from: a whole one, which ran somewhere. An environment is what Helm
must merge over its values to have those of another variant. What is not tunable must be alike in all.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.job_data import document, full_spec, hoist_shared
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.words import path_name, shown

EnvironmentName: TypeAlias = str | None
"""The name of an environment; None for the job itself."""

ENVIRONMENTS: Final = ("spec", "environments")
_RELEASE: Final[Path] = ("completion", "release")
_FREES: Final = "ScaleToZero"
_OF_THE_JOB: Final[tuple[Path, ...]] = (_RELEASE, ("port",))
"""What no environment can say, but that changes nothing of the training: where one frees its GPUs at the end, all do,
and all have the job's port."""
_SWITCHED: Final[Mapping[Path, Sequence[Path]]] = {
    ("gang",): [("workload", "tfJob", "gang")],
    ("tensorboard",): [],
    ("cloud", "eci"): [],
}
"""Sections of a spec that an environment can switch off, and what else says how they are done."""


class Variant(Record):
    """A job as one environment has it.

    Attributes:
        job: the foreign job.
        report: what became of its lines.
    """

    job: ForeignJob
    report: ImportReport


def base_name(names: Mapping[EnvironmentName, str]) -> str | None:
    """The name of a job that is called by other names in its environments; None where they have none in common.

    >>> base_name({"dev": "dev-mnist", "prod": "mnist-prod", None: "mnist"})
    'mnist'
    """
    part_of = {
        name.removeprefix(f"{environment}-").removesuffix(f"-{environment}") if environment else name
        for environment, name in names.items()
    }
    return part_of.pop() if len(part_of) == 1 else None


def job_with_environments(
    name: str, variants: Mapping[EnvironmentName, Variant]
) -> tuple[EnvironmentName, dict[str, Any]]:
    """Which variant is the job itself, and the document; what cannot differ is refused in the accounts.

    Args:
        name: the job's name.
        variants: by environment; where one is the job itself, the others differ from that.
    """
    specs = _with_sections({env: full_spec(variant.job, variant.report) for env, variant in variants.items()})
    base = None if None in specs else min(specs, key=lambda env: _distance(specs, env))
    specs = _alike(specs, variants, base)
    spec = hoist_shared(specs[base], variants[base].report)
    places = _namespaces(variants)
    environments: dict[str, Any] = {}
    for env, variant in variants.items():
        if env is None:
            continue
        own = spec if env == base else hoist_shared(specs[env], variant.report, like=spec)
        for path in _fixed_differences(spec, own):
            variant.report.refuse_target(
                ("spec", *path), variant.job.root, _cannot_differ(path, (env, own), (base, spec))
            )
        environments[env] = {**places.get(env, {}), **difference(_values(spec), _values(own))}
        variant.report.map_targets(functools.partial(_target, env, environments[env]))
    data = document(name, places.get(None, {}).get("namespace"), spec)
    return base, {**data, "spec": {**data["spec"], "environments": environments}}


def _alike(
    specs: Mapping[EnvironmentName, dict[str, Any]], variants: Mapping[EnvironmentName, Variant], base: EnvironmentName
) -> dict[EnvironmentName, dict[str, Any]]:
    """The specs, alike in what no environment can say; the accounts say what they had."""
    alike = dict(specs)
    for path in _OF_THE_JOB:
        values = {env: _value_at(spec, path) for env, spec in specs.items()}
        if len(set(values.values())) == 1:
            continue
        wanted = _FREES if path == _RELEASE else values[base]
        why = f"{path_name(path)} is the same in every environment: {shown(wanted)}"
        for env, value in values.items():
            report = variants[env].report
            if value != wanted and not report.change_target(("spec", *path), why):
                report.note(variants[env].job.root.value["spec"], why)
            alike[env] = data_path.with_value(alike[env], path, wanted)
    return alike


def _value_at(spec: Mapping[str, Any], path: Path) -> Any:
    """What a spec says at a path, or the default."""
    node = schema_file.node(schema_file.load(), ("spec", *path)) or {}
    return data_path.at(spec, path) if data_path.has(spec, path) else node.get("default")


def difference(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """What Helm must merge over values to have other ones.

    >>> difference({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"d": 4}})
    {'b': {'d': 4, 'c': None}}
    """
    patch: dict[str, Any] = {}
    for key, value in over.items():
        below = under.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            inner = difference(below, value)
            if inner:
                patch[key] = inner
        elif key not in under or json.dumps(below) != json.dumps(value):
            patch[key] = value
    return patch | {key: None for key in under if key not in over}


def _values(spec: Mapping[str, Any]) -> dict[str, Any]:
    return tunables.values(spec, of_any_kind=True)


def _distance(specs: Mapping[EnvironmentName, Mapping[str, Any]], env: EnvironmentName) -> int:
    """How many values of the other variants differ from one."""
    own = _values(specs[env])
    return sum(_size(difference(own, _values(other))) for other in specs.values())


def _size(data: Any) -> int:
    return sum(1 for _ in data_path.leaves(data))


def _with_sections(specs: Mapping[EnvironmentName, dict[str, Any]]) -> dict[EnvironmentName, dict[str, Any]]:
    """The specs, with what one of them has switched off in those that lack it."""
    completed = dict(specs)
    for section, beside in _SWITCHED.items():
        having = next((spec for spec in specs.values() if data_path.has(spec, section)), None)
        for env, spec in completed.items():
            if having is None or data_path.has(spec, section):
                continue
            switched = data_path.with_value(spec, section, {**data_path.at(having, section), "enabled": False})
            for path in beside:
                if data_path.has(having, path):
                    switched = data_path.with_value(switched, path, data_path.at(having, path))
            completed[env] = switched
    return completed


def _fixed_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Path]:
    """The paths at which two specs differ in what no environment can say."""
    if one["roles"].keys() != other["roles"].keys():
        yield ("roles",)
    yield from _differing(*(_fixed(spec) for spec in (one, other)))


def _fixed(spec: Mapping[str, Any]) -> Any:
    data: Any = document("", None, spec)["spec"]
    for tunable in tunables.tunables(spec, of_any_kind=True):
        data = data_path.without(data, tunable.path)
    return data


def _differing(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*one, *other)):
            # A record of nothing but tunables says as much as none.
            yield from _differing(one.get(key, {}), other.get(key, {}), (*path, key))
    elif json.dumps(one) != json.dumps(other):
        yield path


def _cannot_differ(path: Path, one: tuple[EnvironmentName, Any], other: tuple[EnvironmentName, Any]) -> str:
    values = [data_path.at(spec, path) for _, spec in (one, other)]
    places = [f"in {env}" if env else "in the job itself" for env, _ in (one, other)]
    if any(isinstance(value, (Mapping, list)) for value in values):
        differs = f"it is not alike {' and '.join(places)}"
    else:
        words = ["not said" if value is None else shown(value) for value in values]
        differs = f"it is {' and '.join(f'{word} {place}' for word, place in zip(words, places, strict=True))}"
    return (
        f"{path_name(('spec', *path))} must be the same in every environment: {differs}; make it the same, or "
        "import one of them as a job of its own"
    )


def _namespaces(variants: Mapping[EnvironmentName, Variant]) -> dict[EnvironmentName, dict[str, str]]:
    """The namespace of the job, where all variants have it; else that of each environment."""
    namespaces = {env: variant.job.namespace for env, variant in variants.items()}
    is_one = len(set(namespaces.values())) == 1
    own = namespaces.get(None) or (next(iter(namespaces.values())) if is_one else None)
    places = {env: {"namespace": name} for env, name in namespaces.items() if name and name != own}
    return places | {None: {"namespace": own}} if own else places


def _target(env: str, patch: Mapping[str, Any], target: Path) -> Path:
    """Where the job says for an environment what it says at a target for all."""
    place = (*ENVIRONMENTS, env)
    if target == ("metadata", "namespace"):
        return (*place, "namespace") if "namespace" in patch else target
    data: Any = patch
    for step in target[1:]:
        if not isinstance(data, Mapping):
            break
        if step not in data:
            return target
        data = data[step]
    return (*place, *target[1:]) if target[:1] == ("spec",) and len(target) > 1 else target
