"""Computes the field ``images`` of a kustomization: the changes of images that this field can express exactly.

    images:
    - name: registry.example.com/ml/dist-mnist
      newTag: 1.5.0

kustomize changes each container whose image has the name, with any tag. So tfgen uses the field only if all these
containers get the same image. https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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

    def changed(self, entry: Mapping[str, str]) -> Image:
        """Return the image into which an entry of the field ``images`` changes this image."""
        name = entry.get("newName", self.name)
        if "digest" in entry:
            return Image(name, "", entry["digest"])
        return Image(name, entry["newTag"], "") if "newTag" in entry else Image(name, self.tag, self.digest)

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def image_changes(before: Sequence[Object], after: Sequence[Object], overlay: Sequence[Object]) -> list[dict[str, str]]:
    """Return the field ``images`` with the changes that the field can express exactly. Patches make all other changes.

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
        return []
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
        return []
    entries = []
    for name, changes in sorted(pairs.items()):
        (old_text, new_text), *conflicts = changes
        was, now = Image.parse(old_text), Image.parse(new_text)
        is_exact = not now.tag if now.digest else not was.digest and bool(now.tag)
        is_safe = all(image == new_text for image in final if image is not None and _matches(name, image))
        if not conflicts and old_text != new_text and _matches(name, old_text) and is_exact and is_safe:
            entry = {"name": name, **({"newName": now.name} if now.name != name else {})}
            if now.digest:
                entry["digest"] = now.digest
            elif now.tag != was.tag:
                entry["newTag"] = now.tag
            entries.append(entry)
    return entries


def matched_images(item: Object) -> Iterator[str | None]:
    """Yield the text of each image that kustomize finds in an object.

    Yield None for each value on which kustomize fails, such as an image that is a number.
    """
    if item["kind"] != _SKIPPED_KIND:
        yield from _container_images(item)
    for path in _PATHS:
        yield from _image_texts(item, path)


def with_images(item: Object, entries: Mapping[str, Mapping[str, str]]) -> Object:
    """Return the object after the changes that the field ``images`` makes. `entries` has the entries of it by name."""
    replaced: Object = item if item["kind"] == _SKIPPED_KIND else _replaced(item, entries)
    return replaced


def _matches(name: str, image: str) -> bool:
    """Test whether an entry of ``images`` with the name `name` changes an image in kustomize.

    The name is a pattern, in which a dot matches any character:

    https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/image/image.go
    """
    return re.fullmatch(f"{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?", image) is not None


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
                    yield container["image"] if _has_image(container) else None
    elif isinstance(node, list):
        for child in node:
            yield from _container_images(child)


def _image_texts(node: Any, path: Sequence[str]) -> Iterator[str | None]:
    """Yield the text at a path; None for a value of an unexpected type.

    If the path leads through a list, search each item of the list.
    """
    if not path:
        yield node if isinstance(node, str) else None
    elif isinstance(node, list):
        for child in node:
            yield from _image_texts(child, path)
    elif isinstance(node, dict):
        key, *remaining = path
        if key in node:
            yield from _image_texts(node[key], remaining)
    else:
        yield None


def _replaced(node: Any, entries: Mapping[str, Mapping[str, str]]) -> Any:
    if isinstance(node, list):
        return [_replaced(item, entries) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _replaced(child, entries) for key, child in node.items()}
    for key in _LISTS:
        containers = out.get(key)
        for container in containers if isinstance(containers, list) else ():
            image = Image.parse(container["image"]) if _has_image(container) else None
            if image and image.name in entries:
                container["image"] = str(image.changed(entries[image.name]))
    return out


def _has_image(container: Any) -> bool:
    return isinstance(container, dict) and isinstance(container.get("image"), str)
