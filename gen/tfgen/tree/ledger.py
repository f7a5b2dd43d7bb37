"""The ledger of a job, `.tfgen/NAME.json`: the files that tfgen wrote for the job, with the digests of their contents.

    {
      "files": {"charts/dist-mnist/Chart.yaml": "5f70bf18..."},
      "input": "9b74c989...",
      "revision": {"digest": "0c2a8c91...", "number": 3},
      "tool": "0.1.0",
      "version": 1
    }

tfgen replaces or removes a file only if the file has the digest in the ledger and is in a folder of the job. A file
with any other content belongs to the user.

While a render runs, the ledger also has the key `unfinished`, with the digests of the files that the render replaces or
removes. So if the render is killed, the next render recognizes both the old and the new files.

`input` is the digest of the job in the job file. `defaults` is the digest of the job merged with the defaults of the
layers; a job without defaults has no `defaults`. `tool` is the version of tfgen. After a change of the rendered files,
these three keys show the cause: the job, the defaults or tfgen.

In `revision`, `number` is a counter, which rises by one whenever `digest` changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any, ClassVar, Final

from tfgen.disk_file import RESERVED_PREFIX
from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.places import OVERLAYS, is_in_job_folder, is_place_of, is_placeholder, name_places
from tfgen.record import Record
from tfgen.tree.files import digest_of, path_fault
from tfgen.tree.folder import ReadableFolder, open_tree
from tfgen.words import command_line

LEDGER_FOLDER = RESERVED_PREFIX
_SUFFIX = ".json"
_VERSION = 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REVISION_END = 10**9
_LONGEST_WRITTEN = 2_000_000
"""Maximum size, in characters, of a ledger that tfgen writes. A ledger of this size lists some 18,000 files."""
_LONGEST_READ = 5_000_000  # an unfinished ledger is up to twice as long as a finished ledger
_REST_OF_LINE = 74
"""Number of characters, besides the path, in the line of a ledger that lists a file."""
_FAULTS = 5
"""Maximum number of faults of a ledger that a message lists."""
_SOURCE_LINE = re.compile(r'^  "source": "(?P<source>[^"\\\n]+)",?\r?$', re.MULTILINE)
_NO_CONTENT = "0" * 64
"""A digest that differs from the digest of every rendered content."""
LEDGER_READ = _LONGEST_READ + 1
"""Number of characters to read from a ledger: one more than the limit, so that a larger file is an error."""


class LedgerConflictError(TfgenError):
    """Error for ledgers that contain the conflict markers of a git merge.

    Attributes:
        sources: the path of the job file of each ledger, from the root of the repository, by name of the job. The path
            is empty if the ledger names no job file.
    """

    exit_code: ClassVar[int] = 1  # the user can merge the job files and render again

    def __init__(self, sources: Mapping[str, str]) -> None:
        ledgers = ", ".join(map(ledger_path, sources))
        jobs = dict.fromkeys(source or "JOB" for source in sources.values())
        super().__init__(
            f"{ledgers}: a merge left conflicts in the rendered files; merge the job file, and then render the files "
            f"again: {command_line('render', *jobs)}"
        )
        self.sources = sources


class Ledger(Record):
    """The files that tfgen wrote for one job. Digests are SHA-256 in lower-case hexadecimal digits."""

    tool_version: str
    input_digest: str
    """Digest of the job in its job file; empty while a render is unfinished."""
    files: Mapping[str, str]
    """The digest of each rendered file, by path."""
    unfinished: Mapping[str, str] | None = None
    """The digest of each file that an incomplete render replaces or removes, by path; None after a complete render."""
    defaults_digest: str = ""
    """Digest of the job merged with the defaults of its layers; empty for a job without defaults."""
    source: str = ""
    """Path of the job file from the root of the repository. tfgen needs the path after the job was deleted."""
    revision: int = 0
    """The number of changes of `revised_digest`."""
    revised_digest: str = ""
    """The digest whose changes `revision` counts; empty for a job without a revision."""

    def paths(self) -> set[str]:
        """Return the paths of all files of the job, including files that an unfinished render replaces or removes."""
        return {*self.files, *(self.unfinished or {})}

    def wrote(self, path: str, digest: str) -> bool:
        """Return whether the ledger lists a path with the given digest. If so, tfgen wrote the file."""
        return digest in (self.files.get(path), (self.unfinished or {}).get(path))

    def digest_after_complete_render(self, path: str) -> str | None:
        """Return the digest of the file at a path after the last complete render; None if the ledger lacks the path."""
        return (self.unfinished or {}).get(path) or self.files.get(path)

    def is_of_same_job(self, target: Ledger) -> bool:
        """Return whether this ledger and the ledger `target` come from equal jobs in the job file.

        The defaults and the versions of tfgen may differ. The result for an unfinished render is False.
        """
        return self.unfinished is None and self.input_digest == target.input_digest

    def differs_only_by_tool_or_defaults(self, target: Ledger) -> bool:
        """Return whether the two ledgers come from equal jobs, but from different defaults or versions of tfgen."""
        made_by = (self.tool_version, self.defaults_digest)
        return self.is_of_same_job(target) and made_by != (target.tool_version, target.defaults_digest)

    def causes_of_change(self, later: Ledger) -> list[str]:
        """Return the reasons why the ledger `later` differs from this one: new defaults, or a new version of tfgen."""
        causes = []
        if self.tool_version != later.tool_version:
            causes.append(f"the version of tfgen changed from {self.tool_version} to {later.tool_version}")
        if self.defaults_digest != later.defaults_digest:
            causes.append("the defaults of the job changed")
        return causes

    def renderer(self, later: Ledger) -> str:
        """Return what rendered the files, for a message: the version of tfgen, earlier defaults, or both.

        Args:
            later: a ledger of the same job. A version or defaults that both ledgers share are not named.
        """
        version = f" by tfgen {self.tool_version}" if self.tool_version != later.tool_version else ""
        defaults = " with earlier defaults" if self.defaults_digest != later.defaults_digest else ""
        return f"rendered{version}{defaults}"

    def to_text(self) -> str:
        """Return the text of the ledger as JSON with sorted keys.

        Each file has a separate line, so that a git diff shows one line for each changed file. A byte of `source` that
        is not UTF-8 becomes a JSON escape.
        """
        data: dict[str, object] = {
            "defaults": self.defaults_digest or None,
            "files": dict(self.files),
            "input": self.input_digest,
            "revision": {"digest": self.revised_digest, "number": self.revision} if self.revised_digest else None,
            "source": self.source or None,
            "tool": self.tool_version,
            "unfinished": None if self.unfinished is None else dict(self.unfinished),
            "version": _VERSION,
        }
        lines = ",\n".join(f'  "{key}": {_json(value)}' for key, value in data.items() if value is not None)
        return f"{{\n{lines}\n}}\n".encode("utf-8", "backslashreplace").decode()


def _json(value: object) -> str:
    """Return a value of a ledger as JSON. If the value is a mapping, each key is on a separate line.

    `json.dumps` with `indent` would use the encoder in pure Python, which takes ten times as long.
    """
    if not (isinstance(value, dict) and value):
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",\n    ", ": "))
    return f"{{\n    {text[1:-1]}\n  }}"


def ledger_path(job: str) -> str:
    """Return the path, in the output folder, of the ledger of a job."""
    return f"{LEDGER_FOLDER}/{job}{_SUFFIX}"


def generated_note(job: str) -> str:
    """Return the comment at the top of a rendered YAML file, which tells readers to edit the job file.

    The comment names the ledger, which contains the path of the job file. So a new path of the job file changes no
    comment.
    """
    return f"# Generated by tfgen. Edit the job file that {ledger_path(job)} names.\n"


def job_of(file_name: str) -> str | None:
    """Return the name of the job whose ledger has this file name; None if the file is not a ledger."""
    return file_name.removesuffix(_SUFFIX) if file_name.endswith(_SUFFIX) else None


def parse_ledger(job: str, text: str) -> Ledger:
    """Parse the text of the ledger of the job with the name `job`.

    A user may have edited the ledger in git. So the function checks that every path is valid and in a folder of the
    job. After this check, a ledger cannot make tfgen change the files of another job.

    Raises:
        LedgerConflictError: a merge left conflicts in the ledger.
        TfgenError: the text is not a ledger. The message lists all faults and the fix.
    """
    path = ledger_path(job)
    if len(text) > _LONGEST_READ:
        raise _not_a_ledger(path, [f"larger than {_LONGEST_READ:,} characters"])
    if has_conflict(text):
        sources = {match["source"] for match in _SOURCE_LINE.finditer(text)}  # of both branches
        raise LedgerConflictError({job: next(iter(sources)) if len(sources) == 1 else ""})
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_a_ledger(path, [f"not JSON ({error})"]) from error
    if not isinstance(data, dict) or type(data.get("version")) is not int or data["version"] != _VERSION:
        raise _not_a_ledger(path, [f"not a ledger of version {_VERSION}, the only version that this tfgen reads"])
    expected = {"files", "input", "tool", "version"}
    if data.keys() - {"defaults", "revision", "source", "unfinished"} != expected:
        raise _not_a_ledger(path, [f"its keys are {', '.join(sorted(data))}, not {', '.join(sorted(expected))}"])
    if faults := [*_faults(job, data)]:
        raise _not_a_ledger(path, faults)
    return _ledger(data)


def merge_ledgers(ours: Ledger, theirs: Ledger, on_disk: Mapping[str, str] | None = None) -> Ledger:
    """Merge the ledgers of the two branches of a git merge.

    The result is the ledger of an unfinished render, so `tfgen check` fails until the next render writes all files of
    the job. If both branches have the same revision with different contents, the next render has a new revision,
    whatever its content is. So its chart has a higher version than the charts of both branches.

    Args:
        ours: the ledger of the current branch.
        theirs: the ledger of the merged branch.
        on_disk: the digest of each file that the merge wrote, by path.
    """
    newer = max(ours, theirs, key=lambda ledger: ledger.revision)
    is_tie = ours.revision == theirs.revision and ours.revised_digest != theirs.revised_digest
    return newer.replaced(
        input_digest="",
        revised_digest=_NO_CONTENT if is_tie else newer.revised_digest,
        files={**theirs.files, **ours.files},
        unfinished={**(ours.unfinished or {}), **(theirs.unfinished or {}), **theirs.files, **(on_disk or {})},
        source=ours.source or theirs.source,
    )


def _ledger(data: Mapping[str, Any]) -> Ledger:
    return Ledger(
        tool_version=data["tool"],
        input_digest=data["input"],
        files=data["files"],
        unfinished=data.get("unfinished"),
        defaults_digest=data.get("defaults", ""),
        source=data.get("source", ""),
        revision=data.get("revision", {}).get("number", 0),
        revised_digest=data.get("revision", {}).get("digest", ""),
    )


def check_ledger(job: str, ledger: Ledger) -> None:
    """Check the paths and the size of a ledger before tfgen writes the ledger, so that tfgen can read the file again.

    Raises:
        TfgenError: the ledger is invalid. The message describes the fix in the job.
    """
    if strange := [path for path in ledger.files if not is_place_of(job, path)]:
        raise TfgenError(f"{strange[0]!r}: the job {job} has files only in {name_places(job)}")
    if sum(map(len, ledger.files)) + _REST_OF_LINE * len(ledger.files) > _LONGEST_WRITTEN:
        raise TfgenError(
            f"{job} renders to {len(ledger.files):,} files; {ledger_path(job)} would have more than "
            f"{_LONGEST_WRITTEN:,} characters; split its environments into several jobs"
        )


def _faults(job: str, data: Mapping[str, object]) -> Iterator[str]:
    if not all(isinstance(data.get(key, ""), str) for key in ("defaults", "input", "source", "tool")):
        yield "the keys defaults, input, source and tool must have text values"
    elif not str(data["tool"]).isprintable():
        yield "tool contains an unprintable character"
    match data.get("revision"):
        case {"digest": str(digest), "number": int(number), **more} if not more and type(number) is int:
            is_revision = _DIGEST.fullmatch(digest) is not None and 0 <= number < _REVISION_END
        case _:
            is_revision = "revision" not in data
    if not is_revision:
        yield "revision is not a mapping with a digest and a number"
    strange: list[str] = []
    for key in ("files", "unfinished"):
        digests = data.get(key, {})
        if not isinstance(digests, dict):
            yield f"{key} does not map paths to digests"
            continue
        for file, digest in digests.items():
            if fault := path_fault(file):
                yield f"{key} has {fault}"
            elif not is_place_of(job, file):
                strange.append(f"{key} has {file!r}")
            elif not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                yield f"{key} has no SHA-256 for {file!r}"
    if strange:
        yield f"{_first(strange)}, while the job {job} has files only in {name_places(job)}"


def _first(faults: Sequence[str]) -> str:
    hidden = len(faults) - _FAULTS
    return "; ".join([*faults[:_FAULTS], *([f"{hidden} more of this kind"] if hidden > 0 else [])])


def _not_a_ledger(path: str, faults: Sequence[str]) -> TfgenError:
    return TfgenError(
        f"{path}: {_first(faults)}; restore the ledger from git, or delete the ledger, so that the next render writes "
        "a new ledger and reports only the files that differ from the render"
    )


# -- the conflict markers that git writes into a file: <<<<<<<, ======= and >>>>>>> ---------------------------------

_CONFLICT: Final = re.compile(
    r"^<{7}(?: [^\n]*)?\n"
    r"(?P<ours>(?:(?![<|=>]{7})[^\n]*\n)*)"
    r"(?:\|{7}[^\n]*\n(?:(?!={7})[^\n]*\n)*)?"
    r"={7}\r?\n"
    r"(?P<theirs>(?:(?!>{7})[^\n]*\n)*)"
    r">{7}(?: [^\n]*)?(?:\n|\Z)",
    re.MULTILINE,
)
"""Pattern of a merge conflict in all styles of git's `merge.conflictStyle`: `merge`, `diff3` and `zdiff3`."""


def has_conflict(text: str) -> bool:
    """Return whether a text has the conflict markers of a git merge."""
    return "<<<<<<<" in text and _CONFLICT.search(text) is not None


def conflict_sides(text: str) -> tuple[str, str]:
    """Return both versions of a text with conflict markers: of the current branch, and of the merged branch."""
    return _CONFLICT.sub(r"\g<ours>", text), _CONFLICT.sub(r"\g<theirs>", text)


# -- the ledgers of all jobs -----------------------------------------------------------------------------------------

_MOST: int = 8
"""Maximum number of cached ledgers. A ledger has some 20 KB. A command reads each ledger several times in a row."""


class Ledgers(Mapping[str, Ledger]):
    """The ledgers of all jobs in an output folder, as a mapping. The keys are the sorted names of the jobs.

    The constructor reads every ledger, but stores only the digest and the source of each ledger. An access to a ledger
    reads the file again, unless the ledger is in the small cache of recently read ledgers.

    Args:
        folder: the open output folder.
        tree: the version of the repository that `folder` reads.

    Raises:
        LedgerConflictError: a merge left conflicts in ledgers.
        TfgenError: files are not valid ledgers, and the message names each such file. A later access raises this error
            if the ledger has changed.

    Attributes:
        digests: the digest of the text of each ledger, by name of the job.
        sources: the path of each job file from the root of the repository, by name of the job.
        shared_paths: the names of the jobs whose ledgers list a path, for each path outside the folders of the jobs, in
            lower case. Example: {"overlays/argocd/mnist-prod.yaml": ("mnist",)}.
    """

    def __init__(self, folder: ReadableFolder, tree: Tree = DISK) -> None:
        self._open = partial(open_tree, folder.path, tree)
        self.digests: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        self.shared_paths: dict[str, tuple[str, ...]] = {}
        self._read = lru_cache(maxsize=_MOST)(self._read_again)
        faults: list[str] = []
        conflicts: dict[str, str] = {}
        for name in folder.names(LEDGER_FOLDER):
            if (job := job_of(name)) is not None:
                try:
                    text = folder.read_text(ledger_path(job), LEDGER_READ)
                    ledger = parse_ledger(job, text)
                    self.digests[job] = digest_of(text)
                    self.sources[job] = ledger.source
                    for path in ledger.paths():
                        if not is_in_job_folder(job, path):
                            self.shared_paths[path.casefold()] = (*self.owners(path), job)
                except LedgerConflictError as error:
                    conflicts |= error.sources
                except TfgenError as error:
                    faults.append(str(error))
        if conflicts and not faults:
            raise LedgerConflictError(conflicts)
        if faults:
            faults += [str(LedgerConflictError(conflicts))] if conflicts else []
            raise TfgenError("\n".join(faults))

    def owners(self, path: str) -> tuple[str, ...]:
        """Return the names of the jobs whose ledgers list `path`.

        The result is empty for a path in the folder of a job, such as `charts/mnist/Chart.yaml`. The comparison of
        paths ignores upper and lower case.
        """
        return self.shared_paths.get(path.casefold(), ())

    def lists(self, path: str) -> bool:
        """Return whether the ledger of any job lists the file with this path."""
        _, _, inside = path.partition("/")
        jobs = (inside.partition("/")[0], *self.owners(path))
        return any(path in self[job].files for job in jobs if job in self)

    def files_now(self, job: str) -> Iterable[str]:
        """Return the files that the ledger of a job lists, even if the ledger has changed; empty without a ledger."""
        with self._open() as folder, suppress(TfgenError):
            return parse_ledger(job, folder.read_text(ledger_path(job), LEDGER_READ)).files
        return ()

    def __getitem__(self, job: str) -> Ledger:
        if job not in self.digests:
            raise KeyError(job)
        return self._read(job)

    def __iter__(self) -> Iterator[str]:
        return iter(self.digests)

    def __len__(self) -> int:
        return len(self.digests)

    def __contains__(self, job: object) -> bool:
        return job in self.digests

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Ledgers) and self.digests == value.digests

    __hash__ = None  # type: ignore[assignment]  # a mapping is not hashable

    def _read_again(self, job: str) -> Ledger:
        with self._open() as folder:
            text = folder.read_text(ledger_path(job), LEDGER_READ)
        if digest_of(text) != self.digests[job]:
            raise TfgenError(
                f"{ledger_path(job)}: another program changed the ledger while tfgen ran; run the command again"
            )
        return _ledger(json.loads(text))  # the constructor has checked the same text


_OF_TOOLS: Final = (".argocd-source*.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization")
"""File names with which Argo CD and kustomize replace the content of a folder."""


def unlisted_files(paths: Iterable[str], ledgers: Ledgers) -> list[str]:
    """Return the files of an output folder that no ledger lists.

    tfgen searches the chart folder of each job, and `overlays/`. In any other folder of `charts/`, users may store
    hand-written charts. There, only the files count that change what a GitOps tool applies.

    The result omits the placeholders in the folders of the GitOps tools, which stay after the last job.

    Args:
        paths: the files below charts/ and overlays/, as paths from the output folder.
        ledgers: the ledgers of all jobs in the folder.

    Raises:
        TfgenError: a ledger changed while tfgen ran.
    """
    return [
        path
        for path in paths
        if not (is_placeholder(path) or ledgers.lists(path))
        and (
            path.startswith(f"{OVERLAYS}/")
            or path.split("/")[1] in ledgers
            or any(fnmatchcase(path.rpartition("/")[2], pattern) for pattern in _OF_TOOLS)
        )
    ]
