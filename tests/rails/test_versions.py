"""Tests of changes of tfgen.yaml: tfgen reports the changes that loosen a guard rail, and no other changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import JOB, commit_all, git, repository_fixture, run_tfgen, tfgen, write
from tfgen import cli
from tfgen.check.source import read_layer
from tfgen.job.sources import FILE, defaults_under
from tfgen.rails.rail import Layers
from tfgen.rails.versions import find_loosened
from tfgen.schema import file as schema_file

HEAD = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"
QUEUE = "spec: {gang: {scheduler: volcano, queue: research}}\n"
POOL = "spec: {nodeSelector: {pool: training, disk: ssd}}\n"
GITOPS = "enforce: [{path: spec.gitops, except: [source]}]\n"
PLAINTEXT = "rules: {plaintext-secret: {severity: error, ignorable: false}}\n"

AMOUNTS = {"gpus": ("16", "17"), "cpu": ("4", "4100m"), "memory": ("1Gi", "2Gi"), "replicas": ("8", "9")}
AMOUNTS |= {"storage": ("1Ti", "1025Gi")}

NOT_A_RAIL = {
    "apiVersion": "the format",
    "kind": "the format",
    "registry": "a default; enforce makes a rail of the registry",
    "spec": "defaults; enforce makes rails of paths",
    "rules.*.reason": "words for a reader",
}
"""The keys of tfgen.yaml that do not restrict jobs."""

WITH_SEVERAL_FILES = {
    "root": "test_a_new_root_leaves_out_the_rails_above",
}
"""The tests of the keys whose effect depends on other files."""

LOOSENED: dict[str, list[tuple[str, str, str]]] = {
    "argocd.project": [
        ("argocd: {project: ads}\n", "argocd: {project: other}\n", '3:19 argocd.project: found "other"'),
        ("argocd: {project: ads}\n", "", "1:1 jobs may now name any Argo CD project"),
    ],
    "allowedNamespaces": [
        ("allowedNamespaces: [a]\n", "allowedNamespaces: [a, kube-system]\n", '3:24 allowedNamespaces: found "kube-'),
        ("allowedNamespaces: [a, b]\n", "", "1:1 jobs may now name any namespace"),
    ],
    "allowedEnvironments": [
        ("allowedEnvironments: [a]\n", "allowedEnvironments: [b, a]\n", '3:23 allowedEnvironments: found "b"'),
        ("allowedEnvironments: [a]\n", "", "1:1 jobs may now name any environment"),
    ],
    "allowedKinds": [
        ("allowedKinds: [ConfigMap]\n", "allowedKinds: [ConfigMap, Pod]\n", '3:27 allowedKinds: found "Pod", which'),
        ("allowedKinds: [ConfigMap]\n", "", "1:1 jobs may now name any kind of object"),
    ],
    "enforce": [
        ("enforce: [spec.gang.queue]\n" + QUEUE, QUEUE, "1:1 jobs may now override spec.gang.queue"),
        ("enforce: [spec.podTemplate]\n", "enforce: []\n", "3:1 jobs may now override spec.podTemplate"),
        ("enforce: [registry]\nregistry: r.io\n", "registry: r.io\n", "1:1 images may now come from any registry"),
        ("enforce: [registry]\nregistry: r.io\n", "enforce: [registry]\n", "1:1 registry has no value"),
        (
            "enforce: [spec.gang]\n" + QUEUE,
            "enforce: [spec.gang.scheduler]\n" + QUEUE,
            "3:1 jobs may now override spec.gang.queue",
        ),
        (
            "enforce: [spec.gang]\n",
            "enforce: [spec.gang.queue]\n",
            "3:11 only spec.gang.queue is enforced, but tfgen.yaml:3:11 of main enforces spec.gang",
        ),
        (
            "enforce: [spec.nodeSelector]\n" + POOL,
            "enforce: [spec.nodeSelector]\n" + POOL.replace(", disk: ssd", ""),
            "4:8 spec.nodeSelector.disk has no value",
        ),
        ("enforce: [spec.gang.queue]\n" + QUEUE, "enforce: [spec.gang.queue]\n", "1:1 spec.gang.queue has no value"),
        (
            "enforce: [spec.nodeSelector]\n",
            "enforce: [spec.nodeSelector]\n" + POOL,
            "3:11 jobs may now set other keys of spec.nodeSelector",
        ),
    ],
    "enforce.path": [
        (GITOPS, "", "1:1 jobs may now override spec.gitops"),
        (GITOPS, GITOPS.replace("gitops", "gitops.argocd"), "3:11 only spec.gitops.argocd is enforced"),
        (
            GITOPS + "spec: {gitops: {repository: 'https://a.io/b.git'}}\n",
            "enforce: [spec.gitops]\nspec: {gitops: {repository: 'https://a.io/b.git'}}\n",
            "3:11 jobs may now set other keys of spec.gitops",
        ),
    ],
    "enforce.except": [
        (
            GITOPS,
            GITOPS.replace("[source]", "[source, argocd.prune]"),
            "3:48 jobs may now set spec.gitops.argocd.prune",
        ),
        (
            "enforce: [spec.gitops]\n",
            "enforce: [{path: spec.gitops, except: [source]}]\n",
            "3:40 jobs may now set spec.gitops.source",
        ),
        (
            GITOPS.replace("source", "argocd.prune"),
            GITOPS.replace("source", "argocd"),
            "3:40 jobs may now set spec.gitops.argocd",
        ),
    ],
    **{
        f"limits.job.{key}": [
            (f"limits: {{job: {{{key}: {low}}}}}\n", f"limits: {{job: {{{key}: {high}}}}}\n", f"limits.job.{key}: f"),
            (f"limits: {{job: {{{key}: {low}}}}}\n", "limits: {job: {}}\n", f"limits.job.{key}: found no limit"),
        ]
        for key, (low, high) in AMOUNTS.items()
    },
    **{
        f"limits.{kind}.*.{key}": [
            (
                f"limits: {{{kind}: {{x: {{{key}: {low}}}}}}}\n",
                f"limits: {{{kind}: {{x: {{{key}: {high}}}}}}}\n",
                f"limits.{kind}.x.{key}: found ",
            ),
            (f"limits: {{{kind}: {{x: {{{key}: {low}}}}}}}\n", "", f"limits.{kind}.x.{key}: found no limit"),
        ]
        for kind in ("environments", "namespaces")
        for key, (low, high) in AMOUNTS.items()
    },
    "rules.*.severity": [
        (
            "rules: {latest-tag: {severity: error}}\n",
            "rules: {latest-tag: {severity: warning}}\n",
            "3:32 rules.latest-tag.severity: found warning, but tfgen.yaml:3:32 of main sets error",
        ),
        ("rules: {latest-tag: {severity: error}}\n", "", "1:1 rules.latest-tag.severity: found no entry"),
        ("", "rules: {latest-tag: {severity: off, reason: a}}\n", "3:32 rules.latest-tag.severity: found off"),
        (
            "",
            "rules: {credential: {severity: warning}}\n",
            "3:32 rules.credential.severity: found warning, but main reports the errors",
        ),
        (
            "rules: {guard-rail-loosened: {severity: error}}\n",
            "rules: {guard-rail-loosened: {severity: off, reason: a}}\n",
            "3:41 rules.guard-rail-loosened.severity: found off",
        ),
    ],
    "rules.*.ignorable": [
        (PLAINTEXT, PLAINTEXT.replace("false", "true"), "3:56 a comment in a job may now ignore plaintext-secret"),
        (PLAINTEXT, PLAINTEXT.replace(", ignorable: false", ""), "3:9 a comment in a job may now ignore plaintext"),
    ],
    "unlistedFiles": [
        ("", "unlistedFiles: [overlays/x/]\n", '3:17 unlistedFiles: found "overlays/x/", which main does not list'),
        ("unlistedFiles: [charts/a.yaml]\n", "unlistedFiles: [charts/a*]\n", '3:17 unlistedFiles: found "charts/a*"'),
    ],
    "warningsAsErrors": [
        ("warningsAsErrors: true\n", "warningsAsErrors: false\n", "3:19 warnings are no longer errors"),
        ("warningsAsErrors: true\n", "", "1:1 warnings are no longer errors"),
    ],
}

KEPT = {
    "comments and order": (
        "limits: {job: {gpus: 16, cpu: 4}}\nenforce: [registry, spec.gang.queue]\n",
        "enforce:  # the platform\n- spec.gang.queue\n- registry\nlimits: {job: {cpu: 4, gpus: 16}}\n",
    ),
    "another value": (
        "enforce: [spec.gang.queue, registry]\nregistry: a.io\n" + QUEUE,
        "enforce: [spec.gang.queue, registry]\nregistry: b.io\n" + QUEUE.replace("research", "shared"),
    ),
    "another default": (QUEUE, QUEUE.replace("research", "shared")),
    "a removed default": (QUEUE, ""),
    "a lower limit in another unit": ("limits: {job: {memory: 2Gi}}\n", "limits: {job: {memory: 1024Mi}}\n"),
    "a further limit": ("limits: {job: {gpus: 2}}\n", "limits: {job: {gpus: 2}, environments: {x: {gpus: 8}}}\n"),
    "a wider path": ("enforce: [spec.gang.queue]\n" + QUEUE, "enforce: [spec.gang]\n" + QUEUE),
    "a path in two halves": (
        "enforce: [spec.gang]\n" + QUEUE,
        "enforce: [spec.gang.queue, spec.gang.scheduler]\n" + QUEUE,
    ),
    "a closed block": ("enforce: [spec.gang]\n" + QUEUE, "enforce: [{path: spec.gang, except: []}]\n" + QUEUE),
    "an exception less": (GITOPS.replace("source", "source, argocd"), GITOPS),
    "a nearer exception": (GITOPS.replace("source", "argocd"), GITOPS.replace("source", "argocd.prune")),
    "a stricter rule": (
        "rules: {latest-tag: {severity: off, reason: a}}\n",
        "rules: {latest-tag: {severity: error, ignorable: false}}\n",
    ),
    "an explicit default": ("rules: {latest-tag: {severity: warning}}\n", ""),
    "an explicit default of a soft rule": ("rules: {credential: {severity: error}}\n", ""),
    "a shorter list": ("allowedNamespaces: [a, b]\n", "allowedNamespaces: [b]\nallowedEnvironments: [c]\n"),
    "a file of an excepted folder": ("unlistedFiles: [overlays/x/]\n", "unlistedFiles: [overlays/x/y.yaml]\n"),
    "no exception": ("unlistedFiles: [overlays/x/]\n", ""),
    "a root without rails above": ("", "root: true\n"),
    "no root": ("root: true\nlimits: {job: {gpus: 2}}\n", "limits: {job: {gpus: 2}}\n"),
}


def layers(before: Mapping[str, str], after: Mapping[str, str], folder: str = ".") -> Layers:
    """Return the guard rails of a folder, from the text of files by path."""
    sides = []
    for files in (before, after):
        contents = {Path(path): text.encode() for path, text in files.items()}
        layer_result = read_layer(defaults_under(Path(folder) / FILE, contents.get), {}, is_guarded=False)
        assert not layer_result.problems
        sides.append(layer_result.defaults)
    return Layers(*sides, "main")


def loosened(before: Mapping[str, str], after: Mapping[str, str], folder: str = ".") -> list[str]:
    """Return the place and the message of each loosening."""
    return [f"{one.place} {one.message}" for one in find_loosened(layers(before, after, folder))]


def keys_of(node: Any, path: str) -> Iterator[str]:
    """Yield the keys of a schema that have no subkeys. A * replaces any name."""
    item = node.get("items", node)
    below = {**item.get("properties", {})}
    if isinstance(names := item.get("additionalProperties"), dict):
        below["*"] = names
    if not below or "string" in item.get("type", ()):
        yield path
    for key, child in below.items():
        yield from keys_of(child, f"{path}.{key}".lstrip("."))


def test_each_guard_rail_of_the_schema_has_a_case() -> None:
    properties = schema_file.load(schema_file.DEFAULTS)["properties"]
    keys = {key for name, node in properties.items() for key in ([name] if name == "spec" else keys_of(node, name))}
    assert keys == {*LOOSENED, *NOT_A_RAIL, *WITH_SEVERAL_FILES}
    assert all(LOOSENED.values())
    assert globals().keys() >= {*WITH_SEVERAL_FILES.values()}


@pytest.mark.parametrize(
    ("before", "after", "expected"), [case for cases in LOOSENED.values() for case in cases], ids=lambda text: text[:60]
)
def test_a_loosened_guard_rail_is_reported(before: str, after: str, expected: str) -> None:
    (line,) = loosened({FILE: HEAD + before}, {FILE: HEAD + after})
    assert line.startswith("tfgen.yaml:")
    assert expected in line.removeprefix("tfgen.yaml:")


@pytest.mark.parametrize(("before", "after"), KEPT.values(), ids=KEPT)
def test_a_kept_guard_rail_is_not_reported(before: str, after: str) -> None:
    assert loosened({FILE: HEAD + before}, {FILE: HEAD + after}) == []
    assert loosened({FILE: HEAD + before}, {FILE: HEAD + before}) == []


# -- files that move -----------------------------------------------------------------------------------------------


TEAM = "jobs/ads/tfgen.yaml"
RAILS = "limits: {job: {gpus: 2}}\nenforce: [spec.gang.queue]\n" + QUEUE


def test_a_rail_may_move_to_a_file_above() -> None:
    before, after = {FILE: HEAD, TEAM: HEAD + RAILS}, {FILE: HEAD + RAILS, TEAM: HEAD}
    assert loosened(before, after, "jobs/ads") == []
    assert loosened(before, {FILE: HEAD + RAILS}, "jobs/ads") == []


def test_the_rails_of_a_removed_file_are_reported_at_the_lines_of_the_base() -> None:
    before, after = {TEAM: HEAD + RAILS}, {"jobs/video/tfgen.yaml": HEAD + RAILS}
    assert loosened(before, after, "jobs/ads") == [
        f"{TEAM}:4:11 the change removes {TEAM}: jobs may now override spec.gang.queue, which {TEAM}:4:11 of main "
        "enforces",
        f"{TEAM}:3:22 the change removes {TEAM}: limits.job.gpus: found no limit, but {TEAM}:3:22 of main allows 2",
    ]
    assert loosened(before, after, "jobs/video") == []


def test_a_nearer_file_that_is_removed_counts_by_what_stays_above() -> None:
    above = {FILE: HEAD + "limits: {job: {gpus: 4}}\nwarningsAsErrors: true\n"}
    before = {**above, TEAM: HEAD + "limits: {job: {gpus: 2}}\nwarningsAsErrors: true\n"}
    (line,) = loosened(before, above, "jobs/ads")
    removal = f"the change removes {TEAM}"
    assert line == (f"{TEAM}:3:22 {removal}: limits.job.gpus: found 4, but {TEAM}:3:22 of main allows 2")


def test_a_new_root_leaves_out_the_rails_above() -> None:
    before = {FILE: HEAD + "limits: {job: {gpus: 2}}\n"}
    (line,) = loosened(before, {**before, TEAM: HEAD + "root: true\n"}, "jobs/ads")
    assert line == (
        f"{TEAM}:3:7 root: true in {TEAM} disables the guard rails of tfgen.yaml: limits.job.gpus: found no limit, but "
        "tfgen.yaml:3:22 of main allows 2; remove root"
    )


# -- the command ---------------------------------------------------------------------------------------------------


@repository_fixture()
def repository() -> None:
    """Return a repository with a rendered job and guard rails on main. The current branch is `change`."""
    write("jobs/ads/mnist.yaml", JOB)
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 16}}}}\n")
    write("jobs/video/tfgen.yaml", f"{HEAD}allowedNamespaces: [video]\n")
    tfgen("render", "jobs")
    commit_all()
    git("switch", "--quiet", "--create", "change")


def checked(*arguments: str) -> tuple[int, list[str]]:
    """Return the exit code of a check, and its lines."""
    code, out, _ = run_tfgen("check", "jobs", *arguments)
    return code, out.splitlines()


LINE = "tfgen.yaml:3:22: {}limits.job.gpus: found 32, but tfgen.yaml:3:22 of {} allows 16{} [guard-rail-loosened]"


@pytest.mark.usefixtures("repository")
def test_a_check_compares_with_the_base() -> None:
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 32}}}}\n")
    assert checked() == (cli.OK, [LINE.format("warning: ", "HEAD", "")])
    assert checked("--changed", "--no-files") == (cli.OK, [LINE.format("warning: ", "HEAD", "")])
    commit_all()
    assert checked() == (cli.OK, [])
    assert checked("--against", "main") == (cli.OK, [LINE.format("warning: ", "main", "")])


@pytest.mark.usefixtures("repository")
def test_every_file_of_the_repository_counts() -> None:
    Path("jobs/video/tfgen.yaml").unlink()
    write("jobs/ads/tfgen.yaml", f"{HEAD}rules: {{latest-tag: {{severity: off, reason: a}}}}\n")  # git has no such file
    code, lines = checked()
    assert (code, [line.partition(" ")[0] for line in lines]) == (
        cli.OK,
        ["jobs/ads/tfgen.yaml:3:32:", "jobs/video/tfgen.yaml:3:1:"],
    )


@pytest.mark.usefixtures("repository")
def test_the_base_sets_the_severity_and_no_comment_counts() -> None:
    rule = "rules: {{guard-rail-loosened: {{severity: {}}}}}\n"
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 16}}}}\n{rule.format('error')}")
    commit_all()
    git("branch", "--force", "main")
    comment = "  # tfgen: ignore guard-rail-loosened we need more"
    off = rule.format("off, reason: ours")
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 32}}}}{comment}\n{off}")
    write("jobs/ads/mnist.yaml", JOB.replace("\nspec", f"{comment}\nspec"))
    commit_all()
    code, lines = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert LINE.format("", "main", " (tfgen.yaml:4:41 makes this an error)") in lines
    assert [line for line in lines if "comments cannot ignore guard-rail-loosened; remove the comment" in line] == [
        line for line in lines if "[ignore-comment]" in line
    ]
    assert sum("rules.guard-rail-loosened.severity: found off" in line for line in lines) == 1


@pytest.mark.usefixtures("repository")
def test_commit_refuses_the_same_error() -> None:
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 16}}}}\nwarningsAsErrors: true\n")
    commit_all()
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 32}}}}\nwarningsAsErrors: true\n")
    printed = tfgen("commit", "jobs", code=cli.PROBLEMS).err
    assert LINE.format("", "HEAD", " (tfgen.yaml:4:19 turns warnings into errors)") in printed


@pytest.mark.usefixtures("repository")
def test_a_file_with_errors_holds_no_rail() -> None:
    write("jobs/video/tfgen.yaml", f"{HEAD}allowedNamespace: [video]\n")
    assert checked() == (
        cli.OK,
        [
            "jobs/video/tfgen.yaml:3:1: warning: the file has errors, so tfgen cannot read its guard rails, but "
            "jobs/video/tfgen.yaml:3:1 of HEAD sets allowedNamespaces; correct the errors [guard-rail-loosened]"
        ],
    )


BASES_WITH_ERRORS = {
    "a key of an older version": ("policies: policies\n", ""),
    "an unknown key": ("policy: a\n", ""),
    "a wrong entry of enforce": ("enforce: [spec.gang.queu, spec.retries]\n", "enforce: [spec.retries]\n"),
}


@pytest.mark.parametrize("case", BASES_WITH_ERRORS)
def test_errors_of_the_base_hide_no_loosening(case: str, repository: Path) -> None:
    wrong, corrected = BASES_WITH_ERRORS[case]
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 16}}}}\n{wrong}")
    commit_all()
    git("branch", "--force", "main")
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 32}}}}\n{corrected}")
    assert checked("--against", "main") == (cli.OK, [LINE.format("warning: ", "main", "")])
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 16}}}}\n{corrected}")
    assert checked("--against", "main") == (cli.OK, [])


@pytest.mark.usefixtures("repository")
def test_errors_of_the_change_hide_no_loosening() -> None:
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 16}}}}\nallowedEnvironments: [dev]\nwarningsAsErrors: true\n")
    commit_all()
    write(FILE, f"{HEAD}limits: {{job: {{gpus: 32}}}}\nallowedEnvironments: [Dev]\nwarningsAsErrors: true\n")
    _, lines = checked()
    messages = [line for line in lines if "[guard-rail-loosened]" in line]
    assert len(messages) == 2
    assert "the file has errors, so tfgen cannot read its guard rails" in messages[1]
    assert "limits.job.gpus: found 32, but tfgen.yaml:3:22 of HEAD allows 16" in messages[0]
