"""The pages that `tfgen explain` prints: keys, rules, and lines of rendered files."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.support.everything import EVERYTHING
from tests.support.repository import tfgen
from tests.support.rules_page import ids_of_the_reader, sections
from tfgen import cli
from tfgen.commands.explain import explain_rule, rule_ids
from tfgen.errors import TfgenError
from tfgen.report.rule_summaries import rule_summaries
from tfgen.schema.keys import explain

# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["spec.roles.worker.resources.gpu", "roles.worker.resources.gpu"])
def test_a_record(path):
    assert explain(path) == dedent("""\
        spec.roles.worker.resources.gpu: a mapping
        Default: {}

          GPUs of each task.

        Example:

          gpu:
            count: 1
            product: NVIDIA-T4

        Keys:

          KEY           TYPE                          DEFAULT                   TUNABLE
          count         an integer from 0 to 1048576  0                         yes      Number of units of resource, such as GPUs, of each task.
          product       text                          ""                        yes      GPU product of the node.
          productLabel  text                          "nvidia.com/gpu.product"  yes      Node label with the GPU product.
          resource      text                          "nvidia.com/gpu"          yes      Resource name of the device plugin for a GPU or a fraction of a GPU.
          share         a map by name                 {}                        yes      Additional resources of the device plugin for shared GPUs, requested if count is not 0.
          deviceClass   text                          ""                        yes      Device class of the GPUs.
          selectors     a list                        []                        yes      CEL expressions that each device of deviceClass must meet.
        """)  # noqa: E501


def test_the_end_of_a_path_lists_the_keys_that_have_it():
    assert explain("resources.gpu") == dedent("""\
        4 keys end with resources.gpu:

          spec.roles.chief.resources.gpu      GPUs of each task.
          spec.roles.ps.resources.gpu         GPUs of each task.
          spec.roles.worker.resources.gpu     GPUs of each task.
          spec.roles.evaluator.resources.gpu  GPUs of each task.
        """)


def test_the_end_of_one_path_is_that_key():
    assert explain("logDir").startswith("spec.tensorboard.logDir: text\n")


def test_a_key_of_the_defaults():
    assert explain("registry").startswith("registry: text\nAllowed: a host with optional folders, such as ")
    assert explain("root").startswith("root: true or false\nDefault: false\n")


def test_a_value():
    assert explain("run") == dedent("""\
        spec.run: text
        Allowed: lower-case letters, digits and "-", with a letter or digit at both ends, or ""
        Default: ""
        Tunable: yes, the user of the chart and each environment may set the key

          Name of the run, and part of the names of the run's objects. A new name starts a new run.

        Example:

          run: "2"

        Example:

          run: lr-3e-4
        """)


def test_what_no_environment_may_change():
    assert "Default: 2222\nTunable: no, the value is the same in every environment\n" in explain("spec.port")


def test_an_entry_of_a_map_and_what_it_needs_one_of():
    assert explain("spec.storage.data.claim").startswith(
        "spec.storage.data.claim: a mapping\nExactly one of: name or size\n\n  A claim: an existing claim with a name"
    )


def test_the_items_of_a_list():
    assert explain("tolerations.operator").startswith(
        'spec.tolerations.operator: one of Equal or Exists\nDefault: "Equal"\nTunable: yes'
    )
    assert "Keys of each entry:\n\n  KEY  " in explain("spec.tolerations")


def test_the_whole_document():
    assert explain("").startswith("job.yaml: a mapping\n\n  A distributed TensorFlow job")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec.rols", 'unknown key "rols" in spec; did you mean "roles"?'),
        ("roles.worker.gpu", 'unknown key "gpu" in spec.roles.worker; did you mean "resources.gpu"?'),
        ("network.x", 'unknown key "x" in spec.network (allowed: egress, policy)'),
        ("spec.image.tag", 'unknown key "tag" in spec.image, which is not a mapping'),
        ("args.0.1", 'unknown key "0" in spec.args, which is not a mapping'),
    ],
)
def test_an_unknown_key_is_an_error_with_the_nearest(path, message):
    with pytest.raises(TfgenError) as error:
        explain(path)
    assert str(error.value) == message


def keys(data: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of all keys of a document. The path of a key in a list has the key of the list, but no index."""
    if isinstance(data, dict):
        return [path] + [
            child_path for key, value in data.items() if "." not in key for child_path in keys(value, (*path, key))
        ]
    if isinstance(data, list):
        return [child_path for item in data if isinstance(item, dict) for child_path in keys(item, path)]
    return [path]


def test_each_key_of_a_job_is_explained():
    """Explain each key of a job that has every key."""
    for path in keys(EVERYTHING):
        assert explain(".".join(path)).startswith(".".join(path) or "job.yaml")


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("spec.tolerations[0].key", "spec.tolerations.key: text"),
        ("tolerations[3]", "spec.tolerations: a list"),
        ('spec.labels["example.com/team"]', 'spec.labels["example.com/team"]: text'),
        ("spec.environments.dev.tolerations[1].effect", "spec.environments.dev.tolerations.effect: "),
    ],
)
def test_a_path_may_be_a_problems(path, first):
    assert explain(path).startswith(first)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec.roles[0].worker", "spec.roles is not a list, so it has no item 0"),
        ("[0]", "job.yaml is not a list, so it has no item 0"),
        *(
            (path, "is not a path; a path has the form spec.tolerations[0].key")
            for path in (
                "a..b",
                ".spec",
                "spec..",
                "spec[x]",
                'spec.labels["a\\q"]',
                'spec.labels[""]',
                "tolerations[0",
            )
        ),
    ],
)
def test_what_is_no_path_is_said(path, message):
    with pytest.raises(TfgenError) as error:
        explain(path)
    assert message in str(error.value)


def test_what_must_be_said_has_no_default() -> None:
    """The default in the chart of a job without TensorBoard is no default of a job."""
    assert "Required: yes\n" in explain("spec.tensorboard.logDir")
    assert "Default:" not in explain("spec.tensorboard.logDir")
    (row,) = (line for line in explain("spec.tensorboard").splitlines() if "logDir  " in line)
    assert row.split()[2] == "required"


# -- rules -------------------------------------------------------------------------------------------------------------


def test_every_id_of_a_problem_is_known() -> None:
    summaries = rule_summaries()
    for rule in {*summaries, *ids_of_the_reader()}:
        assert summaries.get(rule, "") in " ".join(tfgen("explain", rule).out.split())


def test_the_text_of_a_rule() -> None:
    assert explain_rule("latest-tag") == (
        "latest-tag\n\n"
        "  An image has no fixed version. Severity: warning. The image can then change without a commit, and two "
        "tasks of one job\n  could run different versions. Set a tag with a version, or a "
        "digest (`mnist@sha256:...`).\n\n"
        "    spec:\n      image: registry.ml.internal/ml/mnist\n\n"
        "    spec:\n      image: registry.ml.internal/ml/mnist:1.4.0\n"
    )
    assert rule_ids() == tuple(section.id for section in sections())


@pytest.mark.parametrize(
    ("word", "message"),
    [("latest-tga", "the most similar rule is latest-tag"), ("lmits-below-request", "limits-below-requests")],
)
def test_a_misspelt_rule_has_the_nearest_one(word: str, message: str) -> None:
    assert message in tfgen("explain", word, code=cli.USAGE).err


def test_a_misspelt_key_has_the_nearest_one() -> None:
    assert 'did you mean "retries"?' in tfgen("explain", "spec.retris", code=cli.USAGE).err


def test_a_name_of_a_key_and_of_a_rule_explains_both() -> None:
    printed = tfgen("explain", "affinity").out
    assert "spec.affinity" in printed
    assert "The rule affinity\n" in printed
