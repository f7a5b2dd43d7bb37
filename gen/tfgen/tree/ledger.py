"""The ledger of a job, `.tfgen/NAME.json`: the files that tfgen wrote for the job, with the digests of their contents.

    {
      "files": {"charts/dist-mnist/Chart.yaml": "5f70bf18..."},
      "input": "9b74c989...",
      "revision": {"digest": "0c2a8c91...", "number": 3},
      "tool": "0.1.0",
      "version": 1
    }

tfgen may replace or remove a file that has the digest in the ledger and is in one of the job's places (`places`). A
file with any other content belongs to the user. tfgen refuses a ledger that names other places. While a render runs,
the ledger also has `unfinished`: the digests of the files which that render replaces or removes. So the next render
after a kill recognizes both the old and the new files.

`input` is the digest of the job in its own file. `defaults` is the digest of the job merged with the defaults of the
layers; a job without defaults has no `defaults`. The two digests and the version of tfgen distinguish a change of the
job, a change of the defaults and a change of tfgen.

`revision` is a counter and the digest that it counts (`Revision`): the number rises whenever the digest changes.
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
"""Characters of a finished ledger with some 18,000 files. An unfinished ledger has up to twice as many."""
_LONGEST_READ = 5_000_000
_REST_OF_LINE = 74
"""Characters of a file's line in addition to its path."""
_FAULTS = 5
"""Maximum number of faults of a ledger in a message."""
_SOURCE_LINE = re.compile(r'^  "source": "(?P<source>[^"\\\n]+)",?\r?$', re.MULTILINE)
LEDGER_READ = _LONGEST_READ + 1
"""Number of characters that tfgen reads of a file to decide whether the file is a ledger."""


class LedgerConflictError(TfgenError):
    """A merge left conflicts in ledgers.

    Attributes:
        sources: job -> job file from the root of the repository; empty for a job whose ledger names no file.
    """

    exit_code: ClassVar[int] = 1  # the user can merge the job files and render again

    def __init__(self, sources: Mapping[str, str]) -> None:
        ledgers = ", ".join(map(ledger_path, sources))
        jobs = shlex.join(dict.fromkeys(source or "JOB" for source in sources.values()))
        super().__init__(
            f"{ledgers}: a merge left conflicts in the rendered files; merge the job file, and then render the files "
            f"again: tfgen render {jobs}"
        )
        self.sources = sources


class Ledger(Record):
    """The files that tfgen wrote for one job. Digests are SHA-256 in lower-case hexadecimal digits."""

    tool_version: str
    input_digest: str
    """Digest of the rendered job; empty while a render is unfinished, so that no command treats the render as complete.
    """
    files: Mapping[str, str]
    """Path -> digest of each rendered file."""
    unfinished: Mapping[str, str] | None = None
    """Path -> digest of each file that an incomplete render replaces or removes; None after a complete render."""
    defaults_digest: str = ""
    """Digest of the job merged with the defaults of its layers; empty for a job without defaults."""
    source: str = ""
    """The job file, from the root of the repository. tfgen uses this path for a job that was deleted. May be empty."""
    revision: int = 0
    """The number of changes of `revised_digest`."""
    revised_digest: str = ""
    """The digest that the revision counts; empty for a job without a revision."""

    def paths(self) -> set[str]:
        """Return all files of the job, including the files that an unfinished render replaces or removes."""
        return {*self.files, *(self.unfinished or {})}

    def wrote(self, path: str, digest: str) -> bool:
        """Return whether tfgen wrote a file with this content."""
        return digest in (self.files.get(path), (self.unfinished or {}).get(path))

    def last_finished(self, path: str) -> str | None:
        """Return the digest of a file after the last complete render, if the ledger has it."""
        return (self.unfinished or {}).get(path) or self.files.get(path)

    def is_of_same_job(self, target: Ledger) -> bool:
        """Return whether the job is the same, apart from its defaults and the version of tfgen."""
        return self.unfinished is None and self.input_digest == target.input_digest

    def stays(self, target: Ledger) -> bool:
        """Return whether only another version of tfgen, or other defaults, would write the job's files differently."""
        made_by = (self.tool_version, self.defaults_digest)
        return self.is_of_same_job(target) and made_by != (target.tool_version, target.defaults_digest)

    def causes_of_change(self, later: Ledger) -> list[str]:
        """Return the reasons why the later ledger of the same job may list different files."""
        causes = []
        if self.tool_version != later.tool_version:
            causes.append(f"tfgen {self.tool_version} rendered the files, and this is tfgen {later.tool_version}")
        if self.defaults_digest != later.defaults_digest:
            causes.append("the defaults of the job changed")
        return causes

    def to_text(self) -> str:
        """Return sorted JSON with a final newline, so that one changed file is one changed line in a review.

        A byte of `source` that is not UTF-8 is a lone surrogate in Python, and a JSON escape in the ledger.
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
    """Return JSON for the second level of a ledger.

    `json.dumps` with `indent` uses the encoder in pure Python, which takes ten times as long.
    """
    if not (isinstance(value, dict) and value):
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",\n    ", ": "))
    return f"{{\n    {text[1:-1]}\n  }}"


def ledger_path(job: str) -> str:
    """Return the path of a job's ledger below the output folder."""
    return f"{LEDGER_FOLDER}/{job}{_SUFFIX}"


def job_of(file_name: str) -> str | None:
    """Return the job whose ledger has this file name in `.tfgen/`; None for any other file."""
    return file_name.removesuffix(_SUFFIX) if file_name.endswith(_SUFFIX) else None


def parse_ledger(job: str, text: str) -> Ledger:
    """Parse the ledger of a job.

    A merge or a stranger may have changed the ledger in git. So its paths must be valid in a FileTree and belong to the
    places of the job. A ledger cannot make tfgen touch files of another job.

    Raises:
        LedgerConflictError: a merge left conflicts in the ledger.
        TfgenError: the text is not a ledger. The message lists all faults and the cure.
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
        raise _not_a_ledger(path, [f"not a ledger of version {_VERSION}, which this tfgen reads"])
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
    """Parse a text that `parse_ledger` has accepted."""
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
    """Check that tfgen can read a finished ledger again: the places of its files and its size.

    Raises:
        TfgenError: the ledger is invalid. The message tells how to change the job.
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
        yield "defaults, input, source and tool are not all text"
    elif not str(data["tool"]).isprintable():
        yield "tool contains an unprintable character"
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
    hidden = len(faults) - _FAULTS
    return "; ".join([*faults[:_FAULTS], *([f"{hidden} more of this kind"] if hidden > 0 else [])])


def _not_a_ledger(path: str, faults: Sequence[str]) -> TfgenError:
    return TfgenError(
        f"{path}: {_first(faults)}; restore the ledger from git, or delete the ledger: "
        "tfgen then takes over the files that match the render, and reports only the files that differ"
    )
