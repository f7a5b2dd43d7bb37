"""values.yaml as YAML reads it back."""

from __future__ import annotations

import pytest
import yaml

from tfgen.targets.chart.values_yaml import values_yaml


@pytest.mark.parametrize(
    "text", ["a\n\nb\n", "a\n\u3000\nb", "a\n\u3000", "\u3000\n\u3000", "a\n\n\u00a0\n", "a\n---\nb"]
)
def test_a_text_of_several_lines_is_the_same(text: str) -> None:
    values = {"roles": {"ps": {"replicas": 2, "annotations": {"example.com/note": text}}}}
    of_charts = {"nameOverride": "", "fullnameOverride": ""}
    assert yaml.safe_load(values_yaml(values)) == {**of_charts, **values}
