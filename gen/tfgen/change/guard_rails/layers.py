"""The guard rails of a folder in two versions of a repository.

A guard rail holds in a folder if the tfgen.yaml of the folder, or a tfgen.yaml above, contains the guard rail. So a
guard rail that moves to a tfgen.yaml above still holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfgen.check.admission.folder import PolicyFolder
from tfgen.data_path import Path
from tfgen.problems import Place
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document


class Loosening(Record):
    """A guard rail that is looser in the change than in the base.

    Attributes:
        rail: the line of the guard rail in the base, or the line of the change for a rail that the base lacks.
        place: the line of the change.
    """

    rail: Place
    place: Place
    message: str


class Layers(Record):
    """The tfgen.yaml files of a folder and above, in the base and in the change.

    Attributes:
        before: the nearest file of the base, merged over the files above; None if no file exists.
        after: the nearest file of the change, merged over the files above; None if no file exists.
        revision: the name of the base.
        policies_before: the policies of the base, by the tfgen.yaml that names the folder.
        policies_after: the policies of the change, by the tfgen.yaml that names the folder.
    """

    before: Document | None
    after: Document | None
    revision: str
    policies_before: Mapping[str, PolicyFolder] = EMPTY
    policies_after: Mapping[str, PolicyFolder] = EMPTY

    def layers_before(self) -> Iterator[Document]:
        """Yield the files of the base, the nearest first, each without the files above."""
        return iter(()) if self.before is None else self.before.layers()

    def layers_after(self) -> Iterator[Document]:
        """Yield the files of the change, the nearest first, each without the files above."""
        return iter(()) if self.after is None else self.after.layers()

    def in_base(self, rail: Place) -> str:
        """Return the words for the line of a guard rail in the base."""
        return f"{rail} of {self.revision}"

    def loosening(self, rail: Place, path: Path, message: str) -> Loosening:
        """Return the loosening of a guard rail that the change no longer contains.

        Args:
            rail: the line of the guard rail in the base.
            path: the path of the guard rail. The problem is at the nearest key that the changed file still has.
            message: the words of the problem.
        """
        roots = []
        for layer in self.layers_after():
            if layer.file == rail.file:
                return Loosening(rail, layer.place(path), message)
            if layer.data.get("root"):
                roots.append(layer)
        if roots:
            return Loosening(rail, roots[-1].place(("root",)), f"root: true leaves out {rail.file}: {message}")
        return Loosening(rail, rail, f"the file is removed: {message}")
