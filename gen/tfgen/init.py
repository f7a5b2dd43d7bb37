"""``tfgen init``: a commented job.yaml that renders as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfgen import schema_file
from tfgen.errors import TfgenError, UsageError

SCHEMA_FILE: Final = "job.schema.json"
"""Beside job.yaml, so that editors check and complete it offline, by the schema of this very tfgen."""

_TEMPLATE: Final = """\
# yaml-language-server: $schema=./{schema}
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
  image: registry.example.com/ml/{name}:1.0.0
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

  # All pods or none, by a scheduler that can: volcano or kube-batch.
  # gang: {{scheduler: volcano, queue: default}}

  # What is different where. Each becomes overlays/{name}/ENV and charts/{name}/values-ENV.yaml.
  environments:
    dev:
      roles: {{worker: {{replicas: 1}}}}
    prod:
      roles: {{worker: {{replicas: 4}}}}
"""


def new_job(name: str) -> dict[str, str]:
    """The files of a new job by name: its job.yaml, and the schema that editors read.

    Raises:
        UsageError: the name is none that a job can have.
    """
    node = schema_file.node(schema_file.load(), ("metadata", "name")) or {}
    if not re.fullmatch(node["pattern"], name) or len(name) > node["maxLength"]:
        raise UsageError(f"{name!r} is no job name: {node['x-pattern-says']}, at most {node['maxLength']} characters")
    return {"job.yaml": _TEMPLATE.format(name=name, schema=SCHEMA_FILE), SCHEMA_FILE: schema_file.text()}


def write_new(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write files that are not there yet, and give their paths.

    Raises:
        TfgenError: one is there already (then none is written), or the disk fails.
    """
    paths = {folder / name: text for name, text in files.items()}
    if there := [str(path) for path in paths if path.exists()]:
        raise UsageError(f"{', '.join(there)}: there already; tfgen init writes over nothing")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        raise TfgenError(f"{error.filename}: {error.strerror}") from error
    return tuple(paths)
