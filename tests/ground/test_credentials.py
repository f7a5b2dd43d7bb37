"""Tests of texts that contain a credential, and of similar texts without a credential.

The tests join each credential from parts, and a counter makes the random part, so that no scanner finds a credential
in this file.
"""

from __future__ import annotations

import base64
import json
import string
import time

import pytest

from tfgen.errors import Position, Problem
from tfgen.words import find_credentials, has_credential, shown, without_credentials

ALPHANUMERIC = string.ascii_letters + string.digits


def made(length: int, characters: str = ALPHANUMERIC) -> str:
    """Return a text that looks random."""
    return "".join(characters[(7 + number * number * 31 + number * 5) % len(characters)] for number in range(length))


UPPER = made(16, string.ascii_uppercase + "234567")
DOTTED = ".".join(("ey" + "J" + made(20), "ey" + "J" + made(40), made(43)))
KEY = f"-----BEGIN {'PRIVATE'} KEY-----\n{made(64)}\n{made(64)}\n-----END {'PRIVATE'} KEY-----\n"
BASE64 = ALPHANUMERIC + "+/"

CREDENTIALS = {
    "an access key of AWS": ["AKI" + "A" + UPPER, "ASI" + "A" + UPPER, f"--key={'AKI' + 'A' + UPPER},"],
    "an API key of Google": ["AI" + "za" + made(35)],
    "an OAuth secret of Google": ["GOC" + "SPX-" + made(28)],
    "a key of a Google service account": [
        json.dumps({"type": "service_account", "private_key": KEY}),
        json.dumps({"type": "service_account", "private_key": KEY}, indent=2),
    ],
    "an account key of Azure": ["AccountName=ml;Account" + "Key=" + made(86, BASE64) + "==;EndpointSuffix=x"],
    "a shared access key of Azure": ["Endpoint=sb://x/;SharedAccess" + "Key=" + made(43, BASE64) + "="],
    "a shared access signature of Azure": [
        "https://ml.blob.core.windows.net/data?sv=2024-11-04&sp=r&si" + "g=" + made(43) + "%3D",
        "si" + "g=" + made(20) + "%2B%2f" + made(21) + "%3d&se=2027-01-01",
    ],
    "an access key of Alibaba Cloud": ["LT" + "AI" + made(20), "LT" + "AI" + made(12)],
    "a token of GitHub": [
        *(f"gh{letter}_" + made(36) for letter in "pousr"),
        "gh" + "s_123456_" + DOTTED,
        "github" + "_pat_" + made(22) + "_" + made(59),
    ],
    "a token of GitLab": ["gl" + f"{kind}-" + made(20) for kind in ("pat", "dt", "rt", "cbt", "ptt", "oas")],
    "a token of Bitbucket": ["AT" + "BB" + made(32), "AT" + "ATT3x" + made(180), "AT" + "CTT3x" + made(180)],
    "a token of Hugging Face": ["hf" + "_" + made(34, string.ascii_letters), "api" + "_org_" + made(34)],
    "an API key of a model provider": [
        "s" + "k-" + made(48),
        *("s" + f"k-{kind}-" + made(40) for kind in ("proj", "svcacct", "admin", "or-v1", "ant-api03")),
    ],
    "a token of npm": ["np" + "m_" + made(36)],
    "a token of PyPI": ["py" + "pi-AgEIcHlwaS5vcmc" + made(80)],
    "a token of Slack": ["xo" + "xb-1029384756-" + made(24), "xa" + "pp-1-A0B1C2D3-1029384756-" + made(24)],
    "a webhook of Slack": [
        "https://hooks.slack" + ".com/services/T0B1C2D3E/B0A9B8C7D/" + made(24),
        "https://hooks.slack" + ".com/workflows/T0B1C2D3E/A0A9B8C7D/1029384756/" + made(24),
    ],
    "a JSON Web Token": [DOTTED],
    "a private key": [
        KEY,
        KEY.replace("PRIVATE", "RSA PRIVATE"),
        KEY.replace("KEY-----\n", "KEY BLOCK-----\nVersion: 1\n\n", 1),
        json.dumps(KEY),
        "\n".join(f'    "{line}\\n"' for line in KEY.splitlines()),
    ],
    "an address with a password": [
        "postgres://train:hunter2@db.ml.internal/mnist",
        "redis://:hunter2@cache:6379",
        "git clone https://me:" + "hunter2%40x@git.ml.internal/data",
        "https://me:password1@git.ml.internal/data",
        "https://me:hunter2$9@git.ml.internal/data",
        "postgres://me:hunter2(cd@db/mnist",
    ],
}
PAIRS = [(kind, text) for kind, texts in CREDENTIALS.items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), PAIRS, ids=[f"{kind} {number}" for number, (kind, _) in enumerate(PAIRS)])
def test_credentials(kind: str, text: str) -> None:
    assert [found for found, _ in find_credentials(text)] == [kind]
    assert [found for found, _ in find_credentials(f"import os\n\nuse('{text}')\n")] == [kind]


@pytest.mark.parametrize(("kind", "text"), PAIRS, ids=[f"{kind} {number}" for number, (kind, _) in enumerate(PAIRS)])
def test_no_message_contains_a_credential(kind: str, text: str) -> None:
    hidden = without_credentials(text)
    assert not has_credential(hidden)
    assert "..." in hidden
    assert not any(part in hidden for part in (made(12), UPPER[:8], "hunter2", made(12, BASE64)))
    assert not has_credential(shown({"name": text}, 10_000))


@pytest.mark.parametrize(
    "text",
    [
        # examples in documentations of the providers
        "AKI" + "AIOSFODNN7EXAMPLE",
        "AKI" + "AI44QH8DHBEXAMPLE",
        "AI" + "zaSyabcdefghijklmnopqrstuvwxyz1234567",
        "LT" + "AI****************",
        "Account" + "Key=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
        "xo" + "xb-your-token-here",
        "xo" + "xb-123456789012-1234567890123",
        # placeholders
        "gh" + "p_" + "x" * 36,
        "gh" + "p_" + "0123" * 9,
        "hf" + "_" + "X" * 34,
        "gl" + "pat-your-access-token-here",
        "github" + "_pat_<token>",
        "s" + "k-" + "." * 48,
        f"-----BEGIN {'PRIVATE'} KEY-----\n...\n-----END {'PRIVATE'} KEY-----",
        f'if "-----BEGIN {"PRIVATE"} KEY-----" in text: raise ValueError("a key")',
        # names, and texts that only begin like a credential
        "--experiment=s" + "k-learn-random-forest-of-2026-with-pruning",
        "task-" + "AKI" + "A" + UPPER,
        "disk-" + made(48),
        "AKI" + "A" + UPPER + "AB",
        "AKI" + "A" + UPPER.lower(),
        "hf" + "_model_of_the_team_ads_in_november_2026_v2",
        "gh" + "s_" + made(20),
        "LT" + "AI" + made(16),
        "sig=" + made(43),
        "ey" + "J" + made(20) + "." + made(20) + "." + made(20),
        "AccountKey=$(KEY)",
        "private_key: /run/secrets/key",
        # digests
        "registry.ml.internal/ml/mnist@sha256:" + "0a1b2c3d4e5f6789" * 4,
        "sha512-" + base64.b64encode(bytes(range(64))).decode(),
        "9f2c" * 10,
        # addresses without a password
        "docker://tensorflow:2.16.1@sha256:0a1b",
        "lakefs://imagenet:main@v2",
        "https://git.ml.internal:443/data@2",
        "https://me@git.ml.internal/data",
        "ssh://git@git.ml.internal:2222/ml/train.git",
        "git@git.ml.internal:ml/train.git",
        "https://ml.internal?range=a:b@c",
        "oci://registry:5000/mnist@sha256:0a1b",
        "mongodb://db-0:27017,db-1:27017/mnist",
        # references and placeholders for a password
        "https://me:$(PASSWORD)@git.ml.internal",
        "https://me:${PASSWORD}@git.ml.internal",
        "https://me:$PASSWORD@git.ml.internal",
        "https://me:{password}@git.ml.internal",
        "https://me:{{ password }}@git.ml.internal",
        "https://me:<password>@git.ml.internal",
        "https://me:%s@git.ml.internal",
        "https://me:%(password)s@git.ml.internal",
        "'https://me:' + password + '@git.ml.internal'",
        "'https://me:'+password+'@git.ml.internal'",
        "https://me:xxxx@git.ml.internal",
        "https://me:***@git.ml.internal",
        "https://user:password@git.ml.internal",
        "https://user:your-password@git.ml.internal",
        "https://user:changeme@git.ml.internal",
        "https://user:ACCESS_TOKEN@git.ml.internal",
        "https://user:%PIP_TOKEN%@git.ml.internal",
        "https://user:__PASSWORD__@git.ml.internal",
    ],
)
def test_no_credentials(text: str) -> None:
    assert [*find_credentials(text)] == []
    assert without_credentials(text) == text


def test_credentials_come_in_their_order_and_once() -> None:
    key, token = "AKI" + "A" + UPPER, "gh" + "p_" + made(36)
    text = f"a = 'https://me:{token}@github.com'\n\nb = '{token}'\nc = '{key}'\n"
    assert [*find_credentials(text)] == [
        ("an address with a password", 1),
        ("a token of GitHub", 3),
        ("an access key of AWS", 4),
    ]
    assert without_credentials(text) == "a = 'https://me:...@github.com'\n\nb = '...'\nc = '...'\n"


@pytest.mark.parametrize(
    "text",
    [
        "://" * 100_000,
        "://:a@" * 50_000,
        "x://a:" * 50_000,
        "://" + "a" * 300_000,
        "eyJ" * 100_000,
        "eyJaaaaaaaa." * 30_000,
        " ghp_" * 50_000,
        "sig=&" * 50_000,
        f"-----BEGIN {'PRIVATE'} KEY-----" * 10_000,
        f"-----BEGIN {'PRIVATE'} KEY-----" + " " * 300_000,
        "'private_key' :" * 20_000,
        "hooks.slack.com/services/T" + "a" * 300_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_long_text_takes_no_time(text: str) -> None:
    begin = time.process_time()
    find = [*find_credentials(text)]
    assert len(find) <= len(text)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("escape", ["\\n", "\\t", "\\r"])
def test_a_credential_after_an_escape_is_found_and_hidden(escape: str) -> None:
    text = f"# token{escape}gh" + "p_" + made(36)
    assert has_credential(text)
    assert without_credentials(text) == f"# token{escape}..."


def test_no_problem_contains_a_credential() -> None:
    token = "gh" + "p_" + made(36)
    problem = Problem("job.yaml", Position(1, 1), f'found "{token}", expected a list; write [{token}]', "wrong-type")
    assert problem.message == 'found "...", expected a list; write [...]'
