"""``tfgen init``: write a commented job.yaml as a starting point, or a whole repository.

The templates of the files are in `init_files`. Only this module of tfgen imports Jinja.
"""

from __future__ import annotations

import json
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import jinja2

from tfgen import __version__, data_path, places
from tfgen.check.jobs import check
from tfgen.cli.arguments import choice, flag, option, path
from tfgen.cli.output import OK, print_json, print_message, print_result
from tfgen.disk_file import read_file, real_path, repository_root
from tfgen.errors import UsageError
from tfgen.git.command import Git, is_installed
from tfgen.git.merge import configure_merge_driver
from tfgen.git.tree import remote_address
from tfgen.job.sources import FILE, defaults_under, is_root, read_sources, root_above
from tfgen.places import JOB_FILE, JOB_SCHEMA
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.editor_schema import editor_schema
from tfgen.schema.messages import check_name
from tfgen.tree.new_files import IfPresent, NewFile, add_files
from tfgen.words import command_line

EXAMPLE: Final = "tfgen init mnist --repo"

_STRATEGIES: Final = ("ParameterServer", "MultiWorkerMirrored", "KerasDistribution", "Single")
_GANGS: Final = ("volcano", "kube-batch", "coscheduling", "kai", "koordinator", "kueue", "kubernetes")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of the job")
    text = "the parent folder of NAME/, or the folder of the repository (default: the folder of the existing jobs)"
    option(parser, "--out", "DIR", text, path)
    text = "the distribution strategy of TensorFlow (default: ParameterServer)"
    choice(parser, "--strategy", _STRATEGIES, text, _STRATEGIES[0])
    option(parser, "--gpu", "COUNT", "the number of GPUs of each worker or chief", int, default=0)
    choice(parser, "--gang", _GANGS, "start all tasks together or not at all, with this gang scheduler", "")
    flag(parser, "--repo", "create a GitOps repository, with this job as the first job")
    option(parser, "--team", "TEAM", "with --repo: add a folder and an AppProject for a team", default="")
    choice(parser, "--ci", [*_CI_FILES], "with --repo: the CI system (default: by the URL of the remote origin)")


def run(args: Namespace) -> int:
    if (args.team or args.ci) and not args.repo:
        raise UsageError("--team and --ci need --repo")
    if args.gpu < 0:
        raise UsageError(f"--gpu {args.gpu}: write an integer of at least 0")
    if args.gang and args.strategy == "Single":
        raise UsageError("--gang needs several tasks, but a job with --strategy Single has one task; remove --gang")
    folder = args.out or Path()
    new = new_repository(args) if args.repo else new_job(args)
    added = add_files(new.folder, new.files)
    added = added if folder.is_absolute() else added.relative()
    is_configured = args.repo and configure_merge_driver(folder)
    if args.format == "json":
        written = {"created": added.created, "changed": added.extended, "kept": added.present}
        print_json({state: [str(path) for path in paths] for state, paths in written.items()})
        return OK
    print_result("".join(f"created  {path}\n" for path in added.created), end="")
    print_result("".join(f"added to {path}\n" for path in added.extended), end="")
    for file, text in added.present.items():
        print_result(f"kept     {file}")
        if file.as_posix().endswith(places.CHECK_FILES) and f"{new.command} " not in f"{text} ".replace("\n", " "):
            print_message(f"note: {file} does not run `{new.command}`; add the lines for hooks and CI from docs/git.md")
    if is_configured:
        print_result("set      merge.tfgen.driver in the git configuration of this clone")
    print_result(f"\nNext:\n\n  {command_line('render', added.created[0])}")
    return OK


_ENVIRONMENTS: Final = ("dev", "prod")
_EXAMPLE_REPOSITORY: Final = "https://git.example.com/ml/jobs.git"
_DISTRIBUTION: Final = "tfgen-charts"
_EXAMPLE_REQUIREMENT: Final = f"{_DISTRIBUTION}[kubernetes] @ git+https://git.example.com/platform/tfgen@v{__version__}"
_DEFAULTS_SCHEMA: Final = "schemas/tfgen.schema.json"
_CI_FILES: Final[Mapping[str, tuple[str, str, str]]] = {
    "github": (places.GITHUB_WORKFLOW, "github.yaml", places.GITHUB_OWNERS),
    "gitlab": (places.GITLAB_PIPELINE, "gitlab-ci.yaml", places.GITLAB_OWNERS),
}
"""For each CI system, the path and the template of its configuration file, and the path of the code owners file."""

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "init_files"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - YAML; the values contain no character that needs an escape
)


class NewFiles(Record):
    """New files, and what they run.

    Attributes:
        folder: the folder to which the paths of the files are relative, usually the root of the repository.
        command: the command that the hooks and the CI files run; empty for a single job.
    """

    folder: Path
    files: tuple[NewFile, ...]
    command: str = ""


def new_job(args: Namespace) -> NewFiles:
    """Return the files of a new job: its job.yaml, and the schema for editors if the repository has no schema.

    Raises:
        UsageError: the name is not valid, or a folder cannot be read.
    """
    check_name(args.name, "job name")
    place = find_place(args.name, args.out)
    folder: Path = args.out or Path()
    root = root_above(folder)
    is_repository = root is not None and is_root(root)
    base = Path(os.path.relpath(root)) if root is not None and is_repository else folder
    path = Path(os.path.relpath(place.path, base)).as_posix()
    schema = f"schemas/{JOB_SCHEMA}" if is_repository else JOB_SCHEMA
    if place.schema is not None:
        return NewFiles(base, (NewFile(path, _job_text(args, place)),))
    job_text = _job_text(args, place.replaced(schema=_relative(schema, path)))
    return NewFiles(base, (NewFile(path, job_text), NewFile(schema, editor_schema(), IfPresent.KEEP)))


def new_repository(args: Namespace) -> NewFiles:
    """Return the files of a new repository: a first job, defaults, schemas, and the configuration of git and CI.

    In a subfolder of a git repository, only the jobs and their tfgen.yaml are in the subfolder. All other files are in
    the root of the repository, where git and the CI system read them.

    A team gets a folder, defaults and an Argo CD project.

    Raises:
        UsageError: the name of the job or of the team is not valid.
    """
    folder: Path = args.out or Path()
    team: str = args.team
    check_name(args.name, "job name")
    if team:
        check_name(team, "team")
    whole = real_path(folder)
    top = repository_root(whole) or whole
    output = root_above(folder)
    output = output if output is not None and output.is_relative_to(top) else top
    below = "" if whole == top else f"{whole.relative_to(top).as_posix()}/"
    repository, branch = _without_password(remote_address(folder)), _default_branch(top)
    pattern = (schema_file.node(schema_file.load(), ("spec", "gitops", "repository")) or {})["pattern"]
    if not re.fullmatch(pattern, repository):  # for example a path on this machine
        repository = _EXAMPLE_REPOSITORY
    jobs = f"{below}jobs/{team}" if team else f"{below}jobs"
    path = f"{jobs}/{args.name}/{JOB_FILE}"
    place = find_place(args.name, top / jobs)
    is_first = not any((parent / FILE).exists() for parent in whole.parents if parent.is_relative_to(top))
    place = NewJobPlace(
        Path(path),
        _relative(f"schemas/{JOB_SCHEMA}", path),
        place.has_registry or is_first,
        place.environments or _ENVIRONMENTS,
    )
    ci_path, ci_template, owners = _CI_FILES[args.ci or ("gitlab" if "gitlab" in repository else "github")]
    rendered = output.relative_to(top).as_posix()
    root = "" if output == top else f"{rendered}/"
    values = {"branch": branch, "jobs": rendered, "requirement": _requirement(), "root": root}
    layer = f"{below}{FILE}"
    layer_text = _text(
        "tfgen.yaml", job=path, repository=repository, branch=branch, schema=f"./{_relative(_DEFAULTS_SCHEMA, layer)}"
    )
    # The owner in the URL of the repository, such as ``ads`` in ``https://git.ml.internal/ads/jobs.git``.
    owner = (repository.partition("://")[2].partition("/")[2] or repository.rpartition(":")[2]).partition("/")[0]
    files = (
        NewFile(path, _job_text(args, place)),
        *(_of_team(team, jobs, repository, place.environments) if team else ()),
        *((NewFile(layer, layer_text, IfPresent.KEEP),) if is_first else ()),
        NewFile(f"schemas/{JOB_SCHEMA}", editor_schema(), IfPresent.KEEP),
        NewFile(_DEFAULTS_SCHEMA, editor_schema(schema_file.DEFAULTS), IfPresent.KEEP),
        NewFile(".gitattributes", _text("gitattributes", **values), IfPresent.ADD_LINES),
        NewFile(".gitignore", _text("gitignore"), IfPresent.ADD_LINES),
        NewFile(places.HOOKS, _text("pre-commit-config.yaml", **values), IfPresent.KEEP),
        NewFile(ci_path, _text(ci_template, **values), IfPresent.KEEP),
        NewFile(owners, _text("codeowners", ci=ci_path, owner=owner, **values), IfPresent.ADD_LINES),
    )
    base = top if folder.is_absolute() else Path(os.path.relpath(top))
    return NewFiles(base, files, command_line("check", values["jobs"]))


def _of_team(team: str, jobs: str, repository: str, environments: tuple[str, ...]) -> tuple[NewFile, ...]:
    *environments_before, last = environments  # the last environment is production
    namespaces = {**{environment: f"{team}-{environment}" for environment in environments_before}, last: team}
    layer = f"{jobs}/{FILE}"
    schema = _relative(_DEFAULTS_SCHEMA, layer)
    values = {"team": team, "repository": repository, "namespaces": namespaces, "schema": schema}
    return (
        NewFile(layer, _text("team.yaml", **values), IfPresent.KEEP),
        NewFile(f"{places.PROJECTS}/{team}.yaml", _text("project.yaml", **values), IfPresent.KEEP),
    )


def _relative(schema: str, file: str) -> str:
    """Return the path of a schema relative to the folder of the file that names the schema."""
    return Path(os.path.relpath(schema, Path(file).parent)).as_posix()


def _job_text(args: Namespace, place: NewJobPlace) -> str:
    image = f"{args.name}:1.0.0"
    return _text(
        "job.yaml",
        name=args.name,
        strategy=args.strategy,
        computes="chief" if args.strategy == "Single" else "worker",
        gpus=args.gpu,
        gang=args.gang,
        schema=place.schema or f"./{JOB_SCHEMA}",
        image=image if place.has_registry else f"registry.example.com/ml/{image}",
        environments=place.environments or _ENVIRONMENTS,
    )


def _text(template: str, **values: Any) -> str:
    text: str = _TEMPLATES.get_template(f"{template}.j2").render(values)
    return text


def _default_branch(top: Path) -> str:
    """Return the default branch of the remote `origin`; without this remote, the current branch."""
    if is_installed() and top.is_dir():
        for ref, prefix in (("refs/remotes/origin/HEAD", "refs/remotes/origin/"), ("HEAD", "refs/heads/")):
            done = Git(top, ("symbolic-ref", "--quiet", ref)).done()
            if not done.code:
                return done.stdout.decode("utf-8", errors="replace").strip().removeprefix(prefix)
    return "main"


def _requirement() -> str:
    """Return the requirement by which pip installs the running tfgen: a git commit or a version.

    For a tfgen that was installed from a file or a folder, return an example, which `tfgen check` reports.
    """
    try:
        distribution = metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:  # the package runs without an installation
        return _EXAMPLE_REQUIREMENT
    text = distribution.read_text("direct_url.json")  # https://packaging.python.org/specifications/direct-url
    if text is None:
        return f"{_DISTRIBUTION}[kubernetes]=={distribution.version}"
    origin = json.loads(text)
    if origin["url"].startswith("file:") or "vcs_info" not in origin:
        return _EXAMPLE_REQUIREMENT
    folder = f"#subdirectory={origin['subdirectory']}" if "subdirectory" in origin else ""
    address, commit = _without_password(origin["url"]), origin["vcs_info"]["commit_id"]
    return f"{_DISTRIBUTION}[kubernetes] @ git+{address}@{commit}{folder}"


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        return address
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


_ANY_JOB: Final = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: any}
spec: {image: any:1, roles: {chief: {}, ps: {}, worker: {}}}
"""


class NewJobPlace(Record):
    """The path of a new job file, and the defaults that its folder inherits.

    Attributes:
        path: the path of the job file.
        schema: the relative path from the job file to the JSON schema in the repository; None without such a schema.
        has_registry: whether an inherited tfgen.yaml sets the registry of the image.
        environments: the names of the environments in the inherited tfgen.yaml files.
    """

    path: Path
    schema: str | None = None
    has_registry: bool = False
    environments: tuple[str, ...] = ()


def find_place(name: str, folder: Path | None) -> NewJobPlace:
    """Return the path and the defaults of a new job file.

    Args:
        name: the name of the job.
        folder: the parent folder of the new job; None for the folder that contains all existing jobs.

    Raises:
        UsageError: a folder cannot be read.
    """
    path = folder / name / JOB_FILE if folder is not None else _path_with_jobs(name)
    layers = defaults_under(path, lambda file: read_file(file) if file.is_file() else None)
    # A tfgen.yaml with errors, like a missing tfgen.yaml, sets no defaults.
    documents = check(_ANY_JOB, str(path), layers).documents if layers is not None else ()
    defaults = documents[0].under.data if documents and documents[0].under else None
    environments = data_path.at(defaults, ("spec", "environments")) or {}
    return NewJobPlace(path, _shared_schema(path), bool(data_path.at(defaults, ("registry",))), tuple(environments))


def _path_with_jobs(name: str) -> Path:
    """Return the path of a new job in the folder that contains all existing jobs: NAME/job.yaml or NAME.yaml.

    The new path has the form of most existing paths. Outside a repository, the result is NAME/job.yaml in the working
    directory, and tfgen does not search for jobs, because the search of a home folder takes long.
    """
    working_directory = Path()
    root = root_above(working_directory)
    sources = read_sources([working_directory], may_be_none=True) if root is not None and is_root(root) else []
    files = [Path(source.file) for source in sources]
    in_folders = [file.parent.parent for file in files if file.name == JOB_FILE and file.parent != working_directory]
    named = [file.parent for file in files if file.name != JOB_FILE]
    folders = named if len(named) > len(in_folders) else in_folders
    shared = Path(os.path.commonpath(folders)) if folders and working_directory not in folders else working_directory
    return shared / f"{name}.yaml" if folders is named else shared / name / JOB_FILE


def _shared_schema(path: Path) -> str | None:
    """Return the relative path of the nearest JSON schema in the parent folders of a job; None if no schema exists."""
    folder = real_path(path.parent)
    root = root_above(folder if folder.is_dir() else Path())
    for parent in folder.parents:
        for schema in (parent / JOB_SCHEMA, parent / "schemas" / JOB_SCHEMA):
            if schema.is_file():
                return Path(os.path.relpath(schema, folder)).as_posix()
        if parent == root:
            break
    return None
