"""Explain a line of a kustomize base or overlay, for `tfgen explain FILE:LINE`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from tfgen.commands.line_origin.chart_file import program_line
from tfgen.commands.line_origin.job_parts import JobParts
from tfgen.commands.line_origin.line_facts import LineFacts
from tfgen.commands.line_origin.pages import ENVIRONMENTS, RUNS, Purpose, purpose
from tfgen.data_path import Path
from tfgen.graph.provenance import Part
from tfgen.kubernetes.merge import kustomize_keys
from tfgen.targets.kustomize.images import Image
from tfgen.targets.kustomize.resources import file_stem
from tfgen.text.line_path import line_paths
from tfgen.text.parse import parse

_BASE: Final = "base"
_KUSTOMIZATION: Final = "kustomization.yaml"
_PATCH: Final = ".patch"


def overlay_line(parts: JobParts, file: str, number: int, text: str) -> LineFacts:
    """Return the job keys, the reason and the documentation page for a line of a file below ``overlays/NAME``.

    Args:
        parts: the job.
        file: the path of the file below ``overlays/NAME``.
        number: the number of the line, from 1.
        text: the text of the file.
    """
    folder, _, name = file.partition("/")
    environment = None if folder == _BASE else folder
    if name.startswith("files/"):
        return program_line(name).replaced(environment=environment)
    path = line_paths(text)[number - 1]
    data = _data(text)
    if name == _KUSTOMIZATION:
        return _kustomization_line(parts, environment, path, data, _line_in_value(text, number))
    objects = parts.objects(environment)
    stem = name.removesuffix(".yaml")
    is_patch = stem.endswith(_PATCH) and not any(file_stem(key) == stem for key in objects)
    stem = stem.removesuffix(_PATCH) if is_patch else stem
    key = next((key for key in [*objects, *parts.objects(None)] if file_stem(key) == stem), stem)
    if not is_patch:
        return _object_line(parts, environment, key, path)
    return _patch_line(parts, environment, key, path, data)


def _patch_line(parts: JobParts, environment: str | None, key: str, path: Path, data: Any) -> LineFacts:
    """Explain a line of a kustomize patch that changes or deletes the object `key`.

    Args:
        parts: the job.
        environment: the environment of the overlay.
        key: the name of the object's template, such as `finisher-role`.
        path: the path, in the patch, of the field on the line.
        data: the parsed patch: a list for a JSON patch, a mapping for a merge patch.
    """
    objects = parts.objects(environment)
    if key not in objects:
        return _deletion_line(parts, environment, key, path)
    place = _operation_path(data, path) if isinstance(data, list) else _patched_path(data, path, objects[key][()].value)
    if path[-1:] == ("$patch",) or place is None:
        reason = "A patch needs the line to find the object or the item that the patch changes."
        return LineFacts(reason, ENVIRONMENTS, environment=environment)
    if place not in objects[key]:
        removed = _object_line(parts, None, key, place) if place in parts.objects(None).get(key, {}) else None
        around = next(place[:end] for end in range(len(place), -1, -1) if place[:end] in objects[key])
        tests = (removed.sources | removed.tests if removed else frozenset()) | objects[key][around].sources
        reason = "The environment does not have the field, so the patch deletes the field of the base."
        return LineFacts(reason, ENVIRONMENTS, tests=tests, environment=environment)
    return _object_line(parts, environment, key, place)


@lru_cache(maxsize=2)
def _data(text: str) -> Any:
    return parse(text, _KUSTOMIZATION).documents[0].data


def _object_line(parts: JobParts, environment: str | None, key: str, path: Path) -> LineFacts:
    """Explain the line that sets the field `path` of the object `key`."""
    about = purpose(key)
    part = parts.objects(environment)[key][path]
    fixed = f"The line is a fixed part of {about.text}."
    facts = LineFacts(fixed, about.page, part.reason, part.sources, environment=environment)
    if part.sources:
        return facts
    shaping = (
        frozenset() if isinstance(part.value, (dict, list)) else parts.keys_that_shape_object(environment, key, path)
    )
    return facts.replaced(sources=shaping, tests=part.tests)


def _patched_path(patch: Mapping[str, Any], path: Path, item: Mapping[str, Any]) -> Path | None:
    """Convert a path in a merge patch to the path of the same field in the patched object `item`.

    For example, the container `main` may be item 0 of a list in the patch, and item 2 of the list in the object. The
    result is None if the path contains a list item that only the patch has.
    """
    keys = kustomize_keys(item["kind"])
    patched: Any = patch
    value: Any = item
    steps: list[str | int] = []
    for index, step in enumerate(path):
        patched = patched[step]
        if isinstance(step, int) and isinstance(value, list):
            names = keys.get(str(path[index - 1]), ())
            places = [at for at, part in enumerate(value) if _has_names(part, patched, names)] if names else []
            step = places[0] if places else step - _directives_before(patch, path[:index], step)
        steps.append(step)
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        elif isinstance(step, int):
            return None
        else:
            value = None
    return tuple(steps)


def _has_names(item: Any, patched: Any, names: tuple[str, ...]) -> bool:
    """Return whether the list item `item` and the patch item `patched` have equal values of all merge keys `names`."""
    is_pair = isinstance(item, Mapping) and isinstance(patched, Mapping)
    return is_pair and names[0] in item and all(item.get(name) == patched.get(name) for name in names)


def _directives_before(patch: Any, path: Path, index: int) -> int:
    """Count the items with a ``$patch`` directive, such as ``$patch: delete``, that come before an item of a list.

    `path` is the path of the list in the merge patch `patch`, and `index` is the index of the item. The patched object
    does not have the items with a directive.
    """
    for step in path:
        patch = patch[step]
    return sum(isinstance(item, Mapping) and "$patch" in item for item in patch[:index])


def _operation_path(operations: list[Any], path: Path) -> Path | None:
    """Convert a path in a JSON patch to the path of the changed field in the patched object.

    For example, (0, "value", "cpu") becomes ("spec", "limits", "cpu") if operation 0 has the path /spec/limits. If
    `path` is empty, return None.
    """
    if not path:
        return None
    steps = operations[int(path[0])]["path"].split("/")[1:]
    unescaped = [step.replace("~1", "/").replace("~0", "~") for step in steps]
    value = path[2:] if path[1:2] == ("value",) else ()
    return (*(int(step) if step.isdecimal() else step for step in unescaped), *value)


def _deletion_line(parts: JobParts, environment: str | None, key: str, path: Path) -> LineFacts:
    """Explain a line of a patch that deletes the object `key` of the base.

    `path` is the path of the field on the line.
    """
    item = parts.objects(None)[key]
    reason = f"The environment does not have {purpose(key).text}, so the patch deletes the object."
    keys = item[path].sources if path in item else frozenset()
    return LineFacts(reason, ENVIRONMENTS, sources=keys, tests=item[()].tests, environment=environment)


def _line_in_value(text: str, number: int) -> int:
    """Convert `number`, the number of a line in a file, to the number of the line in a YAML block scalar, from 1.

    For example, if line 7 is the key `patch: |-`, line 9 is line 2 of the block scalar. For line 7, return 0.
    """
    paths = line_paths(text)
    block = [at for at, path in enumerate(paths, 1) if path == paths[number - 1]]
    written = text.split("\n")
    header = next((at for at in block if not written[at - 1].lstrip().startswith("#")), number)
    return max(0, number - header)


def _kustomization_line(
    parts: JobParts, environment: str | None, path: Path, data: Mapping[str, Any], in_value: int
) -> LineFacts:
    about = LineFacts("A kustomization needs the line to build the objects.", ENVIRONMENTS, environment=environment)
    field, index = path[0] if path else "", path[1] if len(path) > 1 else None
    if field == "namespace":
        keys: tuple[Path, ...] = (("metadata", "namespace"),)
        keys += (("spec", "environments", environment, "namespace"),) if environment else ()
        return about.replaced(reason="The namespace of the objects.", sources=frozenset(keys))
    if not isinstance(index, int):
        return about
    entry = data[str(field)][index]
    objects = parts.objects(environment)
    if field == "replicas":
        field_path = ("metadata", "name") if path[2:] == ("name",) else ("spec", "replicas")
        reason = "The environment has a different number of tasks."
        return about.replaced(reason=reason, sources=_sources(objects, field_path, name=entry["name"]))
    if field == "images":
        image = {"name": entry.get("newName", entry["name"])}
        return about.replaced(
            reason="The environment has a different image.", sources=_image_sources(objects, image["name"])
        )
    if field == "resources" and isinstance(entry, str):
        about_file = _purpose_of_file(parts, environment, entry)
        if about_file is None:
            return about
        return about.replaced(reason=f"The file contains {about_file.text}.", page=about_file.page)
    if field == "configMapGenerator":
        key = next(key for key, item in objects.items() if item[()].value["metadata"]["name"] == entry["name"])
        generated = f"The generator makes {purpose(key).text}."
        place = ("metadata", *path[3:]) if path[2:3] == ("options",) else ("metadata", *path[2:])
        if place not in objects[key]:
            return about.replaced(reason=generated)
        return _object_line(parts, environment, key, place).replaced(reason=generated)
    if field == "patches" and "path" in entry:
        about_file = _purpose_of_file(parts, environment, entry["path"].replace(f"{_PATCH}.yaml", ".yaml"))
        return about.replaced(reason=f"The environment changes {about_file.text}.") if about_file else about
    if field == "patches":
        return _rename_line(parts, environment, entry["patch"], in_value)
    return about


def _rename_line(parts: JobParts, environment: str | None, text: str, number: int) -> LineFacts:
    """Explain a line of a patch in kustomization.yaml that renames an object for the run of the environment.

    Args:
        parts: the job.
        environment: the environment.
        text: the text of the patch.
        number: the number of the line in `text`, from 1; 0 for a line outside of `text`, such as the key `patch`.
    """
    reason = "The environment has a run of a different name, so kustomize renames the object."
    about = LineFacts(reason, RUNS, sources=frozenset({("spec", "run")}), environment=environment)
    patch = _data(text)
    if isinstance(patch, list):
        name = next((operation["value"] for operation in patch if operation["path"] == "/metadata/name"), None)
    else:
        name = patch["metadata"]["name"]
    kind = patch.get("kind") if isinstance(patch, dict) else None
    named = (key for key, item in parts.objects(environment).items() if _is_named(item[()].value, kind, name))
    key = next(named, None)
    if number == 0 or key is None:
        return about
    facts = _patch_line(parts, environment, key, line_paths(text)[number - 1], patch)
    return facts if facts.sources else facts.replaced(reason=reason)


def _is_named(item: Mapping[str, Any], kind: str | None, name: str | None) -> bool:
    """Return whether the object `item` has the given kind and name. The kind None accepts every kind."""
    return item["metadata"]["name"] == name and kind in (None, item["kind"])


def _purpose_of_file(parts: JobParts, environment: str | None, file: str) -> Purpose | None:
    keys = [*parts.objects(environment), *parts.objects(None)]
    return next((purpose(key) for key in keys if f"{file_stem(key)}.yaml" == file), None)


def _sources(objects: Mapping[str, Mapping[Path, Part]], path: Path, name: str) -> frozenset[Path]:
    """Return the job keys that set the field at the path `path` in the objects with the name `name`."""
    named = (item for item in objects.values() if item[()].value["metadata"]["name"] == name and path in item)
    return frozenset(key for item in named for key in item[path].sources)


def _image_sources(objects: Mapping[str, Mapping[Path, Part]], name: str) -> frozenset[Path]:
    """Return the job keys that set the container images with the name `name`.

    The name of an image does not contain the tag of the image.
    """
    return frozenset(
        key
        for item in objects.values()
        for path, part in item.items()
        if path[-1:] == ("image",) and isinstance(part.value, str) and Image.parse(part.value).name == name
        for key in part.sources
    )
