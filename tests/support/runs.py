"""Changes of a job that need a new run, and those that do not."""

from __future__ import annotations

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  args: [--steps=600]
  env: {DATA: /data}
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 4}
  storage:
    model: {mountPath: /model, claim: {size: 20Gi, storageClass: nfs}}
  gang: {scheduler: volcano, queue: research}
  environments:
    dev: {roles: {worker: {replicas: 1}}}
    prod: {run: b}
"""


CHIEF = "Kubernetes refuses another template for the Job mnist-chief"


CHIEF_B = "Kubernetes refuses another template for the Job mnist-b-chief"


FINISHER = "Kubernetes refuses another template for the Job mnist-finisher"


CLUSTER = "the tasks of a run keep their TF_CONFIG"


def added(line: str) -> tuple[str, str]:
    """An edit: one more line, the fifth."""
    return "  image: mnist:1\n", f"  {line}\n  image: mnist:1\n"


def runs(place: str, change: str, why: str, *options: str) -> str:
    command = " ".join(("tfgen rerun job.yaml", *options))
    return f"job.yaml:{place}: {change}: {why}; for a new run: {command} [new-run]\n"


def everywhere(place: str, change: str, why: str = CHIEF) -> str:
    """The job with dev, which has its run, and prod, which has its own."""
    of_prod = why.replace("mnist-", "mnist-b-")
    return runs(place, change, why) + runs(place, change, of_prod, "--env prod")


PS = "Kubernetes refuses another template for the StatefulSet mnist-ps"


CASES = {
    "nothing": ("mnist:1", "mnist:1", ""),
    "a comment, and other words for the same": (*added("strategy: ParameterServer # as before"), ""),
    "replicas, which dev says for itself": (
        "s: 4",
        "s: 8",
        runs("11:24", "roles.worker.replicas was 4 and is 8", CLUSTER, "--env prod"),
    ),
    "replicas of ps": ("s: 2", "s: 3", everywhere("10:20", "roles.ps.replicas was 2 and is 3", CLUSTER)),
    "replicas as they are, said by an environment": ("b}", "b, roles: {worker: {replicas: 4}}}", ""),
    "image": ("mnist:1", "mnist:2", everywhere("5:10", 'image was "mnist:1" and is "mnist:2"')),
    "image of a role": (
        "ps: {replicas: 2}",
        "ps: {image: ps:1, replicas: 2}",
        everywhere("10:17", 'roles.ps.image was "" and is "ps:1"', PS),
    ),
    "env": ("/data", "/d", everywhere("7:15", 'env.DATA was "/data" and is "/d"')),
    "env, one more": ("/data}", "/data, X: x}", everywhere("7:25", "env.X is new")),
    "env, one less": ("{DATA: /data}", "{}", everywhere("7:3", "env.DATA is gone")),
    "args": ("--steps=600", "--steps=700", everywhere("6:3", "args changed")),
    "labels": (*added("labels: {team: a}"), everywhere("5:18", "labels.team is new")),
    "resources": (
        "chief: {}",
        "chief: {resources: {cpu: 2}}",
        everywhere("9:30", 'roles.chief.resources.cpu was "" and is 2'),
    ),
    "podTemplate": (
        "ps: {replicas: 2}",
        "ps: {replicas: 2, podTemplate: {spec: {hostNetwork: false}}}",
        everywhere("10:57", "roles.ps.podTemplate.spec.hostNetwork is new", PS),
    ),
    "gang's queue": ("research", "production", ""),
    "gang off": (
        "queue: research",
        "queue: research, enabled: false",
        everywhere("14:56", "gang.enabled was true and is false"),
    ),
    "gang removed": (
        "  gang: {scheduler: volcano, queue: research}\n",
        "",
        everywhere("4:1", "gang is gone"),
    ),
    "network policy": (*added("network: {policy: 'Off'}"), ""),
    "disruption budget": (*added("podDisruptionBudget: {}"), ""),
    "TensorBoard": (*added("tensorboard: {logDir: /model}"), ""),
    "retries, which of the chief are its backoffLimit": (*added("retries: 3"), ""),
    "deadline": (*added("deadline: 3600"), everywhere("5:13", "deadline was 0 and is 3600")),
    "startDeadline, which the finisher keeps, and its image": (
        *added("startDeadline: 60\n  completion: {image: tfgen-finisher:1}"),
        everywhere(
            "5:18",
            "startDeadline was 0 and is 60",
            FINISHER,
        )
        + everywhere("6:23", 'completion.image was "" and is "tfgen-finisher:1"', FINISHER),
    ),
    "no finisher": (*added("completion: {release: Keep}"), ""),
    "role added": ("chief: {}", "chief: {}\n    evaluator: {}", everywhere("10:5", "roles.evaluator is new", CLUSTER)),
    "workers of another kind": (
        "s: 4",
        "s: 4, runs: ToCompletion",
        everywhere(
            "11:33",
            "roles.worker.runs is new",
            "the StatefulSet mnist-worker would go while its run lasts",
        ),
    ),
    "run raised": (*added("run: '2'"), ""),
    "run raised, and all else": (
        "  image: mnist:1\n  args: [--steps=600]\n",
        "  run: '2'\n  image: mnist:2\n",
        runs("6:10", 'image was "mnist:1" and is "mnist:2"', CHIEF_B, "--env prod")
        + runs("4:1", "args changed", CHIEF_B, "--env prod"),
    ),
    "environment only": (
        "s: 1",
        "s: 2",
        runs("16:38", "roles.worker.replicas was 1 and is 2", CLUSTER, "--env dev"),
    ),
    "environment with a run of its own": (
        "{run: b}",
        "{run: b, image: m:2}",
        runs("17:27", 'image was "mnist:1" and is "m:2"', CHIEF_B, "--env prod"),
    ),
    "environment with its run raised": ("{run: b}", "{run: c, image: m:2}", ""),
    "environment no longer says it": (
        "{roles: {worker: {replicas: 1}}}",
        "{}",
        runs("16:5", "roles.worker.replicas was 1 and is 4", CLUSTER, "--env dev"),
    ),
    "environment that is new": ("b}", "b}\n    test: {image: m:2}", ""),
    "environment that is gone": ("    prod: {run: b}\n", "", ""),
    "the first of two changes is fine": (
        "research}\n  environments:\n    dev: {roles: {worker: {replicas: 1",
        "other}\n  environments:\n    dev: {roles: {worker: {replicas: 2",
        runs("16:38", "roles.worker.replicas was 1 and is 2", CLUSTER, "--env dev"),
    ),
    "storage grown": ("20Gi", "1Ti", ""),
    "storage in other words": ("20Gi", "20480Mi", ""),
    "storage shrunk": (
        "20Gi",
        "10Gi",
        'job.yaml:13:46: storage.model.claim.size was "20Gi" and is "10Gi": the claim mnist-model can only grow; '
        "for another one, give the volume another name [claim-change]\n",
    ),
    "storage of another class": (
        "nfs",
        "efs",
        'job.yaml:13:66: storage.model.claim.storageClass was "nfs" and is "efs": the claim mnist-model can only grow; '
        "for another one, give the volume another name [claim-change]\n",
    ),
    "storage shrunk in a new run": (
        "  args: [--steps=600]\n  env: {DATA: /data}\n  roles:\n    chief: {}\n    ps: {replicas: 2}\n"
        "    worker: {replicas: 4}\n  storage:\n    model: {mountPath: /model, claim: {size: 20Gi",
        "  run: x\n  args: [--steps=700]\n  roles:\n    chief: {}\n    ps: {replicas: 2}\n"
        "    worker: {replicas: 4}\n  storage:\n    model: {mountPath: /model, claim: {size: 10Gi",
        runs("4:1", "env.DATA is gone", CHIEF_B, "--env prod")
        + runs("7:3", "args changed", CHIEF_B, "--env prod")
        + 'job.yaml:13:46: storage.model.claim.size was "20Gi" and is "10Gi": the claim mnist-model can only grow; '
        "for another one, give the volume another name [claim-change]\n",
    ),
    "storage of another kind, of which no half is a change": (
        "claim: {size: 20Gi, storageClass: nfs}",
        "emptyDir: {}",
        everywhere("13:5", "storage.model changed"),
    ),
    "storage under another name": (
        "model: {",
        "other: {",
        everywhere("13:5", "storage.other is new") + everywhere("12:3", "storage.model is gone"),
    ),
}
