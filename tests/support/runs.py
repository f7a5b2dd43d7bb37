"""Changes of a job that need a new run, and changes that do not."""

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


CHIEF = "Kubernetes refuses to change the template of the Job mnist-chief"


CHIEF_B = "Kubernetes refuses to change the template of the Job mnist-b-chief"


FINISHER = "Kubernetes refuses to change the template of the Job mnist-finisher"


CLUSTER = "running tasks keep their list of hosts"


def added(line: str) -> tuple[str, str]:
    """Return an edit that adds a fifth line."""
    return "  image: mnist:1\n", f"  {line}\n  image: mnist:1\n"


def runs(place: str, change: str, why: str, *options: str) -> str:
    command = " ".join(("tfgen rerun job.yaml", *options))
    return f"job.yaml:{place}: {change}: {why}; for a new run: {command} [new-run]\n"


def everywhere(place: str, change: str, why: str = CHIEF) -> str:
    """Return the problems of a change that affects both the run of the job with dev and the run of prod."""
    of_prod = why.replace("mnist-", "mnist-b-")
    return runs(place, change, why) + runs(place, change, of_prod, "--env prod")


PS = "Kubernetes refuses to change the template of the StatefulSet mnist-ps"


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
        everywhere("10:17", "roles.ps.image is new", PS),
    ),
    "env": ("/data", "/d", everywhere("7:15", 'env.DATA was "/data" and is "/d"')),
    "env, one more": ("/data}", "/data, X: x}", everywhere("7:25", "env.X is new")),
    "env, one less": ("{DATA: /data}", "{}", everywhere("7:3", "env.DATA was removed")),
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
        everywhere("4:1", "gang was removed"),
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
            "the change would delete the StatefulSet mnist-worker of a run that has started",
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
        "for a new claim, rename the volume [claim-change]\n",
    ),
    "storage of another class": (
        "nfs",
        "efs",
        'job.yaml:13:66: storage.model.claim.storageClass was "nfs" and is "efs": the claim mnist-model can only grow; '
        "for a new claim, rename the volume [claim-change]\n",
    ),
    "storage shrunk in a new run": (
        "  args: [--steps=600]\n  env: {DATA: /data}\n  roles:\n    chief: {}\n    ps: {replicas: 2}\n"
        "    worker: {replicas: 4}\n  storage:\n    model: {mountPath: /model, claim: {size: 20Gi",
        "  run: x\n  args: [--steps=700]\n  roles:\n    chief: {}\n    ps: {replicas: 2}\n"
        "    worker: {replicas: 4}\n  storage:\n    model: {mountPath: /model, claim: {size: 10Gi",
        runs("4:1", "env.DATA was removed", CHIEF_B, "--env prod")
        + runs("7:3", "args changed", CHIEF_B, "--env prod")
        + 'job.yaml:13:46: storage.model.claim.size was "20Gi" and is "10Gi": the claim mnist-model can only grow; '
        "for a new claim, rename the volume [claim-change]\n",
    ),
    "storage of another kind, of which no half is a change": (
        "claim: {size: 20Gi, storageClass: nfs}",
        "emptyDir: {}",
        everywhere("13:5", "storage.model changed"),
    ),
    "storage under another name": (
        "model: {",
        "other: {",
        everywhere("13:5", "storage.other is new") + everywhere("12:3", "storage.model was removed"),
    ),
}


OBJECTS = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: kept}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  objects:
    settings:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: settings}
      immutable: true
      data: {LEVEL: info}
    free:
      apiVersion: v1
      kind: ConfigMap
      data: {LEVEL: quiet}
    reader:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: RoleBinding
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one}
      subjects: [{kind: ServiceAccount, name: default}]
    cache:
      apiVersion: apps/v1
      kind: StatefulSet
      spec:
        serviceName: cache
        replicas: 1
        selector: {matchLabels: {app: cache}}
        template:
          metadata: {labels: {app: cache}}
          spec: {containers: [{name: cache, image: "redis:7"}]}
    seed:
      apiVersion: batch/v1
      kind: Job
      spec:
        backoffLimit: 1
        template: {spec: {restartPolicy: Never, containers: [{name: seed, image: "seed:1"}]}}
    scratch:
      apiVersion: v1
      kind: PersistentVolumeClaim
      spec: {accessModes: [ReadWriteOnce], storageClassName: nfs, resources: {requests: {storage: 20Gi}}}
"""
"""A job with `objects`."""


def kept(place: str, change: str, why: str) -> str:
    cure = "for a new object, change metadata.name"
    return f"job.yaml:{place}: objects.{change}: {why}; {cure} [object-change]\n"


OBJECT_CASES = {
    "the data of an immutable ConfigMap": (
        "info",
        "debug",
        kept(
            "13:21",
            'settings.data.LEVEL was "info" and is "debug"',
            "the ConfigMap settings is immutable, so Kubernetes refuses to change data",
        ),
    ),
    "the data of another ConfigMap": ("quiet", "loud", ""),
    "the role of a RoleBinding": (
        "name: one",
        "name: other",
        kept(
            "21:72",
            'reader.roleRef.name was "one" and is "other"',
            "Kubernetes refuses to change the name of the RoleBinding kept-reader",
        ),
    ),
    "the subjects of a RoleBinding": ("name: default", "name: other", ""),
    "the service of a StatefulSet": (
        "serviceName: cache",
        "serviceName: other",
        kept(
            "27:22",
            'cache.spec.serviceName was "cache" and is "other"',
            "Kubernetes refuses to change the serviceName of the StatefulSet kept-cache",
        ),
    ),
    "the template of a StatefulSet": ("redis:7", "redis:8", ""),
    "the size of a StatefulSet": ("replicas: 1", "replicas: 3", ""),
    "the pods of a Job": (
        "seed:1",
        "seed:2",
        kept(
            "38:49",
            "seed.spec.template.spec.containers changed",
            "Kubernetes refuses to change the template of the Job kept-seed",
        ),
    ),
    "the retries of a Job": ("backoffLimit: 1", "backoffLimit: 3", ""),
    "the class of a claim": (
        "storageClassName: nfs",
        "storageClassName: efs",
        kept(
            "42:62",
            'scratch.spec.storageClassName was "nfs" and is "efs"',
            "Kubernetes refuses to change the storageClassName of the PersistentVolumeClaim kept-scratch",
        ),
    ),
    "the size of a claim": ("20Gi", "30Gi", ""),
    "an object under another name": ("{name: settings}", "{name: settings-2}", ""),
    "an object that goes": (
        "    free:\n      apiVersion: v1\n      kind: ConfigMap\n      data: {LEVEL: quiet}\n",
        "",
        "",
    ),
}
"""Changes of the job's objects, with the problem that tfgen reports for each."""
