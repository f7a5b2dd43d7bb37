"""The guard rails of a folder in two versions of a repository: the base of comparison and the change.

A guard rail applies to a folder if the tfgen.yaml of the folder, or of a parent folder, contains the guard rail. So a
guard rail may move to the tfgen.yaml of a parent folder.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.data_path import Path
from tfgen.problems import Place
from tfgen.record import Record
from tfgen.text.document import Document


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

    def layers_before(self) -> Iterator[Document]:
        """Yield the tfgen.yaml files of the base, the nearest first, each without the values of parent folders."""
        return iter(()) if self.before is None else self.before.layers()

    def layers_after(self) -> Iterator[Document]:
        """Yield the tfgen.yaml files of the change, the nearest first, each without the values of parent folders."""
        return iter(()) if self.after is None else self.after.layers()

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
        for layer in self.layers_after():
            if layer.file == rail.file:
                return Loosening(rail, layer.place(path), message)
            if layer.data.get("root"):
                roots.append(layer)
        if roots:
            root = roots[-1].place(("root",))
            whole_message = f"root: true in {root.file} disables the guard rails of {rail.file}: {message}; remove root"
            return Loosening(rail, root, whole_message)
        return Loosening(rail, rail, f"the change removes {rail.file}: {message}")
