"""Text in values.yaml, read again by a YAML parser."""

from __future__ import annotations

import pytest
import yaml

from tfgen.schema.values_schema import ValuesForm
from tfgen.targets.chart.texts import values_yaml


@pytest.mark.parametrize(
    "text", ["a\n\nb\n", "a\n\u3000\nb", "a\n\u3000", "\u3000\n\u3000", "a\n\n\u00a0\n", "a\n---\nb"]
)
def test_text_of_several_lines_is_unchanged(text: str) -> None:
    values = {"roles": {"ps": {"replicas": 2, "annotations": {"example.com/note": text}}}}
    form = ValuesForm((("roles", "ps", "replicas"), ("roles", "ps", "annotations")))
    of_charts = {"nameOverride": "", "fullnameOverride": ""}
    assert yaml.safe_load(values_yaml(values, form)) == {**of_charts, **values}


def test_keys_of_the_entries_of_a_map_are_listed() -> None:
    text = values_yaml({"priorityClasses": {}}, ValuesForm((("priorityClasses",),)))
    assert text.endswith(
        """\
# Priority classes to create, by name. A priority class belongs to the whole cluster, so only a single
# job can create the class.
#   value: Required. Priority value. A higher value is scheduled earlier. The value is immutable. From
#     -2147483648 to 1000000000.
#   description: Purpose of the class.
#   preemptionPolicy: Whether pods of the class preempt pods with a lower priority, or wait. One of:
#     PreemptLowerPriority, Never. PreemptLowerPriority by default.
priorityClasses: {}
"""
    )


def test_unsupported_path_is_not_listed() -> None:
    form = ValuesForm((("storage",),), unsupported_paths=("storage.*.nfs", "storage.*.claim.volumeName"))
    text = values_yaml({"storage": {}}, form)
    assert "\n#   mountPath: Required. " in text
    assert "\n#     Exactly one of name or size.\n" in text
    assert "\n#   hostPath: " in text
    assert "nfs" not in text
    assert "volumeName" not in text
