"""``tfgen init``: create a commented job.yaml that renders without an edit, or a GitOps repository with a first job.

The templates of the files are in `authoring/init_files`. Only this module of tfgen imports Jinja.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import jinja2

from tfgen import __version__
from tfgen.commands.authoring.job_name import check_name
from tfgen.commands.authoring.new_files import IfPresent, NewFile
from tfgen.commands.authoring.new_job_place import JOB_FILE, Place, find_place
from tfgen.git.tree import remote_address
from tfgen.job import defaults
from tfgen.job.output_root import is_root, root_above
from tfgen.places import GITHUB_OWNERS, GITHUB_WORKFLOW, GITLAB_OWNERS, GITLAB_PIPELINE, JOB_SCHEMA, PROJECTS
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.editor_schema import editor_schema

Ci: TypeAlias = Literal["github", "gitlab"]
"""The CI system that checks the repository."""

_ENVIRONMENTS: Final = ("dev", "prod")
_EXAMPLE_REPOSITORY: Final = "https://git.example.com/ml/jobs.git"
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


class NewJob(Record):
    """The files of a new job.

    Attributes:
        folder: the folder to which the paths of the files are relative, usually the root of the repository.
    """

    folder: Path
    files: tuple[NewFile, ...]


def new_job(options: JobOptions, folder: Path | None) -> NewJob:
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
        return NewJob(base, (NewFile(path, _job_text(options, place)),))
    place = place.replaced(schema=Path(os.path.relpath(schema, Path(path).parent)).as_posix())
    return NewJob(base, (NewFile(path, _job_text(options, place)), NewFile(schema, editor_schema(), IfPresent.KEEP)))


def new_repository(options: JobOptions, folder: Path, *, team: str = "", ci: Ci | None = None) -> tuple[NewFile, ...]:
    """Return the files of a new repository: a first job, defaults, schemas, and the configuration of git and CI.

    Args:
        options: the options of the first job.
        folder: the folder of the repository.
        team: the team of the job, which gets a folder, defaults and an Argo CD project; empty for no team.
        ci: the CI system; None to choose the CI system by the URL of `origin`.

    Raises:
        UsageError: the name of the job or of the team is not valid.
    """
    check_name(options.name, "job name")
    if team:
        check_name(team, "team")
    repository = _repository_address(folder)
    jobs = f"jobs/{team}" if team else "jobs"
    path = f"{jobs}/{options.name}/{JOB_FILE}"
    environments = find_place(options.name, folder / jobs).environments or _ENVIRONMENTS
    place = Place(Path(path), f"{'../' * path.count('/')}schemas/{JOB_SCHEMA}", True, environments)
    ci_path, ci_template, owners = _CI_FILES[ci or ("gitlab" if "gitlab" in repository else "github")]
    return (
        NewFile(path, _job_text(options, place)),
        *(_of_team(team, repository, environments) if team else ()),
        NewFile(defaults.FILE, _text("tfgen.yaml", job=path, repository=repository), IfPresent.KEEP),
        NewFile(f"schemas/{JOB_SCHEMA}", editor_schema(), IfPresent.KEEP),
        NewFile("schemas/tfgen.schema.json", editor_schema(schema_file.DEFAULTS), IfPresent.KEEP),
        NewFile(".gitattributes", _text("gitattributes"), IfPresent.ADD_LINES),
        NewFile(".gitignore", _text("gitignore"), IfPresent.ADD_LINES),
        NewFile(".pre-commit-config.yaml", _text("pre-commit-config.yaml"), IfPresent.KEEP),
        NewFile(ci_path, _text(ci_template, version=__version__), IfPresent.KEEP),
        NewFile(owners, _text("codeowners", ci=ci_path, owner=_owner(repository)), IfPresent.ADD_LINES),
    )


def _of_team(team: str, repository: str, environments: tuple[str, ...]) -> tuple[NewFile, ...]:
    *environments_before, last = environments  # the last environment is production
    namespaces = {**{environment: f"{team}-{environment}" for environment in environments_before}, last: team}
    values = {"team": team, "repository": repository, "namespaces": namespaces}
    return (
        NewFile(f"jobs/{team}/{defaults.FILE}", _text("team.yaml", **values), IfPresent.KEEP),
        NewFile(f"{PROJECTS}/{team}.yaml", _text("project.yaml", **values), IfPresent.KEEP),
    )


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


def _repository_address(folder: Path) -> str:
    """Return the URL of the remote `origin` without its password.

    If `gitops.repository` does not allow the URL, for example a path on this machine, return an example URL.
    """
    address = remote_address(folder)
    if "://" in address:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https"):
            address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    pattern = (schema_file.node(schema_file.load(), ("spec", "gitops", "repository")) or {})["pattern"]
    return address if re.fullmatch(pattern, address) else _EXAMPLE_REPOSITORY


def _owner(repository: str) -> str:
    """Return the owner in the URL of a repository, for example ``ads`` in ``https://git.ml.internal/ads/jobs.git``."""
    path = repository.partition("://")[2].partition("/")[2] or repository.rpartition(":")[2]
    return path.partition("/")[0]
