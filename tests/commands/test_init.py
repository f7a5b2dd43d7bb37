"""``tfgen init``: the new files render without changes, and existing files do not change."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import yaml

from tests.support.command import Command
from tests.support.repository import commit_all, git, run_tfgen, tfgen
from tests.support.tools import ROOT
from tfgen import cli
from tfgen.check.jobs import check
from tfgen.places import EXTENDED_FILES
from tfgen.schema.editor_schema import editor_schema

CRD = ROOT.parent / "shared" / "crds" / "argo-cd-3.6.1-appproject.yaml"
STRATEGIES = ("ParameterServer", "MultiWorkerMirrored", "KerasDistribution", "Single")
GANGS = ("volcano", "kube-batch", "coscheduling", "kai", "koordinator", "kueue", "kubernetes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty folder outside a repository the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def data(path: str) -> dict:
    return yaml.safe_load(text(path))


def files() -> set[str]:
    paths = (path.relative_to(Path.cwd()) for path in Path.cwd().rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.parts[0] != ".git"}


def gpus_of(value: object) -> Iterator[int]:
    """Yield the GPU limits of all containers, at any depth of an object."""
    if isinstance(value, dict):
        limit = (value.get("limits") or {}).get("nvidia.com/gpu")
        yield from [limit] if limit else []
        value = [*value.values()]
    if isinstance(value, list):
        for item in value:
            yield from gpus_of(item)


# -- one job ---------------------------------------------------------------------------------------------------------


def test_every_form_has_no_problem_and_the_gang_that_was_named() -> None:
    for strategy, gang in [*product(STRATEGIES[:3], ("", *GANGS)), ("Single", "")]:
        name = f"{strategy}{gang and '-'}{gang}".lower()
        tfgen("init", name, "--strategy", strategy, *(["--gang", gang] if gang else []))
        problems = check(text(f"{name}/job.yaml"), "job.yaml").problems
        assert [problem for problem in problems if problem.rule != "gang-alpha"] == []
        assert (data(f"{name}/job.yaml")["spec"].get("gang") or {}).get("scheduler", "") == gang


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_job_of_each_strategy_is_rendered_with_the_gpus_that_were_named(strategy: str) -> None:
    tfgen("init", "mnist", "--strategy", strategy, "--gpu", "2")
    tfgen("render", "mnist")
    assert [*gpus_of([*yaml.safe_load_all(tfgen("render", "mnist/job.yaml", "--stdout", "--env", "prod").out)])] == [2]
    assert tfgen("check", "mnist").out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--team", "ads"], "--team and --ci need --repo"),
        (["--gpu", "-1"], "--gpu -1: write an integer of at least 0"),
        (
            ["--gang", "volcano", "--strategy", "Single"],
            "--gang needs several tasks, but a job with --strategy Single has one task",
        ),
        (["--repo", "--team", "flux"], "'flux' is not a valid team: choose another name"),
    ],
)
def test_what_init_cannot_write(options: list[str], message: str) -> None:
    assert message in tfgen("init", "mnist", *options, code=cli.USAGE).err
    assert files() == set()


def test_no_other_command_loads_the_templates_library() -> None:
    tfgen("init", "mnist")
    program = (
        "import sys\nfrom tfgen import cli\n"
        "for command in (['render', 'mnist'], ['check', 'mnist'], ['schema'], ['rm', 'mnist/job.yaml', '--force']):\n"
        "    assert cli.run(command) == 0, command\n"
        "print([name for name in sys.modules if name.startswith('jinja2')], file=sys.stderr)\n"
        "sys.exit('jinja2' in sys.modules)\n"
    )
    Command((sys.executable, "-c", program)).run()


def test_the_schema_of_defaults_is_printed() -> None:
    assert json.loads(tfgen("schema", "--defaults").out)["title"] == "Defaults"


# -- a job next to existing jobs -------------------------------------------------------------------------------------


def test_the_second_job_goes_where_jobs_are_with_what_they_share() -> None:
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo")
    before = files()
    tfgen("init", "video")
    assert files() - before == {"jobs/video/job.yaml"}
    written = text("jobs/video/job.yaml")
    assert written.startswith("# yaml-language-server: $schema=../../schemas/job.schema.json\n")
    assert "  image: video:1.0.0\n" in written
    tfgen("render", "jobs")
    tfgen("check", "jobs")


def test_a_job_has_the_environments_of_its_platform() -> None:
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo")
    layer = text("tfgen.yaml").replace("dev: {n", "lab: {namespace: lab}\n    dev: {n").replace("prod:", "live:")
    Path("tfgen.yaml").write_text(layer, encoding="utf-8")
    tfgen("init", "video")
    assert data("jobs/video/job.yaml")["spec"]["environments"] == {
        "lab": {"roles": {"worker": {"replicas": 1}}},
        "dev": {},
        "live": {"roles": {"worker": {"replicas": 4}}},
    }


def test_jobs_that_are_files_of_one_folder_get_another_file() -> None:
    git("init", "--quiet")
    for name in ("a", "b"):
        tfgen("init", name, "--out", "new")
        Path("jobs").mkdir(exist_ok=True)
        Path(f"new/{name}/job.yaml").rename(f"jobs/{name}.yaml")
    tfgen("init", "c")
    assert {path for path in files() if path.startswith("jobs/")} == {
        "jobs/a.yaml",
        "jobs/b.yaml",
        "jobs/c.yaml",
    }
    tfgen("init", "d")
    assert text("jobs/d.yaml").startswith("# yaml-language-server: $schema=../schemas/job.schema.json\n")


def test_a_repository_has_one_schema_wherever_a_job_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet")
    Path("team/deep").mkdir(parents=True)
    monkeypatch.chdir("team/deep")
    tfgen("init", "a")
    tfgen("init", "b", "--out", "../other")
    monkeypatch.chdir("../..")
    assert {path for path in files() if path.endswith(".json")} == {"schemas/job.schema.json"}
    for job in ("team/deep/a/job.yaml", "team/other/b/job.yaml"):
        assert text(job).startswith("# yaml-language-server: $schema=../../../schemas/job.schema.json\n")
    assert text("schemas/job.schema.json") == editor_schema()


def test_no_job_goes_into_the_folder_of_another_team() -> None:
    git("init", "--quiet")
    for name, team in (("a", "ads"), ("b", "ads"), ("c", "video")):
        tfgen("init", name, "--repo", "--team", team)
    tfgen("init", "d")
    assert "jobs/d/job.yaml" in files()


def test_outside_of_a_repository_nobody_looks_for_jobs() -> None:
    tfgen("init", "mnist", "--out", "jobs")
    tfgen("init", "video")
    assert "video/job.yaml" in files()


# -- a repository ----------------------------------------------------------------------------------------------------


def test_a_repository_with_files_keeps_them_and_gets_what_it_lacks() -> None:
    git("init", "--quiet")
    Path(".gitignore").write_text("# ours\n*.log\n.venv/", encoding="utf-8")
    Path(".gitattributes").write_text("/charts/** -text linguist-generated merge=tfgen\n", encoding="utf-8")
    Path(".pre-commit-config.yaml").write_text("repos: []\n", encoding="utf-8")
    Path(".github/workflows").mkdir(parents=True)
    Path(".github/workflows/test.yaml").write_text("on: [push]\n", encoding="utf-8")
    printed = tfgen("init", "mnist", "--repo")
    assert text(".gitignore") == (
        "# ours\n*.log\n.venv/\n# Commit charts/, overlays/ and .tfgen/: the clusters apply these files, and reviews "
        "include them.\n__pycache__/\n"
    )
    assert [line.split()[0] for line in text(".gitattributes").splitlines() if line[0] == "/"] == [
        "/charts/**",
        "/overlays/**",
        "/.tfgen/**",
    ]
    assert text(".pre-commit-config.yaml") == "repos: []\n"
    assert text(".github/workflows/test.yaml") == "on: [push]\n"
    assert "added to .gitignore\n" in printed.out
    assert "kept     .pre-commit-config.yaml\n" in printed.out
    assert ".pre-commit-config.yaml does not run `tfgen check .`; add the lines" in printed.err
    ignored = text(".gitignore"), text(".gitattributes")
    created = tfgen("init", "video", "--repo", "--format", "json").out
    assert (text(".gitignore"), text(".gitattributes")) == ignored
    assert json.loads(created)["created"] == ["jobs/video/job.yaml"]


@pytest.mark.parametrize(
    ("origin", "repository"),
    [
        ("https://git.ml.internal/ads/jobs.git", "https://git.ml.internal/ads/jobs.git"),
        ("https://ada:secret@git.ml.internal/ads/jobs.git", "https://git.ml.internal/ads/jobs.git"),
        ("git@git.ml.internal:ads/jobs.git", "git@git.ml.internal:ads/jobs.git"),
        ("/srv/git/jobs.git", "https://git.example.com/ml/jobs.git"),
        ("", "https://git.example.com/ml/jobs.git"),
    ],
)
def test_the_repository_is_that_of_origin(origin: str, repository: str) -> None:
    git("init", "--quiet")
    if origin:
        git("remote", "add", "origin", origin)
    tfgen("init", "mnist", "--repo")
    assert data("tfgen.yaml")["spec"]["gitops"]["repository"] == repository


def test_the_workflow_runs_for_each_way_to_main_and_ends_in_time() -> None:
    git("init", "--quiet", "--initial-branch=main")
    tfgen("init", "mnist", "--repo", "--ci", "github")
    workflow = data(".github/workflows/tfgen.yaml")
    events = workflow[True]  # YAML 1.1 reads `on` as true
    assert events["pull_request"] == {"branches": ["main"], "types": ["opened", "synchronize", "reopened", "edited"]}
    assert events["push"] == {"branches": ["main"]}
    assert "merge_group" in events
    assert workflow["concurrency"]["group"] == "tfgen-${{ github.event.pull_request.number || github.run_id }}"
    assert workflow["jobs"]["check"]["timeout-minutes"] == 15
    actions = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action) for action in actions)


def test_the_site_is_published_only_with_the_variable_publish_site() -> None:
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo", "--ci", "github")
    publish = data(".github/workflows/tfgen.yaml")["jobs"]["publish"]
    assert publish["needs"] == "check"
    assert publish["if"] == "github.event_name == 'push' && vars.PUBLISH_SITE == 'true'"
    tfgen("init", "cifar", "--repo", "--ci", "gitlab")
    jobs = data(".gitlab-ci.yml")
    assert jobs["pages"]["needs"] == ["tfgen"]
    assert jobs["pages"]["artifacts"] == jobs["tfgen"]["artifacts"] == {"paths": ["public"]}
    assert jobs["pages"]["rules"] == [{"if": '$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH && $PUBLISH_SITE == "true"'}]


@pytest.mark.parametrize(
    ("ci", "file", "paths"),
    [
        ("github", ".github/CODEOWNERS", {"/.github/", "/charts/*/.helmignore"}),
        ("gitlab", ".gitlab/CODEOWNERS", {"/.gitlab/", "/.gitlab-ci.yml", "!/charts/*/.helmignore"}),
    ],
)
def test_the_platform_owns_the_checks_and_the_guard_rails(ci: str, file: str, paths: set[str]) -> None:
    git("init", "--quiet")
    git("remote", "add", "origin", "https://git.ml.internal/ads/jobs.git")
    tfgen("init", "mnist", "--repo", "--ci", ci)
    lines = [line.split() for line in text(file).splitlines() if not line.startswith("#")]
    read_by_git_and_tools = {".gitattributes", ".gitmodules", ".gitignore", ".sourceignore", ".helmignore"}
    assert {path for path, *_ in lines} == {*paths, "tfgen.yaml", *read_by_git_and_tools}
    assert {tuple(owners) for _, *owners in lines[:-1]} == {("@ads/platform",)}
    assert lines[-1][1:] == [], "each new chart has this file, which tfgen checks"


@pytest.mark.parametrize("team", ["", "ads"])
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_the_first_commit_has_all_that_init_wrote(ci: str, team: str) -> None:
    git("init", "--quiet", "--initial-branch=main")
    Path("mine.txt").write_text("mine\n", encoding="utf-8")
    tfgen("init", "mnist", "--repo", "--ci", ci, *(["--team", team] if team else []))
    tfgen("commit", "jobs")
    assert git("status", "--porcelain").split() == ["??", "mine.txt"]


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_the_first_commit_has_the_lines_that_init_added_to_files(ci: str) -> None:
    git("init", "--quiet", "--initial-branch=main")
    for path in EXTENDED_FILES:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text("# mine\n", encoding="utf-8")
    commit_all()
    tfgen("init", "mnist", "--repo", "--ci", ci)
    tfgen("commit", "jobs")
    assert git("status", "--porcelain") == ""
    for path in EXTENDED_FILES:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("# the user's\nnotes/\n")
    tfgen("rerun", "jobs/mnist/job.yaml", "--commit")
    assert git("status", "--porcelain").split()[1::2] == sorted(EXTENDED_FILES)


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_the_workflow_and_gitops_have_the_default_branch(ci: str) -> None:
    git("init", "--quiet", "--initial-branch=trunk")
    tfgen("init", "mnist", "--repo", "--ci", ci)
    assert data("tfgen.yaml")["spec"]["gitops"]["branch"] == "trunk"
    if ci == "github":
        events = data(".github/workflows/tfgen.yaml")[True]
        assert events["pull_request"]["branches"] == events["push"]["branches"] == ["trunk"]
    else:
        request, branch = (rule["if"] for rule in data(".gitlab-ci.yml")["tfgen"]["rules"])
        assert request.endswith('&& $CI_MERGE_REQUEST_TARGET_BRANCH_NAME == "trunk"')
        assert branch == '$CI_COMMIT_BRANCH == "trunk"'
    git("update-ref", "refs/remotes/origin/main", git("commit-tree", "-m", "x", git("write-tree").strip()).strip())
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    for path in ("tfgen.yaml", ".gitlab-ci.yml", ".github/workflows/tfgen.yaml"):
        Path(path).unlink(missing_ok=True)
    tfgen("init", "video", "--repo", "--ci", ci)
    assert "branch" not in data("tfgen.yaml")["spec"]["gitops"]


# -- the installation of tfgen ---------------------------------------------------------------------------------------

COMMIT = "0123456789abcdef0123456789abcdef01234567"
EXAMPLE = "tfgen-charts[kubernetes] @ git+https://git.example.com/platform/tfgen@v"
VCS = {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}


class Distribution:
    """The metadata of an installed tfgen."""

    version = "1.4.0"

    def __init__(self, direct_url: dict | None) -> None:
        self._direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._direct_url is None else json.dumps(self._direct_url)


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        (None, "tfgen-charts[kubernetes]==1.4.0"),
        (
            {"url": "https://git.ml.internal/platform/tfgen.git", "vcs_info": VCS},
            f"tfgen-charts[kubernetes] @ git+https://git.ml.internal/platform/tfgen.git@{COMMIT}",
        ),
        (
            {"url": "https://ada:secret@git.ml.internal/tools", "subdirectory": "tfgen", "vcs_info": VCS},
            f"tfgen-charts[kubernetes] @ git+https://git.ml.internal/tools@{COMMIT}#subdirectory=tfgen",
        ),
        (
            {"url": "ssh://git@git.ml.internal/platform/tfgen.git", "vcs_info": VCS},
            f"tfgen-charts[kubernetes] @ git+ssh://git@git.ml.internal/platform/tfgen.git@{COMMIT}",
        ),
        ({"url": "file:///home/ada/tfgen", "vcs_info": VCS}, EXAMPLE),
        ({"url": "file:///home/ada/tfgen", "dir_info": {"editable": True}}, EXAMPLE),
        ({"url": "file:///home/ada/tfgen.whl", "archive_info": {}}, EXAMPLE),
    ],
)
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_ci_installs_the_running_tfgen(
    ci: str, direct_url: dict | None, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Distribution(direct_url))
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo", "--ci", ci)
    if ci == "github":
        job = data(".github/workflows/tfgen.yaml")["jobs"]["check"]
        variables, (install, *_) = job["env"], [step["run"] for step in job["steps"] if "run" in step]
    else:
        job = data(".gitlab-ci.yml")["tfgen"]
        variables, (install, *_) = job["variables"], job["script"]
    assert install == 'pip install "$TFGEN"'
    assert variables["TFGEN"].startswith(requirement)
    _, printed, _ = run_tfgen("check", ".")
    reported = "has an example host, so CI cannot install tfgen; write the address of your tfgen and a commit"
    assert (reported in printed) == (requirement == EXAMPLE)


def test_a_problem_of_the_installation_has_the_line_of_the_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Distribution({"url": "file:///x", "dir_info": {}}))
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo", "--ci", "github")
    workflow = Path(".github/workflows/tfgen.yaml")
    lines = workflow.read_text(encoding="utf-8").splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if "TFGEN:" in line)
    column = lines[number - 1].index("git+https") + 1
    tfgen("render", "jobs")
    assert f'{workflow}:{number}:{column}: warning: "git+https://git.example.com/' in tfgen("check", "jobs").out
    workflow.write_text("\n".join(lines).replace("git.example.com", "git.ml.internal"), encoding="utf-8")
    assert "install" not in tfgen("check", "jobs").out


# -- a repository of many projects -----------------------------------------------------------------------------------


def test_below_a_repository_the_files_of_git_and_ci_are_in_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet", "--initial-branch=main")
    for folder, job in (("ml", "mnist"), ("teams/b", "other")):
        Path(folder).mkdir(parents=True)
        monkeypatch.chdir(folder)
        assert "does not run" not in tfgen("init", job, "--repo").err
        monkeypatch.chdir(Path(os.path.relpath(".", folder)))
    assert files() == {
        *("ml/tfgen.yaml", "ml/jobs/mnist/job.yaml", "teams/b/tfgen.yaml", "teams/b/jobs/other/job.yaml"),
        *("schemas/job.schema.json", "schemas/tfgen.schema.json", ".gitattributes", ".gitignore"),
        *(".pre-commit-config.yaml", ".github/workflows/tfgen.yaml", ".github/CODEOWNERS"),
    }
    assert text("teams/b/tfgen.yaml").startswith("# yaml-language-server: $schema=./../../schemas/tfgen.schema.json\n")
    assert text("ml/jobs/mnist/job.yaml").startswith(
        "# yaml-language-server: $schema=../../../schemas/job.schema.json\n"
    )
    tfgen("commit", ".")
    assert git("status", "--porcelain") == ""
    assert {path.parent.name for path in Path("charts").glob("*/Chart.yaml")} == {"mnist", "other"}
    attributes = git("check-attr", "text", "charts/mnist/Chart.yaml", "overlays/other/dev/x.yaml", ".tfgen/mnist.json")
    assert [line.rpartition(" ")[2] for line in attributes.splitlines()] == ["unset"] * 3
    tfgen("check", ".", "--verify")


def test_the_files_of_ci_need_a_line_for_each_output_folder() -> None:
    git("init", "--quiet", "--initial-branch=main")
    tfgen("init", "mnist", "--repo")
    Path("ml").mkdir()
    Path("ml/tfgen.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nroot: true\n", encoding="utf-8")
    printed = tfgen("init", "other", "--repo", "--out", "ml").err
    for path in (".pre-commit-config.yaml", ".github/workflows/tfgen.yaml"):
        assert f"note: {path} does not run `tfgen check ml`; add the lines" in printed
    assert "/ml/charts/**   -text" in text(".gitattributes")
    assert "/charts/**   -text" in text(".gitattributes")


def test_a_folder_below_defaults_gets_no_other_defaults() -> None:
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo")
    before = files()
    tfgen("init", "other", "--repo", "--out", "ml")
    assert files() - before == {"ml/jobs/other/job.yaml"}
    assert "  image: other:1.0.0\n" in text("ml/jobs/other/job.yaml")


# -- a team ----------------------------------------------------------------------------------------------------------


def test_a_team_has_a_folder_defaults_and_a_project_of_its_own() -> None:
    git("init", "--quiet")
    git("remote", "add", "origin", "https://git.ml.internal/ads/jobs.git")
    tfgen("init", "mnist", "--repo")
    before = files()
    tfgen("init", "ranking", "--repo", "--team", "ads")
    assert files() - before == {"jobs/ads/ranking/job.yaml", "jobs/ads/tfgen.yaml", "projects/ads.yaml"}
    tfgen("init", "clicks", "--out", "jobs/ads")
    tfgen("render", "jobs")
    tfgen("check", "jobs")
    project = data("projects/ads.yaml")["spec"]
    for name in ("ranking", "clicks"):
        for environment in ("dev", "prod"):
            application = data(f"overlays/argocd/{name}-{environment}.yaml")["spec"]
            assert application["project"] == "ads"
            assert application["source"]["repoURL"] in project["sourceRepos"]
            namespaces = [destination["namespace"] for destination in project["destinations"]]
            assert application["destination"]["namespace"] in namespaces
    assert data("overlays/argocd/mnist-prod.yaml")["spec"]["project"] == "default"
    assert "ml" not in namespaces


def test_the_jobs_of_a_team_are_confined_to_its_project_namespaces_and_environments() -> None:
    git("init", "--quiet")
    tfgen("init", "ranking", "--repo", "--team", "ads")
    team = data("jobs/ads/tfgen.yaml")
    assert team["argocd"] == {"project": "ads"}
    assert team["allowedNamespaces"] == ["ads-dev", "ads"]
    assert team["allowedEnvironments"] == ["dev", "prod"]
    assert team["enforce"] == ["spec.objects", "spec.patches", {"path": "spec.gitops", "except": ["source"]}]
    job = Path("jobs/ads/ranking/job.yaml")
    text = job.read_text(encoding="utf-8")
    config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: any}}"
    patch = "{target: {kind: Service}, patch: {spec: {type: NodePort}}}"
    for line in (
        "gitops: {argocd: {project: default}}",
        "gitops: {branch: mine}",
        f"objects: [{config}]",
        f"patches: [{patch}]",
    ):
        job.write_text(text.replace("\nspec:\n", f"\nspec:\n  {line}\n"), encoding="utf-8")
        assert cli.run(["render", "jobs"]) != 0
    for environment in ("    stage: {}", "    dev: {namespace: ml}"):
        job.write_text(f"{text.partition('  environments:')[0]}  environments:\n{environment}\n", encoding="utf-8")
        assert cli.run(["render", "jobs"]) != 0
    for line in ("gitops: {source: Chart}", "gitops: {argocd: {}}"):
        job.write_text(text.replace("\nspec:\n", f"\nspec:\n  {line}\n"), encoding="utf-8")
        tfgen("render", "jobs")


@pytest.mark.may_skip("Argo CD's definition of AppProject lies beside the checkout")
def test_a_project_is_one_of_argo_cd() -> None:
    if not CRD.is_file():
        pytest.skip(f"{CRD} is not there")
    import jsonschema

    git("init", "--quiet")
    tfgen("init", "ranking", "--repo", "--team", "ads")
    (version,) = yaml.safe_load(CRD.read_text(encoding="utf-8"))["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    project = data("projects/ads.yaml")
    jsonschema.validate(project, schema)
    properties = schema["properties"]["spec"]["properties"]
    assert project["spec"].keys() <= properties.keys()
    for field in ("destinations", "clusterResourceWhitelist", "namespaceResourceBlacklist"):
        for item in project["spec"][field]:
            assert item.keys() <= properties[field]["items"]["properties"].keys()
