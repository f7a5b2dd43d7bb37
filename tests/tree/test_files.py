"""Tests of FileTree, a value that does not access the disk."""

from __future__ import annotations

import pytest

from tfgen.tree.files import FileTree, FileTreeError, digest_of

# printf 'a\n' | sha256sum
SHA_A = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "the segment '' is not a name"),
        ("/etc/passwd", "absolute"),
        ("a//b", "the segment '' is not a name"),
        ("a/", "the segment '' is not a name"),
        ("./a", "the segment '.' is not a name"),
        ("a/../../b", "the segment '..' is not a name"),
        ("a\\b", "contains a backslash"),
        ("a\0b", "unprintable character"),
        ("a\nb", "unprintable character"),
        ("a\ud800", "unprintable character"),
        (".git/hooks/pre-commit", "'.git' is reserved"),
        ("sub/.GIT/config", "'.GIT' is reserved"),
        (".tfgen/dist-mnist.json", "'.tfgen' is reserved"),
        ("a/" + "é" * 128, "exceeds 255 bytes"),
        ("charts/.tfgen-0123456789abcdef.tmp", "is reserved"),
    ],
)
def test_a_path_that_may_not_be_written_is_refused(path: str, said: str) -> None:
    with pytest.raises(FileTreeError, match=said):
        FileTree({path: "text\n"})


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/workflows/ci.yaml", "..a/b..c", "charts/été.yaml", "a/" + "y" * 255]
)
def test_a_path_that_only_looks_odd_is_taken(path: str) -> None:
    assert dict(FileTree({path: "text\n"}).files) == {path: "text\n"}


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["a/b", "a/B"], "'a/B' and 'a/b' differ only in the case of 'a/B' and 'a/b'"),
        (["a/b", "A/c"], "'A/c' and 'a/b' differ only in the case of 'A' and 'a'"),
        (["a/b", "a"], "'a' and 'a/b': 'a' cannot be both a file and a folder"),
        (["a/b/c/d", "a/b"], "'a/b' and 'a/b/c/d': 'a/b' cannot be both a file and a folder"),
    ],
)
def test_paths_that_no_disk_or_not_every_disk_can_hold_are_refused(paths: list[str], said: str) -> None:
    with pytest.raises(FileTreeError) as error:
        FileTree(dict.fromkeys(paths, ""))
    assert str(error.value) == said


def test_text_that_would_not_be_the_same_bytes_everywhere_is_refused() -> None:
    with pytest.raises(FileTreeError, match="carriage return"):
        FileTree({"a": "x\r\n"})
    with pytest.raises(FileTreeError, match=r"U\+D800"):
        FileTree({"a": "\ud800"})


def test_all_faults_of_a_tree_are_told_at_once() -> None:
    with pytest.raises(FileTreeError) as error:
        FileTree({"/a": "", "b": "\r", "c/..": ""})
    assert str(error.value).count("\n") == 2


def test_a_tree_is_in_order_and_does_not_change_with_its_source() -> None:
    source = {"b": "2\n", "a": "1\n"}
    tree = FileTree(source)
    source["c"] = "3\n"
    assert list(tree.files) == ["a", "b"]


def test_combining_names_both_sides_of_a_path_that_is_in_two() -> None:
    chart, overlay = {"a": "1", "b": "1"}, {"b": "2", "c": "1"}
    with pytest.raises(FileTreeError, match="b: written by both chart and overlay"):
        FileTree.combine({"chart": chart, "overlay": overlay})
    assert FileTree.combine({"x": {"a": "1"}, "y": {"c": "2"}}) == FileTree({"a": "1", "c": "2"})


def test_combining_holds_the_whole_to_the_same_rules() -> None:
    with pytest.raises(FileTreeError, match="cannot be both"):
        FileTree.combine({"x": {"a": ""}, "y": {"a/b": ""}})


def test_digest_is_sha_256_of_the_bytes() -> None:
    assert digest_of("a\n") == SHA_A
