"""Computes the field ``images`` of a kustomization: the changes of images that this field can express exactly.

    images:
    - name: registry.example.com/ml/dist-mnist
      newTag: 1.5.0

kustomize changes each container whose image has the name, with any tag. So tfgen uses the field only if all these
containers get the same image. https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.record import Record

_LISTS: Final = ("containers", "initContainers")
"""The names of the lists in which kustomize looks for images, at any depth of an object."""

_PATHS: Final = tuple(
    (*pod, *path)
    for pod in (("spec",), ("spec", "template", "spec"))
    for path in (("containers", "image"), ("initContainers", "image"), ("volumes", "image", "reference"))
)
"""The paths of images in every object, from kustomize's file api/internal/konfig/builtinpluginconsts/images.go."""

_SKIPPED_KIND: Final = "CustomResourceDefinition"
"""The kind of objects in which kustomize does not change the images of containers."""


class Image(Record):
    """The parts of an image: the name with the registry, the tag and the digest. A missing part is empty."""

    name: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> Image:
        """Parse ``NAME[:TAG][@DIGEST]``. A colon before the last slash is part of the registry's port."""
        tagged_name, _, digest = text.partition("@")
        path, slash, last = tagged_name.rpartition("/")
        base, _, tag = last.partition(":")
        return cls(path + slash + base, tag, digest)

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


class ImageChange(Record):
    """The change of an old image to a new image. The change applies to all containers that have the old image."""

    old: Image
    new: Image

    def to_kustomize(self) -> dict[str, str]:
        """Return the entry of ``images`` that makes this change."""
        entry = {"name": self.old.name}
        if self.new.name != self.old.name:
            entry["newName"] = self.new.name
        if self.new.digest:
            entry["digest"] = self.new.digest
        elif self.new.tag != self.old.tag:
            entry["newTag"] = self.new.tag
        return entry


def image_changes(
    before: Sequence[Object], after: Sequence[Object], overlay: Sequence[Object]
) -> tuple[ImageChange, ...]:
    """Return the changes of images that the field ``images`` can express exactly. Patches make all other changes.

    Patches change an image in these cases:

    - The image loses its tag or digest.
    - Two containers that had the same image get different images.
    - An object of the overlay has an image with the same name and another tag. ``images`` would change this image as
      well, because kustomize applies ``images`` after the patches and to all objects.
    - An object has a value of an unexpected type at the path of an image. With ``images``, kustomize would fail, so
      patches change all images.

    Args:
        before: the objects that the overlay neither adds nor deletes, before the change.
        after: the same objects, after the change.
        overlay: all objects of the overlay, after the change.
    """
    differing = ((old, new) for old, new in zip(before, after, strict=True) if old is not new)
    if all([*_images(old)] == [*_images(new)] for old, new in differing):
        return ()
    items = {id(item): item for item in (*before, *after, *overlay)}  # most objects are in several arguments
    images = {key: [*_images(item)] for key, item in items.items()}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for old, new in zip(before, after, strict=True):
        new_images = dict(images[id(new)])
        for path, image in images[id(old)]:
            if path in new_images:
                pairs.setdefault(Image.parse(image).name, set()).add((image, new_images[path]))
    final = {image for item in overlay for image in matched_images(item)}
    if None in final:
        return ()
    changes = []
    for name, changes_of_name in sorted(pairs.items()):
        (old_text, new_text), *conflicts = changes_of_name
        change = ImageChange(Image.parse(old_text), Image.parse(new_text))
        is_safe = all(image == new_text for image in final if image is not None and _matches(name, image))
        if not conflicts and old_text != new_text and _matches(name, old_text) and _is_exact(change) and is_safe:
            changes.append(change)
    return tuple(changes)


def matched_images(item: Object) -> Iterator[str | None]:
    """Yield the text of each image that kustomize finds in an object.

    Yield None for each value on which kustomize fails, such as an image that is a number.
    """
    if item["kind"] != _SKIPPED_KIND:
        yield from _container_images(item)
    for path in _PATHS:
        yield from _image_texts(item, path)


def with_images(item: Object, change: Callable[[Image], Image | None]) -> Object:
    """Return the object with a new image for each container whose image the function `change` replaces.

    If `change` returns None for the image of a container, the container keeps the image.
    """
    replaced: Object = item if item["kind"] == _SKIPPED_KIND else _replaced(item, change)
    return replaced


def image_changer(changes: Sequence[ImageChange]) -> Callable[[Image], Image | None]:
    """Return a function for the argument `change` of `with_images`, which makes the given changes.

    The function returns None for an image whose name is not the name of an old image in `changes`.
    """
    new = {change.old.name: change.new for change in changes}
    return lambda image: new.get(image.name)


def _matches(name: str, image: str) -> bool:
    """Test whether an entry of ``images`` with the name `name` changes an image in kustomize.

    The name is a pattern, in which a dot matches any character:

    https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/image/image.go
    """
    return re.fullmatch(f"{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?", image) is not None


def _is_exact(change: ImageChange) -> bool:
    old, new = change.old, change.new
    if new.digest:
        return not new.tag
    return not old.digest and bool(new.tag)


def _images(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the image of each container.

    The path contains the name of the container instead of its index. Example:
    (("spec", "containers", "tensorflow"), "registry.example.com/ml/dist-mnist:1.4.0").
    """
    if isinstance(node, dict):
        for key, child in node.items():
            if key in _LISTS and isinstance(child, list):
                for index, container in enumerate(child):
                    if _has_image(container):
                        yield (*path, key, container.get("name", index)), container["image"]
            else:
                yield from _images(child, (*path, key))


def _container_images(node: Any) -> Iterator[str | None]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _container_images(child)
            for container in child if key in _LISTS and isinstance(child, list) else ():
                if not isinstance(container, dict):
                    yield None
                elif "image" in container:
                    yield _text(container["image"])
    elif isinstance(node, list):
        for child in node:
            yield from _container_images(child)


def _image_texts(node: Any, path: Sequence[str]) -> Iterator[str | None]:
    """Yield the text at a path; None for a value of an unexpected type.

    If the path leads through a list, search each item of the list.
    """
    if not path:
        yield _text(node)
    elif isinstance(node, list):
        for child in node:
            yield from _image_texts(child, path)
    elif isinstance(node, dict):
        key, *remaining = path
        if key in node:
            yield from _image_texts(node[key], remaining)
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
