"""Checks of a repository: whether GitOps tools apply exactly the files that tfgen checks.

A pull request could show a reviewer other files than a cluster gets, with a symbolic link, a submodule, an attribute of
git, an ignore file, or another output folder. Such a change is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tfgen.disk_file import repository_root
from tfgen.errors import Position, Problem, TfgenError
from tfgen.git.command import Git, is_installed
from tfgen.git.tree import CommitTree, IndexTree, Kind, Tree
from tfgen.job.sources import FILE, JOB_SUFFIXES, Source, defaults_paths, root_above
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.tree.ledger import LEDGER_FOLDER, Ledgers, ledger_path
from tfgen.tree.write import read_ledgers
from tfgen.words import count, shown

LINKED: Final = "linked-file"
ATTRIBUTE: Final = "git-attribute"
IGNORED: Final = "ignored-file"
MOVED_ROOT: Final = "moved-root"

RULES: Final[Mapping[str, str]] = {
    ATTRIBUTE: "An attribute of git changes the content of a file that tfgen reads.",
    IGNORED: "An ignore file excludes a rendered file from the files that a GitOps tool applies.",
    LINKED: "A symbolic link or a submodule is at a path at which tfgen needs a file.",
    MOVED_ROOT: "Rendered files remain in a folder that is no longer the output folder of the jobs.",
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""

_ATTRIBUTES: Final = ("filter", "ident", "working-tree-encoding")
"""The attributes with which the content on disk differs from the blob, except for line endings.

https://git-scm.com/docs/gitattributes#_effects
"""
_ATTRIBUTE_FILE: Final = ".gitattributes"
_IGNORE_FILES: Final = {".sourceignore": "Flux", ".helmignore": "Helm"}
"""The files with patterns of excluded paths, with the tool that reads the file."""

_FIRST: Final = Position(1, 1)


class Checkout(Record):
    """The files that a check reads.

    Attributes:
        tree: the version of the files.
        out: the output folder.
        paths: the files and folders of the command line.
        sources: the job files.
        ledgers: the ledgers in the output folder.
        rendered: the entries below charts/, overlays/ and .tfgen/, by their path from the output folder.
    """

    tree: Tree
    out: Path
    paths: Sequence[Path]
    sources: Sequence[Source]
    ledgers: Ledgers
    rendered: Mapping[str, Kind]


def read_checkout(tree: Tree, out: Path, paths: Sequence[Path], sources: Sequence[Source]) -> Checkout:
    """List the rendered files of a tree.

    Raises:
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    rendered = {
        f"{folder}/{name}": kind
        for folder in (CHARTS, OVERLAYS, LEDGER_FOLDER)
        for name, kind in tree.files_below(out / folder).items()
    }
    return Checkout(tree, out, paths, sources, read_ledgers(out, tree), rendered)


def check_repository(checkout: Checkout, against: str) -> Iterator[Problem]:
    """Yield a problem for each way in which a GitOps tool would apply other files than the checked files.

    Outside of git, yield nothing.

    Args:
        checkout: the files of the check.
        against: the revision to compare with.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails.
    """
    root = repository_root(checkout.out)
    if root is None or not is_installed():
        return
    yield from _links(checkout)
    yield from _attributes(checkout, root)
    yield from _ignored_files(checkout, root)
    yield from _moved_root(checkout, against)


# -- links and submodules --------------------------------------------------------------------------------------------


def _links(checkout: Checkout) -> Iterator[Problem]:
    tree, ledgers = checkout.tree, checkout.ledgers
    links: dict[Path, Kind] = {
        checkout.out / path: kind
        for path, kind in checkout.rendered.items()
        if kind is not Kind.FILE and _is_applied(path, ledgers)
    }
    for folder in checkout.paths:
        below = tree.files_below(folder, hidden=False).items()
        links |= {folder / name: kind for name, kind in below if kind is not Kind.FILE and name.endswith(JOB_SUFFIXES)}
    files = {Path(source.file) for source in checkout.sources} | {path for path in checkout.paths if not path.is_dir()}
    folders = {*(file.parent for file in files), *(path for path in checkout.paths if path.is_dir())}
    layers = {layer for folder in folders for layer in defaults_paths(folder / FILE)}
    for path in {*files, *layers, *_folders_above(folders)}:
        if kind := tree.kind(path):
            links[path] = kind
    for path, kind in sorted(links.items()):
        if kind in (Kind.LINK, Kind.SUBMODULE):
            message = (
                f"found a {kind}, but tfgen and GitOps tools need a regular file here: nobody reviews a change of the "
                f"target; replace the {kind} by its content"
            )
            yield Problem(os.path.relpath(path), _FIRST, message, LINKED)


def _is_applied(path: str, ledgers: Ledgers) -> bool:
    """Return True for a path in the folder of a rendered job, and for any path outside of charts/."""
    folder, job, *_ = path.split("/")
    return folder != CHARTS or job in ledgers


def _folders_above(folders: Iterable[Path]) -> set[Path]:
    """Return the given folders and their parent folders, up to the root of the repository. The root is left out."""
    found: set[Path] = set()
    for folder in folders:
        root = repository_root(folder)
        written = Path(os.path.abspath(folder))  # noqa: PTH100 - `Path.absolute` keeps ".."
        for above in (written, *written.parents):
            if above in found or above == root or root is None:
                break
            found.add(above)
    return found


# -- attributes ------------------------------------------------------------------------------------------------------


def _attributes(checkout: Checkout, root: Path) -> Iterator[Problem]:
    contents = checkout.tree.read_all(_files_named(checkout, root, _ATTRIBUTE_FILE))
    lines = [*_attribute_lines(contents)]
    if not lines:
        return
    files = [Path(layer.file) for source in checkout.sources for layer in (source, *source.layers())]
    files += (checkout.out / path for path in checkout.rendered if _is_applied(path, checkout.ledgers))
    names = dict.fromkeys(os.path.relpath(path, root) for path in files)
    cached = ("--cached",) if isinstance(checkout.tree, IndexTree) else ()
    stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
    # git check-attr does not support pathspecs, and refuses --literal-pathspecs.
    command = Git(root, ("check-attr", *cached, "-z", "--stdin", *_ATTRIBUTES), stdin, runs_hooks=True)
    words = command.output().decode("utf-8", "surrogateescape").split("\0")
    changed: dict[str, list[str]] = {}
    for name, attribute, value in zip(words[0::3], words[1::3], words[2::3], strict=False):
        if value not in ("unspecified", "unset"):
            changed.setdefault(attribute, []).append(name)
    for attribute, affected in changed.items():
        place = next(((file, line) for file, line, text in reversed(lines) if attribute in text), lines[-1][:2])
        more = f" and {count(len(affected) - 1, 'more file')}" if len(affected) > 1 else ""
        message = (
            f"the attribute {attribute} changes {affected[0]}{more} between the repository and the disk, so tfgen and "
            "GitOps tools may read different files; remove the attribute from these files"
        )
        yield Problem(os.path.relpath(place[0]), Position(place[1], 1), message, ATTRIBUTE)


def _attribute_lines(contents: Mapping[Path, bytes]) -> Iterator[tuple[Path, int, str]]:
    """Yield each line that names an attribute which changes contents: the file, the number and the text of the line."""
    for path, content in contents.items():
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
            if not line.startswith("#") and any(re.search(rf"\b{attribute}\b", line) for attribute in _ATTRIBUTES):
                yield path, number, line


def _files_named(checkout: Checkout, root: Path, name: str) -> list[Path]:
    """Return the files with a name that may apply to the files of a check: below and above these files."""
    folders = {Path(source.file).parent for source in checkout.sources}
    above = {folder / name for folder in (root, *_folders_above({*folders, checkout.out}))}
    below = {checkout.out / path for path in checkout.rendered if path.endswith(f"/{name}")}
    return sorted(path for path in above | below if checkout.tree.kind(path))


# -- ignore files ----------------------------------------------------------------------------------------------------


def _ignored_files(checkout: Checkout, root: Path) -> Iterator[Problem]:
    for name, tool in _IGNORE_FILES.items():
        files = _files_named(checkout, root, name)
        present = [path for path in files if not checkout.ledgers.lists(os.path.relpath(path, checkout.out))]
        if not present:
            continue
        options = ("ls-files", "-z", "--cached", "--ignored", f"--exclude-per-directory={name}", "--")
        listed = Git(checkout.out, options).output_of((CHARTS, OVERLAYS))
        excluded = [path for path in os.fsdecode(listed).split("\0") if path and checkout.ledgers.lists(path)]
        if excluded:
            more = f" and {count(len(excluded) - 1, 'more file')}" if len(excluded) > 1 else ""
            message = (
                f"the file excludes {excluded[0]}{more}, so {tool} does not apply what tfgen rendered; remove the "
                "pattern"
            )
            yield Problem(os.path.relpath(present[0]), _FIRST, message, IGNORED)


# -- the output folder -----------------------------------------------------------------------------------------------


def _moved_root(checkout: Checkout, against: str) -> Iterator[Problem]:
    """Yield a problem for each output folder of the revision `against` whose files remain without a check."""
    before = CommitTree(against)
    folders = [path if path.is_dir() else path.parent for path in checkout.paths]
    roots = {root for folder in folders if (root := root_above(folder, before)) and root != checkout.out}
    for root in sorted(roots):
        try:
            ledgers = read_ledgers(root, before)
        except TfgenError:
            continue  # a commit with an invalid ledger has no output folder that tfgen can compare
        for job in ledgers:
            paths = [path for path in (ledger_path(job), *ledgers[job].files) if checkout.tree.kind(root / path)]
            if paths:
                message = (
                    f"{count(len(paths), 'file')} of {job} remain in the output folder of {against}, but the output "
                    f"folder is now {shown(os.path.relpath(checkout.out))}, so no check reads the files; remove the "
                    "files, or restore the tfgen.yaml that sets the output folder"
                )
                yield Problem(os.path.relpath(root / paths[0]), _FIRST, message, MOVED_ROOT)
