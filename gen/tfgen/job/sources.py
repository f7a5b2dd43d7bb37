"""Find and read the job files on a command line, and merge the jobs with the defaults in the ``tfgen.yaml`` files.

    read_sources([Path("jobs")])  # [Source("jobs/mnist/job.yaml", OnDisk(...), Source("tfgen.yaml", b"..."))]

The content of a job file is not in memory: each access reads the file again. The tfgen.yaml files stay in memory.

A job is merged with the defaults in the ``tfgen.yaml`` files, from the root of the repository to the job's folder.

    tfgen.yaml                                        jobs/mnist/job.yaml
      registry: registry.example.com/ml                 spec:
      spec:                                               image: mnist:1.4.0
        tolerations: [{key: nvidia.com/gpu, ...}]         gang: {scheduler: volcano}
        gang: {queue: research}                           roles: {chief: {}, worker: {replicas: 4}}

The resulting job has this toleration, this queue, and the image registry.example.com/ml/mnist:1.4.0. In the same way,
`argocd: {project: ads}` sets the project of a job with `gitops: {argocd: {}}`.

tfgen merges the job over the defaults as a JSON merge patch (RFC 7386). Maps are merged, null removes a default, and
any other value of the job replaces the default. Two rules differ from the RFC:

- A default may lack a key that the schema requires, for example a gang without its scheduler, or a volume without its
  source. Such a default applies only to a job that sets the missing key. In the same way, a default of an environment
  for a section of the job, such as a role, applies only to a job that has the section.
- The merge keeps a null of an environment, because the null removes a value of the job in that environment.

A ``tfgen.yaml`` in a subfolder is merged over the ``tfgen.yaml`` in the nearest parent folder in the same way. An unset
field inherits the value of the parent file, and null removes the field.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.disk_file import real_path, repository_root, whole_path
from tfgen.errors import Problem, TfgenError, UsageError
from tfgen.git.tree import DISK, Kind, Tree
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, entry, is_record, resolve
from tfgen.schema.hints import choices
from tfgen.text.document import Document, Parsed
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.words import printable

FILE: Final = "tfgen.yaml"
"""The name of the file with the defaults. Each folder may contain such a file."""

_IMAGES: Final = ("#/definitions/image", "#/definitions/containerImage")
_ENVIRONMENTS: Final = "environments"
_MERGED: Final = ("argocd", "registry", "spec")
"""The keys that a tfgen.yaml inherits from the tfgen.yaml of a parent folder."""


def sets_root(content: bytes) -> bool:
    """Return whether a tfgen.yaml contains `root: true`. The folder of such a file contains charts/ and overlays/.

    A tfgen.yaml with `root: true` inherits nothing from the tfgen.yaml files of parent folders.

    Args:
        content: the content of the tfgen.yaml, which may be invalid.
    """
    if b"root" not in content:
        return False
    text = decode(content, FILE)
    documents = () if isinstance(text, Problem) else parse(text, FILE).documents
    return bool(documents) and data_path.at(documents[0].data, ("root",)) is True


def merge_layer(layer: Document, parent: Document | None) -> Document:
    """Merge a tfgen.yaml over the tfgen.yaml of a parent folder. Return an invalid tfgen.yaml unchanged.

    Args:
        layer: the tfgen.yaml, which may be invalid.
        parent: the tfgen.yaml of the parent folder, which `schema.check_defaults` accepts; None if no parent has one.
    """
    if parent is None or not isinstance(layer.data, Mapping):
        return layer
    inherited = {key: parent.data[key] for key in _MERGED if key in parent.data}
    merged = {**inherited, **layer.data}
    spec = layer.data.get("spec", {})
    if isinstance(spec, Mapping):
        node = schema_file.load()["properties"]["spec"]
        merged["spec"] = _merged(node, parent.data.get("spec", {}), spec, keeps_incomplete=True)
    merged = {key: value for key, value in merged.items() if value is not None or key not in inherited}
    return layer.replaced(data=merged, under=parent, unmerged=layer.data)


def merge_job(job: Document, defaults: Document) -> Document:
    """Merge a job over its defaults. Return an invalid job unchanged.

    Args:
        job: the job, which may be invalid.
        defaults: the merged defaults, which `schema.check_defaults` accepts.
    """
    spec = job.data.get("spec") if isinstance(job.data, Mapping) else None
    if not isinstance(spec, Mapping):
        return job
    node = schema_file.load()["properties"]["spec"]
    merged = _merged(node, defaults.data.get("spec", {}), spec)
    own = spec.get(_ENVIRONMENTS)
    if isinstance(merged.get(_ENVIRONMENTS), Mapping):
        own_first = {**{name: None for name in own or () if name in merged[_ENVIRONMENTS]}, **merged[_ENVIRONMENTS]}
        merged[_ENVIRONMENTS] = {
            name: _without_unused_defaults(
                node, environment, merged, own.get(name, {}) if isinstance(own, Mapping) else {}
            )
            for name, environment in own_first.items()
        }
    argocd = data_path.at(merged, ("gitops", "argocd"))
    if isinstance(argocd, Mapping) and (project := data_path.at(defaults.data, ("argocd", "project"))):
        merged = data_path.with_value(merged, ("gitops", "argocd"), {"project": project, **argocd})
    if registry := defaults.data.get("registry"):
        merged = _with_registry(node, merged, registry)
    return job.replaced(data={**job.data, "spec": merged}, under=defaults, unmerged=job.data)


def names_registry(image: str) -> bool:
    """Return whether an image reference contains a registry.

    https://pkg.go.dev/github.com/distribution/reference: the text before the first slash is a registry if the text
    contains a dot or a colon, or is "localhost".
    """
    first, slash, _ = image.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def _merged(
    node: Schema, defaults: Mapping[str, Any], over: Mapping[str, Any], *, keeps_incomplete: bool = False
) -> dict[str, Any]:
    """Merge the mapping `over` over the mapping `defaults`. `node` is the part of the JSON schema for the two mappings.

    If the schema allows only one of several keys, such as the source of a volume, a key in `over` replaces the other
    keys in `defaults`.

    A default that lacks a required key is left out, unless `keeps_incomplete` is true: a job may add the key later.
    """
    schema = schema_file.load()
    merged: dict[str, Any] = {}
    one_of = choices(node) if "oneOf" in node else []
    taken = one_of if any(key in over for key in one_of) else []
    for key, value in defaults.items():
        if key not in over and key not in taken:
            child_node = entry(schema, node, key) or {}
            if isinstance(value, Mapping):
                value = _merged(child_node, value, {}, keeps_incomplete=keeps_incomplete)
            if keeps_incomplete or _is_complete(child_node, value):
                merged[key] = value
    for key, value in over.items():
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            child_node = entry(schema, node, key) or {}
            merged[key] = _merged(child_node, default, value, keeps_incomplete=keeps_incomplete)
        elif value is not None or key not in defaults:
            merged[key] = value
    return merged


def _is_complete(node: Schema, value: Any) -> bool:
    """Return whether a value has all keys that the schema requires."""
    if not isinstance(value, Mapping):
        return True
    chosen = any(key in value for key in choices(node)) if "oneOf" in node else True
    return chosen and all(key in value for key in node.get("required", ()))


def _without_unused_defaults(node: Schema, environment: Any, spec: Any, unmerged: Any) -> Any:
    """Return an environment without the defaults for sections that the job does not have, such as a missing role.

    Args:
        node: the part of the schema for `environment` and `spec`.
        environment: the environment, merged with its defaults.
        spec: the spec of the job.
        unmerged: the environment in the job file, without defaults.
    """
    if not (isinstance(environment, Mapping) and isinstance(spec, Mapping) and isinstance(unmerged, Mapping)):
        return environment
    used = {}
    for key, value in environment.items():
        child_node = entry(schema_file.load(), node, key) or {}
        is_section = is_record(child_node) and "default" not in child_node
        if key in spec or key in unmerged:
            used[key] = _without_unused_defaults(child_node, value, spec.get(key, {}), unmerged.get(key, {}))
        elif not isinstance(value, Mapping) or (_is_complete(child_node, value) and not is_section):
            used[key] = value
    return used


def _with_registry(node: Schema, value: Any, registry: str) -> Any:
    """Return a copy of a job or of a part of a job, in which each image has a registry.

    `registry` precedes each image without a registry. `node` is the part of the JSON schema for `value`.
    """
    if isinstance(value, str):
        is_bare = node.get("$ref") in _IMAGES and value and not names_registry(value)
        return f"{registry}/{value}" if is_bare else value
    resolved = resolve(schema_file.load(), node)
    if isinstance(value, list) and "items" in resolved:
        return [_with_registry(resolved["items"], item, registry) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties, additional = resolved.get("properties", {}), resolved.get("additionalProperties")
    completed = {}
    for key, child in value.items():
        child_node = properties.get(key, additional)
        completed[key] = _with_registry(child_node, child, registry) if isinstance(child_node, Mapping) else child
    return completed


# -- the output folder -------------------------------------------------------------------------------------------------


_RENDERED: Final = ".tfgen"
_READ: Final = 1_000_000
"""Number of bytes of a tfgen.yaml that tfgen reads to find `root: true`. A larger file is not a valid tfgen.yaml."""


def is_root(folder: Path, tree: Tree = DISK) -> bool:
    """Return whether a folder is the root of a git repository, or has a tfgen.yaml with `root: true` in a tree."""
    if (folder / ".git").exists():  # in a worktree or a submodule, .git is a file
        return True
    try:
        return sets_root(tree.read(folder / FILE, _READ) or b"")
    except TfgenError:
        return False


def root_above(folder: Path, tree: Tree = DISK) -> Path | None:
    """Return the root folder for the jobs in `folder`; None if tfgen cannot determine the root folder.

    tfgen searches `folder` and its parent folders. The result is the first folder in this list that exists:

    - the nearest folder that is a root by itself, as `is_root` defines
    - the nearest folder with rendered files
    - the topmost folder with a tfgen.yaml
    - the working directory, if the working directory contains or equals `folder`, and is not `/`
    """
    start, working_directory = whole_path(folder), real_path(Path())
    folders = (start, *start.parents)
    if root := next((candidate for candidate in folders if is_root(candidate, tree)), None):
        return root
    if root := next((candidate for candidate in folders if os.path.lexists(candidate / _RENDERED)), None):
        return root
    if defaults := [candidate for candidate in folders if os.path.lexists(candidate / FILE)]:
        return defaults[-1]
    is_below = working_directory in folders and working_directory != working_directory.parent
    return working_directory if is_below else None


def output_root(folder: Path, tree: Tree = DISK) -> Path:
    """Return the folder for charts/ and overlays/ of the jobs in a folder.

    Raises:
        UsageError: the folder cannot be determined.
    """
    root = root_above(folder, tree)
    if root is None:
        raise UsageError(
            f"{folder}: the folder is in no git repository and not below the working directory, so tfgen cannot choose "
            f"a folder for charts/ and overlays/; set --out, or add a {FILE} with root: true to the folder"
        )
    return root


def output_root_of(paths: Sequence[Path], files: Iterable[str], tree: Tree = DISK) -> Path:
    """Return the folder for charts/ and overlays/ of several jobs. All jobs must have the same output folder.

    Args:
        paths: the files and folders of the command line. A path without jobs must have the same output folder as well.
        files: the job files in these paths.
        tree: the version of the tfgen.yaml files.

    Raises:
        UsageError: two jobs or paths have different output folders, or a job or a path has no output folder.
    """
    jobs = [Path(file) for file in files]
    empty = [path for path in paths if not any(job.is_relative_to(path) for job in jobs)]
    folders = [*(job.parent for job in jobs), *(path if path.is_dir() else path.parent for path in empty)]
    roots: dict[Path, Path] = {}
    for folder in dict.fromkeys(folders):
        roots.setdefault(output_root(folder, tree), folder)
    if len(roots) > 1:
        places = " and ".join(f"{os.path.relpath(root)} for jobs in {folder}" for root, folder in roots.items())
        raise UsageError(
            f"the jobs have different folders for charts/ and overlays/: {places}; pass only jobs with the same "
            "folder, or set --out"
        )
    return next(iter(roots))


# -- the files ---------------------------------------------------------------------------------------------------------


# A GitOps repository contains many other YAML files. A file with this line contains a job.
_OURS: Final = re.compile(rb"^[\"']?apiVersion[\"']?:\s*[\"']?tfgen/", re.MULTILINE)
# Any other file with a job has the key in another form, such as JSON, an indented or a quoted key, or an alias.
_MAY_BE_OURS: Final = re.compile(rb"apiVersion[\"']?\s*:(?:[^:]{0,100}tfgen\\?/|\s*\*)|\\(?:x|u00|U000000)[4-7]")
_OUR_GROUP: Final = "tfgen/"
JOB_SUFFIXES: Final = (".yaml", ".yml")

STDIN: Final = Path("-")
"""The argument that means standard input."""
_STDIN_NAME: Final = "<stdin>"


class OnDisk(NamedTuple):
    """Placeholder for the content of a file. To save memory, tfgen reads the file only when the content is needed.

    Attributes:
        digest: the SHA-256 of the content.
    """

    digest: bytes


class Source(Record):
    """A job file or a tfgen.yaml, with its content and the tfgen.yaml from which it inherits defaults.

    Attributes:
        file: the path for messages.
        content: the content, or a placeholder for a file on disk.
        defaults: the nearest tfgen.yaml in the folder of the job file or in a parent folder; for a tfgen.yaml, the
            nearest tfgen.yaml in a parent folder.
        left_out: for a tfgen.yaml with `root: true`, the nearest tfgen.yaml in a parent folder. The defaults of this
            parent file are not inherited.
    """

    file: str
    content: bytes | str | OnDisk
    defaults: Source | None = None
    left_out: Source | None = None

    def read(self) -> bytes | str:
        """Return the content of the file.

        Raises:
            TfgenError: the file has changed while tfgen ran.
            UsageError: the file can no longer be read.
        """
        if not isinstance(self.content, OnDisk):
            return self.content
        content, _ = _read(Path(self.file))
        if _digest(content) != self.content.digest:
            raise TfgenError(f"{self.file}: the file changed while tfgen ran; run the command again")
        return content

    def text(self) -> str | Problem:
        """Return the content as text, or a problem if the content is not UTF-8. Raises the errors of `read`."""
        content = self.read()
        return content if isinstance(content, str) else decode(content, self.file)

    @cached_property
    def name(self) -> str:
        """The path of the file from the root of its repository."""
        return source_name(Path(self.file))

    @property
    def identity(self) -> Any:
        """A value that is equal for two sources with the same path, content and tfgen.yaml files."""
        around = (self.defaults, self.left_out)
        return (self.file, self._digest, *(source.identity if source else None for source in around))

    def has_same_content(self, source: Source) -> bool:
        """Return True if the two files have equal contents. Their paths and tfgen.yaml files may differ."""
        return self._digest == source._digest

    @property
    def _digest(self) -> bytes:
        return self.content.digest if isinstance(self.content, OnDisk) else _digest(self.content)

    def layers(self) -> Iterator[Source]:
        """Yield the tfgen.yaml files from which the file inherits, starting with the nearest."""
        if self.defaults is not None:
            yield self.defaults
            yield from self.defaults.layers()


def read_sources(
    paths: Iterable[Path], tree: Tree = DISK, *, may_be_none: bool = False, takes_stdin: bool = False
) -> list[Source]:
    """Return the job files of a command line: the files in `paths`, and the job files below the folders in `paths`.

    Args:
        paths: files and folders.
        tree: the version of the files.
        may_be_none: whether to accept a folder without jobs, and a path that does not exist.
        takes_stdin: whether "-" means standard input. A job from standard input inherits from the
            tfgen.yaml files of the working directory.

    Raises:
        UsageError: "-" is not allowed, a path cannot be read, or a folder has no job.
    """
    sources: dict[str, Source] = {}
    layers = _Layers(tree)
    for path in paths:
        if path == STDIN:
            path_sources = [_from_stdin(layers, takes_stdin=takes_stdin)]
        elif may_be_none and not _exists(path, tree):
            continue
        elif tree is DISK and not path.is_dir():
            content, is_file = _read(path)  # a pipe can be read only once
            path_sources = [Source(str(path), OnDisk(_digest(content)) if is_file else content, layers.under(path))]
        elif tree.kind(path) is Kind.FILE:
            path_sources = [Source(str(path), tree.read(path, MAX_BYTES + 1) or b"", layers.under(path))]
        else:
            path_sources = [*_sources_in(path, tree, layers)]
        if not path_sources and not may_be_none:
            raise no_job_below([path], tree)
        sources |= {source.file: source for source in path_sources}
    return list(sources.values())


def read_files(files: Iterable[str], tree: Tree) -> list[Source]:
    """Return the version of job files in a tree, with their tfgen.yaml files. Omit files that the tree lacks.

    Raises:
        UsageError: the revision of the tree does not exist.
        TfgenError: git fails.
    """
    layers = _Layers(tree)
    contents = tree.read_all([Path(file) for file in dict.fromkeys(files)], MAX_BYTES + 1)
    return [Source(str(path), content, layers.under(path)) for path, content in contents.items()]


def removed_files(paths: Iterable[Path], before: Tree, after: Tree = DISK) -> list[str]:
    """Return the job files, at or below the given paths, that the tree `before` has and the tree `after` lacks."""
    candidates = [
        path / name
        for path in paths
        for name in (before.files_below(path, hidden=False) or [""])
        if has_name_of_job(path / name) and not _exists(path / name, after)
    ]
    contents = before.read_all(candidates, MAX_BYTES + 1)
    return sorted(str(path) for path, content in contents.items() if contains_job(content))


def _from_stdin(layers: _Layers, *, takes_stdin: bool) -> Source:
    if not takes_stdin:
        raise UsageError(
            "-: only `tfgen check` and `tfgen render --stdout` read standard input; pass a file to this command"
        )
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-: {error.strerror}") from error
    return Source(_STDIN_NAME, content, layers.under(STDIN))


def no_job_below(paths: Collection[Path], tree: Tree = DISK) -> UsageError:
    """Return the error for paths that contain no job in a tree."""
    names = ", ".join(printable(str(path)) for path in paths)
    folder = "this folder" if len(paths) == 1 else "these folders"
    if tree is DISK:
        return UsageError(f"{names}: no file in {folder} has a document with apiVersion tfgen/...")
    problem = f"{names}: {tree.title} has no document with apiVersion tfgen/... here"
    return UsageError(f"{problem}; to read the files on disk, write --read disk")


def source_name(path: Path) -> str:
    """Return the path of a job file or folder, relative to the root folder that `root_above` finds.

    If `root_above` finds no root folder, return the name of the file; for a folder, return `.`.
    """
    whole = whole_path(path)
    folder = whole if whole.is_dir() else whole.parent
    return whole.relative_to(root_above(folder) or folder).as_posix()


def has_name_of_job(path: Path) -> bool:
    """Return whether the name of a file ends with `.yaml` or `.yml`, so that the file may contain jobs.

    The result for `tfgen.yaml` is False.
    """
    return path.suffix in JOB_SUFFIXES and path.name != FILE


def contains_job(content: bytes) -> bool:
    """Return whether the content of a file contains a document with an apiVersion of tfgen.

    The result is also True for a file that seems to contain such a document, but that tfgen cannot parse. The check of
    the file then reports the reason.
    """
    if _OURS.search(content):
        return True
    if not _MAY_BE_OURS.search(content):
        return False
    text = decode(content, "")
    if isinstance(text, Problem):
        return True
    parsed = parse(text, "")
    versions = (data_path.at(document.data, ("apiVersion",)) for document in parsed.documents)
    return bool(parsed.problems) or any(str(version).startswith(_OUR_GROUP) for version in versions)


def _exists(path: Path, tree: Tree) -> bool:
    return path.exists() if tree is DISK else tree.kind(path) is not None


def _sources_in(folder: Path, tree: Tree, layers: _Layers) -> Iterator[Source]:
    """Yield the job files of a tree below a folder, except for hidden files. On disk, a link to a job file counts."""
    paths = [path for name in tree.files_below(folder, hidden=False) if has_name_of_job(path := folder / name)]
    if tree is not DISK:
        for path, content in tree.read_all(paths, MAX_BYTES + 1).items():
            if contains_job(content):
                yield Source(str(path), content, layers.under(path))
        return
    for path in paths:
        try:
            is_file = stat.S_ISREG(path.stat().st_mode)
        except FileNotFoundError:
            continue
        except OSError as error:  # for example a cycle of links
            raise UsageError(f"{printable(str(path))}: {error.strerror}") from error
        if is_file and contains_job(content := _read(path)[0]):
            yield Source(str(path), OnDisk(_digest(content)), layers.under(path))


class _Layers:
    """Reader of the tfgen.yaml files of a tree. Each file is read only once."""

    def __init__(self, tree: Tree) -> None:
        self._content = cache(lambda path: read_defaults_file(path, tree))
        self._of_folders: dict[tuple[Path, bool], Source | None] = {}

    def under(self, job: Path) -> Source | None:
        """Return the tfgen.yaml nearest to a job file, in the same folder or in a parent folder; or None."""
        folder = whole_path(job).parent, job.is_absolute()
        if folder not in self._of_folders:
            self._of_folders[folder] = defaults_under(job, self._content)
        return self._of_folders[folder]


def defaults_under(job: Path, content: Callable[[Path], bytes | None]) -> Source | None:
    """Return the tfgen.yaml nearest to a job file, in the same folder or in a parent folder; None without a tfgen.yaml.

    The attribute `defaults` of the result is the next tfgen.yaml in a parent folder. If the result contains `root:
    true`, `defaults` is None, and the next tfgen.yaml is in the attribute `left_out`.

    Args:
        job: the path of the job file. The file need not exist.
        content: function that returns the content of a tfgen.yaml; None for a missing file. The function gets each path
            from `defaults_paths`.
    """
    under: Source | None = None
    for path in reversed(defaults_paths(job)):
        of_folder = content(path)
        if of_folder is not None:
            is_root = sets_root(of_folder)
            under = Source(str(path), of_folder, None if is_root else under, under if is_root else None)
    return under


def defaults_in(tree: Tree, job: Path) -> Source | None:
    """Read the tfgen.yaml nearest to a job file from a tree. The result is the same as that of `defaults_under`.

    Raises:
        UsageError: a tfgen.yaml cannot be read.
    """
    return _Layers(tree).under(job)


def defaults_paths(job: Path) -> tuple[Path, ...]:
    """Return the path of a tfgen.yaml in the job's folder and in each parent folder up to the root of the repository.

    The paths are absolute or relative, like the path of the job.
    """
    folder = whole_path(job).parent
    root = repository_root(folder)
    above = [folder, *(parent for parent in folder.parents if root is None or parent.is_relative_to(root))]
    paths = [candidate / FILE for candidate in above]
    return tuple(paths) if job.is_absolute() else tuple(Path(os.path.relpath(path)) for path in paths)


def read_defaults_file(path: Path, tree: Tree = DISK) -> bytes | None:
    """Return the content of a tfgen.yaml; None if the file does not exist.

    Raises:
        UsageError: the file exists but cannot be read. Without an error, jobs would lack their defaults.
    """
    try:
        return tree.read(path, MAX_BYTES + 1)
    except UsageError:
        raise
    except TfgenError as error:
        raise UsageError(
            f"{error}; jobs inherit defaults from this file, so make {path} a readable file, or delete {path}"
        ) from error


def _read(path: Path) -> tuple[bytes, bool]:
    """Return the content of a file, and whether the file is a regular file.

    A regular file can be read again, but a pipe cannot.
    """
    try:
        with path.open("rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(MAX_BYTES + 1), is_file  # one more byte than allowed, so that the reader reports the size
    except OSError as error:
        raise UsageError(f"{printable(str(path))}: {error.strerror}") from error


def _digest(content: bytes | str) -> bytes:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).digest()


# -- the documents -----------------------------------------------------------------------------------------------------


_FEW: Final = 2
"""Maximum number of cached job files. A command reads the committed and the current version of one file at a time."""
_LAYERS: Final = 8
"""Maximum number of cached tfgen.yaml files. The cached job files inherit defaults from these files."""


def has_job(file: Path, job: str, tree: Tree = DISK) -> bool:
    """Return whether a file in a version of the repository contains a job with this name. The job may be invalid.

    Raises:
        TfgenError: git or the disk fails.
    """
    content = None if file.is_dir() else tree.read(file, MAX_BYTES)
    text = decode(content, str(file)) if content and contains_job(content) else None
    return isinstance(text, str) and text_has_job(text, job)


def text_has_job(text: str, job: str) -> bool:
    """Return whether the text of a job file contains a job with this name. The job may be invalid."""
    documents = parse(text, "").documents if job in text else ()
    return any(data_path.at(document.data, ("metadata", "name")) == job for document in documents)


class JobPlace(Record):
    """The position of a job in a valid job file. The job is not in memory; `read` reads the file again.

    Attributes:
        source: the job file.
        at: the index of the job's YAML document in the file. The first document has the index 0.
        name: the name of the job.
    """

    source: Source
    at: int
    name: str

    def read(self) -> Document:
        """Return the document of the job, merged with its defaults. Raises the errors of `Source.read`."""
        return read_documents(self.source)[self.at]


def parse_source(source: Source) -> Parsed:
    """Parse a job file or a tfgen.yaml. Return its documents without inherited defaults, and its problems."""
    text = source.text()
    return Parsed((), (text,)) if isinstance(text, Problem) else parse(text, source.file)


@lru_cache(maxsize=_FEW)
def read_documents(source: Source) -> tuple[Document, ...]:
    """Return the jobs of a file, merged with their defaults. The file and its defaults must be valid."""
    documents = parse_source(source).documents
    layer = _layer(source.defaults)
    return documents if layer is None else tuple(merge_job(document, layer) for document in documents)


@lru_cache(maxsize=_LAYERS)
def _layer(source: Source | None) -> Document | None:
    return None if source is None else merge_layer(parse_source(source).documents[0], _layer(source.defaults))
