"""``tfgen init``: a commented job.yaml that renders as it is, alone or in a repository laid out for GitOps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfgen import __version__
from tfgen.errors import UsageError
from tfgen.job import defaults
from tfgen.schema import file as schema_file
from tfgen.tree.output_folder import OutputFolder

SCHEMA_FILE: Final = "job.schema.json"
"""Beside job.yaml, so that editors check and complete it offline, by the schema of this very tfgen."""

_TEMPLATE: Final = """\
# yaml-language-server: $schema={schema}
#
# A distributed TensorFlow job. `tfgen render` makes charts/{name} and overlays/{name} of it.
# What a key means: tfgen explain spec.roles.worker.resources.gpu
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata:
  name: {name}
spec:
  # Parameter servers hold the variables, workers compute, the chief coordinates and ends the job.
  strategy: ParameterServer

  # Your program and its image. Every task runs it, and finds its role in TF_CONFIG.
  image: {image}
  command: [python, /opt/train.py]

  roles:
    chief:
      resources: {{cpu: 1, memory: 2Gi}}
    ps:
      replicas: 1
      resources: {{cpu: 1, memory: 2Gi}}
    worker:
      replicas: 2
      resources:
        cpu: 2
        memory: 4Gi
        # gpu: {{count: 1, product: NVIDIA-T4}}

  # Environment variables by name. Secrets are referred to, never written down.
  env:
    MODEL_DIR: /model
    # HUB_TOKEN: {{secretKeyRef: {{name: hub, key: token}}}}

  # Volumes by name. A claim with a size is made for the job, and outlives it.
  storage:
    model:
      mountPath: /model
      claim: {{size: 10Gi, accessMode: ReadWriteMany}}
    # data: {{mountPath: /data, readOnly: true, claim: {{name: datasets}}, for: [chief, worker]}}

  # All pods or none, by a scheduler that can: volcano, kube-batch, coscheduling, kueue or kubernetes.
  # gang: {{scheduler: volcano, queue: research}}

  # What is different where. Each becomes overlays/{name}/ENV and charts/{name}/values-ENV.yaml.
  environments:
    dev:
      roles: {{worker: {{replicas: 1}}}}
    prod:
      roles: {{worker: {{replicas: 4}}}}
"""

_DEFAULTS: Final = """\
# yaml-language-server: $schema=./schemas/tfgen.schema.json
#
# What the jobs of this repository have in common. A job that says otherwise has its own way.
# Where the values of a job are said: tfgen explain jobs/{name}/job.yaml --origin
apiVersion: tfgen/v1alpha1
kind: Defaults

# Registry of every image that names none, but for those in a podTemplate.
registry: registry.example.com/ml

spec:
  # Where the clusters find this repository, and what applies it there: argocd, flux, or both.
  gitops:
    repository: https://git.example.com/ml/jobs.git
    argocd: {{}}
    # flux: {{}}

  # Where each environment is. Each job may say what else is different there.
  environments:
    dev: {{namespace: ml-dev}}
    prod: {{namespace: ml}}

  # GPU nodes are tainted, so that nothing else runs there.
  tolerations:
  - {{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}

  # The finisher runs in the job's own image. Only in another can it release a job whose image cannot be pulled.
  # completion: {{image: registry.example.com/library/python:3.12-slim}}

  # A section without a part that it needs goes under the jobs that say the rest of it.
  # gang: {{queue: research}}
  # storage: {{data: {{readOnly: true, claim: {{name: datasets}}}}}}
"""

_GITATTRIBUTES: Final = """\
# What tfgen writes is compared by its bytes, so git converts no line end of it. In reviews it is folded.
/charts/**   -text linguist-generated
/overlays/** -text linguist-generated
/.tfgen/**   -text linguist-generated
"""

_GITIGNORE: Final = """\
# charts/, overlays/ and .tfgen/ are not here: they are what the cluster is made of, and reviewed like code.
.venv/
__pycache__/
"""

_PRE_COMMIT: Final = """\
repos:
- repo: local
  hooks:
  - id: tfgen
    name: tfgen check
    entry: tfgen check jobs
    language: system
    pass_filenames: false
    always_run: true # a commit that only removes a job's file names no file
"""

_WORKFLOW: Final = """\
# Checks the jobs of a pull request, and that charts/ and overlays/ are what they render to.
name: tfgen
on: [pull_request]

permissions:
  contents: read

jobs:
  check:
    runs-on: ubuntu-latest
    env:
      TFGEN: git+https://git.example.com/platform/tfgen@v{version} # where your tfgen comes from
      KUBERNETES: "1.33" # the oldest of your clusters: the objects are held against its schemas
    steps:
    - uses: actions/checkout@v4
      with: {{fetch-depth: 0}}
    - uses: actions/setup-python@v5
      with: {{python-version: "3.12"}}
    - run: pip install "tfgen[kubernetes] @ $TFGEN"
    - run: tfgen check jobs --format github --against "origin/$GITHUB_BASE_REF" --kubernetes-version "$KUBERNETES"
    - run: tfgen render jobs
    - run: test -z "$(git status --porcelain)" || (git status --short; exit 1)
"""


def new_job(name: str) -> dict[str, str]:
    """The files of a new job by name: its job.yaml, and the schema that editors read.

    Raises:
        UsageError: the name is none that a job can have.
    """
    _check_name(name)
    job = _TEMPLATE.format(name=name, schema=f"./{SCHEMA_FILE}", image=f"registry.example.com/ml/{name}:1.0.0")
    return {"job.yaml": job, SCHEMA_FILE: schema_file.text()}


def new_repository(name: str) -> dict[str, str]:
    """The files of a new repository by path: a first job, the team's defaults, and what checks both.

    Raises:
        UsageError: the name is none that a job can have.
    """
    _check_name(name)
    return {
        f"jobs/{name}/job.yaml": _TEMPLATE.format(
            name=name, schema=f"../../schemas/{SCHEMA_FILE}", image=f"{name}:1.0.0"
        ),
        defaults.FILE: _DEFAULTS.format(name=name),
        f"schemas/{SCHEMA_FILE}": schema_file.text(),
        "schemas/tfgen.schema.json": schema_file.text(schema_file.DEFAULTS),
        ".gitattributes": _GITATTRIBUTES,
        ".gitignore": _GITIGNORE,
        ".pre-commit-config.yaml": _PRE_COMMIT,
        ".github/workflows/tfgen.yaml": _WORKFLOW.format(version=__version__),
    }


def _check_name(name: str) -> None:
    node = schema_file.node(schema_file.load(), ("metadata", "name")) or {}
    if not re.fullmatch(node["pattern"], name) or len(name) > node["maxLength"]:
        raise UsageError(f"{name!r} is no job name: {node['x-pattern-says']}, at most {node['maxLength']} characters")
    if name in node["not"]["enum"]:
        raise UsageError(f"{name!r} is no job name: choose {node['x-not-says']}")


def write_new(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write files that are not there yet, all or none, and give their paths.

    Raises:
        UsageError: one is there already, or a link or a file is where a folder of theirs is to be.
        TfgenError: the disk fails.
    """
    with OutputFolder(folder, create=True) as output:
        on_disk = output.survey(files)
        if there := [str(folder / path) for path in files if on_disk[path].digest is not None]:
            raise UsageError(f"{', '.join(there)}: there already; tfgen init writes over nothing")
        if obstacles := sorted({obstacle for entry in on_disk.values() if (obstacle := entry.obstacle)}):
            raise UsageError("\n".join(f"{folder}/{obstacle}" for obstacle in obstacles))
        output.stage(files)
        output.replace(dict.fromkeys(files))
        output.sync_folders(files.keys())
    return tuple(folder / path for path in files)
