"""The ledger of a job, `.tfgen/NAME.json`: which files tfgen wrote for it, and with what content.

    {
      "files": {"charts/dist-mnist/Chart.yaml": "5f70bf18..."},
      "input": "9b74c989...",
      "tool": "0.1.0",
      "version": 1
    }

A file is tfgen's to replace or remove while it has the digest written here; with any other content it is its
user's. While a render is under way the ledger also has `unfinished`: the digests of the files which that render
replaces or removes. A killed render leaves both there, so the next one knows old and new alike as tfgen's own.

`input` is the digest of the job as its own file has it. Where something is merged under it, such as a team's defaults,
`defaults` is the digest of both together. So a job that changed is told from one whose defaults changed, and both from
one that another version of tfgen wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tfgen.errors import TfgenError
from tfgen.record import Record
from tfgen.tree.file_tree import RESERVED_PREFIX, path_fault

LEDGER_FOLDER = RESERVED_PREFIX
_SUFFIX = ".json"
_VERSION = 1
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
        """JSON, sorted, with a newline at its end: one changed file is one changed line in a review."""
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
        if self.unfinished is not None:
            data["unfinished"] = dict(self.unfinished)
        return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def ledger_path(job: str) -> str:
    """Where the ledger of `job` is, below the output folder."""
    return f"{LEDGER_FOLDER}/{job}{_SUFFIX}"


def job_of(file_name: str) -> str | None:
    """The job whose ledger has this name in `.tfgen/`, or None for another file."""
    return file_name.removesuffix(_SUFFIX) if file_name.endswith(_SUFFIX) else None


def parse_ledger(path: str, text: str) -> Ledger:
    """Reads a ledger. Raises TfgenError, with `path` and the way out, for anything that is not one.

    A ledger comes out of git, where a merge or a stranger may have changed it: its paths are held to what a
    FileTree holds them to, so no ledger makes tfgen touch a file outside the output folder.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_a_ledger(path, f"not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        raise _not_a_ledger(path, f"not a ledger of version {_VERSION}, the one that this tfgen reads")
    expected = {"files", "input", "tool", "version"}
    if data.keys() - {"defaults", "source", "unfinished"} != expected:
        raise _not_a_ledger(path, f"its keys are {', '.join(sorted(data))}, not {', '.join(sorted(expected))}")
    if not all(isinstance(data.get(key, ""), str) for key in ("defaults", "input", "source", "tool")):
        raise _not_a_ledger(path, "defaults, input, source and tool are not all text")
    return Ledger(
        tool_version=data["tool"],
        input_digest=data["input"],
        files=_digests(path, "files", data["files"]),
        unfinished=_digests(path, "unfinished", data["unfinished"]) if "unfinished" in data else None,
        defaults_digest=data.get("defaults", ""),
        source=data.get("source", ""),
    )


def _digests(path: str, key: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _not_a_ledger(path, f"{key} does not map paths to digests")
    for file, digest in value.items():
        if fault := path_fault(file):
            raise _not_a_ledger(path, f"{key} has {fault}")
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise _not_a_ledger(path, f"{key} has no SHA-256 for {file!r}")
    return value


def _not_a_ledger(path: str, why: str) -> TfgenError:
    return TfgenError(
        f"{path}: {why}; restore it from git, or remove it: "
        "files that are as tfgen renders them are then taken over again, and only others are in the way"
    )
