"""A guard rail, and the question whether a tfgen.yaml loosens the guard rail.

tfgen asks the question about two pairs of settings: the settings of parent folders and of a tfgen.yaml, and the
settings before and after a change. In the first pair, a missing setting loosens nothing, because the tfgen.yaml
inherits the setting of the parent folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tfgen import data_path, fix
from tfgen.data_path import Path
from tfgen.errors import Place, Problem
from tfgen.record import Record
from tfgen.text.document import Document

GUARD_RAIL: Final = "guard-rail"
LOOSENED: Final = "guard-rail-loosened"


class Setting(Record):
    """A value that a tfgen.yaml sets for a guard rail.

    Attributes:
        layer: the tfgen.yaml, without the values of parent folders.
        path: the path of the value in the tfgen.yaml.
    """

    layer: Document
    path: Path
    value: Any

    @property
    def place(self) -> Place:
        """Return the line of the value."""
        return self.layer.place(self.path)


class Comparison(Record):
    """Two settings of a guard rail, of which the second is looser than the first.

    Attributes:
        path: the path of the guard rail in a tfgen.yaml, such as ("limits", "job", "gpus").
        old: the value of the parent folder, or the value before the change. The default value if no file sets a value.
        new: the value of the tfgen.yaml, or the value after the change; None if no file sets a value.
        base: the line of `old`, as words for a message. For a default value, the revision of the base.
        part: the path of the looser part in `new`, such as (2,) for an item of a list.
        is_change: True if `new` is the value after a change.
        is_default: True if no file sets `old`.
    """

    path: Path
    old: Any
    new: Any
    base: str
    part: Path
    is_change: bool
    is_default: bool = False


class Rail(Record):
    """A guard rail, such as all limits.

    Attributes:
        read: returns the path and the value of each setting in a tfgen.yaml without the values of parent folders.
        looser: yields the path of each part of the second value that is looser than the first value. The path is empty
            if the whole value is looser. The second value is None if no file sets the value.
        words: returns the message of a comparison.
        removed: the name of what a subfolder removes to keep the rail, such as `the key`; empty if a removal is no fix.
        default: returns the value of a path without a setting; None if jobs are not restricted without a setting.
        is_of_file: True if the setting applies only to the folder of the tfgen.yaml, so that no subfolder inherits it.
    """

    read: Callable[[Document], Iterable[tuple[Path, Any]]]
    looser: Callable[[Any, Any], Iterable[Path]]
    words: Callable[[Comparison], str]
    removed: str = ""
    default: Callable[[Path], Any] = lambda _: None
    is_of_file: bool = False

    def settings(self, nearest_layer: Document | None) -> Mapping[Path, Setting]:
        """Return the strictest setting for each path, from a tfgen.yaml and the tfgen.yaml files of parent folders."""
        found: dict[Path, Setting] = {}
        for layer in reversed([*all_layers(nearest_layer)]):
            for path, value in self.read(layer):
                key = (layer.file, *path) if self.is_of_file else path
                if key not in found or not any(self.looser(found[key].value, value)):
                    found[key] = Setting(layer, path, value)
        return found


class Loosening(Record):
    """A change that makes a guard rail looser, such as a higher limit or a new pattern under `unlistedFiles`.

    Attributes:
        rail: the line of the guard rail in the base of comparison. If the base has no such line, `rail` equals `place`.
        place: the line of the change that loosens the guard rail.
    """

    rail: Place
    place: Place
    message: str


class Layers(Record):
    """The tfgen.yaml files of a folder and its parent folders, in the base of comparison and in the change.

    Attributes:
        before: the nearest tfgen.yaml of the base, merged over the files of the parent folders; None without a file.
        after: the nearest tfgen.yaml of the change, merged over the files of the parent folders; None without a file.
        revision: the revision of the base, such as `origin/main`.
    """

    before: Document | None
    after: Document | None
    revision: str

    def in_base(self, rail: Place) -> str:
        """Return text such as `tfgen.yaml:3:1 of origin/main`, for the line of a guard rail in the base."""
        return f"{rail} of {self.revision}"

    def loosening(self, rail: Place, path: Path, message: str) -> Loosening:
        """Return the loosening of a guard rail that the change no longer contains.

        Args:
            rail: the line of the guard rail in the base.
            path: the path of the guard rail. tfgen reports the line of the path, or of the nearest parent key in the
                tfgen.yaml.
            message: the text of the problem.
        """
        roots = []
        for layer in all_layers(self.after):
            if layer.file == rail.file:
                return Loosening(rail, layer.place(path), message)
            if layer.data.get("root"):
                roots.append(layer)
        if roots:
            root = roots[-1].place(("root",))
            whole_message = f"root: true in {root.file} disables the guard rails of {rail.file}: {message}; remove root"
            return Loosening(rail, root, whole_message)
        return Loosening(rail, rail, f"the change removes {rail.file}: {message}")


def values_of(*paths: Path) -> Callable[[Document], Iterable[tuple[Path, Any]]]:
    """Return the function that returns the path and the value of each of `paths` that a tfgen.yaml sets."""
    return lambda layer: ((path, data_path.at(layer.data, path)) for path in paths if data_path.has(layer.data, path))


def find_looser_than_parents(rails: Iterable[Rail], defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each setting of a tfgen.yaml that is looser than the setting of a parent folder."""
    for rail in rails:
        own = rail.settings(defaults.alone())
        for path, old in rail.settings(defaults.under).items():
            new = own.get(path)
            if new is None or old.value is None:
                continue
            for part in rail.looser(old.value, new.value):
                comparison = Comparison(new.path, old.value, new.value, str(old.place), part, is_change=False)
                path, message = (*new.path, *part), rail.words(comparison)
                advice = fix.hint(fix.removal(path, rail.removed)) if rail.removed else fix.NO_HINT
                text = f"{message}{advice.text}"
                yield Problem(*new.layer.place(path), text, GUARD_RAIL, fixes=advice.fixes)


def find_looser_than_before(rails: Iterable[Rail], layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each setting that is looser in the change than in the base of comparison."""
    for rail in rails:
        before, after = rail.settings(layers.before), rail.settings(layers.after)
        for key in dict.fromkeys((*before, *after)):
            old, new = before.get(key), after.get(key)
            path = (old or new or before[key]).path
            default = rail.default(path)
            old_value, new_value = old.value if old else default, new.value if new else None
            for part in rail.looser(old_value, new.value if new else default) if old_value is not None else ():
                base = layers.in_base(old.place) if old and not rail.is_of_file else layers.revision
                message = rail.words(
                    Comparison(path, old_value, new_value, base, part, is_change=True, is_default=not old)
                )
                if old and not rail.is_of_file:
                    yield layers.loosening(old.place, (*path, *part), message)
                elif new:
                    place = new.layer.place((*path, *part))
                    yield Loosening(place, place, message)


def all_layers(nearest_layer: Document | None) -> Iterator[Document]:
    """Yield a tfgen.yaml and the tfgen.yaml files of its parent folders, the nearest first, each with its own data."""
    return iter(()) if nearest_layer is None else nearest_layer.layers()
