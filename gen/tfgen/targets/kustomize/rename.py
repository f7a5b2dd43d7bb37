"""Renames the objects of an environment that has a separate run.

An overlay first changes the objects of the base, under the names of the base. The last patches then rename the objects
for the run of the environment. So a new run changes these patches, and no other file of the overlay. The patches omit
the references to renamed objects, which kustomize updates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

from tfgen.graph.built import Objects
from tfgen.kubernetes.object import Object, identity
from tfgen.record import Record
from tfgen.targets.kustomize.pairs import object_pairs
from tfgen.targets.kustomize.patch_entry import Patch, delete_patch, object_patch, patch_target, patch_text
from tfgen.targets.kustomize.references import new_names, with_new_names

Identity: TypeAlias = tuple[str, str, str]


class Rename(Record):
    """The objects of an environment, before and after the overlay renames the objects for the run of the environment.

    Each mapping has the keys of `Objects`, such as `worker`.

    Attributes:
        before: objects with the names for the run of the base, such as mnist-worker.
        after: objects with the names for the run of the environment, such as mnist-2-worker.
        pairs: the object in `before` and the object in `after`, for each object that kustomize can rename.
    """

    before: Objects
    after: Objects
    pairs: Mapping[str, tuple[Object, Object]]

    @staticmethod
    def of(before: Objects, after: Objects) -> Rename:
        """Return the rename of the objects `before` to the objects `after`.

        For an environment without a separate run, both arguments are the same mapping.
        """
        identical = {key: (item, item) for key, item in after.items()}
        return Rename(before, after, identical if before is after else object_pairs(before, after))

    def renamed_pairs(self, pairs: Mapping[str, tuple[Object, Object]]) -> dict[str, tuple[Object, Object]]:
        """Return each object of the base with its counterpart in the environment after the rename.

        Omit objects that kustomize cannot rename.

        Args:
            pairs: each object of the base with its counterpart in the environment before the rename, by key of the
                object.
        """
        renamed_objects = {identity(old): new for old, new in self.pairs.values()}
        return {
            key: (item, renamed_objects[identity(old)])
            for key, (item, old) in pairs.items()
            if identity(old) in renamed_objects
        }

    def resources(self, from_base: Collection[Identity]) -> Objects:
        """Return the objects that have files in the overlay, by key of the object.

        A new object that kustomize can rename has the name before the rename. Any other object has its final name.

        Args:
            from_base: API version, kind and name before the rename of each object that comes from the base. Example:
                {("apps/v1", "StatefulSet", "mnist-worker")}.
        """
        added = self._added(from_base)
        renamed = {
            identity(new) for key, (old, new) in self.pairs.items() if identity(old) in from_base or key in added
        }
        return {**added, **{key: item for key, item in self.after.items() if identity(item) not in renamed}}

    def entries(self, from_base: Collection[Identity]) -> Iterator[dict[str, Any]]:
        """Yield the entries of ``patches`` that rename objects, or delete objects that kustomize cannot rename.

        The parameter `from_base` has the same meaning as in `resources`.
        """
        added = self._added(from_base)
        pairs = [
            (item, self.pairs.get(key, (item, None))[1])
            for key, item in self.before.items()
            if key in added or identity(item) in from_base
        ]
        names = new_names((item, new) for item, new in pairs if new is not None)
        for item, new in pairs:
            if new is None:
                patch: Patch | None = delete_patch(item)
            else:
                patch = None if new is item else object_patch(with_new_names(item, names), new)
            if patch:
                yield {"patch": patch_text(item, patch), **patch_target(item, patch)}

    def _added(self, from_base: Collection[Identity]) -> Objects:
        """Return the new objects of the overlay that kustomize can rename, before the rename, by key of the object.

        Omit an object that has a different key after the rename, so that two objects never use the same file.
        """
        return {
            key: old
            for key, (old, new) in self.pairs.items()
            if identity(old) not in from_base and new is self.after.get(key)
        }
