from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tfgen.check import jobs as check_module
from tfgen.check.jobs import check, check_all
from tfgen.check.source import MAX_PROBLEMS
from tfgen.errors import has_errors
from tfgen.graph.graph import plain_objects
from tfgen.job.sources import Source
from tfgen.report.problems import as_text

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}}
"""


def test_a_sound_job_has_no_problem() -> None:
    checked = check(JOB, "job.yaml")
    assert checked.problems == ()
    assert [document.data["metadata"]["name"] for document in checked.documents] == ["mnist"]


def test_bytes_are_read_as_text_is() -> None:
    of_bytes, of_text = check(JOB.encode(), "job.yaml"), check(JOB, "job.yaml")
    assert (of_bytes.documents, of_bytes.problems) == (of_text.documents, of_text.problems)
    assert as_text(check(b"a: \xff\n", "job.yaml").problems) == (
        "job.yaml:1:4: the byte 0xff is not UTF-8; save the file as UTF-8 [yaml-encoding]\n"
    )


def test_rules_see_only_what_the_schema_accepts() -> None:
    text = JOB.replace("ps: {replicas: 2}", "ps: {replicas: none}") + "  gang: {scheduler: volcano, minAvailable: 99}\n"
    assert [problem.rule for problem in check(text, "job.yaml").problems] == ["wrong-type"]


def test_the_schema_is_silent_where_the_parser_refused() -> None:
    text = JOB + "  retries: 99999999999999999999\n"
    assert [problem.rule for problem in check(text, "job.yaml").problems] == ["yaml-number"]


def test_files_are_checked_together_and_reported_in_order() -> None:
    sources = [Source("b.yaml", JOB), Source("c.yaml", JOB.replace("image:", "imag:")), Source("a.yaml", JOB)]
    checked = check_all(sources)
    assert as_text(checked.problems) == (
        'a.yaml:3:18: the job "mnist" is already in b.yaml:3, and both jobs write to charts/mnist; rename one of the '
        'jobs [duplicate-job]\nc.yaml:5:3: unknown key "imag" in spec; did you mean "image"? [unknown-key]\n'
    )
    assert [document.file for document in checked.documents] == ["b.yaml", "c.yaml", "a.yaml"]


def test_one_rule_stops_at_its_first_findings() -> None:
    env = "".join(f"    V{i}_TOKEN: abc\n" for i in range(MAX_PROBLEMS + 50))
    problems = check(f"{JOB}  env:\n{env}", "job.yaml").problems
    assert len(problems) == MAX_PROBLEMS
    assert {problem.rule for problem in problems} == {"plaintext-secret"}


@pytest.mark.parametrize("environments", ["{}", "{dev: {}}", "{dev: {image: 'x:1'}, prod: {retries: 1}}"])
def test_what_an_environment_inherits_is_said_once(environments: str) -> None:
    text = f"{JOB}  env: {{HUB_TOKEN: abc}}\n  environments: {environments}\n"
    (problem,) = check(text, "job.yaml").problems
    assert problem.position == (7, 20)
    assert "environment" not in problem.message


def test_an_environment_is_named_where_its_line_does_not_name_it() -> None:
    text = JOB + (
        "  gang: {scheduler: volcano, minAvailable: 7}\n"
        "  environments:\n"
        "    a: {roles: {worker: {replicas: 2}}}\n"
        "    b: {roles: {worker: {replicas: 2}}}\n"
        "    c: {gang: {minAvailable: 8}}\n"
    )
    message = "but the gang has only {} tasks and would never start; set a smaller number, or 0 for all tasks"
    assert as_text(check(text, "job.yaml").problems) == (
        f"job.yaml:7:44: gang.minAvailable is 7, {message.format(5)} (in the environments a and b) "
        "[gang-min-available]\n"
        f"job.yaml:11:30: gang.minAvailable is 8, {message.format(7)} [gang-min-available]\n"
    )


def test_the_workers_that_fit_fit() -> None:
    def rules(workers: int) -> list[str]:
        return [problem.rule for problem in check(JOB.replace("4}", f"{workers}}}"), "job.yaml").problems]

    (problem,) = check(JOB.replace("replicas: 4", "replicas: 9000"), "job.yaml").problems
    fit = int(problem.message.rpartition("; at most ")[2].removesuffix(" workers fit"))
    assert rules(fit) == []
    assert rules(fit + 1) == ["tf-config-size"]


KEYS = st.sampled_from(
    [
        "annotations",
        "containers",
        "emptyDir",
        "env",
        "image",
        "initContainers",
        "labels",
        "metadata",
        "mountPath",
        "name",
        "nodeSelector",
        "$patch",
        "ports",
        "securityContext",
        "spec",
        "value",
        "volumeMounts",
        "volumes",
    ]
)
SCALARS = st.sampled_from(["tensorflow", "data", "delete", "/data", "HOME", "x"]) | st.integers(0, 9) | st.booleans()
PARTS = st.recursive(
    SCALARS | st.none(), lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=3), max_leaves=8
)
NAMED = st.builds(
    lambda name, part: {**part, "name": name},
    st.sampled_from(["tensorflow", "data", "tmp"]),
    st.dictionaries(KEYS, PARTS, max_size=2),
)
LISTS = PARTS | st.lists(PARTS | NAMED, max_size=2)
PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.dictionaries(KEYS, PARTS, max_size=2),
        "spec": st.fixed_dictionaries({}, optional=dict.fromkeys(("containers", "initContainers", "volumes"), LISTS)),
    },
)
CONTAINERS = st.lists(st.dictionaries(KEYS, PARTS, max_size=3).map(lambda c: {**c, "name": "beside"}), max_size=2)


@given(PATCHES, PATCHES, CONTAINERS, CONTAINERS)
def test_what_passes_can_be_rendered(ours: Any, roles: Any, before: Any, beside: Any) -> None:
    """No rule fails on fields that a user passes on to Kubernetes, and each job without errors can be rendered."""
    data = yaml.safe_load(JOB)
    data["spec"] |= {"podTemplate": ours, "initContainers": before}
    data["spec"]["roles"]["ps"] |= {"podTemplate": roles, "sidecars": beside}
    checked = check(yaml.safe_dump(data), "job.yaml")
    if not has_errors(checked.problems):
        assert plain_objects(checked.documents[0].data)


def test_the_pipeline_is_pure() -> None:
    assert not {"open", "print", "Path", "os", "sys"} & vars(check_module).keys()
