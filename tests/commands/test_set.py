"""Values written into a job file. All other bytes are unchanged, or tfgen does not write the file."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from tfgen.cli import OK, PROBLEMS, USAGE, run
from tfgen.commands.set import set_values
from tfgen.errors import UsageError
from tfgen.job.sources import Source
from tfgen.report.problems import as_text

HEAD = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: m}\n"


def after(body: str, *assignments: str, env: str | None = None, team: str = "") -> str:
    """Return the body of a job with other values. The job has no problems before or after the change."""
    text = HEAD + dedent(body)
    defaults = Source("tfgen.yaml", f"apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {team}\n") if team else None
    new = set_values(Source("job.yaml", text, defaults), text, assignments, env)
    assert as_text(new.problems) == ""
    return new.text.removeprefix(HEAD)


JOB = """\
spec:
  # Where the program is.
  image: "a:1"   # kept
  args: [--steps=2000]

  roles:
    chief: {}
    ps: {}
    worker:
      replicas: 4

  env:
    X: y   # ours
    # The last one.
    Z: z
  tolerations:
  - key: a   # first
    operator: Exists
  # second
  - {key: b}
  environments:
    dev: {}
    prod:
      env: {X: p, OWN: o}
"""

CASES = {
    "a number": ("roles.worker.replicas=6", "replicas: 4", "replicas: 6"),
    "a text that looks like a number": ("env.X=2", "X: y   # ours", 'X: "2"   # ours'),
    "a text in quotes": ("image=b:2", '"a:1"   # kept', "b:2   # kept"),
    "a path from the root": ("spec.image=b:2", '"a:1"', "b:2"),
    "a new key, in the order of tfgen init": (
        "command=[python, t.py]",
        "  args:",
        "  command: [python, t.py]\n  args:",
    ),
    "a new key that is the first": ("run=7", "  # Where", '  run: "7"\n  # Where'),
    "new keys in each other": (
        "roles.worker.resources.gpu.count=1",
        "      replicas: 4\n",
        "      replicas: 4\n      resources: {gpu: {count: 1}}\n",
    ),
    "a new name": ("env.NEW=a b", "    Z: z\n", "    Z: z\n    NEW: a b\n"),
    "a new name with a dot": (
        'labels["example.com/team"]=vision',
        "  environments:",
        "  labels: {example.com/team: vision}\n  environments:",
    ),
    "a mapping": ("env.X={secretKeyRef: {name: hub, key: t}}", "X: y ", "X: {secretKeyRef: {name: hub, key: t}} "),
    "a mapping in place of a block": (
        "roles.worker={replicas: 2}",
        "worker:\n      replicas: 4",
        "worker: {replicas: 2}",
    ),
    "an item": ("args[0]=--steps=1", "[--steps=2000]", "[--steps=1]"),
    "an item more": ("args[1]=--a,b", "[--steps=2000]", '[--steps=2000, "--a,b"]'),
    "an item more of a block": ("tolerations[2].key=c", "  - {key: b}\n", "  - {key: b}\n  - {key: c}\n"),
    "a key of an item": ("tolerations[0].effect=NoExecute", "Exists\n", "Exists\n    effect: NoExecute\n"),
    "no item": ("tolerations[1]=null", "  # second\n  - {key: b}\n", "  # second\n"),
    "no key": ("env.X=null", "    X: y   # ours\n", ""),
    "no last key": ("roles.worker.replicas=null", "worker:\n      replicas: 4", "worker: {}"),
    "what is there already": ("roles.worker.replicas=4", "", ""),
    "nothing where nothing is": ("gang=null", "", ""),
}


@pytest.mark.parametrize(("assignment", "old", "new"), CASES.values(), ids=CASES)
def test_one_value(assignment: str, old: str, new: str) -> None:
    assert after(JOB, assignment) == JOB.replace(old, new, 1)


IN_PROD = {
    "a value": ("roles.worker.replicas=8", "      env: {X", "      roles: {worker: {replicas: 8}}\n      env: {X"),
    "what only an environment has": ("namespace=ml", "      env: {X", "      namespace: ml\n      env: {X"),
    "the job's value taken away": ("env.X=null", "{X: p, OWN", "{X: null, OWN"),
    "its own value taken away": ("env.OWN=null", "{X: p, OWN: o}", "{X: p}"),
}


@pytest.mark.parametrize(("assignment", "old", "new"), IN_PROD.values(), ids=IN_PROD)
def test_one_value_of_an_environment(assignment: str, old: str, new: str) -> None:
    assert after(JOB, assignment, env="prod") == JOB.replace(old, new, 1)


def test_an_empty_environment_gets_its_first_value() -> None:
    assert "    dev: {enabled: false}\n" in after(JOB, "enabled=false", env="dev")


def test_later_values_go_into_earlier_ones() -> None:
    body = after(JOB, "gang={scheduler: volcano}", "gang.queue=research", "gang.minAvailable=6")
    assert "  gang: {scheduler: volcano, queue: research, minAvailable: 6}\n" in body


def test_null_takes_away_what_the_team_says() -> None:
    assert "  retries: null\n" in after(JOB, "retries=null", team="{retries: 3}")


def test_an_environment_of_the_team_becomes_one_of_the_job() -> None:
    body = after(
        "spec: {image: a:1, roles: {ps: {}, worker: {}}, completion: {by: Worker0}}\n",
        "env.A=b",
        env="lab",
        team="{environments: {lab: {}}}",
    )
    assert body.endswith("completion: {by: Worker0}, environments: {lab: {env: {A: b}}}}\n")


def test_json_stays_json() -> None:
    job = {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "m"}}
    text = json.dumps({**job, "spec": {"image": "a:1", "roles": {"chief": {}, "worker": {}, "ps": {}}}}, indent=2)
    new = set_values(Source("job.json", text), text, ["roles.worker.replicas=3", "args=[--rate, x]"])
    assert new.problems == ()
    assert json.loads(new.text)["spec"]["roles"]["worker"] == {"replicas": 3}
    assert '    "image": "a:1",\n    "args": ["--rate", "x"],\n    "roles": {' in new.text


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    text = ("\ufeff" + HEAD + JOB).replace("\n", "\r\n")
    new = set_values(Source("job.yaml", text.encode()), text, ["roles.worker.replicas=6", "retries=2", "env.X=null"])
    assert new.problems == ()
    expected = JOB.replace("replicas: 4", "replicas: 6").replace("    X: y   # ours\n", "")
    expected = expected.replace("  environments:", "  retries: 2\n  environments:")
    assert new.text == ("\ufeff" + HEAD + expected).replace("\n", "\r\n")


INTEGER = "an integer from 1 to 10000"
REFUSED = {
    "what the schema refuses, with all of it": (
        ["roles.worker.replicas=many", "rols.x=1"],
        PROBLEMS,
        f"""\
        job.yaml:13:17: spec.roles.worker.replicas: found the text "many", expected {INTEGER} [wrong-type]
        job.yaml:28:3: unknown key "rols" in spec; did you mean "roles"? [unknown-key]
        job.yaml: nothing was written; the line numbers refer to the file with the new values
        """,
    ),
    "an environment that is not there": (
        ["--env", "lab", "env.X=1"],
        USAGE,
        "tfgen: error: job.yaml: the job has no environment 'lab'; choose dev or prod\n",
    ),
    "a key that no environment has": (
        ["--env", "prod", "metadata.name=x"],
        USAGE,
        "tfgen: error: metadata.name is the same in all environments; remove --env\n",
    ),
    "an item too far": (["args[3]=x"], USAGE, "tfgen: error: spec.args has no item 3; choose the index 0 or 1\n"),
    "an item of no list": (["image[0]=x"], USAGE, "tfgen: error: spec.image is not a list, so it has no item 0\n"),
    "a key of a list": (["args.x=y"], USAGE, "tfgen: error: spec.args is a list; write [0] for its first item\n"),
    "no assignment": (
        ["roles.worker"],
        USAGE,
        'tfgen: error: "roles.worker" is not an assignment; write PATH=VALUE, such as roles.worker.replicas=4\n',
    ),
    "no YAML": (
        ["args=[a"],
        USAGE,
        'tfgen: error: spec.args: "[a" is not a YAML value: expected , or ] here, in the list that begins at column '
        "1\n",
    ),
}


@pytest.mark.parametrize(("argv", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_leaves_the_file_as_it_is(
    argv: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(HEAD + JOB)
    assert run(["set", "job.yaml", *argv]) == code
    assert capsys.readouterr().err == dedent(message)
    assert Path("job.yaml").read_text() == HEAD + JOB


def test_a_job_with_errors_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(HEAD + JOB.replace("replicas: 4", "replicas: many"))
    assert run(["set", "job.yaml", "roles.worker.replicas=4", "--format", "json"]) == OK
    assert json.loads(capsys.readouterr().out) == {"problems": [], "changed": True}
    assert Path("job.yaml").read_text() == HEAD + JOB


@pytest.mark.parametrize(
    ("roles", "assignment", "message"),
    [
        (
            "{chief: {}, ps: &p {replicas: 2}, worker: *p}",
            "roles.ps.replicas=3",
            "job.yaml:4:43: cannot set replicas to 3 in spec.roles.ps without a change of other values",
        ),
        (
            "{chief: &c {resources: {cpu: 1}}, worker: *c}",
            "roles.worker.resources=null",
            "cannot remove resources from spec.roles.worker without a change of other values",
        ),
    ],
    ids=["set", "remove"],
)
def test_an_alias_is_left_to_its_author(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    roles: str,
    assignment: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    body = f"spec: {{image: a:1, roles: {roles}}}\n"
    Path("job.yaml").write_text(HEAD + body)
    assert run(["set", "job.yaml", assignment]) == PROBLEMS
    assert message in capsys.readouterr().err
    assert Path("job.yaml").read_text() == HEAD + body


def test_a_refused_edit_is_a_problem_of_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(f"{HEAD}spec: {{image: a:1, roles: {{chief: {{}}, ps: &p {{}}, worker: *p}}}}\n")
    assert run(["set", "job.yaml", "roles.ps.replicas=3", "--format", "json"]) == PROBLEMS
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem == {
        "file": "job.yaml",
        "line": 4,
        "column": 43,
        "severity": "error",
        "rule": "edit",
        "message": "cannot set replicas to 3 in spec.roles.ps without a change of other values (an alias in the file "
        "may repeat the value); edit the file by hand",
    }


def test_a_new_key_stands_beside_keys_with_question_marks() -> None:
    before = """\
spec:
  ? image
  : r.io/x:1
  roles: {chief: {}, ps: {}, worker: {}}
"""
    assert (
        after(before, "port=3", "queue=null")
        == """\
spec:
  ? image
  : r.io/x:1
  port: 3
  roles: {chief: {}, ps: {}, worker: {}}
"""
    )


@pytest.mark.parametrize("text", ["just text\n", "- a\n", "1\n"])
def test_a_file_whose_root_is_no_mapping_is_a_problem(text: str) -> None:
    new = set_values(Source("job.yaml", text), text, ["args[0]=a"])
    assert new.text == text
    assert as_text(new.problems).startswith("job.yaml:1:1: the document: found ")


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("args[0]=null", "spec.args has no item 0"),
        ("args[1]=a", "spec.args has no item 1; choose the index 0"),
        ("env.A=\u2028", "env.A=\\u2028: some YAML parsers reject or change the character U+2028; remove it"),
        ("env.A\x01=b", "env.A\\x01=b: some YAML parsers reject or change the character U+0001; remove it"),
        ("env.A=\udcff", "env.A=\\udcff: some YAML parsers reject or change the character U+DCFF; remove it"),
    ],
)
def test_an_assignment_that_no_file_can_have_is_refused(assignment: str, message: str) -> None:
    text = HEAD + "spec: {image: 'a:1', args: [], roles: {chief: {}, ps: {}, worker: {}}}\n"
    with pytest.raises(UsageError) as refused:
        set_values(Source("job.yaml", text), text, [assignment])
    assert str(refused.value) == message


def test_an_environment_of_a_job_without_environments_is_refused() -> None:
    text = HEAD + "spec: {image: 'a:1', roles: {chief: {}, ps: {}, worker: {}}}\n"
    with pytest.raises(UsageError) as refused:
        set_values(Source("job.yaml", text), text, ["image=a:2"], "dev")
    message = "job.yaml: the job has no environment 'dev'; add the environment to spec.environments"
    assert str(refused.value) == message


@pytest.mark.parametrize("header", ["|", ">-", "|+", "|2"])
def test_the_comment_of_a_block_stays(header: str) -> None:
    body = "spec:\n  image: a:1\n  env:\n    A: {}\n    B: b\n  roles: {{chief: {{}}, ps: {{}}, worker: {{}}}}\n"
    before = body.format(f"{header}  # why\n      x\n\n      y")
    assert after(before, "env.A=z") == body.format("z  # why")
    assert after(before, "env.A=# no comment") == body.format('"# no comment"  # why')
