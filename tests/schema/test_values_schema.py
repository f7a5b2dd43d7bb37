"""Tests of the schema of a chart's values, which is short and accepts the same values as the job schema."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import helm_python
import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tests.support.everything import EVERYTHING
from tests.support.generated import HOSTILE, jobs
from tests.support.values_chart import chart
from tfgen import data_path
from tfgen.cli.parser import read_arguments
from tfgen.commands.init import new_job
from tfgen.schema import file as schema_file
from tfgen.schema import kinds, tunables
from tfgen.schema.tunables import chart_values
from tfgen.schema.values_schema import values_form, values_schema, values_schema_text
from tfgen.targets.chart.texts import values_yaml
from tfgen.text.parse import parse

if TYPE_CHECKING:
    pass

SMALL = {"image": "x:1", "roles": {"worker": {"replicas": 4}}}

# The schema of the values.


def test_every_value_with_a_default_is_required_and_nothing_else_is_let_in():
    schema = values_schema(values_form(SMALL))
    values = tunables.values(SMALL)
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)
    assert list(validator.iter_errors(values)) == []
    assert list(validator.iter_errors({**values, "global": {"x": 1}, "enabled": True})) == []
    for tunable in tunables.tunables(SMALL).values():
        assert validator.is_valid(without(values, tunable.path)) == tunable.is_optional, tunable.path
        assert not validator.is_valid(with_value(values, tunable.path, None)), tunable.path
    assert not validator.is_valid({**values, "enabled": False})
    assert not validator.is_valid({**values, "port": 1})
    assert not validator.is_valid({**values, "gang": {}})


def without(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = path
    if rest:
        return {**values, first: without(values[first], tuple(rest))}
    return {key: value for key, value in values.items() if key != first}


def with_value(values: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**values, first: with_value(values[first], tuple(rest), value) if rest else value}


def test_it_stands_alone():
    """Helm resolves only local references, and the keywords of tfgen mean nothing to the users of the chart."""
    written = json.dumps(values_schema(values_form(EVERYTHING["spec"])))
    used = {ref.partition('"')[0] for ref in written.split('"$ref": "#/definitions/')[1:]}
    assert '"x-' not in written
    assert '"$id"' not in written
    assert written.count('"$ref"') == written.count('"$ref": "#/definitions/')
    assert used == set(values_schema(values_form(EVERYTHING["spec"]))["definitions"])


def test_the_first_job_of_a_user_has_a_short_one(tmp_path):
    job, *_ = new_job(read_arguments(["init", "mnist", "--out", str(tmp_path)])).files
    spec = parse(job.text, "job.yaml").documents[0].data["spec"]
    form = values_form(spec)
    assert len(json.dumps(values_schema(form), ensure_ascii=False).encode()) <= 27_500
    assert len(values_schema_text(form).splitlines()) <= 700


@pytest.mark.parametrize("spec", [SMALL, EVERYTHING["spec"]], ids=["small", "everything"])
def test_each_value_has_the_description_that_is_its_comment_in_the_values_file(spec):
    form = values_form(spec)
    schema = json.loads(values_schema_text(form))
    comments = re.sub(r"\s*\n\s*# *", " ", values_yaml(tunables.values(spec), form))
    descriptions = {path: description_at(schema, path) for path in [*form.paths, ("storage", "*", "claim", "size")]}
    assert {path: text for path, text in descriptions.items() if text not in comments} == {}


def description_at(schema: dict[str, Any], path: tuple[str, ...]) -> str:
    node, description = schema, ""
    for key in path:
        references = [part["$ref"] for part in (node, *node.get("allOf", ())) if "$ref" in part]
        node = schema["definitions"][references[0].rpartition("/")[2]] if references else node
        node = node["additionalProperties"] if key == "*" else node["properties"][key]
        description = node.get("description", "")
    assert description, path
    return description


def test_reserved_names_are_refused_at_their_place_and_the_others_refer_to_a_definition():
    schema = values_schema(values_form(SMALL))
    assert schema["definitions"]["ownLabelKeys"]["propertyNames"] == {"$ref": "#/definitions/labelKey"}
    assert schema["definitions"]["labels"]["allOf"] == [{"$ref": "#/definitions/ownLabelKeys"}]
    classes = schema["properties"]["priorityClasses"]
    assert classes["propertyNames"] == {"$ref": "#/definitions/objectName"}
    assert [*classes["patternProperties"]] == ["^system-"]


def test_what_all_roles_have_stands_once():
    schema = values_schema(values_form({"image": "x:1", "roles": {"chief": {}, "ps": {}, "worker": {}}}))
    assert schema["properties"]["roles"]["properties"] == {
        "chief": {"allOf": [{"$ref": "#/definitions/role"}], "properties": {"replicas": False}},
        "ps": {"allOf": [{"$ref": "#/definitions/role"}], "required": ["replicas"]},
        "worker": {"allOf": [{"$ref": "#/definitions/role"}], "required": ["replicas"]},
    }
    alone = values_schema(values_form({"image": "x:1", "roles": {"worker": {}}}))
    assert alone["properties"]["roles"]["properties"] == {"worker": {"$ref": "#/definitions/role"}}


# -- the same values as the job schema -----------------------------------------------------------------------------


ODD = (
    *HOSTILE,
    "\u0085",
    "\ufffe",
    "<no value>",
    "/",
    "/a:b",
    "..",
    None,
    True,
    -1,
    0,
    1.5,
    10**17,
    [],
    {},
    [""],
    {"a": "b"},
)


@pytest.mark.long
@drawn(10)
@given(data=st.data())
def test_it_accepts_what_the_job_schema_accepts_value_by_value(data):
    """The expected result comes from the job schema: each value is validated against the node of its tunable."""
    spec = data.draw(jobs(environments=0))["spec"]
    values = tunables.values(spec)
    validator = jsonschema_rs.Draft7Validator(values_schema(values_form(spec)))
    assert validator.is_valid(values)
    places = [*_places(values)]
    for _ in range(10):
        mutant = copy.deepcopy(values)
        data.draw(st.sampled_from(places))(mutant, data.draw(st.sampled_from(ODD)), data.draw(st.sampled_from(CHANGES)))
        assert validator.is_valid(mutant) == _is_allowed(spec, mutant), mutant


CHANGES = ("replace", "remove", "add")


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[Callable[[Any, Any, str], None]]:
    """Yield a function for each position in the values, which changes the values at the position."""
    if path:
        yield functools.partial(_change, path)
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _places(inner, (*path, key))


def _change(path: tuple[Any, ...], values: Any, odd: Any, change: str) -> None:
    *above, key = path
    for step in above:
        values = values[step]
    if change == "remove":
        del values[key]
    elif change == "add" and isinstance(values, dict):
        values[odd if isinstance(odd, str) else "odd"] = values[key]
    else:
        values[key] = odd


def _is_allowed(spec: Any, values: Any) -> bool:
    optional = {path for path, tunable in tunables.tunables(spec).items() if tunable.is_optional}
    paths = {*tunables.tunables(spec)}
    paths -= {path for path in optional if not data_path.has(values, path)}
    if not _has_records({path[:depth] for path in paths for depth in range(len(path))}, paths, values):
        return False
    if not all(_validator(path).is_valid(_texts(path, data_path.at(values, path))) for path in paths):
        return False
    return not any(_has_entry(values, lack.path.split(".")) for lack in kinds.unsupported_keys(spec))


def _texts(path: tuple[str, ...], value: Any) -> Any:
    """Return a value whose numbers and booleans are texts again, as a user writes them for Helm's --set."""
    node = tunables.at(path).schema
    node = schema_file.load()["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    if tunables.CHART_ACCEPTS not in node:
        return value
    if isinstance(value, dict):
        return {key: _text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_text(item) for item in value]
    return value if isinstance(value, bool) else _text(value)  # resumeFrom and run accept integers, and no booleans


def _text(item: Any) -> Any:
    if isinstance(item, bool):
        return str(item).lower()
    return str(item) if isinstance(item, int) and abs(item) < 2**53 else item


@functools.cache
def _validator(path: tuple[str, ...]) -> jsonschema_rs.Draft7Validator:
    whole = {"allOf": [tunables.at(path).schema], "definitions": schema_file.load()["definitions"]}
    return jsonschema_rs.Draft7Validator(whole)


def _has_records(records: set[tuple[str, ...]], leaves: set[tuple[str, ...]], values: Any) -> bool:
    """Test whether each record has exactly the keys that its paths name."""
    for record in records:
        node = data_path.at(values, record) if record else values
        known = {
            path[len(record)] for path in {*records, *leaves} if len(path) == len(record) + 1 and path[:-1] == record
        }
        if (
            not isinstance(node, dict)
            or node.keys() - (set() if record else {"global", "enabled", *chart_values(())}) != known
        ):
            return False
    return True


def _has_entry(node: Any, steps: list[str]) -> bool:
    if not steps:
        return True
    if not isinstance(node, dict):
        return False
    return any(_has_entry(node[key], steps[1:]) for key in (node if steps[0] == "*" else [steps[0]]) if key in node)


# -- Helm ----------------------------------------------------------------------------------------------------------


def test_helm_takes_the_values_and_refuses_what_is_wrong(tmp_path):
    spec = EVERYTHING["spec"]
    helm = chart(tmp_path, tunables.values(spec), values_schema(values_form(spec)))
    for environment in spec["environments"].values():
        helm.validate_schema(environment)
    for wrong in (
        {"image": None},
        {"retries": "3"},
        {"port": 1},
        {"env": {"TF_CONFIG": "x"}},
        {"annotations": {"a": "\u0085"}},
        {"roles": {"worker": {"replicas": 0}}},
        {"storage": {"data": {"emptyDir": {}}}},
        {"env": {"NEW": None}},
    ):
        with pytest.raises(helm_python.HelmValuesError):
            helm.validate_schema(wrong)


@pytest.mark.long
@drawn(10)
@given(data=jobs(environments=1))
def test_the_values_of_every_job_are_allowed_by_their_schema(tmp_path_factory, data):
    """Python's validator and Helm accept the values: Go reads the patterns too, and numbers survive float64."""
    spec = data["spec"]
    schema = values_schema(values_form(spec))
    reference = jsonschema.Draft7Validator(schema)
    helm = chart(tmp_path_factory.mktemp("chart"), tunables.values(spec), schema)
    for name, environment in {"none": {}, **spec["environments"]}.items():
        with_it = {**spec, "environments": {name: environment}}
        overrides = tunables.chart_overrides(with_it)[name]
        helm.validate_schema(overrides)
        expected = tunables.values(with_it, name)
        assert helm.merge_values(overrides) == expected
        assert list(reference.iter_errors(expected)) == []


def test_a_map_s_entries_have_no_values_that_the_kind_never_reads() -> None:
    elastic = {"workload": {"kind": "ElasticDL"}, "image": "mnist:1", "roles": {"worker": {}}}
    spec = {**elastic, "security": {"profile": "privileged"}}
    definitions = values_schema(values_form(spec))["definitions"]
    assert [*definitions["volume"]["properties"]] == ["mountPath", "subPath", "claim", "hostPath"]
    assert definitions["oneSource"]["oneOf"] == [{"required": ["claim"]}, {"required": ["hostPath"]}]
    assert values_schema(values_form(elastic))["definitions"]["oneSource"]["oneOf"] == [{"required": ["claim"]}]
    everywhere = schema_file.load()["definitions"]["volume"]
    assert {"nfs", "emptyDir"} <= everywhere["properties"].keys()
