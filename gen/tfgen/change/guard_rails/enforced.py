"""Check for job fields that a change of tfgen.yaml no longer enforces, or enforces only in part.

    base      enforce: [spec.gang, {path: spec.gitops, except: [source]}]
    change    enforce: [spec.gang.queue, {path: spec.gitops, except: [source, argocd]}]

A new value of an enforced field is not a loosening, because the owner of the tfgen.yaml may choose the value. A removed
value is a loosening, because the jobs then lack the enforced value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfgen import data_path
from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.check.enforced import enforced_values
from tfgen.check.enforced_paths import REGISTRY, Enforced, all_enforced
from tfgen.data_path import Path
from tfgen.problems import Place
from tfgen.record import Record
from tfgen.words import path_name, shown


def find_unenforced(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each path that the base enforces and that the change lets a job set."""
    if layers.before is None:
        return
    entries = tuple(all_enforced(layers.after))
    for entry in all_enforced(layers.before):
        if entry.path == REGISTRY:
            yield from _unenforced_registry(layers, entry, entries)
        else:
            yield from _unenforced_paths(layers, layers.before.data, entry, entries)


def _unenforced_registry(layers: Layers, entry: Enforced, entries: Sequence[Enforced]) -> Iterator[Loosening]:
    matching = [new for new in entries if new.path == REGISTRY]
    registry = entry.data.get("registry")
    if not matching:
        message = f"images may now come from any registry, but {layers.in_base(entry.place)} enforces registry"
        yield layers.loosening(entry.place, ("enforce",), message)
    elif registry and not any(new.data.get("registry") for new in matching):
        message = f"registry has no value, but {layers.in_base(entry.place)} enforces {shown(registry)}"
        yield layers.loosening(entry.place, (), message)


class _EnforcedPath(Record):
    """A path that the change enforces in a job.

    For example, the entry `spec.nodeSelector` enforces `spec.nodeSelector` and `spec.roles.worker.nodeSelector`.

    Attributes:
        entry: the `enforce` entry of the tfgen.yaml that enforces the path.
        path: the path in the job.
        value: the value that a job must have at the path; None if no job may set a value.
    """

    entry: Enforced
    path: Path
    value: Any

    def contains(self, path: Path) -> bool:
        """Return True for the enforced path and for each path below the enforced path."""
        return path[: len(self.path)] == self.path

    def is_as_strict_at(self, path: Path, excepted: Sequence[Path] | None) -> bool:
        """Return True if this enforced path restricts the jobs at `path` at least as much as the base does.

        Args:
            path: a path that the base enforces, such as ("spec", "gitops").
            excepted: the keys below the path that the base lets a job set, such as (("source",),); None if the path has
                a single value, such as a text, and therefore no keys.
        """
        if not self.contains(path):
            return False
        if self.entry.excepted is not None:
            return not self.exceptions_within(path, excepted)
        value = self.value
        for step in path[len(self.path) :]:
            if not isinstance(value, Mapping):
                return True
            if step not in value:
                return False
            value = value[step]
        return not isinstance(value, Mapping)

    def sets(self, path: Path) -> bool:
        """Return True if the tfgen.yaml with the `enforce` entry also sets a value at `path`."""
        return self.contains(path) and data_path.at(self.value, path[len(self.path) :]) is not None

    def exceptions_within(self, path: Path, excepted: Sequence[Path] | None) -> list[int]:
        """Return the indexes of the `except` items that let a job set more in the change than in the base.

        Example for the path ("spec", "gitops"): the base has `except: [source]`, so `excepted` is (("source",),). The
        change has `except: [source, argocd]`. The result is [1], the index of `argocd`.

        Args:
            path: a path that the base enforces.
            excepted: as in `is_as_strict_at`.
        """
        opening = []
        for index, keys in enumerate(self.entry.excepted or ()):
            open_path = (*self.path, *keys)
            is_above = path[: len(open_path)] == open_path
            is_below = excepted is not None and open_path[: len(path)] == path
            was_open = (open_path[: len(path) + len(steps)] == (*path, *steps) for steps in excepted or ())
            if is_above or (is_below and not any(was_open)):
                opening.append(index)
        return opening


def _unenforced_paths(layers: Layers, data: Any, entry: Enforced, entries: Sequence[Enforced]) -> Iterator[Loosening]:
    paths = (new for new in entries if new.path != REGISTRY)
    candidates = [_EnforcedPath(new, *candidate) for new in paths for candidate in enforced_values(data, new)]
    reported: set[Path] = set()
    for path, value in enforced_values(data, entry):
        for keys, excepted in _enforced_keys(entry, value):
            if any(keys[: len(above_keys)] == above_keys for above_keys in reported):
                continue
            enforced_path = (*path, *keys)
            enforced = data_path.at(value, keys)
            if not any(candidate.is_as_strict_at(enforced_path, excepted) for candidate in candidates):
                loosenings = [*_path_loosenings(layers, entry, enforced_path, excepted, candidates)]
            elif enforced is not None and not any(candidate.sets(enforced_path) for candidate in candidates):
                loosenings = [_without_value(layers, entry, enforced_path, enforced)]
            else:
                continue
            reported.add(keys)
            yield from loosenings


def _enforced_keys(entry: Enforced, value: Any) -> Iterator[tuple[Path, Sequence[Path] | None]]:
    """Yield each path that an `enforce` entry of the base enforces, with the keys below the path that a job may set.

    Example for the entry {path: spec.gitops, except: [source]}: the pair ((), (("source",),)) means the block
    `spec.gitops`, in which a job may set only `source`. If the tfgen.yaml sets `branch` in the block, the pair
    (("branch",), None) follows. An entry without `except` has only pairs like the second pair. If the tfgen.yaml sets
    no value for such an entry, the only pair is ((), ()).

    Args:
        entry: the `enforce` entry. Each yielded path is relative to the path of the entry.
        value: the enforced value at the path of the entry; None if the tfgen.yaml sets no value.
    """
    if entry.excepted is not None:
        yield (), entry.excepted
        for keys in _leaves(value):
            if keys and not any(keys[: len(open_keys)] == open_keys for open_keys in entry.excepted):
                yield keys, None
    elif value is None:
        yield (), ()
    else:
        yield from ((keys, None) for keys in _leaves(value))


def _leaves(value: Any) -> Iterator[Path]:
    """Yield the path of each value in nested mappings that is not itself a mapping.

    Example: {"argocd": {"project": "ads"}} has the path ("argocd", "project").
    """
    if not isinstance(value, Mapping):
        yield ()
        return
    for key, child in value.items():
        yield from ((key, *keys) for keys in _leaves(child))


def _path_loosenings(
    layers: Layers, entry: Enforced, path: Path, excepted: Sequence[Path] | None, candidates: Sequence[_EnforcedPath]
) -> Iterator[Loosening]:
    """Yield each loosening of a path that the change enforces less than the base does.

    Args:
        layers: the tfgen.yaml files of the base and of the change.
        entry: the `enforce` entry of the base.
        path: the path that the entry enforces.
        excepted: as in `_EnforcedPath.is_as_strict_at`.
        candidates: all paths that the change enforces.
    """
    base = layers.in_base(entry.place)
    around = [candidate for candidate in candidates if candidate.contains(path)]
    closed = next((candidate for candidate in around if candidate.entry.excepted is not None), None)
    narrower = next(
        (candidate for candidate in candidates if candidate.path[: len(path)] == path and candidate.path != path), None
    )
    if closed:
        for index in closed.exceptions_within(path, excepted):
            name = path_name((*closed.path, *(closed.entry.excepted or ())[index]))
            message = f"jobs may now set {name}, which {base} does not allow"
            yield Loosening(entry.place, _place_of_exception(layers, closed.entry, index), message)
    elif around and excepted is not None:
        message = f"jobs may now set other keys of {path_name(path)}, which {base} does not allow"
        yield Loosening(entry.place, around[0].entry.place, message)
    elif around:
        yield _without_value(layers, entry, path, data_path.at(entry.data, path))
    elif narrower:
        message = f"only {path_name(narrower.path)} is enforced, but {base} enforces {path_name(path)}"
        yield Loosening(entry.place, narrower.entry.place, message)
    else:
        message = f"jobs may now override {path_name(path)}, which {base} enforces"
        yield layers.loosening(entry.place, ("enforce",), message)


def _without_value(layers: Layers, entry: Enforced, path: Path, value: Any) -> Loosening:
    enforced = f"the value {shown(value)}" if value is not None else "the field"
    message = f"{path_name(path)} has no value, but {layers.in_base(entry.place)} enforces {enforced}"
    return layers.loosening(entry.place, path, message)


def _place_of_exception(layers: Layers, entry: Enforced, index: int) -> Place:
    for layer in layers.layers_after():
        for number in range(len(layer.data.get("enforce", ()))):
            if layer.place(("enforce", number)) == entry.place:
                return layer.place(("enforce", number, "except", index))
    return entry.place
