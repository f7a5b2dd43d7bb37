"""Tests of arguments that tfgen recognizes as secrets, and of similar arguments without secrets."""

from __future__ import annotations

import time

import pytest

from tfgen.schema.hints import find_secret_arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ["--password=hunter2"],
        ["-password=hunter2"],
        ["--db-password", "hunter2"],
        ["--hub.token='abc'"],
        ["sh", "-c", "cd /data && train --steps=5 --password=hunter2"],
        ["sh", "-c", "train --password hunter2"],
        ["sh", "-c", "HUB_TOKEN=abc train"],
        ["sh", "-c", "cd /data;HUB_TOKEN=abc train"],
        ["hub.token=abc"],
    ],
)
def test_secrets(arguments: list[str]) -> None:
    assert [*find_secret_arguments(arguments)] == [len(arguments) - 1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--password-file=/run/secrets/password"],
        ["--password=/run/secrets/password"],
        ["--password=$(PASSWORD)"],
        ["--password", "$(PASSWORD)"],
        ["sh", "-c", "train --password=$PASSWORD --token ${HUB_TOKEN} --secret=$(cat /run/secret)"],
        ["sh", "-c", 'train --password="$PASSWORD"'],
        ["--password", "--steps=5"],
        ["--password="],
        ["--password"],
        ["--pad-token=<pad>"],
        ["--max-tokens=5", "--token-limit", "7"],
        ["train.py", "password"],
        [3, None, {"a": "--password=hunter2"}],
    ],
)
def test_no_secrets(arguments: list[object]) -> None:
    assert [*find_secret_arguments(arguments)] == []


@pytest.mark.parametrize("text", ["-a" * 50_000, "a." * 50_000, "--a " * 50_000, "--" + "a-" * 50_000])
def test_a_long_text_takes_no_time(text: str) -> None:
    begin = time.perf_counter()
    assert [*find_secret_arguments([text])] == []
    assert time.perf_counter() - begin < 2
