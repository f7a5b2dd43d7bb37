"""Facts that several workload kinds share."""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Only, Without

NO_FINISHER: Final = (
    Without("startDeadline", "no finisher watches its start; remove it"),
    Without("completion.onFailure", "the operator releases a job that failed, too; remove it"),
    Without("completion.evaluatorGrace", "the operator ends the evaluator with the job; remove it"),
    Without("completion.image", "it needs no finisher; remove it"),
    Without("completion.notify", "no finisher tells of its end; remove it"),
    Without("tensorboard.keep", "no finisher scales TensorBoard down; remove it"),
)
LEGACY: Final = ("legacyFlags", "legacyVariables")
"""The fields that give the programs of TensorFlow 1 their place in the cluster."""
NO_LEGACY: Final = tuple(Without(key, "its tasks read TF_CONFIG; take the kind StatefulSet or Job") for key in LEGACY)
# Of a kind whose controller ends the rest itself.
RELEASES: Final = Only("completion.release", ("ScaleToZero",), "it ends what is left as soon as it is complete")

WHOLE_BUDGET: Final = Without(
    "podDisruptionBudget.maxUnavailable",
    "the budget of pods whose controller cannot be scaled is all of them; remove it, or take the kind StatefulSet",
)

# What the controllers write on their pods: https://kubernetes.io/docs/reference/labels-annotations-taints/
JOB_KEYS: Final = ("batch.kubernetes.io/", "controller-uid", "job-name")
