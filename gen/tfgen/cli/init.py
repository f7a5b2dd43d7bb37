"""``tfgen init``: write a commented job.yaml as a starting point, or a whole repository."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import path, print_json, print_message, print_result
from tfgen.errors import UsageError

_SUMMARY: Final = "write a commented job.yaml as a starting point, or a whole repository"
_EXAMPLE: Final = "tfgen init mnist --repo"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of the job")
    parser.add_argument(
        "--out",
        type=path,
        metavar="DIR",
        help="the parent folder of NAME/, or the folder of the repository (default: the folder of the existing jobs)",
    )
    parser.add_argument(
        "--strategy",
        choices=["ParameterServer", "MultiWorkerMirrored", "KerasDistribution", "Single"],
        default="ParameterServer",
        help="the distribution strategy of TensorFlow (default: ParameterServer)",
    )
    parser.add_argument(
        "--gpu", type=int, default=0, metavar="COUNT", help="the number of GPUs of each worker or chief"
    )
    parser.add_argument(
        "--gang",
        choices=["volcano", "kube-batch", "coscheduling", "kueue", "kubernetes"],
        default="",
        help="start all tasks together or not at all, with this gang scheduler",
    )
    parser.add_argument(
        "--repo", action="store_true", help="create a GitOps repository, with this job as the first job"
    )
    parser.add_argument(
        "--team", default="", metavar="TEAM", help="with --repo: add a folder and an AppProject for a team"
    )
    parser.add_argument(
        "--ci",
        choices=["github", "gitlab"],
        help="with --repo: the CI system (default: by the URL of the remote origin)",
    )


def _run(args: Namespace) -> int:
    from tfgen.commands.authoring.new_files import add_files
    from tfgen.commands.init import JobOptions, new_job, new_repository
    from tfgen.git.merge import configure_merge_driver
    from tfgen.places import CHECK_FILES

    if (args.team or args.ci) and not args.repo:
        raise UsageError("--team and --ci need --repo")
    if args.gpu < 0:
        raise UsageError(f"--gpu {args.gpu}: write an integer of at least 0")
    if args.gang and args.strategy == "Single":
        raise UsageError("--gang needs several tasks, but a job with --strategy Single has one task; remove --gang")
    options = JobOptions(args.name, args.strategy, args.gpu, args.gang)
    folder = args.out or Path()
    is_relative = not folder.is_absolute()
    new = new_repository(options, folder, team=args.team, ci=args.ci) if args.repo else new_job(options, args.out)
    added = add_files(new.folder, new.files)
    added = added.relative() if is_relative else added
    is_configured = args.repo and configure_merge_driver(folder)
    if args.format == "json":
        written = {"created": added.created, "changed": added.extended, "kept": added.present}
        print_json({state: [str(path) for path in paths] for state, paths in written.items()})
        return OK
    print_result("".join(f"created  {path}\n" for path in added.created), end="")
    print_result("".join(f"added to {path}\n" for path in added.extended), end="")
    for file, text in added.present.items():
        print_result(f"kept     {file}")
        if file.as_posix().endswith(CHECK_FILES) and f"{new.command} " not in f"{text} ".replace("\n", " "):
            print_message(f"note: {file} does not run `{new.command}`; add the lines for hooks and CI from docs/git.md")
    if is_configured:
        print_result("set      merge.tfgen.driver in the git configuration of this clone")
    print_result(f"\nNext:\n\n  tfgen render {added.created[0]}")
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
