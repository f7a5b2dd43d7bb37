"""``tfgen merge-driver``: merge one rendered file. git runs this command during a merge.

git calls the driver for each file that both branches changed. The driver does not merge a rendered file, because the
next render writes the file again. The merged ledger lists the files of both branches, so that the next render may
replace these files. The driver merges any other file, such as a hand-written chart below charts/, line by line.

https://git-scm.com/docs/gitattributes#_defining_a_custom_merge_driver
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from tfgen.cli.arguments import path
from tfgen.cli.output import OK, PROBLEMS, print_json
from tfgen.disk_file import read_text, replace_text
from tfgen.errors import TfgenError
from tfgen.git.command import Git
from tfgen.places import CHARTS, OVERLAYS, job_folder
from tfgen.tree.ledger import LEDGER_FOLDER, job_of, ledger_path, merge_ledgers, parse_ledger
from tfgen.tree.write import read_ledgers

EXAMPLE: Final = "tfgen merge-driver .merge_O .merge_A .merge_B charts/cifar/Chart.yaml"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("base", type=path, metavar="BASE", help="the version of the common ancestor")
    parser.add_argument(
        "ours", type=path, metavar="OURS", help="the version of the current branch; the result overwrites this file"
    )
    parser.add_argument("theirs", type=path, metavar="THEIRS", help="the version of the merged branch")
    parser.add_argument("path", metavar="NAME", help="the path of the file in the repository")


def run(args: Namespace) -> int:
    is_merged = merge_file(args.base, args.ours, args.theirs, args.path)
    if args.format == "json":
        print_json({"merged": is_merged})
    return OK if is_merged else PROBLEMS


def merge_file(base: Path, ours: Path, theirs: Path, path: str) -> bool:
    """Merge two versions of a file into `ours`. Return False if the result has conflicts.

    Args:
        base: a file with the content of the common ancestor.
        ours: a file with the content of the current branch, which the merge replaces.
        theirs: a file with the content of the merged branch.
        path: the path of the merged file, relative to the working directory.

    Raises:
        TfgenError: git or the disk fails.
    """
    whole = PurePosixPath(path)
    job = job_of(whole.name)
    if whole.parent.name == LEDGER_FOLDER and job is not None:
        with suppress(TfgenError):
            before, after = read_text(ours), read_text(theirs)
            replace_text(ours, before, merge_ledgers(parse_ledger(job, before), parse_ledger(job, after)).to_text())
            return True
    elif _is_rendered(whole):
        return True
    return not Git(Path(), ("merge-file", str(ours), str(base), str(theirs))).done().code


def _is_rendered(path: PurePosixPath) -> bool:
    """Test whether a ledger on disk lists the file at `path`, a path from the working directory.

    Each parent folder of the file may be an output folder.
    """
    for out in path.parents:
        inside = path.relative_to(out).as_posix()
        if inside.startswith((f"{CHARTS}/", f"{OVERLAYS}/")) and (Path(out) / LEDGER_FOLDER).is_dir():
            with suppress(TfgenError):
                folder = job_folder(inside)
                if folder is None:
                    return read_ledgers(Path(out)).lists(inside)
                job = folder.rpartition("/")[2]
                file = Path(out) / ledger_path(job)
                return file.is_file() and inside in parse_ledger(job, read_text(file)).paths()
    return False
