"""Records with the facts about jobs that the pages of the web site show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tfgen.errors import Problem
from tfgen.kubernetes.pods import amount
from tfgen.record import Record

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount


class Requests(Record):
    """The resources that pods and claims request.

    Attributes:
        cpu: number of CPU cores.
        memory: number of bytes.
        storage: number of bytes that the claims request.
        gpus: number of GPUs of each model. For a job that selects no model, the name of the resource replaces the
            model. Example: {"NVIDIA-A100": 8, "nvidia.com/gpu": 2}.
    """

    pods: int
    cpu: Amount
    memory: Amount
    storage: Amount
    gpus: Mapping[str, Amount]

    @property
    def gpu_text(self) -> str:
        """Return the GPUs as text, such as `8 NVIDIA-A100, 2 nvidia.com/gpu`."""
        return ", ".join(f"{amount('', number)} {product}" for product, number in sorted(self.gpus.items()))

    @property
    def gpu_count(self) -> Amount:
        """Return the number of all GPUs together."""
        return sum(self.gpus.values())


def total(requests: Iterable[Requests]) -> Requests:
    """Return the sum of several requests."""
    parts = [*requests]
    products = sorted({product for part in parts for product in part.gpus})
    return Requests(
        pods=sum(part.pods for part in parts),
        cpu=sum(part.cpu for part in parts),
        memory=sum(part.memory for part in parts),
        storage=sum(part.storage for part in parts),
        gpus={product: sum(part.gpus.get(product, 0) for part in parts) for product in products},
    )


class ObjectText(Record):
    """A Kubernetes object as text.

    Attributes:
        title: kind and name.
        text: the object in YAML.
    """

    title: str
    text: str


class ValueOrigin(Record):
    """A row of the table of a job's values. The columns are path, value, and the file that sets the value."""

    path: str
    value: str
    origin: str


class ProblemLine(Record):
    """A problem, and the text of the line that has the problem. The text is empty if the file cannot be read."""

    problem: Problem
    text: str


class LiveState(Record):
    """The state of a run in the cluster of the run.

    Attributes:
        ready: the number of ready tasks and the number of all tasks, such as 3/4.
        reason: the first reason why the run waits or fails; empty without a reason.
    """

    phase: str
    ready: str
    reason: str


class EnvironmentFacts(Record):
    """The facts about an environment of a job, or about the job itself if the job has no environments.

    Attributes:
        name: name of the environment; empty for the job itself.
        cluster: name of the cluster; empty for the cluster in which the GitOps tool runs.
        queue: name of the queue of Volcano or Kueue; empty without a queue.
        is_enabled: whether the job runs in the environment.
        origins: the values that job.yaml or a layer sets. Defaults of the schema are not included.
        state: the state of the run in the cluster; None if tfgen has not read the cluster.
    """

    name: str
    namespace: str
    cluster: str
    queue: str
    is_enabled: bool
    requests: Requests
    objects: tuple[ObjectText, ...]
    origins: tuple[ValueOrigin, ...]
    state: LiveState | None = None


class Change(Record):
    """A commit that changed a job file.

    Attributes:
        commit: the shortened id of the commit.
        date: the date of the commit, such as 2026-11-25.
        words: a text for each changed field of the job, such as "spec.retries was 3 and is 5"; or "the job is new" for
            the first commit.
    """

    commit: str
    date: str
    words: tuple[str, ...]


class JobFacts(Record):
    """All facts that the page of a job shows.

    Attributes:
        file: path of the job file from the root of the repository.
        team: the team that owns the job, from a label, from the project of Argo CD, or from the job's folder.
        problems: the problems of the job file, in order.
        history: the last changes of the job file, the newest first.
        waiting: texts that describe the uncommitted changes of the job.
        delivery: texts that describe how GitOps tools apply the job.
        picture: the picture of the job as SVG.
    """

    name: str
    file: str
    team: str
    environments: tuple[EnvironmentFacts, ...]
    problems: tuple[ProblemLine, ...]
    history: tuple[Change, ...]
    waiting: tuple[str, ...]
    delivery: tuple[str, ...]
    picture: str


class BrokenJob(Record):
    """A job with errors in its job file or in a layer.

    Attributes:
        name: name of the job; the path of the file for a job without a name.
        file: path of the job file from the root of the repository.
        page: file name of the job's page, without the extension.
        problems: the problems of the job file and of its layers.
    """

    name: str
    file: str
    page: str
    problems: tuple[ProblemLine, ...]

    @property
    def errors(self) -> int:
        """Return the number of errors."""
        return sum(line.problem.severity == "error" for line in self.problems)


class Site(Record):
    """All facts that the pages of the site show.

    Attributes:
        jobs: jobs without errors, in the order of their names.
        broken: jobs with errors, in the order of their files.
        notes: messages about clusters that tfgen could not read.
        live_at: the time at which tfgen read the states of runs from the clusters, as text; empty without the states.
    """

    title: str
    jobs: tuple[JobFacts, ...]
    broken: tuple[BrokenJob, ...] = ()
    notes: tuple[str, ...] = ()
    live_at: str = ""

    @property
    def empty_columns(self) -> frozenset[str]:
        """Return the columns of the table of jobs that have no value in any row."""
        environments = [environment for job in self.jobs for environment in job.environments]
        values = {
            "Team": (job.team for job in self.jobs),
            "Queue": (environment.queue for environment in environments),
            "Cluster": (environment.cluster for environment in environments),
            "Namespace": (environment.namespace for environment in environments),
        }
        return frozenset(column for column, texts in values.items() if not any(texts))
