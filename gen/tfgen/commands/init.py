"""``tfgen init``: create a commented job.yaml that renders without an edit, or a GitOps repository with a first job.

The templates of the files are in `authoring/init_files`. Only this module of tfgen imports Jinja.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import jinja2

from tfgen import __version__
from tfgen.commands.authoring.new_files import IfPresent, NewFile
from tfgen.commands.authoring.new_job_place import Place, find_place
from tfgen.disk_file import real_path, repository_root
from tfgen.git.command import Git, is_installed
from tfgen.git.tree import remote_address
from tfgen.job import defaults
from tfgen.job.sources import is_root, root_above
from tfgen.places import (
    GITHUB_OWNERS,
    GITHUB_WORKFLOW,
    GITLAB_OWNERS,
    GITLAB_PIPELINE,
    HOOKS,
    JOB_FILE,
    JOB_SCHEMA,
    PROJECTS,
)
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.editor_schema import editor_schema
from tfgen.schema.messages import check_name

Ci: TypeAlias = Literal["github", "gitlab"]
"""The CI system that checks the repository."""

_ENVIRONMENTS: Final = ("dev", "prod")
_EXAMPLE_REPOSITORY: Final = "https://git.example.com/ml/jobs.git"
_DISTRIBUTION: Final = "tfgen-charts"
_EXAMPLE_REQUIREMENT: Final = f"{_DISTRIBUTION}[kubernetes] @ git+https://git.example.com/platform/tfgen@v{__version__}"
_DEFAULTS_SCHEMA: Final = "schemas/tfgen.schema.json"
_CI_FILES: Final[Mapping[Ci, tuple[str, str, str]]] = {
    "github": (GITHUB_WORKFLOW, "github.yaml", GITHUB_OWNERS),
    "gitlab": (GITLAB_PIPELINE, "gitlab-ci.yaml", GITLAB_OWNERS),
}
"""For each CI system, the path and the template of its configuration file, and the path of the code owners file."""

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "authoring" / "init_files"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - YAML; the values contain no character that needs an escape
)


class JobOptions(Record):
    """The options of a new job.

    Attributes:
        name: the name of the job.
        strategy: the distribution strategy of TensorFlow.
        gpus: the number of GPUs of each worker, or of the chief of a job with a single task.
        gang: the gang scheduler; empty for no gang.
    """

    name: str
    strategy: str = "ParameterServer"
    gpus: int = 0
    gang: str = ""


class NewFiles(Record):
    """New files, and what they run.

    Attributes:
        folder: the folder to which the paths of the files are relative, usually the root of the repository.
        command: the command that the hooks and the CI files run; empty for a single job.
    """

    folder: Path
    files: tuple[NewFile, ...]
    command: str = ""


def new_job(options: JobOptions, folder: Path | None) -> NewFiles:
    """Return the files of a new job: its job.yaml, and the schema for editors if the repository has no schema.

    Args:
        options: the options of the job.
        folder: the parent folder of the new job; None for the common folder of the existing jobs.

    Raises:
        UsageError: the name is not valid, or a folder cannot be read.
    """
    check_name(options.name, "job name")
    place = find_place(options.name, folder)
    root = root_above(folder or Path())
    is_repository = root is not None and is_root(root)
    base = Path(os.path.relpath(root)) if root is not None and is_repository else folder or Path()
    path = Path(os.path.relpath(place.path, base)).as_posix()
    schema = f"schemas/{JOB_SCHEMA}" if is_repository else JOB_SCHEMA
    if place.schema is not None:
        return NewFiles(base, (NewFile(path, _job_text(options, place)),))
    place = place.replaced(schema=_relative(schema, path))
    return NewFiles(base, (NewFile(path, _job_text(options, place)), NewFile(schema, editor_schema(), IfPresent.KEEP)))


def new_repository(options: JobOptions, folder: Path, *, team: str = "", ci: Ci | None = None) -> NewFiles:
    """Return the files of a new repository: a first job, defaults, schemas, and the configuration of git and CI.

    In a subfolder of a git repository, only the jobs and their tfgen.yaml are in the subfolder. All other files are in
    the root of the repository, where git and the CI system read them.

    Args:
        options: the options of the first job.
        folder: the folder of the jobs, usually the root of the repository.
        team: the team of the job, which gets a folder, defaults and an Argo CD project; empty for no team.
        ci: the CI system; None to choose the CI system by the URL of `origin`.

    Raises:
        UsageError: the name of the job or of the team is not valid.
    """
    check_name(options.name, "job name")
    if team:
        check_name(team, "team")
    whole = real_path(folder)
    top = repository_root(whole) or whole
    output = root_above(folder)
    output = output if output is not None and output.is_relative_to(top) else top
    below = "" if whole == top else f"{whole.relative_to(top).as_posix()}/"
    repository, branch = _repository_address(folder), _default_branch(top)
    jobs = f"{below}jobs/{team}" if team else f"{below}jobs"
    path = f"{jobs}/{options.name}/{JOB_FILE}"
    place = find_place(options.name, top / jobs)
    is_first = not any((parent / defaults.FILE).exists() for parent in whole.parents if parent.is_relative_to(top))
    place = Place(
        Path(path),
        _relative(f"schemas/{JOB_SCHEMA}", path),
        place.has_registry or is_first,
        place.environments or _ENVIRONMENTS,
    )
    ci_path, ci_template, owners = _CI_FILES[ci or ("gitlab" if "gitlab" in repository else "github")]
    values = {
        "branch": branch,
        "jobs": output.relative_to(top).as_posix(),
        "requirement": _requirement(),
        "root": "" if output == top else f"{output.relative_to(top).as_posix()}/",
    }
    layer = f"{below}{defaults.FILE}"
    layer_text = _text(
        "tfgen.yaml", job=path, repository=repository, branch=branch, schema=f"./{_relative(_DEFAULTS_SCHEMA, layer)}"
    )
    files = (
        NewFile(path, _job_text(options, place)),
        *(_of_team(team, jobs, repository, place.environments) if team else ()),
        *((NewFile(layer, layer_text, IfPresent.KEEP),) if is_first else ()),
        NewFile(f"schemas/{JOB_SCHEMA}", editor_schema(), IfPresent.KEEP),
        NewFile(_DEFAULTS_SCHEMA, editor_schema(schema_file.DEFAULTS), IfPresent.KEEP),
        NewFile(".gitattributes", _text("gitattributes", **values), IfPresent.ADD_LINES),
        NewFile(".gitignore", _text("gitignore"), IfPresent.ADD_LINES),
        NewFile(HOOKS, _text("pre-commit-config.yaml", **values), IfPresent.KEEP),
        NewFile(ci_path, _text(ci_template, **values), IfPresent.KEEP),
        NewFile(owners, _text("codeowners", ci=ci_path, owner=_owner(repository), **values), IfPresent.ADD_LINES),
    )
    base = top if folder.is_absolute() else Path(os.path.relpath(top))
    return NewFiles(base, files, f"tfgen check {values['jobs']}")


def _of_team(team: str, jobs: str, repository: str, environments: tuple[str, ...]) -> tuple[NewFile, ...]:
    *environments_before, last = environments  # the last environment is production
    namespaces = {**{environment: f"{team}-{environment}" for environment in environments_before}, last: team}
    layer = f"{jobs}/{defaults.FILE}"
    schema = _relative(_DEFAULTS_SCHEMA, layer)
    values = {"team": team, "repository": repository, "namespaces": namespaces, "schema": schema}
    return (
        NewFile(layer, _text("team.yaml", **values), IfPresent.KEEP),
        NewFile(f"{PROJECTS}/{team}.yaml", _text("project.yaml", **values), IfPresent.KEEP),
    )


def _relative(schema: str, file: str) -> str:
    """Return the path of a schema relative to the folder of the file that names the schema."""
    return Path(os.path.relpath(schema, Path(file).parent)).as_posix()


def _job_text(options: JobOptions, place: Place) -> str:
    image = f"{options.name}:1.0.0"
    return _text(
        "job.yaml",
        name=options.name,
        strategy=options.strategy,
        computes="chief" if options.strategy == "Single" else "worker",
        gpus=options.gpus,
        gang=options.gang,
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


def _repository_address(folder: Path) -> str:
    """Return the URL of the remote `origin` without its password.

    If `gitops.repository` does not allow the URL, for example a path on this machine, return an example URL.
    """
    address = _without_password(remote_address(folder))
    pattern = (schema_file.node(schema_file.load(), ("spec", "gitops", "repository")) or {})["pattern"]
    return address if re.fullmatch(pattern, address) else _EXAMPLE_REPOSITORY


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        return address
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _owner(repository: str) -> str:
    """Return the owner in the URL of a repository, for example ``ads`` in ``https://git.ml.internal/ads/jobs.git``."""
    path = repository.partition("://")[2].partition("/")[2] or repository.rpartition(":")[2]
    return path.partition("/")[0]
