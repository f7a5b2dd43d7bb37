"""Unsupported keys, and properties of objects, that several workload kinds have in common."""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Condition, LimitedKey, UnsupportedKey

NO_FINISHER: Final = (
    UnsupportedKey(
        "startDeadline",
        "a job of this workload kind has no finisher, and only the finisher checks that all tasks start in time; "
        "remove the key",
    ),
    UnsupportedKey("completion.onFailure", "the operator also releases a failed job; remove the key"),
    UnsupportedKey("completion.evaluatorGrace", "the operator stops the evaluator when the job ends; remove the key"),
    UnsupportedKey("completion.image", "a job of this workload kind has no finisher; remove the key"),
    UnsupportedKey(
        "completion.notify",
        "a job of this workload kind has no finisher, and only the finisher sends notifications; remove the key",
    ),
    UnsupportedKey(
        "tensorboard.keep",
        "a job of this workload kind has no finisher, and only the finisher scales TensorBoard down; remove the key",
    ),
)
LEGACY: Final = ("legacyFlags", "legacyVariables")
"""The fields that pass role, index and hosts to programs of TensorFlow 1."""
NO_LEGACY: Final = tuple(
    UnsupportedKey(key, "the tasks of this workload kind read TF_CONFIG; use the kind StatefulSet or Job")
    for key in LEGACY
)
# For kinds whose controller ends the remaining tasks.
RELEASES: Final = LimitedKey(
    "completion.release", ("ScaleToZero",), "the controller ends the remaining tasks when the job is complete"
)

_TF_CONFIG_STRATEGIES: Final = ("ParameterServer", "MultiWorkerMirrored", "Single")


def only_tf_config_strategies(setter: str, fix: str, when: Condition = None) -> LimitedKey:
    """Return the limit of the key `strategy` to the strategies whose programs read TF_CONFIG.

    The limit is for a workload kind in which a component other than tfgen sets TF_CONFIG, such as the training
    operator. The component sets only TF_CONFIG. The limit excludes the strategy KerasDistribution, because
    keras.distribution reads other variables.

    Args:
        setter: the component that sets TF_CONFIG, in words, such as "the operator".
        fix: the fix for a job with another strategy.
        when: the condition on the spec under which the component sets TF_CONFIG.
    """
    return LimitedKey(
        "strategy",
        _TF_CONFIG_STRATEGIES,
        f"{setter} sets only TF_CONFIG, which the strategy ignores; {fix}",
        when,
    )


WHOLE_BUDGET: Final = UnsupportedKey(
    "podDisruptionBudget.maxUnavailable",
    "maxUnavailable needs a controller with the subresource scale; remove the key, or use the kind StatefulSet",
)

# Set by the controllers on their pods: https://kubernetes.io/docs/reference/labels-annotations-taints/
JOB_KEYS: Final = ("batch.kubernetes.io/", "controller-uid", "job-name")
