"""Code outside the image: its pods, its ConfigMap, and the mistakes that tfgen reports."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tfgen.check.jobs import check
from tfgen.graph.built import plain_objects
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob

HEAD = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  run: r1
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
"""
HTTPS = "https://git.example.com/ml/train.git"
SSH = "git@git.example.com:ml/train.git"
COMMIT = "0f3e6a1c0d5b9a7e4c2f8d6b1a3e5c7f9b2d4e60"

# The flags are those of https://github.com/kubernetes/git-sync/blob/v4.4.0/README.md#manual. The user is the user of
# the image. Pod Security restricted requires the other fields.
FETCH = """\
name: fetch-code
image: registry.k8s.io/git-sync/git-sync:v4.4.0
args:
- --repo=https://git.example.com/ml/train.git
- --ref=v1.4.0
- --root=/git
- --link=current
- --one-time
- --git-gc=off
- --sync-timeout=10m
- --max-failures=10
env:
- {name: HOME, value: /tmp}
- {name: GITSYNC_USERNAME, valueFrom: {secretKeyRef: {name: hub, key: username}}}
- {name: GITSYNC_PASSWORD, valueFrom: {secretKeyRef: {name: hub, key: password}}}
- {name: NVIDIA_VISIBLE_DEVICES, value: void}
resources:
  requests: {cpu: 500m, memory: 512Mi}
  limits: {cpu: 500m, memory: 512Mi}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
  runAsUser: 65533
volumeMounts:
- {name: tmp, mountPath: /tmp}
- {name: tfgen-code, mountPath: /git}
"""


def job(code: str, *more: str) -> str:
    return HEAD + "".join(f"  {line}\n" for line in (f"code: {code}", *more))


def problems(text: str) -> list[str]:
    return [problem.rule for problem in check(text, "job.yaml").problems]


def pods(text: str, environment: str | None = None) -> list[Any]:
    """Return the pods of the three roles."""
    assert problems(text) == []
    names = {f"mnist-r1-{role}" for role in ("chief", "ps", "worker")}
    made = plain_objects(yaml.safe_load(text), environment)
    found = [i["spec"]["template"]["spec"] for i in made if i["metadata"]["name"] in names and "template" in i["spec"]]
    assert len(found) == len(names)
    return found


def test_every_pod_fetches_the_code_first() -> None:
    git = f"{{git: {{repository: {HTTPS}, revision: v1.4.0, secretName: hub}}}}"
    for pod in pods(job(git, "initContainers: [{name: own, image: 'a:1'}]")):
        names = [container["name"] for container in pod["initContainers"]]
        assert names.index("fetch-code") < names.index("own")
        assert pod["initContainers"][names.index("fetch-code")] == yaml.safe_load(FETCH)
        assert pod["volumes"][-1] == {"name": "tfgen-code", "emptyDir": {}}
        mount = {"name": "tfgen-code", "mountPath": "/code", "subPath": "current", "readOnly": True}
        assert pod["containers"][0]["volumeMounts"][-1] == mount


def test_by_ssh_the_key_is_a_file() -> None:
    git = f"{{mountPath: /src, git: {{repository: '{SSH}', revision: v1.4.0, folder: a/b, secretName: key}}}}"
    for pod in pods(job(git)):
        (fetch,) = [container for container in pod["initContainers"] if container["name"] == "fetch-code"]
        assert fetch["args"][-1] == "--ssh-key-file=/etc/git-secret/ssh-privatekey"
        no_gpus = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
        assert fetch["env"] == [{"name": "HOME", "value": "/tmp"}, no_gpus]
        # 0440: Kubernetes gives the files to fsGroup. ssh accepts group access to a file of another user.
        secret = {"name": "tfgen-git-secret", "secret": {"secretName": "key", "defaultMode": 288}}
        assert pod["volumes"][-2:] == [{"name": "tfgen-code", "emptyDir": {}}, secret]
        assert fetch["volumeMounts"][-1] == {
            "name": "tfgen-git-secret",
            "mountPath": "/etc/git-secret",
            "readOnly": True,
        }
        mounts = [(mount["mountPath"], mount.get("subPath")) for mount in pod["containers"][0]["volumeMounts"]]
        assert mounts[-1] == ("/src", "current/a/b")


def test_its_amounts_may_be_set_each_alone() -> None:
    git = f"{{git: {{repository: {HTTPS}, revision: v1.4.0, resources: {{limits: {{cpu: 2}}}}}}}}"
    for pod in pods(job(git)):
        (fetch,) = [container for container in pod["initContainers"] if container["name"] == "fetch-code"]
        assert fetch["resources"] == {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"cpu": "2", "memory": "512Mi"},
        }


def test_an_environment_has_another_revision() -> None:
    text = job(
        f"{{git: {{repository: {HTTPS}, revision: v1.4.0}}}}",
        f"environments: {{dev: {{code: {{mountPath: /x, git: {{revision: {COMMIT}, image: 'r.example.com/g:4'}}}}}}}}",
    )
    for pod in pods(text, "dev"):
        (fetch,) = [container for container in pod["initContainers"] if container["name"] == "fetch-code"]
        assert (fetch["image"], fetch["args"][1]) == ("r.example.com/g:4", f"--ref={COMMIT}")
        assert pod["containers"][0]["volumeMounts"][-1]["mountPath"] == "/x"


def test_files_are_a_config_map_of_the_run() -> None:
    text = job(r"""{configMap: {files: {b.py: "B = '{{ .Values.x }}'\n", a.py: "import b\n"}}}""")
    made = {i["metadata"]["name"]: i for i in plain_objects(yaml.safe_load(text)) if i["kind"] == "ConfigMap"}
    (name,) = [name for name in made if name.startswith("mnist-r1-code-")]
    assert made[name]["immutable"] is True
    assert made[name]["data"] == {"a.py": "import b\n", "b.py": "B = '{{ .Values.x }}'\n"}
    for pod in pods(text):
        assert pod["volumes"][-1] == {"name": "tfgen-code", "configMap": {"name": name}}
        mount = {"name": "tfgen-code", "mountPath": "/code", "readOnly": True}
        assert pod["containers"][0]["volumeMounts"][-1] == mount


def test_its_name_changes_with_what_is_in_it_alone() -> None:
    def name(files: str) -> str:
        (found,) = [
            pod["volumes"][-1]["configMap"]["name"] for pod in pods(job(f"{{configMap: {{files: {files}}}}}"))[:1]
        ]
        return str(found)

    assert name("{a: x, b: y}") == name("{b: y, a: x}")
    assert len({name(files) for files in ("{a: x, b: y}", "{a: y, b: x}", "{a: xb, b: y}", "{a: x}")}) == 4


def test_what_an_environment_may_change_is_not_in_the_graph() -> None:
    def made(git: str) -> Any:
        return graph(TrainingJob.from_document(yaml.safe_load(job(git))).structure)

    one = made(f"{{git: {{repository: {HTTPS}}}}}")
    assert one == made(f"{{mountPath: /x, git: {{repository: {HTTPS}, revision: main, image: 'x:1'}}}}")
    assert one != made(f"{{git: {{repository: {HTTPS}, folder: a}}}}")


@pytest.mark.parametrize(
    "revision",
    [COMMIT, COMMIT + "0" * 24, "v1", "v1.4", "1.4.0", "v1.4.0-rc.1", "1.4.0+cuda12", "train-1.4.0", "train/v2.0.1"],
)
def test_a_revision_that_stays(revision: str) -> None:
    assert problems(job(f"{{git: {{repository: {HTTPS}, revision: {revision!r}}}}}")) == []


@pytest.mark.parametrize(
    "revision",
    ["HEAD", "main", "feature/x", "release-1.4", "1.x", "v1-branch", "0f3e6a1c", COMMIT[:-1], "deadbeef", "7"],
)
def test_a_revision_that_may_move(revision: str) -> None:
    assert problems(job(f"{{git: {{repository: {HTTPS}, revision: {revision!r}}}}}")) == ["moving-revision"]


@pytest.mark.parametrize("repository", [SSH, "ssh://git@git.example.com:2222/ml/train.git"])
def test_ssh_needs_a_key(repository: str) -> None:
    assert problems(job(f"{{git: {{repository: '{repository}', revision: v1.4.0}}}}")) == ["git-secret"]


@pytest.mark.parametrize("repository", [HTTPS, "http://gitea.git:3000/ml/train", f"{HTTPS}/"])
def test_an_http_address_needs_none(repository: str) -> None:
    assert problems(job(f"{{git: {{repository: '{repository}', revision: v1.4.0}}}}")) == []


@pytest.mark.parametrize(
    "repository",
    [
        "https://user:hunter2@git.example.com/ml/train.git",
        "https://token@git.example.com/ml/train.git",
        "https://git.example.com",
        "--upload-pack=x",
        "file:///etc",
        "ext::sh -c x",
        "https://git.example.com/$(TOKEN)",
        "/srv/train.git",
    ],
)
def test_other_addresses_are_refused(repository: str) -> None:
    assert problems(job(f"{{git: {{repository: '{repository}', revision: v1.4.0}}}}")) == ["wrong-format"]


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("{}", "exactly-one-of"),
        (f"{{git: {{repository: {HTTPS}, revision: v1.4.0}}, configMap: {{files: {{a: b}}}}}}", "exactly-one-of"),
        ("{configMap: {files: {}}}", "too-few"),
        ("{configMap: {files: {a/b.py: x}}}", "wrong-format"),
        (f"{{git: {{repository: {HTTPS}, revision: v1.4.0, folder: ../x}}}}", "wrong-format"),
        (f"{{git: {{repository: {HTTPS}, revision: --x}}}}", "wrong-format"),
        (f"{{git: {{repository: {HTTPS}, revision: v1.4.0, image: 'g:latest'}}}}", "latest-tag"),
    ],
)
def test_mistakes_of_form(code: str, rule: str) -> None:
    assert problems(job(code)) == [rule]


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ("storage: {a: {mountPath: /code/, emptyDir: {}}}", ["duplicate-mount-path"]),
        ("initContainers: [{name: fetch-code, image: 'a:1'}]", ["duplicate-name"]),
        ("podTemplate: {spec: {volumes: [{name: tfgen-code, emptyDir: {}}]}}", ["duplicate-name"]),
        ("sidecars: [{name: s, image: 'a:1', volumeMounts: [{name: tfgen-code, mountPath: /c}]}]", []),
    ],
)
def test_code_beside_other_parts(more: str, rule: list[str]) -> None:
    found = problems(job(f"{{git: {{repository: {HTTPS}, revision: v1.4.0}}}}", more))
    assert sorted(set(found)) == rule


def test_its_files_may_be_changed_by_no_environment() -> None:
    text = job("{configMap: {files: {a: b}}}", "environments: {dev: {code: {configMap: {files: {a: c}}}}}")
    assert problems(text) == ["not-tunable"]
