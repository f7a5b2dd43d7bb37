"""``tfgen init``: a commented job.yaml to start from, or a repository of such."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import path, print_json, print_message, print_result
from tfgen.errors import UsageError


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the job's name")
    parser.add_argument(
        "--out",
        type=path,
        metavar="DIR",
        help="where NAME/, or the repository, is made (beside the jobs that are there)",
    )
    parser.add_argument(
        "--strategy",
        choices=["ParameterServer", "MultiWorkerMirrored", "Single"],
        default="ParameterServer",
        help="how the job's tasks share the training (ParameterServer)",
    )
    parser.add_argument("--gpu", type=int, default=0, metavar="COUNT", help="GPUs of each task that computes")
    parser.add_argument(
        "--gang",
        choices=["volcano", "kube-batch", "coscheduling", "kueue", "kubernetes"],
        default="",
        help="start all tasks or none, by this scheduler",
    )
    parser.add_argument("--repo", action="store_true", help="lay out a GitOps repository with this as its first job")
    parser.add_argument("--team", default="", metavar="TEAM", help="with --repo: a folder and an AppProject of its own")
    parser.add_argument("--ci", choices=["github", "gitlab"], help="with --repo: whose CI (by origin's address)")


def _run(args: Namespace) -> int:
    from tfgen.commands.authoring.new_files import add_files
    from tfgen.commands.init import Form, new_job, new_repository
    from tfgen.git.merge_driver import configure_merge_driver

    if (args.team or args.ci) and not args.repo:
        raise UsageError("--team and --ci are parts of a repository: add --repo")
    if args.gpu < 0:
        raise UsageError(f"--gpu {args.gpu}: a count, such as 1")
    if args.gang and args.strategy == "Single":
        raise UsageError("--gang is for several tasks, and --strategy Single has one")
    form = Form(args.name, args.strategy, args.gpu, args.gang)
    folder = args.out or Path()
    if args.repo:
        added = add_files(folder, new_repository(form, folder, team=args.team, ci=args.ci))
        is_configured = configure_merge_driver(folder)
    else:
        is_configured = False
        job = new_job(form, args.out)
        added = add_files(job.folder, job.files)
        added = added.relative() if not folder.is_absolute() else added
    if args.format == "json":
        written = {"created": added.created, "changed": added.added, "kept": added.kept}
        print_json({state: [str(path) for path in paths] for state, paths in written.items()})
        return OK
    print_result("".join(f"created  {path}\n" for path in added.created), end="")
    print_result("".join(f"added to {path}\n" for path in added.added), end="")
    for file, text in added.kept.items():
        print_result(f"kept     {file}")
        if file.suffix in (".yaml", ".yml") and "tfgen" not in text:
            print_message(f"note: nothing in {file} runs tfgen; add what docs/git.md says of hooks and CI")
    if is_configured:
        print_result("set      merge.tfgen.driver in the git configuration of this clone")
    print_result(f"\nNext:\n\n  tfgen render {added.created[0]}")
    return OK


COMMAND: Final = Command(
    "init",
    "write a commented job.yaml to start from, or a whole repository",
    _arguments,
    _run,
    example="tfgen init mnist --repo",
)
