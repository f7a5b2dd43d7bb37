"""Changes of images that kustomize's `images` can express, and the entries for these changes."""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.targets.kustomize.patch import Image, image_changes, with_images

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ("a", "", "")),
        ("a:1", ("a", "1", "")),
        ("localhost:5000/a", ("localhost:5000/a", "", "")),
        ("localhost:5000/ml/a:1.2-x", ("localhost:5000/ml/a", "1.2-x", "")),
        (f"r.example.com/a@{DIGEST}", ("r.example.com/a", "", DIGEST)),
        (f"r.example.com:80/a:1@{DIGEST}", ("r.example.com:80/a", "1", DIGEST)),
    ],
)
def test_parts_of_an_image(text, parts):
    assert Image.parse(text) == Image(*parts)


def pod(*images: str, first: str | None = None) -> dict[str, Any]:
    """Return an object with containers of these images, and one init container."""
    spec: dict[str, Any] = {"containers": [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]}
    if first:
        spec["initContainers"] = [{"name": "first", "image": first}]
    return {"kind": "Job", "spec": {"template": {"spec": spec}}}


SAID = {
    "another tag": ([pod("r/a:1")], [pod("r/a:2")], [{"name": "r/a", "newTag": "2"}]),
    "another name": ([pod("a:1")], [pod("b:1")], [{"name": "a", "newName": "b"}]),
    "another name and tag": ([pod("a:1")], [pod("b:2")], [{"name": "a", "newName": "b", "newTag": "2"}]),
    "a first tag": ([pod("a")], [pod("a:1")], [{"name": "a", "newTag": "1"}]),
    "a digest for a tag": ([pod("a:1")], [pod(f"a@{DIGEST}")], [{"name": "a", "digest": DIGEST}]),
    "in every object": (
        [pod("a:1"), pod("x:1", first="a:1")],
        [pod("a:2"), pod("x:1", first="a:2")],
        [{"name": "a", "newTag": "2"}],
    ),
    "two of them": (
        [pod("b:1", "a:1")],
        [pod("b:2", "a:2")],
        [{"name": "a", "newTag": "2"}, {"name": "b", "newTag": "2"}],
    ),
}
LEFT_TO_PATCHES = {
    "nothing changes": ([pod("a:1")], [pod("a:1")]),
    "a tag lost": ([pod("a:1")], [pod("a")]),
    "a digest lost": ([pod(f"a@{DIGEST}")], [pod("a:1")]),
    "a tag and a digest": ([pod("a:1")], [pod(f"a:1@{DIGEST}")]),
    "two of one name part ways": ([pod("a:1"), pod("a:1")], [pod("a:2"), pod("a:1")]),
    "two of one name and two tags meet": ([pod("a:1"), pod("a:2")], [pod("a:3"), pod("a:3")]),
    "another comes to have the old name": ([pod("a:1", "b:1")], [pod("c:1", "a:1")]),
    "kustomize takes a dot for any character": ([pod("r.io/a:1", "r-io/a:1")], [pod("r.io/a:2", "r-io/a:1")]),
}


@pytest.mark.parametrize("name", SAID)
def test_change_is_an_entry_of_images(name):
    before, after, expected = SAID[name]
    entries = image_changes(before, after, after)
    assert entries == expected
    assert [with_images(item, {entry["name"]: entry for entry in entries}) for item in before] == after


@pytest.mark.parametrize("name", LEFT_TO_PATCHES)
def test_change_is_left_to_patches(name):
    before, after = LEFT_TO_PATCHES[name]
    assert [entry for entry in image_changes(before, after, after) if entry["name"] != "b"] == []


def test_new_object_with_the_old_image_leaves_the_change_to_patches():
    before, after = [pod("a:1")], [pod("a:2")]
    assert image_changes(before, after, [*after, pod("a:1")]) == []
    assert image_changes(before, after, [*after, pod("a:2")]) != []
