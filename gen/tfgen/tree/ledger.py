"""The ledger of a job, `.tfgen/NAME.json`: which files tfgen wrote for it, and with what content.

    {
      "files": {"charts/dist-mnist/Chart.yaml": "5f70bf18..."},
      "input": "9b74c989...",
      "revision": {"digest": "0c2a8c91...", "number": 3},
      "tool": "0.1.0",
      "version": 1
    }

A file is tfgen's to replace or remove while it has the digest written here, and is at one of the job's own places
(`places`); with any other content it is its user's, and a ledger that names another place is refused. While a render is
under way the ledger also has `unfinished`: the digests of the files which that render replaces or removes. A killed
render leaves both there, so the next one knows old and new alike as tfgen's own.

`input` is the digest of the job as its own file has it. Where something is merged under it, such as a team's defaults,
`defaults` is the digest of both together. So a job that changed is told from one whose defaults changed, and both from
one that another version of tfgen wrote.

`revision` counts how often what has a version of its own came out otherwise (`Revision`): its digest, and its number.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tfgen.errors import TfgenError
from tfgen.places import is_place_of, name_places
from tfgen.record import Record
from tfgen.tree.disk_file import RESERVED_PREFIX
from tfgen.tree.file_tree import path_fault
from tfgen.tree.merge_conflict import has_conflict

LEDGER_FOLDER = RESERVED_PREFIX
_SUFFIX = ".json"
_VERSION = 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REVISION_END = 10**9
_LONGEST_WRITTEN = 2_000_000
"""Characters of a finished ledger: those of some 18,000 files. With what it replaces it has up to twice as many."""
_LONGEST_READ = 5_000_000
_REST_OF_LINE = 74
"""Characters of a file's line beside its path."""
_FAULTS = 5
"""How many faults of a ledger are told."""
_SOURCE_LINE = re.compile(r'^  "source": "(?P<source>[^"\\\n]+)",?\r?$', re.MULTILINE)
LEDGER_READ = _LONGEST_READ + 1
"""Characters of a file that are read to know whether it is a ledger."""


class LedgerConflictError(TfgenError):
    """Ledgers in which a merge left conflicts.

    Attributes:
        sources: the job files from the root of the repository by job; empty for a file that no ledger names.
    """

    exit_code: ClassVar[int] = 1  # the user merges the job files, and renders

    def __init__(self, sources: Mapping[str, str]) -> None:
        ledgers = ", ".join(map(ledger_path, sources))
        jobs = shlex.join(dict.fromkeys(source or "JOB" for source in sources.values()))
        super().__init__(
            f"{ledgers}: a merge left conflicts in the rendered files; merge the job file, and then render the files "
            f"again: tfgen render {jobs}"
        )
        self.sources = sources


class Ledger(Record):
    """What tfgen wrote for one job. Digests are SHA-256 in lower-case hex."""

    tool_version: str
    input_digest: str
    """Digest of the job that was rendered; empty while unfinished, so that no one takes that render for done."""
    files: Mapping[str, str]
    """Path -> digest of each file as rendered."""
    unfinished: Mapping[str, str] | None = None
    """None when the render came to its end; else path -> digest of what it was to replace or remove."""
    defaults_digest: str = ""
    """Digest of the job with what was merged under it; empty where nothing was."""
    source: str = ""
    """The job's file, from the root of its repository, by which a job that is gone is known; or empty."""
    revision: int = 0
    """How often what `revised_digest` is of has changed."""
    revised_digest: str = ""
    """The digest of what the revision counts; empty where nothing is counted."""

    def paths(self) -> set[str]:
        """Every file that is the job's, those of an unfinished render's past among them."""
        return {*self.files, *(self.unfinished or {})}

    def wrote(self, path: str, digest: str) -> bool:
        """Whether a file with this content is tfgen's own."""
        return digest in (self.files.get(path), (self.unfinished or {}).get(path))

    def last_finished(self, path: str) -> str | None:
        """The digest at the last finished render, as far as it is known."""
        return (self.unfinished or {}).get(path) or self.files.get(path)

    def is_of_same_job(self, other: Ledger) -> bool:
        """Whether the job itself is the same, whatever rendered it and was merged under it."""
        return self.unfinished is None and self.input_digest == other.input_digest

    def stays(self, target: Ledger) -> bool:
        """Whether only another version of tfgen, or other defaults, would write the job's files anew."""
        made_by = (self.tool_version, self.defaults_digest)
        return self.is_of_same_job(target) and made_by != (target.tool_version, target.defaults_digest)

    def made_otherwise(self, other: Ledger) -> list[str]:
        """Why another ledger's files may be other ones, though the job is the same."""
        causes = []
        if self.tool_version != other.tool_version:
            causes.append(f"tfgen {self.tool_version} rendered it, and this is {other.tool_version}")
        if self.defaults_digest != other.defaults_digest:
            causes.append("the defaults that are merged under it changed")
        return causes

    def to_text(self) -> str:
        """JSON, sorted, with a newline at its end: one changed file is one changed line in a review.

        A byte of `source` that is not UTF-8, which Python has as a lone surrogate, is written as JSON's escape of it.
        """
        data: dict[str, object] = {
            "files": dict(self.files),
            "input": self.input_digest,
            "tool": self.tool_version,
            "version": _VERSION,
        }
        if self.defaults_digest:
            data["defaults"] = self.defaults_digest
        if self.source:
            data["source"] = self.source
        if self.revised_digest:
            data["revision"] = {"digest": self.revised_digest, "number": self.revision}
        if self.unfinished is not None:
            data["unfinished"] = dict(self.unfinished)
        lines = ",\n".join(f'  "{key}": {_json(value)}' for key, value in sorted(data.items()))
        return f"{{\n{lines}\n}}\n".encode("utf-8", "backslashreplace").decode()


def _json(value: object) -> str:
    """JSON at the second level of a ledger. `indent` takes the encoder that is written in Python, ten times as long."""
    if not (isinstance(value, dict) and value):
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",\n    ", ": "))
    return f"{{\n    {text[1:-1]}\n  }}"


def ledger_path(job: str) -> str:
    """Where the ledger of `job` is, below the output folder."""
    return f"{LEDGER_FOLDER}/{job}{_SUFFIX}"


def job_of(file_name: str) -> str | None:
    """The job whose ledger has this name in `.tfgen/`, or None for another file."""
    return file_name.removesuffix(_SUFFIX) if file_name.endswith(_SUFFIX) else None


def parse_ledger(job: str, text: str) -> Ledger:
    """Reads the ledger of a job.

    A ledger comes out of git, where a merge or a stranger may have changed it: its paths are held to what a
    FileTree holds them to, and to the places of its job, so no ledger makes tfgen touch what is not the job's.

    Raises:
        LedgerConflictError: a merge left conflicts in the ledger.
        TfgenError: it is no ledger; with all that is wrong, and the way out.
    """
    path = ledger_path(job)
    if len(text) > _LONGEST_READ:
        raise _not_a_ledger(path, [f"larger than {_LONGEST_READ:,} characters"])
    if has_conflict(text):
        raise LedgerConflictError({job: _source_in(text)})
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_a_ledger(path, [f"not JSON ({error})"]) from error
    if not isinstance(data, dict) or type(data.get("version")) is not int or data["version"] != _VERSION:
        raise _not_a_ledger(path, [f"not a ledger of version {_VERSION}, the one that this tfgen reads"])
    expected = {"files", "input", "tool", "version"}
    if data.keys() - {"defaults", "revision", "source", "unfinished"} != expected:
        raise _not_a_ledger(path, [f"its keys are {', '.join(sorted(data))}, not {', '.join(sorted(expected))}"])
    if faults := [*_faults(job, data)]:
        raise _not_a_ledger(path, faults)
    return _ledger(data)


def _source_in(text: str) -> str:
    """Return the job file that a ledger with conflicts names; empty if the sides name different files."""
    sources = {match["source"] for match in _SOURCE_LINE.finditer(text)}
    return next(iter(sources)) if len(sources) == 1 else ""


def merge_ledgers(ours: Ledger, theirs: Ledger, on_disk: Mapping[str, str] | None = None) -> Ledger:
    """Return the ledger of a job after a merge in which each rendered file has the content of one side.

    The ledger is unfinished, so the next render writes all files of the job, and `tfgen check` fails until then.

    Args:
        ours: the ledger of our side.
        theirs: the ledger of their side.
        on_disk: the digests of files that the merge wrote, by path.
    """
    newer = max(ours, theirs, key=lambda ledger: ledger.revision)
    return newer.replaced(
        input_digest="",
        files={**theirs.files, **ours.files},
        unfinished={**(ours.unfinished or {}), **(theirs.unfinished or {}), **theirs.files, **(on_disk or {})},
        source=ours.source or theirs.source,
    )


def parse_again(text: str) -> Ledger:
    """The ledger in a text in which `parse_ledger` has found nothing wrong."""
    return _ledger(json.loads(text))


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
    """See that a finished ledger can be read again, by its job's places and its size.

    Raises:
        TfgenError: it cannot, and says what the job is to do without.
    """
    if strange := [path for path in ledger.files if not is_place_of(job, path)]:
        raise TfgenError(f"{strange[0]!r}: the job {job} has files only in {name_places(job)}")
    if sum(map(len, ledger.files)) + _REST_OF_LINE * len(ledger.files) > _LONGEST_WRITTEN:
        raise TfgenError(
            f"{job} renders to {len(ledger.files):,} files, of which {ledger_path(job)} would have more than "
            f"{_LONGEST_WRITTEN:,} characters; make several jobs of its environments"
        )


def _faults(job: str, data: Mapping[str, object]) -> Iterator[str]:
    if not all(isinstance(data.get(key, ""), str) for key in ("defaults", "input", "source", "tool")):
        yield "defaults, input, source and tool are not all text"
    elif not str(data["tool"]).isprintable():
        yield "tool has a character that cannot be printed"
    if "revision" in data and not _is_revision(data["revision"]):
        yield "revision is not a digest and a number"
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


def _is_revision(data: object) -> bool:
    return (
        isinstance(data, dict)
        and data.keys() == {"digest", "number"}
        and isinstance(data["digest"], str)
        and _DIGEST.fullmatch(data["digest"]) is not None
        and type(data["number"]) is int
        and 0 <= data["number"] < _REVISION_END
    )


def _first(faults: Sequence[str]) -> str:
    more = len(faults) - _FAULTS
    return "; ".join([*faults[:_FAULTS], *([f"{more} more like these"] if more > 0 else [])])


def _not_a_ledger(path: str, faults: Sequence[str]) -> TfgenError:
    return TfgenError(
        f"{path}: {_first(faults)}; restore it from git, or remove it: "
        "files that are as tfgen renders them are then taken over again, and only others are in the way"
    )
