"""Tests that a job cannot evade the project, namespaces, environments and blocks that a tfgen.yaml fixes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.graph.graph import build
from tfgen.job.facts import origins
from tfgen.job.sources import Source
from tfgen.targets.gitops import gitops

HEAD = {"apiVersion": "tfgen/v1alpha1"}
TEAM = {
    "argocd": {"project": "ads"},
    "allowedNamespaces": ["ads-dev", "ads"],
    "allowedEnvironments": ["dev", "prod"],
    "enforce": [{"path": "spec.gitops", "except": ["source", "argocd.prune"]}],
    "spec": {
        "gitops": {"repository": "https://git.ml.internal/ml/jobs.git", "argocd": {"selfHeal": True}},
        "environments": {"dev": {"namespace": "ads-dev"}, "prod": {"namespace": "ads"}},
    },
}


def team(*, above: dict[str, Any] | None = None, **keys: Any) -> Source:
    """Return the tfgen.yaml of a team, below the repository's tfgen.yaml if `above` has keys."""
    repository = Source("tfgen.yaml", json.dumps({**HEAD, "kind": "Defaults", **above})) if above else None
    return Source("jobs/tfgen.yaml", json.dumps({**HEAD, "kind": "Defaults", **keys}), repository)


def job(metadata: dict[str, Any] | None = None, **spec: Any) -> str:
    roles = {"chief": {}, "ps": {}, "worker": {"replicas": 2}}
    image = "registry.ml.internal/ml/mnist:1.4.0"
    return json.dumps(
        {
            **HEAD,
            "kind": "TrainingJob",
            "metadata": {"name": "mnist", **(metadata or {})},
            "spec": {"image": image, "roles": roles, **spec},
        }
    )


def errors(text: str, under: Source) -> list[tuple[str, str, str]]:
    """Return the file, the message and the rule of each error."""
    problems = check(text, "jobs/job.yaml", under).problems
    return [(one.file, one.message, one.rule) for one in problems if one.severity == "error"]


def application(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": {"source": {}, **spec}}


WORKER = {"chief": {}, "ps": {}}
PATCHED = {"target": {"kind": "StatefulSet"}}

BYPASSES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # -- argocd.project
    "project-job": ({}, {"gitops": {"argocd": {"project": "default"}}}, 'enforces "ads"; remove the key'),
    "project-environment": (
        {},
        {"environments": {"dev": {"gitops": {"argocd": {"project": "default"}}}}},
        "gitops must",
    ),
    "project-role": ({}, {"roles": {**WORKER, "worker": {"gitops": {}}}}, 'unknown key "gitops"'),
    "project-objects": ({}, {"objects": {"a": application(project="default")}}, 'enforces the project "ads"'),
    "project-objects-of-environment": (
        {},
        {
            "objects": {"a": application(project="ads")},
            "environments": {"dev": {"objects": {"a": application(project="b")}}},
        },
        'spec.project: found "b"',
    ),
    "project-set": (
        {},
        {
            "objects": {
                "a": {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "ApplicationSet",
                    "spec": {"generators": [], "template": {"spec": {"project": "{{ .project }}"}}},
                }
            }
        },
        "objects.a.spec.template.spec.project: found",
    ),
    "project-set-patch": (
        {},
        {
            "objects": {
                "a": {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "ApplicationSet",
                    "spec": {"templatePatch": "spec: {project: default}"},
                }
            }
        },
        "objects.a.spec.templatePatch: found",
    ),
    "project-new": (
        {},
        {"objects": {"a": {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "spec": {}}}},
        "objects.a is an AppProject",
    ),
    "project-patch": (
        {},
        {"patches": {"a": {"target": {"kind": "Application"}, "merge": {"spec": {"project": "default"}}}}},
        "the job has no Application",
    ),
    # -- allowedNamespaces
    "namespace-job": ({"namespace": "video"}, {}, 'metadata.namespace: found "video"'),
    "namespace-environment": (
        {},
        {"environments": {"dev": {"namespace": "ads-prod"}}},
        'environments.dev.namespace: found "ads-prod"',
    ),
    "namespace-role": ({}, {"roles": {**WORKER, "worker": {"namespace": "video"}}}, 'unknown key "namespace"'),
    "namespace-objects": (
        {},
        {"objects": {"a": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "video"}}}},
        'unknown key "namespace"',
    ),
    "namespace-destination": (
        {},
        {"objects": {"a": application(project="ads", destination={"namespace": "video"})}},
        'objects.a.spec.destination.namespace: found "video"',
    ),
    "namespace-target": (
        {},
        {
            "objects": {
                "a": {
                    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
                    "kind": "Kustomization",
                    "spec": {"targetNamespace": "video"},
                }
            }
        },
        'objects.a.spec.targetNamespace: found "video"',
    ),
    "namespace-no-target": (
        {},
        {"objects": {"a": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "spec": {}}}},
        "objects.a.spec.targetNamespace: found no value",
    ),
    "namespace-template": (
        {},
        {
            "objects": {
                "a": {
                    "apiVersion": "external-secrets.io/v1",
                    "kind": "ClusterExternalSecret",
                    "spec": {"template": {"metadata": {"namespace": "video"}}},
                }
            }
        },
        'objects.a.spec.template.metadata.namespace: found "video"',
    ),
    "namespace-patch": (
        {},
        {"patches": {"a": {**PATCHED, "merge": {"metadata": {"namespace": "video"}}}}},
        'unknown key "namespace" in spec.patches.a.merge.metadata',
    ),
    "namespace-json-patch": (
        {},
        {"patches": {"a": {**PATCHED, "json": [{"op": "add", "path": "/metadata/namespace", "value": "video"}]}}},
        "a patch must not change metadata",
    ),
    # -- allowedEnvironments
    "environment-job": ({}, {"environments": {"stage": {"namespace": "ads"}}}, 'spec.environments: found "stage"'),
    "environment-again": ({}, {"environments": {"prod2": {"namespace": "ads-dev"}}}, 'did you mean "prod"?'),
    "environment-role": ({}, {"roles": {**WORKER, "worker": {"environments": {}}}}, 'unknown key "environments"'),
    "environment-nested": ({}, {"environments": {"dev": {"environments": {}}}}, "environments must be the same"),
    # -- enforce, a block
    "block-job": ({}, {"gitops": {"branch": "mine"}}, "spec.gitops.branch: found"),
    "block-below": ({}, {"gitops": {"argocd": {"namespace": "apps"}}}, "spec.gitops.argocd.namespace: found"),
    "block-other": ({}, {"gitops": {"argocd": {"selfHeal": False}}}, "selfHeal: found false, but jobs/tfgen.yaml"),
    "block-tool": ({}, {"gitops": {"flux": {}}}, "spec.gitops.flux: found {}, but jobs/tfgen.yaml"),
    "block-null": ({}, {"gitops": None}, "spec.gitops: found null, but jobs/tfgen.yaml"),
    "block-environment": ({}, {"environments": {"dev": {"gitops": {}}}}, "gitops must be the same"),
}


@pytest.mark.parametrize("case", BYPASSES)
def test_no_job_gets_around_a_key(case: str) -> None:
    metadata, spec, message = BYPASSES[case]
    found = errors(job(metadata, **spec), team(**TEAM))
    assert any(file == "jobs/job.yaml" and message in text for file, text, _ in found), found


def test_a_job_that_keeps_to_all_keys() -> None:
    spec = {
        "gitops": {"source": "Kustomize", "argocd": {"prune": False}},
        "objects": {"a": application(project="ads", destination={"namespace": "ads"})},
        "environments": {"dev": {"roles": {"worker": {"replicas": 1}}}},
    }
    assert errors(job(**spec), team(**TEAM)) == []


def test_all_differences_of_a_block_come_at_once() -> None:
    spec = {"gitops": {"branch": "mine", "path": "a", "argocd": {"namespace": "apps", "selfHeal": False}}}
    assert [text.split(":")[0] for _, text, _ in errors(job(**spec), team(**TEAM))] == [
        "spec.gitops.branch",
        "spec.gitops.path",
        "spec.gitops.argocd.namespace",
        "spec.gitops.argocd.selfHeal",
    ]


def test_the_project_reaches_each_application() -> None:
    (document,) = check(job(), "jobs/job.yaml", team(**TEAM)).documents
    built = build(document.data)
    files = gitops(built.job, built.environments).job_files
    assert {item["spec"]["project"] for item in files.values()} == {"ads"}
    (origin,) = (one for one in origins(document) if one.path == ("spec", "gitops", "argocd", "project"))
    assert str(origin).startswith("jobs/tfgen.yaml:1:")


@pytest.mark.parametrize("environments", [{}, {"dev": {}}], ids=["job", "environment"])
def test_a_job_names_its_namespace(environments: dict[str, Any]) -> None:
    under = team(allowedNamespaces=["ads"])
    (error,) = errors(job(environments=environments), under)
    assert error[1].startswith("the job sets no namespace, but jobs/tfgen.yaml:")
    assert errors(job({"namespace": "ads"}, environments=environments), under) == []


LOOSER: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "project": ({"argocd": {"project": "ads"}}, {"argocd": {"project": "default"}}, 'argocd.project: found "default"'),
    "project-null": ({"argocd": {"project": "ads"}}, {"argocd": None}, "argocd.project: found null"),
    "project-spec": (
        {"argocd": {"project": "ads"}},
        {"spec": {"gitops": {"argocd": {"project": "default"}}}},
        'spec.gitops.argocd.project: found "default"',
    ),
    "namespaces": ({"allowedNamespaces": ["ads"]}, {"allowedNamespaces": ["ads", "video"]}, 'found "video"'),
    "namespaces-spec": (
        {"allowedNamespaces": ["ads"]},
        {"spec": {"environments": {"dev": {"namespace": "video"}}}},
        'environments.dev.namespace: found "video"',
    ),
    "environments": ({"allowedEnvironments": ["dev"]}, {"allowedEnvironments": ["prod"]}, 'found "prod"'),
    "environments-spec": (
        {"allowedEnvironments": ["dev"]},
        {"spec": {"environments": {"prod": {}}}},
        'spec.environments: found "prod"',
    ),
    "block": (
        {"enforce": [{"path": "spec.gitops", "except": []}]},
        {"spec": {"gitops": {"branch": "mine"}}},
        "spec.gitops.branch: found",
    ),
}


@pytest.mark.parametrize("case", LOOSER)
def test_a_nearer_file_loosens_nothing(case: str) -> None:
    above, nearer, message = LOOSER[case]
    found = errors(job(), team(above=above, **nearer))
    assert any(file == "jobs/tfgen.yaml" and message in text for file, text, _ in found), found


def test_a_nearer_file_may_list_fewer() -> None:
    above = {"allowedNamespaces": ["ads", "video"], "argocd": {"project": "ads"}}
    assert (
        errors(job({"namespace": "ads"}), team(above=above, allowedNamespaces=["ads"], argocd={"project": "ads"})) == []
    )
    found = errors(job({"namespace": "video"}), team(above=above, allowedNamespaces=["ads"]))
    assert [text.split(":")[0] for _, text, _ in found] == ["metadata.namespace"]


def test_a_root_of_its_own_leaves_none_of_the_keys_out() -> None:
    for key in ("argocd", "allowedNamespaces", "allowedEnvironments"):
        above = Source("tfgen.yaml", json.dumps({**HEAD, "kind": "Defaults", key: TEAM[key]}))
        below = json.dumps({**HEAD, "kind": "Defaults", "root": True})
        found = errors(job(), Source("jobs/tfgen.yaml", below, None, above))
        assert any(f"root: true excludes {key} of" in text for _, text, _ in found), key


PATHS = {
    "spec.gang.queu": 'no job has the key spec.gang.queu; did you mean "spec.gang.queue"?',
    "spec.queue": 'no job has the key spec.queue; did you mean "spec.gang.queue"?',
    "spec.roles.wroker.image": 'no job has the key spec.roles.wroker; did you mean "spec.roles.worker.image"?',
    "spec.environments.*.namespace": 'no job has the key spec.environments["*"]; list the names in allowedNamespaces',
    "spec.environments.*.gang.queue": (
        'no job has the key spec.environments["*"]; write spec.gang.queue, which applies to each environment'
    ),
    "spec.environments.base.image": (
        "no job has the key spec.environments.base; write spec.image, which applies to each environment"
    ),
    'spec.labels["not a label"]': 'no job has the key spec.labels["not a label"]',
    "spec.podTemplate.spec.nodeSelectr": (
        'no job has the key spec.podTemplate.spec.nodeSelectr; did you mean "spec.podTemplate.spec.nodeSelector"?'
    ),
    "spec.roles.ps.podTemplate.spec.hostNetwrk": (
        "no job has the key spec.roles.ps.podTemplate.spec.hostNetwrk; did you mean "
        '"spec.roles.ps.podTemplate.spec.hostNetwork"?'
    ),
    "metadata.namespace": '"metadata.namespace" is not a path in spec; list allowed namespaces in allowedNamespaces',
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_matches_nothing(path: str) -> None:
    found = errors(job(), team(enforce=["spec.image", path]))
    assert [(text, rule) for file, text, rule in found if file == "jobs/tfgen.yaml"] == [(PATHS[path], "guard-rail")]


@pytest.mark.parametrize(
    "path",
    [
        "registry",
        "spec.environments.dev.namespace",
        'spec.labels["example.com/team"]',
        "spec.podTemplate.spec.dnsPolicy",
        "spec.podTemplate.metadata.labels.team",
        "spec.roles.worker.podTemplate",
        "spec.objects.quota.spec.podTemplate",
    ],
)
def test_a_path_that_matches_something(path: str) -> None:
    assert errors(job(), team(enforce=[path])) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"path": "spec.gitop", "except": []}, 'did you mean "spec.gitops"?'),
        ({"path": "spec.gitops", "except": ["sorce"]}, 'did you mean "spec.gitops.source"?'),
        (
            {"path": "spec.image", "except": ["tag"]},
            "except applies only to mappings; replace the entry by the text spec.image",
        ),
        ({"path": "registry", "except": ["a"]}, "except applies only to mappings, but registry is a text"),
        ({"path": "spec.gitops"}, 'missing key "except" in enforce[0]'),
        ({"path": "spec.environments.stage", "except": ["env"]}, "no job has the environment stage, which"),
        ({"except": []}, 'missing key "path" in enforce[0]'),
    ],
)
def test_a_block_that_matches_nothing(entry: dict[str, Any], message: str) -> None:
    found = errors(job(), team(allowedEnvironments=["dev"], enforce=[entry]))
    assert len(found) == 1
    assert message in found[0][1]
