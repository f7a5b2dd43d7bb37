"""Tests of the messages of API servers and webhooks, as in Kubernetes 1.36, JobSet 0.12 and Volcano 1.15."""

from __future__ import annotations

import pytest

from tfgen.live.api import brief_reason, is_immutable

DUMP = '{"metadata":{"labels":{"tfgen/job":"mnist"}},"spec":{"containers":[{"name":"a: b","image":"x"}]}}' * 20
TEMPLATE = f"Invalid value: {DUMP}: field is immutable"
SELECTOR = 'Invalid value: {"matchLabels":{"tfgen/job":"mnist"}}: field is immutable'


def test_of_a_refused_job_each_field_and_its_fault_are_left() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "field": "spec.template", "message": TEMPLATE},
        {"reason": "FieldValueInvalid", "field": "spec.selector", "message": SELECTOR},
    ]
    status = {
        "reason": "Invalid",
        "message": f'Job.batch "mnist-chief" is invalid: [spec.template: {TEMPLATE}, spec.selector: {SELECTOR}]',
        "details": {"name": "mnist-chief", "group": "batch", "kind": "Job", "causes": causes},
    }
    text = f'Job.batch "mnist-chief" is invalid: spec.template: field is immutable; spec.selector: {SELECTOR}'
    assert brief_reason(status) == text
    assert is_immutable(text)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f'admission webhook "vjobset.kb.io" denied the request: spec.replicatedJobs: {TEMPLATE}',
            'admission webhook "vjobset.kb.io" denied the request: spec.replicatedJobs: field is immutable',
        ),
        ("exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3", None),
        ("x" * 1000, f"{'x' * 300}..."),
    ],
)
def test_a_message_of_a_webhook_is_short(message: str, expected: str | None) -> None:
    assert brief_reason({"message": message}) == (expected or message)


@pytest.mark.parametrize(
    "message",
    [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden",
        "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec`",
    ],
)
def test_a_field_that_a_run_keeps_is_known(message: str) -> None:
    assert is_immutable(message)
