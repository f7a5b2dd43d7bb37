"""The jobs of the benchmark: files with several structures, and with some workers and environments.

write_jobs(folder, 1_000, structures=50)    jobs/0000.yaml ... jobs/0999.yaml
"""

from __future__ import annotations

from pathlib import Path

STRUCTURES = 64
"""Number of structures: each of six parts of a job is present or missing."""

_JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: {name}, namespace: ml}}
spec:
  image: registry.example.com/ml/dist-mnist:1.4.0
  command: [python, /opt/train.py]
  args: [--steps=2000]
  env: {{MODEL_DIR: /model}}
  storage: {{model: {{mountPath: /model, claim: {{size: 20Gi, accessMode: ReadWriteMany}}}}}}
  roles:
    chief: {{resources: {{cpu: 2, memory: 4Gi}}}}
    ps: {{replicas: 2, resources: {{cpu: 2, memory: 4Gi}}}}
    worker: {{replicas: {workers}, resources: {{cpu: 4, memory: 8Gi, gpu: {{count: 1, product: NVIDIA-T4}}}}}}
"""
_EVALUATOR = "    evaluator: {resources: {cpu: 1, memory: 2Gi}}\n"
_PARTS = (
    "  gang: {scheduler: volcano, queue: research}\n",
    "  tensorboard: {logDir: /model/logs}\n",
    "  workload: {kind: Job}\n",
    "  podDisruptionBudget: {enabled: true}\n",
    "  legacyFlags: true\n",
)


def job_text(number: int, *, workers: int = 4, environments: int = 3) -> str:
    """Return a job.yaml. `number` is part of the name, and its bits select the parts of the structure."""
    parts = "".join(part for bit, part in enumerate((_EVALUATOR, *_PARTS)) if number >> bit & 1)
    names = [f"env-{number}" for number in range(environments)]
    own = "".join(f"    {name}: {{roles: {{worker: {{replicas: {max(workers - 1, 1)}}}}}}}\n" for name in names)
    return f"{_JOB.format(name=f'job-{number:05}', workers=workers)}{parts}  environments:\n{own}"


def write_jobs(folder: Path, jobs: int, structures: int) -> None:
    """Write jobs to `folder/jobs`. The jobs cycle through the structures."""
    (folder / "jobs").mkdir(parents=True)
    for number in range(jobs):
        text = job_text(number % structures).replace(f"job-{number % structures:05}", f"job-{number:05}")
        (folder / "jobs" / f"{number:05}.yaml").write_text(text, encoding="utf-8")
