"""A chart that contains only values, as Helm's own code loads the chart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import helm_python

from tfgen.text.yaml_text import dump


def chart(folder: Path, values: Any, schema: Any = True) -> helm_python.Chart:
    """Write a chart with these values into an existing folder and load the chart."""
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: tiny, version: 0.1.0}")
    (folder / "values.yaml").write_text(dump(values), encoding="utf-8")
    (folder / "values.schema.json").write_text(json.dumps(schema))
    return helm_python.Chart.load(folder)
