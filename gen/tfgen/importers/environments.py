"""Merge of several variants of a foreign job, such as dev and prod, into one job with environments.

    dev   {image: "x:1", roles: {worker: {replicas: 1}}}
    prod  {image: "x:1", roles: {worker: {replicas: 4}}}
      ->  {image: "x:1", roles: {worker: {replicas: 1}},
           environments: {dev: {}, prod: {roles: {worker: {replicas: 4}}}}}

The variant with the fewest differences from the other variants becomes the job itself. Each environment contains the
values that differ from the job. Helm merges these values over the values of the job. All variants must have the same
structure.
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
"""The name of an environment. None means the job without an environment."""

ENVIRONMENTS: Final = ("spec", "environments")
_RELEASE: Final[Path] = ("completion", "release")
_RELEASES_GPUS: Final = "ScaleToZero"
_JOB_FIELDS: Final[tuple[Path, ...]] = (_RELEASE, ("port",))
"""Fields that environments cannot change, and that do not affect the training. If one variant releases its GPUs at the
end, all variants release their GPUs. All variants get the port of the variant that becomes the job itself."""
_SECTIONS: Final[Mapping[Path, Sequence[Path]]] = {
    ("gang",): [("workload", "tfJob", "gang")],
    ("tensorboard",): [],
    ("cloud", "eci"): [],
}
"""Path of a section that an environment can disable -> paths of the settings that depend on the section."""


class Variant(Record):
    """Foreign job of one environment.

    Attributes:
        job: the foreign job.
        report: the import report of the job.
    """

    job: ForeignJob
    report: ImportReport


def base_name(names: Mapping[EnvironmentName, str]) -> str | None:
    """Remove the environment from each name of a job. Return the remaining name, or None if the remaining names differ.

    >>> base_name({"dev": "dev-mnist", "prod": "mnist-prod", None: "mnist"})
    'mnist'
    """
    base_names = {
        name.removeprefix(f"{environment}-").removesuffix(f"-{environment}") if environment else name
        for environment, name in names.items()
    }
    return base_names.pop() if len(base_names) == 1 else None


def job_with_environments(
    name: str, variants: Mapping[EnvironmentName, Variant]
) -> tuple[EnvironmentName, dict[str, Any]]:
    """Merge several variants of a job into the data of one job.yaml.

    The first element of the result is the environment whose variant became the job itself. The second element is the
    data.

    Args:
        name: the name of the job.
        variants: the variant of each environment. The variant without an environment has the key None.
    """
    specs = _with_sections({env: full_spec(variant.job, variant.report) for env, variant in variants.items()})
    base = None if None in specs else min(specs, key=lambda env: _distance(specs, env))
    specs = _with_equal_job_fields(specs, variants, base)
    spec = hoist_shared(specs[base], variants[base].report)
    namespaces = _namespaces(variants)
    environments: dict[str, Any] = {}
    for env, variant in variants.items():
        if env is None:
            continue
        variant_spec = spec if env == base else hoist_shared(specs[env], variant.report, model=spec)
        for path in _structure_differences(spec, variant_spec):
            message = _structure_message(path, (env, variant_spec), (base, spec))
            variant.report.refuse_target(("spec", *path), variant.job.root, message)
        patch = values_patch(_values(spec), _with_role_values(_values(variant_spec), spec))
        environments[env] = {**namespaces.get(env, {}), **patch}
        variant.report.map_targets(functools.partial(_path_in_job_file, env, environments[env]))
    data = document(name, namespaces.get(None, {}).get("namespace"), spec)
    return base, {**data, "spec": {**data["spec"], "environments": environments}}


def _with_equal_job_fields(
    specs: Mapping[EnvironmentName, dict[str, Any]], variants: Mapping[EnvironmentName, Variant], base: EnvironmentName
) -> dict[EnvironmentName, dict[str, Any]]:
    """Set each field that an environment cannot change, such as `port`, to the same value in all specs.

    Most fields get the value in the spec of `base`. Report each value that changes. Return the new specs.
    """
    equal_specs = dict(specs)
    for path in _JOB_FIELDS:
        values = {env: _value_at(spec, path) for env, spec in specs.items()}
        if len(set(values.values())) == 1:
            continue
        common = _RELEASES_GPUS if path == _RELEASE else values[base]
        why = f"an environment cannot change {path_name(path)}, so it is {shown(common)} in every environment"
        for env, value in values.items():
            report = variants[env].report
            if value != common and not report.change_target(("spec", *path), why):
                report.note(variants[env].job.root.value["spec"], why)
            equal_specs[env] = data_path.with_value(equal_specs[env], path, common)
    return equal_specs


def _value_at(spec: Mapping[str, Any], path: Path) -> Any:
    """Return the value at a path of a spec, or the default from the schema if the spec has no value."""
    node = schema_file.node(schema_file.load(), ("spec", *path)) or {}
    return data_path.at(spec, path) if data_path.has(spec, path) else node.get("default")


def values_patch(base: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that Helm must merge into `base` to get `target`. The value None removes a key.

    >>> values_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"d": 4}})
    {'b': {'d': 4, 'c': None}}
    """
    patch: dict[str, Any] = {}
    for key, value in target.items():
        base_value = base.get(key)
        if isinstance(value, Mapping) and isinstance(base_value, Mapping):
            fields = values_patch(base_value, value)
            if fields:
                patch[key] = fields
        elif key not in base or json.dumps(base_value) != json.dumps(value):
            patch[key] = value
    return patch | {key: None for key in base if key not in target}


def _values(spec: Mapping[str, Any]) -> dict[str, Any]:
    return tunables.values(spec, of_any_kind=True)


def _with_role_values(values: dict[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Set each field of a role that the spec `base` sets, and that `values` lack, to the value that the role has.

    An environment cannot remove the field of a role, but can set the field to the value of the job.
    """
    restart_policy = values["workload"]["tfJob"]["restartPolicy"]
    own = {"nodeName": "", "terminationGracePeriodSeconds": 30, "restartPolicy": restart_policy}
    for role, fields in values["roles"].items():
        for key in base["roles"].get(role, {}).keys() - fields.keys():
            if (tunable := tunables.all_leaves().get(("roles", role, key))) is not None:
                fields[key] = {} if tunable.tunable.type == "map" else {**values, **own}[key]
    return values


def _distance(specs: Mapping[EnvironmentName, Mapping[str, Any]], env: EnvironmentName) -> int:
    """Compare the spec of `env` with all other specs, and return the total number of different values."""
    base = _values(specs[env])
    return sum(_size(values_patch(base, _values(spec))) for spec in specs.values())


def _size(data: Any) -> int:
    return sum(1 for _ in data_path.leaves(data))


def _with_sections(specs: Mapping[EnvironmentName, dict[str, Any]]) -> dict[EnvironmentName, dict[str, Any]]:
    """Add missing sections, such as `gang`, so that the specs of all environments have the same sections.

    For example, if only prod has a gang, the spec of dev gets the gang of prod with `enabled: false`. Return the new
    specs.
    """
    completed = dict(specs)
    for section, setting_paths in _SECTIONS.items():
        model = next((spec for spec in specs.values() if data_path.has(spec, section)), None)
        for env, spec in completed.items():
            if model is None or data_path.has(spec, section):
                continue
            full = data_path.with_value(spec, section, {**data_path.at(model, section), "enabled": False})
            for path in setting_paths:
                if data_path.has(model, path):
                    full = data_path.with_value(full, path, data_path.at(model, path))
            completed[env] = full
    return completed


def _structure_differences(base: Mapping[str, Any], variant: Mapping[str, Any]) -> Iterator[Path]:
    """Yield each path at which two specs differ. Skip the paths of values that an environment can set."""
    if base["roles"].keys() != variant["roles"].keys():
        yield ("roles",)
    yield from _differences(_structure(base), _structure(variant))


def _structure(spec: Mapping[str, Any]) -> Any:
    data: Any = document("", None, spec)["spec"]
    for tunable in tunables.tunables(spec, of_any_kind=True):
        data = data_path.without(data, tunable.path)
    return data


def _differences(base: Any, variant: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(base, Mapping) and isinstance(variant, Mapping):
        for key in dict.fromkeys((*base, *variant)):
            # A mapping whose keys are all tunable is empty in the structure, and counts as missing.
            yield from _differences(base.get(key, {}), variant.get(key, {}), (*path, key))
    elif json.dumps(base) != json.dumps(variant):
        yield path


def _structure_message(path: Path, variant: tuple[EnvironmentName, Any], base: tuple[EnvironmentName, Any]) -> str:
    values = [data_path.at(spec, path) for _, spec in (variant, base)]
    places = [f"in {env}" if env else "in the job itself" for env, _ in (variant, base)]
    name = path_name(("spec", *path))
    if any(isinstance(value, (Mapping, list)) for value in values):
        problem = f"{name} has different values {' and '.join(places)}"
    else:
        texts = ["not set" if value is None else shown(value) for value in values]
        problem = f"{name} is {' and '.join(f'{text} {place}' for text, place in zip(texts, places, strict=True))}"
    return f"{problem}, but must be the same in every environment; use one value, or import two jobs"


def _namespaces(variants: Mapping[EnvironmentName, Variant]) -> dict[EnvironmentName, dict[str, str]]:
    """Return the namespace settings of the environments and of the job itself, which has the key None.

    Example: {None: {"namespace": "ml"}, "prod": {"namespace": "ml-prod"}}. An environment without a namespace, or with
    the namespace of the job itself, has no such setting.
    """
    namespaces = {env: variant.job.namespace for env, variant in variants.items()}
    is_shared = len(set(namespaces.values())) == 1
    common = namespaces.get(None) or (next(iter(namespaces.values())) if is_shared else None)
    settings = {env: {"namespace": name} for env, name in namespaces.items() if name and name != common}
    return settings | {None: {"namespace": common}} if common else settings


def _path_in_job_file(env: str, patch: Mapping[str, Any], target: Path) -> Path:
    """Return the path at which job.yaml sets the value of an environment.

    For example, with the environment dev and the target `spec.image`, the path is `spec.environments.dev.image` if
    `patch` contains `image`. If not, the environment has the value of the job, and the path is `spec.image`.

    Args:
        env: the name of the environment.
        patch: the values that the environment sets.
        target: the path of the value in a job without environments.
    """
    environment_path = (*ENVIRONMENTS, env)
    if target == ("metadata", "namespace"):
        return (*environment_path, "namespace") if "namespace" in patch else target
    data: Any = patch
    for step in target[1:]:
        if not isinstance(data, Mapping):
            break
        if step not in data:
            return target
        data = data[step]
    return (*environment_path, *target[1:]) if target[:1] == ("spec",) and len(target) > 1 else target
