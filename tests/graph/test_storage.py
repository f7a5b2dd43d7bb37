"""The volumes, mounts and claims of a job, its training code, and the run lock."""

from __future__ import annotations

import pytest
import yaml

from tests.support.objects import container, job_with, objects, pods, rules
from tfgen.check.jobs import check
from tfgen.graph import programs
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob
from tfgen.text.yaml_text import dump

# https://kubernetes.io/docs/concepts/security/pod-security-standards/, the rows "Volume Types" and "HostPath Volumes".
LEAST = {
    "claim: {name: a}": "restricted",
    "configMap: {name: a}": "restricted",
    "csi: {driver: a.example.com}": "restricted",
    "emptyDir: {}": "restricted",
    "image: {reference: 'a:1'}": "restricted",
    "projected: {sources: [{secret: {name: a}}]}": "restricted",
    "secret: {secretName: a}": "restricted",
    "azureFile: {secretName: a, shareName: a}": "baseline",
    "flexVolume: {driver: a/b}": "baseline",
    "nfs: {server: a, path: /}": "baseline",
    "hostPath: {path: /a}": "privileged",
}
PROFILES = ("restricted", "baseline", "privileged")


def in_pod(spec, environment=None, role="worker"):
    """Return the volumes and the mounts of a role's pod, without those of tfgen."""
    assert rules(spec) == []
    pod = pods(spec, environment)[role]
    return pod["spec"]["volumes"][1:], container(pod)["volumeMounts"][1:]


def test_every_source_has_its_profile():
    (problem,) = check(dump(job_with("storage: {a: {mountPath: /a}}")), "job.yaml").problems
    sources = problem.message.partition("one of ")[2].replace(" or ", ", ").split(", ")
    assert sorted(sources) == sorted(source.partition(":")[0] for source in LEAST)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("source", LEAST)
def test_profile_allows_a_source(source, profile):
    allowed = PROFILES.index(profile) >= PROFILES.index(LEAST[source])
    found = rules(f"security: {{profile: {profile}}}\nstorage: {{a: {{mountPath: /a, {source}}}}}")
    assert found == ([] if allowed else ["volume-profile"])


@pytest.mark.parametrize(
    "source",
    [
        "azureFile: {secretName: a, shareName: b, readOnly: true}",
        "configMap: {name: a, items: [{key: k, path: p/q, mode: 256}], defaultMode: 288, optional: true}",
        'csi: {driver: a.b, volumeAttributes: {"on": "yes", "08": "1e3"}, nodePublishSecretRef: {name: s}}',
        "emptyDir: {medium: Memory, sizeLimit: 1Gi}",
        'flexVolume: {driver: a/b, fsType: nfs, options: {vers: "4.0", x: "{{ .Values.x }}"}, secretRef: {name: s}}',
        "hostPath: {path: /a, type: Directory}",
        "image: {reference: 'registry.example.com/a:1', pullPolicy: IfNotPresent}",
        "nfs: {server: nfs.example.com, path: /a, readOnly: true}",
        "projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {secret: {name: s}}]}",
        "secret: {secretName: a, defaultMode: 256}",
    ],
)
def test_source_is_in_the_pod_as_it_is_in_the_job(source):
    spec = f"security: {{profile: privileged}}\nstorage: {{a: {{mountPath: /a, {source}}}}}"
    assert in_pod(spec) == ([{"name": "a", **yaml.safe_load(source)}], [{"name": "a", "mountPath": "/a"}])


def test_role_has_the_mounts_of_its_volumes():
    spec = """\
storage:
  a: {mountPath: /a, subPath: x, readOnly: true, claim: {name: c}, for: [worker, chief]}
  b: {mountPath: /b, subPathExpr: runs/$(TASK_INDEX), claim: {name: c}, for: [worker]}
"""
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    mounts = [
        {"name": "a", "mountPath": "/a", "subPath": "x", "readOnly": True},
        {"name": "b", "mountPath": "/b", "subPathExpr": "runs/$(TASK_INDEX)"},
    ]
    assert in_pod(spec) == ([{"name": "a", **claim}, {"name": "b", **claim}], mounts)
    assert in_pod(spec, role="chief") == ([{"name": "a", **claim}], mounts[:1])
    assert in_pod(spec, role="ps") == ([], [])


def test_environment_has_another_source():
    spec = """\
security: {profile: baseline}
storage: {a: {mountPath: /a, subPath: x, csi: {driver: a.b, volumeAttributes: {k: v, l: w}}}}
environments:
  claim: {storage: {a: {csi: null, claim: {size: 1Gi}}}}
  more: {storage: {a: {subPath: null, subPathExpr: $(TASK_INDEX), csi: {volumeAttributes: {k: null, m: x}}}}}
  none: {storage: {a: null}}
"""
    csi = [{"name": "a", "csi": {"driver": "a.b", "volumeAttributes": {"l": "w", "m": "x"}}}]
    mounts = [{"name": "a", "mountPath": "/a", "subPath": "x"}]
    assert in_pod(spec, "claim") == ([{"name": "a", "persistentVolumeClaim": {"claimName": "mnist-a"}}], mounts)
    assert in_pod(spec, "more") == (csi, [{"name": "a", "mountPath": "/a", "subPathExpr": "$(TASK_INDEX)"}])
    assert in_pod(spec, "none") == ([], [])
    assert ("PersistentVolumeClaim", "mnist-a") in objects(spec, "claim")
    assert ("PersistentVolumeClaim", "mnist-a") not in objects(spec)


@pytest.mark.parametrize(
    ("claim", "spec"),
    [
        ("", {}),
        ("storageClass: nfs", {"storageClassName": "nfs"}),
        # https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume: Without the
        # empty class, Kubernetes would set the default class, and the claim could not bind to a volume without a class.
        ("volumeName: v", {"volumeName": "v", "storageClassName": ""}),
        ("volumeName: v, storageClass: nfs", {"volumeName": "v", "storageClassName": "nfs"}),
    ],
)
def test_claim_of_a_size_is_created(claim, spec):
    made = objects(f"storage: {{a: {{mountPath: /a, claim: {{size: 1Gi, {claim}}}}}}}")[
        "PersistentVolumeClaim", "mnist-a"
    ]
    common = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    assert made["spec"] == {**common, **spec}


@pytest.mark.parametrize(
    ("mode", "of", "rule"),
    [
        ("ReadWriteOnce", "for: [chief]", []),
        ("ReadWriteOnce", "for: [worker]", []),
        ("ReadWriteOnce", "for: [chief, ps]", ["claim-access-mode"]),
        ("ReadWriteOncePod", "for: [ps]", []),
        ("ReadWriteOncePod", "for: [chief, worker]", ["claim-single-pod"]),
        ("ReadOnlyMany", "readOnly: true", []),
        ("ReadOnlyMany", "readOnly: false", ["claim-access-mode"]),
        ("ReadWriteMany", "readOnly: false", []),
    ],
)
def test_access_mode_of_a_claim_limits_its_pods(mode, of, rule):
    found = rules(f"storage: {{a: {{mountPath: /a, claim: {{size: 1Gi, accessMode: {mode}}}, {of}}}}}")
    assert [each for each in found if each.startswith("claim-")] == rule


def test_single_task_has_no_index():
    storage = "storage: {a: {mountPath: /a, emptyDir: {}, subPathExpr: $(TASK_INDEX)}}"
    job = job_with(f"{storage}\nstrategy: Single\nroles: {{chief: {{}}}}")
    (problem,) = check(dump(job), "job.yaml").problems
    assert problem.rule == "sub-path-variable"
    assert problem.message.endswith("; strategy Single has one task, which has no index")


# -- the training code ------------------------------------------------------------------------------------------------

HTTPS = "https://git.example.com/ml/train.git"
SSH = "git@git.example.com:ml/train.git"
COMMIT = "0f3e6a1c0d5b9a7e4c2f8d6b1a3e5c7f9b2d4e60"
ROLES = ("chief", "ps", "worker")


def git(more="", repository=HTTPS, revision="v1.4.0"):
    return f"code: {{git: {{repository: '{repository}', revision: '{revision}', {more}}}}}"


def with_code(spec, environment=None):
    """Return the pods of the three roles."""
    assert rules(spec) == []
    return [pod for role, pod in pods(spec, environment).items() if role in ROLES]


@pytest.mark.parametrize(
    ("more", "repository", "arguments", "mount"),
    [
        ("secretName: hub", HTTPS, [], {"mountPath": "/code", "subPath": "current"}),
        (
            "folder: a/b, secretName: key",
            SSH,
            ["--ssh-key-file=/etc/git-secret/ssh-privatekey"],
            {"mountPath": "/code", "subPath": "current/a/b"},
        ),
    ],
)
def test_every_pod_fetches_the_code_first(more, repository, arguments, mount):
    """The flags are those of https://github.com/kubernetes/git-sync/blob/v4.4.0/README.md#manual."""
    flags = ["root=/git", "link=current", "one-time", "git-gc=off", "sync-timeout=10m", "max-failures=10"]
    spec = f"{git(more, repository)}\ninitContainers: [{{name: own, image: 'a:1'}}]"
    for pod in with_code(spec):
        assert [each["name"] for each in pod["spec"]["initContainers"]] == ["fetch-code", "own"]
        fetch = container(pod, "fetch-code")
        own = [f"--repo={repository}", "--ref=v1.4.0", *(f"--{flag}" for flag in flags)]
        assert fetch["args"] == [*own, *arguments]
        assert fetch["securityContext"]["runAsUser"] == 65533  # the user of the image
        assert container(pod)["volumeMounts"][-1] == {"name": "tfgen-code", "readOnly": True, **mount}
        secrets = {each["valueFrom"]["secretKeyRef"]["key"] for each in fetch["env"] if "valueFrom" in each}
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        if repository == HTTPS:
            assert secrets == {"username", "password"}
        else:
            # 0440: Kubernetes gives the files to fsGroup. ssh accepts group access to a file of another user.
            assert volumes["tfgen-git-secret"]["secret"] == {"secretName": "key", "defaultMode": 288}
            assert fetch["volumeMounts"][-1]["mountPath"] == "/etc/git-secret"
            assert secrets == set()


def test_each_amount_of_the_fetch_may_be_set():
    for pod in with_code(git("resources: {limits: {cpu: 2}}")):
        assert container(pod, "fetch-code")["resources"] == {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"cpu": "2", "memory": "512Mi"},
        }


def test_environment_has_another_revision():
    own = f"{{code: {{mountPath: /x, git: {{revision: {COMMIT}, image: 'r.example.com/g:4'}}}}}}"
    for pod in with_code(f"{git()}\nenvironments: {{dev: {own}}}", "dev"):
        fetch = container(pod, "fetch-code")
        assert (fetch["image"], fetch["args"][1]) == ("r.example.com/g:4", f"--ref={COMMIT}")
        assert container(pod)["volumeMounts"][-1]["mountPath"] == "/x"


def test_code_files_are_a_config_map_whose_name_changes_with_the_files():
    spec = r"""code: {configMap: {files: {b.py: "B = '{{ .Values.x }}'\n", a.py: "import b\n"}}}"""
    made = {name: item for (kind, name), item in objects(spec).items() if kind == "ConfigMap"}
    (name,) = [name for name in made if name.startswith("mnist-code-")]
    assert made[name]["immutable"] is True
    assert made[name]["data"] == {"a.py": "import b\n", "b.py": "B = '{{ .Values.x }}'\n"}
    for pod in with_code(spec):
        assert pod["spec"]["volumes"][-1] == {"name": "tfgen-code", "configMap": {"name": name}}
        mount = {"name": "tfgen-code", "mountPath": "/code", "readOnly": True}
        assert container(pod)["volumeMounts"][-1] == mount

    def named(files):
        pod, *_ = with_code(f"code: {{configMap: {{files: {files}}}}}")
        return pod["spec"]["volumes"][-1]["configMap"]["name"]

    assert named("{a: x, b: y}") == named("{b: y, a: x}")
    assert len({named(files) for files in ("{a: x, b: y}", "{a: y, b: x}", "{a: xb, b: y}", "{a: x}")}) == 4


def test_graph_does_not_depend_on_what_an_environment_may_change():
    def made(code):
        return graph(TrainingJob.from_document(job_with(f"code: {{{code}}}")).structure)

    one = made(f"git: {{repository: {HTTPS}}}")
    assert one == made(f"mountPath: /x, git: {{repository: {HTTPS}, revision: main, image: 'x:1'}}")
    assert one != made(f"git: {{repository: {HTTPS}, folder: a}}")


FIXED = [COMMIT, COMMIT + "0" * 24, "v1", "v1.4", "1.4.0", "v1.4.0-rc.1", "1.4.0+cuda12", "train-1.4.0", "train/v2.0.1"]
MOVING = ["HEAD", "main", "feature/x", "release-1.4", "1.x", "v1-branch", "0f3e6a1c", COMMIT[:-1], "deadbeef", "7"]
KEYLESS = [HTTPS, "http://gitea.git:3000/ml/train", f"{HTTPS}/"]
REFUSED = [
    "https://user:hunter2@git.example.com/ml/train.git",
    "https://token@git.example.com/ml/train.git",
    "https://git.example.com",
    "--upload-pack=x",
    "file:///etc",
    "ext::sh -c x",
    "https://git.example.com/$(TOKEN)",
    "/srv/train.git",
]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        *((git(revision=revision), []) for revision in FIXED),
        *((git(revision=revision), ["moving-revision"]) for revision in MOVING),
        *((git(repository=repository), []) for repository in KEYLESS),
        *((git(repository=each), ["git-secret"]) for each in (SSH, "ssh://git@git.example.com:2222/ml/train.git")),
        *((git(repository=repository), ["wrong-format"]) for repository in REFUSED),
        ("code: {}", ["exactly-one-of"]),
        (f"{git()[:-1]}, configMap: {{files: {{a: b}}}}}}", ["exactly-one-of"]),
        ("code: {configMap: {files: {}}}", ["too-few"]),
        ("code: {configMap: {files: {a/b.py: x}}}", ["wrong-format"]),
        (git("folder: ../x"), ["wrong-format"]),
        (git(revision="--x"), ["wrong-format"]),
        (git("image: 'g:latest'"), ["latest-tag"]),
        (f"{git()}\nstorage: {{a: {{mountPath: /code/, emptyDir: {{}}}}}}", ["duplicate-mount-path"]),
        (f"{git()}\ninitContainers: [{{name: fetch-code, image: 'a:1'}}]", ["duplicate-name"]),
        (f"{git()}\npodTemplate: {{spec: {{volumes: [{{name: tfgen-code, emptyDir: {{}}}}]}}}}", ["duplicate-name"]),
        (
            f"{git()}\nsidecars: [{{name: s, image: 'a:1', volumeMounts: [{{name: tfgen-code, mountPath: /c}}]}}]",
            [],
        ),
        (
            "code: {configMap: {files: {a: b}}}\nenvironments: {dev: {code: {configMap: {files: {a: c}}}}}",
            ["not-tunable"],
        ),
    ],
    ids=str,
)
def test_mistake_of_the_code_is_reported(spec, expected):
    assert sorted(set(rules(spec))) == expected


# -- the run lock -----------------------------------------------------------------------------------------------------

LOCK = "mnist-run-lock-0bc3efb4"
SHARED = "{mountPath: /model, runs: Shared, claim: {size: 1Gi}}"


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "Pod", "TFJob", "VolcanoJob", "JobSet"])
@pytest.mark.parametrize(
    ("storage", "has_lock"),
    [
        ("", False),
        ("model: {mountPath: /model, claim: {size: 1Gi}}", False),
        (f"model: {SHARED}", True),
        ("logs: {mountPath: /l, runs: Shared, for: [ps], claim: {size: 1Gi}}", False),
    ],
)
def test_lock_is_a_config_map_where_a_pod_has_the_lock(kind, storage, has_lock):
    made = {name: item for (_, name), item in objects(f"workload: {{kind: {kind}}}\nstorage: {{{storage}}}").items()}
    program = made.pop(LOCK, None)
    assert (program or {}).get("data") == ({"run_lock.py": programs.file("run_lock").text} if has_lock else None)
    for part in ("/run-lock/run_lock.py", f"'configMap': {{'name': '{LOCK}'}}"):
        assert (part in repr(made)) == has_lock


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ("deadline: 3600", 3600),
        (f"deadline: 3600\nstorage: {{model: {SHARED}}}", 4200),
        (f"deadline: 3600\nlockWait: 60\nstorage: {{model: {SHARED.replace('Shared', 'Separate')}}}", 3660),
        # The chief ends the job, has no such volume, and so waits for no lock.
        (f"deadline: 3600\nstorage: {{model: {SHARED[:-1]}, for: [ps]}}}}", 3600),
        (f"storage: {{model: {SHARED}}}", None),
    ],
)
def test_deadline_includes_the_wait_for_the_lock(more, seconds):
    assert pods(more)["chief"]["spec"].get("activeDeadlineSeconds") == seconds
