"""Tests of the messages of the schema check, as a user sees them, and of the published schema file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from derived_schemas.environment import updated
from tfgen.report.problems import as_text
from tfgen.schema import validate as schema
from tfgen.schema.file import Schema, is_record, load, resolve, text
from tfgen.schema.messages import RULES, TRANSLATED_KEYWORDS
from tfgen.schema.tunables import tunables_in
from tfgen.text.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"


def said(yaml: str) -> str:
    """Return the problems of a job.yaml."""
    parsed = parse(dedent(yaml), "job.yaml")
    assert not parsed.problems
    return "".join(f"{problem}\n" for document in parsed.documents for problem in schema.check(document))


def said_of_spec(spec: str) -> str:
    """Return the problems of a job with a spec that begins on line 5, without the name of the file."""
    return said(f"{HEAD}spec:\n" + re.sub("^", "  ", dedent(spec), flags=re.MULTILINE)).replace("job.yaml:", "")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            "roles: {worker: {replica: 4}}",
            '5:20: unknown key "replica" in spec.roles.worker; did you mean "replicas"? [unknown-key]\n',
        ),
        (
            "roles: {worker: {gpu: {count: 1}}}",
            '5:20: unknown key "gpu" in spec.roles.worker; did you mean "resources.gpu"? [unknown-key]\n',
        ),
        (
            "replicas: 4\nvolumes: []\nroles: {chief: {}, worker: {labels: {}, deadline: 1}}",
            '5:3: unknown key "replicas" in spec; did you mean "roles.worker.replicas"? [unknown-key]\n'
            '6:3: unknown key "volumes" in spec; write storage: {...}, each volume with its mountPath [unknown-key]\n'
            '7:43: unknown key "deadline" in spec.roles.worker; did you mean "spec.deadline"? [unknown-key]\n',
        ),
        (
            "command: python train.py\nroles: {worker: {resources: {gpu: 1}}}",
            '5:12: spec.command: found the text "python train.py", expected a list such as ["python", "/opt/train.py"]'
            " [wrong-type]\n"
            "6:37: spec.roles.worker.resources.gpu: found the number 1, expected a mapping; write gpu: {count: 1}"
            " [wrong-type]\n",
        ),
        (
            "roles: {worker: {resources: {gpu: }}}",
            "5:37: spec.roles.worker.resources.gpu: found nothing, expected a mapping; write {} for an empty value"
            " [wrong-type]\n",
        ),
        (
            "roles: {master: {}}",
            '5:11: unknown key "master" in spec.roles; did you mean "chief"? (allowed: chief, evaluator, ps, worker)'
            " [unknown-key]\n",
        ),
        (
            "affinity: {nodeaffinity: {}}\nroles: {chief: {}}",
            '5:14: unknown key "nodeaffinity" in spec.affinity; did you mean "nodeAffinity"?'
            " (allowed: nodeAffinity, podAffinity, podAntiAffinity) [unknown-key]\n",
        ),
        ("image: a", '4:1: missing key "roles" in spec: Roles of the job [missing-key]\n'),
        (
            "gang: {queue: research}\nroles: {chief: {}}",
            '5:3: missing key "scheduler" in spec.gang: Scheduler that starts the tasks together [missing-key]\n',
        ),
        (
            "roles: {}",
            "5:10: spec.roles: found none, expected at least one of chief, ps, worker or evaluator [too-few]\n",
        ),
        (
            "env: {PORT: 0x50, DEBUG: true, LEVEL: , LIST: [1]}\nroles: {chief: {}}",
            '5:15: spec.env.PORT: found the number 0x50, expected text or a mapping; quote it: "0x50" [wrong-type]\n'
            '5:28: spec.env.DEBUG: found true, expected text or a mapping; quote it: "true" [wrong-type]\n'
            '5:41: spec.env.LEVEL: found nothing, expected text or a mapping; write "" for an empty value '
            "[wrong-type]\n"
            "5:49: spec.env.LIST: found a list, expected text or a mapping [wrong-type]\n",
        ),
        (
            'retries: "3"\nport: 2.0\nroles: {worker: , chief: {terminationGracePeriodSeconds: long}}',
            '5:12: spec.retries: found the text "3", expected an integer from 0 to 1000; write it without quotes'
            " [wrong-type]\n"
            "6:9: spec.port: found the number 2.0, expected an integer from 1 to 65535; write 2 [wrong-type]\n"
            "7:19: spec.roles.worker: found nothing, expected a mapping; write {} for an empty value [wrong-type]\n"
            '7:60: spec.roles.chief.terminationGracePeriodSeconds: found the text "long", expected an integer'
            " from 0 to 86400 [wrong-type]\n",
        ),
        (
            "security: {readOnlyRootFilesystem: no}\nroles: {chief: {}}",
            '5:38: spec.security.readOnlyRootFilesystem: found the text "no", expected true or false;'
            " write false, without quotes [wrong-type]\n",
        ),
        (
            "storage: {keys: {mountPath: /k, secret: {secretName: k, defaultMode: 0400}}}\nroles: {chief: {}}",
            '5:72: spec.storage.keys.secret.defaultMode: found the text "0400", expected an integer from 0 to 511;'
            " write 256, which is octal 0400 in decimal [wrong-type]\n",
        ),
        (
            "network: {policy: isolated}\nplacement: diagonal\nroles: {chief: {}}",
            '5:21: spec.network.policy: found "isolated", expected one of Isolated or Off; did you mean "Isolated"?'
            " [not-allowed]\n"
            '6:14: spec.placement: found "diagonal", expected one of none, spread or pack [not-allowed]\n',
        ),
        (
            "port: 70000\nshm: 1000000\nroles: {worker: {replicas: 0}}",
            "5:9: spec.port: found 70000, expected an integer from 1 to 65535 [out-of-range]\n"
            '6:8: spec.shm: found 1000000, expected a number from 0 to 999999; quote a larger number: "1000000"'
            " [out-of-range]\n"
            "7:30: spec.roles.worker.replicas: found 0, expected an integer from 1 to 10000 [out-of-range]\n",
        ),
        (
            "roles: {chief: {resources: {memory: 4GB, cpu: -0.5}}}",
            '5:39: spec.roles.chief.resources.memory: found "4GB", expected a Kubernetes quantity such as 2, 500m, 1.5,'
            " 4Gi or 1e3; write 4Gi, or 4G for powers of 1000 [quantity]\n"
            "5:49: spec.roles.chief.resources.cpu: found -0.5, expected a number from 0 to 999999 [out-of-range]\n",
        ),
        (
            "run: Test_1\nroles: {chief: {}}",
            '5:8: spec.run: found "Test_1", expected lower-case letters, digits and "-", with a letter or digit at'
            ' both ends, or ""; write test-1 [wrong-format]\n',
        ),
        (
            "run: abcdefghij-abcdefghij\nroles: {chief: {}}",
            '5:8: spec.run: found "abcdefghij-abcdefghij", expected at most 20 characters (the text has 21)'
            " [too-long]\n",
        ),
        (
            'labels: {tfgen/run: x, 08: 1, "8": x}\nroles: {chief: {}}',
            '5:12: spec.labels: found the key "tfgen/run", expected a different key: tfgen or a controller'
            " sets this key, or the key changes how kustomize, Argo CD or Flux treats the object [reserved-name]\n"
            '5:30: spec.labels.08: found the number 1, expected text; quote it: "1" [wrong-type]\n',
        ),
        (
            "env: {TF_CONFIG: x, 1ST: x}\nstorage: {tmp: {mountPath: /t, emptyDir: {}}}\nroles: {chief: {}}",
            '5:9: spec.env: found the key "TF_CONFIG", expected another name: tfgen sets TF_CONFIG, TF_CLUSTER,'
            " TASK_INDEX, TFGEN_RUN and TFGEN_RUN_FOLDER itself [reserved-name]\n"
            '5:23: spec.env: found the key "1ST", expected letters, digits, "_", "-" and ".", beginning with a letter'
            ' or "_" [wrong-format]\n'
            '6:13: spec.storage: found the key "tmp", expected another name: tfgen creates the volumes tmp, shm,'
            " tfgen-code, tfgen-git-secret and tfgen-run-lock itself [reserved-name]\n",
        ),
        (
            """\
            storage:
              both: {mountPath: /a, nfs: {server: s, path: /p}, emptyDir: {}}
              none: {mountPath: /b}
              half: {mountPath: /c, subPath: ../d, claim: {name: c, storageClass: fast}, for: [ps, chief, ps]}
            roles: {chief: {}}""",
            "6:5: spec.storage.both: found nfs and emptyDir, expected exactly one of claim, nfs, hostPath, configMap,"
            " secret, azureFile, csi, image, flexVolume, projected or emptyDir [exactly-one-of]\n"
            "7:5: spec.storage.none: found none, expected exactly one of claim, nfs, hostPath, configMap, secret,"
            " azureFile, csi, image, flexVolume, projected or emptyDir [exactly-one-of]\n"
            '8:36: spec.storage.half.subPath: found "../d", expected a path without "..", '
            'and without "<no value>", which Helm deletes [wrong-format]\n'
            '8:59: spec.storage.half.claim.storageClass: this key requires the key "size" in the same mapping'
            " [missing-key]\n"
            '8:97: spec.storage.half.for: found "ps" twice; remove one of the two items [duplicate-item]\n',
        ),
        (
            "env: {A: {secretKeyRef: {name: s, key: k}, fieldRef: {fieldPath: status.podIP}}, B: {}}\n"
            "roles: {chief: {}}",
            "5:9: spec.env.A: found secretKeyRef and fieldRef, expected exactly one of secretKeyRef, configMapKeyRef,"
            " fieldRef or resourceFieldRef [exactly-one-of]\n"
            "5:84: spec.env.B: found none, expected exactly one of secretKeyRef, configMapKeyRef, fieldRef or"
            " resourceFieldRef [exactly-one-of]\n",
        ),
        (
            "storage: {a: {mountPath: /a, for: [], emptyDir: {}}}\nroles: {chief: {}}",
            "5:37: spec.storage.a.for: found none, expected at least one item [too-few]\n",
        ),
        (
            f"roles: {{chief: {{}}}}\nenvironments: {{{', '.join(f'e{i}: {{}}' for i in range(51))}}}",
            "6:3: spec.environments: found 51 entries, expected at most 50 [too-many]\n",
        ),
    ],
)
def test_a_mistake_is_said(spec, expected):
    assert said_of_spec(spec) == expected


@pytest.mark.parametrize(
    ("environments", "expected"),
    [
        ("{dev: {env: {A: null, B: b}, storage: {data: {claim: null, emptyDir: {}}}}, prod: {}}", ""),
        (
            "{base: {}, dev: }",
            '8:18: spec.environments: found the key "base", expected another name: base is the folder that all'
            " environments share [reserved-name]\n"
            "8:33: spec.environments.dev: found nothing, expected a mapping; write {} for an empty value "
            "[wrong-type]\n",
        ),
        (
            "{dev: {port: 1, image: null, roles: {chief: {ports: [], replicas: 1}}}}",
            "8:24: port must be the same in every environment; set spec.port, or make spec.environments.dev a"
            " separate job [not-tunable]\n"
            '8:40: spec.environments.dev.image: found null, expected text; write "" for an empty value [wrong-type]\n'
            "8:62: roles.chief.ports must be the same in every environment; set spec.roles.chief.ports, or make"
            " spec.environments.dev a separate job [not-tunable]\n"
            '8:73: unknown key "replicas" in spec.environments.dev.roles.chief; the chief is always a single task; '
            "remove the key [unknown-key]\n",
        ),
        (
            "{dev: {gang: {enabled: false}, roles: {worker: {replicas: 1}}}}",
            '8:24: spec.environments.dev changes "gang", which the job does not have; write spec.gang: {scheduler: '
            "volcano, enabled: false}, and enabled: true in each environment that uses gang; or remove "
            "the key [not-tunable]\n"
            '8:56: spec.environments.dev changes "worker", which the job does not have; write spec.roles.worker '
            "first, or remove the key [not-tunable]\n",
        ),
        (
            "{dev: {env: {C: null}, storage: {data: {emptyDir: {}}, new: {mountPath: /n}}}}",
            "8:33: spec.environments.dev.env.C: found null, but the job has no spec.env.C to remove"
            " [nothing-to-remove]\n"
            "8:50: spec.environments.dev.storage.data: found claim and emptyDir, expected exactly one of claim, nfs,"
            " hostPath, configMap, secret, azureFile, csi, image, flexVolume, projected or emptyDir; the value"
            " null removes a key of the job, as in claim: null [exactly-one-of]\n"
            "8:72: spec.environments.dev.storage.new: found none, expected exactly one of claim, nfs, hostPath,"
            " configMap, secret, azureFile, csi, image, flexVolume, projected or emptyDir [exactly-one-of]\n",
        ),
    ],
)
def test_a_mistake_in_an_environment_is_said(environments, expected):
    job = "roles: {chief: {}}\nenv: {A: a}\nstorage: {data: {mountPath: /data, claim: {name: data}}}\n"
    assert said_of_spec(f"{job}environments: {environments}") == expected


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        (
            "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: {tfReplicaSpecs: {}}",
            'job.yaml:2:7: found a document of kind "TFJob" of "kubeflow.org/v1", expected kind TrainingJob of'
            " tfgen/v1alpha1; to convert the document to a job.yaml, run tfgen import job.yaml [wrong-kind]\n",
        ),
        (
            "apiVersion: tfgen/v1\nkind: Trainingjob\nmetadata: {name: flux}\nspec: {roles: {chief: {}}}",
            'job.yaml:1:13: apiVersion: found the text "tfgen/v1", expected tfgen/v1alpha1 [wrong-kind]\n'
            'job.yaml:2:7: kind: found the text "Trainingjob", expected TrainingJob [wrong-kind]\n'
            'job.yaml:3:18: metadata.name: found "flux", expected another name: the folders argocd and flux'
            " contain the objects of GitOps tools [reserved-name]\n",
        ),
        (
            "kind: TrainingJob",
            'job.yaml:1:1: missing key "apiVersion" in the document: Version of this format'
            "; write apiVersion: tfgen/v1alpha1 [missing-key]\n"
            'job.yaml:1:1: missing key "metadata" in the document: Name and namespace of the job'
            " [missing-key]\n"
            'job.yaml:1:1: missing key "spec" in the document: Specification of the job [missing-key]\n',
        ),
        ("- a", "job.yaml:1:1: the document: found a list, expected a mapping [wrong-type]\n"),
    ],
)
def test_a_document_of_another_kind_is_said(yaml, expected):
    assert said(yaml) == expected


def test_a_document_of_nothing_but_mistakes_is_said_in_part():
    """tfgen reports 100 problems: a user does not read more problems, and a hostile file must not cost more time."""
    keys = ", ".join(f"wrong{number}: {{}}" for number in range(5000))
    entries = ", ".join(f"v{number}: {{x: 1, y: 2}}" for number in range(2000))
    problems = said_of_spec(f"storage: {{{entries}}}\nroles: {{{keys}}}").splitlines()
    assert len(problems) == 100


# The published file.


def test_it_is_draft_07():
    jsonschema.Draft7Validator.check_schema(load())
    assert load()["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_the_file_holds_the_schema_of_environments():
    """After a change of the schema, run `make schema`."""
    assert text() == updated(load())


def nodes(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Schema]]:
    """Yield each subschema of the file, with its path."""
    yield path, found
    for key in ("properties", "patternProperties", "definitions"):
        for name, inner in found.get(key, {}).items():
            yield from nodes(inner, (*path, key, name))
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(found.get(key), dict):
            yield from nodes(found[key], (*path, key))
    # In a mapping, `not` contains the properties that the mapping must not have, and no subschema.
    if "pattern" in found.get("not", {}):
        yield from nodes(found["not"], (*path, "not"))


NODES = list(nodes(load()))
HAND_WRITTEN = [(path, found) for path, found in NODES if path[:2] != ("definitions", "environment")]
ANNOTATIONS = {"$ref", "$comment", "description", "default", "examples", "x-section", "x-tunable"}
STRUCTURE = {"properties", "patternProperties", "definitions", "items", "propertyNames"}
OURS = {"x-chart-accepts", "x-kind", "x-pattern-says", "x-not-says", "x-not-rule", "$schema", "title"}


def test_every_property_is_described_with_an_example():
    for path, found in HAND_WRITTEN:
        for name, written in found.get("properties", {}).items():
            resolved = resolve(load(), written)
            assert resolved["description"].endswith("."), (path, name)
            assert resolved["examples"], (path, name)
        if isinstance(found.get("additionalProperties"), dict):
            assert resolve(load(), found["additionalProperties"])["description"].endswith("."), path


def test_examples_and_defaults_are_allowed():
    for path, found in HAND_WRITTEN:
        for value in [*found.get("examples", ()), *([found["default"]] if "default" in found else [])]:
            validator = jsonschema.Draft7Validator({**load(), **without_root(), **resolve(load(), found)})
            assert list(validator.iter_errors(value)) == [], (path, value)


def without_root() -> dict[str, Any]:
    """Return neutral values for the keywords of the root, so that only its definitions remain."""
    return {"type": ["object", "array", "string", "integer", "boolean", "null"], "required": [], "properties": {}} | {
        "additionalProperties": True
    }


def test_only_annotations_stand_beside_a_reference():
    """Validators of draft-07 ignore all other keywords beside a reference."""
    assert [path for path, found in NODES if "$ref" in found and not set(found) <= ANNOTATIONS] == []


def test_every_object_is_closed():
    assert [
        path for path, found in NODES if found.get("type") == "object" and "additionalProperties" not in found
    ] == []


def test_each_keyword_has_words():
    known = set(TRANSLATED_KEYWORDS) | ANNOTATIONS | STRUCTURE | OURS
    assert {key for _, found in NODES for key in found} - known == set()
    for path, found in NODES:
        assert ("pattern" in found and path[-1:] != ("not",)) == ("x-pattern-says" in found), path
        assert ("not" in found) == ("x-not-says" in found), path
        numeric = any(kind in found.get("type", ()) for kind in ("integer", "number"))
        assert ("minimum" in found) == ("maximum" in found) == numeric, path


def test_patterns_are_read_alike_by_go_rust_and_python():
    """Patterns have no look-around and no class escapes (which differ in Unicode), and two anchors, except in `not`."""
    for path, found in NODES:
        pattern = found.get("pattern", "^$")
        assert not re.search(r"\(\?|\\[A-Za-z0-9]", pattern), (path, pattern)
        assert path[-1:] == ("not",) or (pattern[0], pattern[-1]) == ("^", "$"), path


def test_integers_survive_helms_float64():
    assert max(abs(found["maximum"]) for _, found in NODES if "maximum" in found) == 2**53 - 1


def test_each_definition_is_used():
    used = re.findall(r'"\$ref": "#/definitions/(?:environment/definitions/)?(\w+)"', text())
    own = load()["definitions"]["environment"]["definitions"]
    # No reference names `place`, because environment_schema copies its properties into every environment.
    assert {*load()["definitions"], *own} == {*used, "place"}


def test_only_keys_of_a_role_have_no_default():
    """A key of a role without a default has the value of the job. Every other default has a value, for Go templates."""
    for tunable in tunables_in(load()):
        path, default = tunable.path, tunable.default
        is_optional = path[0] == "roles" and path[2] != "replicas" and path[2] != "resources"
        assert tunable.is_optional == is_optional, path
        assert (default is None) == is_optional, path


def test_sections_have_no_default_and_other_records_an_empty_one():
    spec = load()["properties"]["spec"]
    records = {name: resolve(load(), written) for name, written in spec["properties"].items()}
    defaults = {name: found.get("default") for name, found in records.items() if is_record(found)}
    assert {name for name, default in defaults.items() if default is None} == {
        "code",
        "gang",
        "gitops",
        "podDisruptionBudget",
        "roles",
        "serviceAccount",
        "tensorboard",
    }
    assert all(default in (None, {}) for default in defaults.values())


def test_each_rule_is_shown_here():
    shown = set(re.findall(r"\[([a-z-]+)\]\\n", Path(__file__).read_text(encoding="utf-8")))
    assert shown == set(RULES)


def test_it_is_written_as_json_writes_it():
    """The file is in ASCII, because some of its patterns contain characters that editors hide or drop."""
    assert text().isascii()
    assert text() == json.dumps(load(), indent=2) + "\n"


def test_what_defaults_cannot_have_and_where_it_goes() -> None:
    text = 'apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec:\n  roles: {worker: {replicas: 2}}\n  run: "3"\n'
    (document,) = parse(text, "tfgen.yaml").documents
    assert as_text(schema.check_defaults(document)) == (
        'tfgen.yaml:4:3: unknown key "roles" in spec; only a job file can list roles; '
        "set environments.NAME.roles for the defaults of an environment [unknown-key]\n"
        'tfgen.yaml:5:3: unknown key "run" in spec; only a job file can set this key, '
        "in spec or in an environment; move the key [unknown-key]\n"
    )
