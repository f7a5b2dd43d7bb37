"""kustomize's ``images``: the changes of image that it can say exactly.

    images:
    - name: registry.example.com/ml/dist-mnist
      newTag: 1.5.0

It changes every container whose image has the name, whatever the tag, so it is used only where every one of them is
to become the same. https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.record import Record

_LISTS: Final = ("containers", "initContainers")
"""The lists of an object in which kustomize looks for images, wherever the object has them."""

_PATHS: Final = tuple(
    (*pod, *path)
    for pod in (("spec",), ("spec", "template", "spec"))
    for path in (("containers", "image"), ("initContainers", "image"), ("volumes", "image", "reference"))
)
"""The paths of images in every object, from kustomize's api/internal/konfig/builtinpluginconsts/images.go."""

_NOT_SEARCHED: Final = "CustomResourceDefinition"
"""The kind whose lists of containers kustomize leaves alone."""


class Image(Record):
    """An image's parts: its name with the registry, and a tag, a digest, both or none."""

    name: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> Image:
        """The parts of ``NAME[:TAG][@DIGEST]``; a colon before the last slash belongs to the registry's port."""
        rest, _, digest = text.partition("@")
        path, slash, last = rest.rpartition("/")
        base, _, tag = last.partition(":")
        return cls(path + slash + base, tag, digest)

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


class ImageChange(Record):
    """Every container of the one image gets the other."""

    old: Image
    new: Image

    def to_kustomize(self) -> dict[str, str]:
        """The entry of ``images``."""
        entry = {"name": self.old.name}
        if self.new.name != self.old.name:
            entry["newName"] = self.new.name
        if self.new.digest:
            entry["digest"] = self.new.digest
        elif self.new.tag != self.old.tag:
            entry["newTag"] = self.new.tag
        return entry


def image_changes(
    before: Sequence[Object], after: Sequence[Object], wanted: Sequence[Object]
) -> tuple[ImageChange, ...]:
    """The changes of image that kustomize says exactly; the others are left to patches.

    Those are: an image to lose its tag or digest, two of one name that part ways, and one whose name an object is to
    have in the end with another tag, for ``images`` comes after the patches and reaches every object. All changes are
    left to patches where kustomize would look for an image in a node that has another shape: the build would fail.

    Args:
        before: the objects that stay, as they are.
        after: the same objects, as wanted.
        wanted: every object that the overlay is to give.
    """
    differing = ((old, new) for old, new in zip(before, after, strict=True) if old is not new)
    if all([*_images(old)] == [*_images(new)] for old, new in differing):
        return ()
    items = {id(item): item for item in (*before, *after, *wanted)}  # most are the same in several of these
    images = {key: [*_images(item)] for key, item in items.items()}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for old, new in zip(before, after, strict=True):
        of_new = dict(images[id(new)])
        for place, image in images[id(old)]:
            if place in of_new:
                pairs.setdefault(Image.parse(image).name, set()).add((image, of_new[place]))
    final = {image for item in wanted for image in reached(item)}
    if None in final:
        return ()
    changes = []
    for name, ways in sorted(pairs.items()):
        (old_text, new_text), *others = ways
        change = ImageChange(Image.parse(old_text), Image.parse(new_text))
        undisturbed = all(image == new_text for image in final if image is not None and _reaches(name, image))
        if not others and old_text != new_text and _reaches(name, old_text) and _is_exact(change) and undisturbed:
            changes.append(change)
    return tuple(changes)


def reached(item: Object) -> Iterator[str | None]:
    """Yield each text of an object that kustomize takes for an image, and None for each node on which it fails."""
    if item["kind"] != _NOT_SEARCHED:
        yield from _of_containers(item)
    for path in _PATHS:
        yield from _at(item, path)


def with_images(item: Object, change: Callable[[Image], Image | None]) -> Object:
    """The object with other images in its containers; they keep theirs where the change says none."""
    replaced: Object = item if item["kind"] == _NOT_SEARCHED else _replaced(item, change)
    return replaced


def as_changed(changes: Sequence[ImageChange]) -> Callable[[Image], Image | None]:
    """What kustomize's ``images`` makes of an image."""
    new = {change.old.name: change.new for change in changes}
    return lambda image: new.get(image.name)


def _reaches(name: str, image: str) -> bool:
    """Whether kustomize takes the image for one of the name, which it takes for a pattern: any character for a dot.

    https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/image/image.go
    """
    return re.fullmatch(f"{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?", image) is not None


def _is_exact(change: ImageChange) -> bool:
    old, new = change.old, change.new
    if new.digest:
        return not new.tag
    return not old.digest and bool(new.tag)


def _images(node: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Where each container's image stands, by the container's name, and the image."""
    if isinstance(node, dict):
        for key, child in node.items():
            if key in _LISTS and isinstance(child, list):
                for index, container in enumerate(child):
                    if _has_image(container):
                        yield (*place, key, container.get("name", index)), container["image"]
            else:
                yield from _images(child, (*place, key))


def _of_containers(node: Any) -> Iterator[str | None]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _of_containers(child)
            for container in child if key in _LISTS and isinstance(child, list) else ():
                if not isinstance(container, dict):
                    yield None
                elif "image" in container:
                    yield _text(container["image"])
    elif isinstance(node, list):
        for child in node:
            yield from _of_containers(child)


def _at(node: Any, path: Sequence[str]) -> Iterator[str | None]:
    """Yield the texts at a path, which goes through each item of a list, and None for each node that ends the path."""
    if not path:
        yield _text(node)
    elif isinstance(node, list):
        for child in node:
            yield from _at(child, path)
    elif isinstance(node, dict):
        key, *below = path
        if key in node:
            yield from _at(node[key], below)
    else:
        yield None


def _text(node: Any) -> str | None:
    return node if isinstance(node, str) else None


def _replaced(node: Any, change: Callable[[Image], Image | None]) -> Any:
    if isinstance(node, list):
        return [_replaced(item, change) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _replaced(child, change) for key, child in node.items()}
    for key in _LISTS:
        containers = out.get(key)
        for container in containers if isinstance(containers, list) else ():
            image = change(Image.parse(container["image"])) if _has_image(container) else None
            if image:
                container["image"] = str(image)
    return out


def _has_image(container: Any) -> bool:
    return isinstance(container, dict) and isinstance(container.get("image"), str)
