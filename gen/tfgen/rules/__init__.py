"""What a schema cannot say: one concern a module, and the table of all rules.

A rule is a line here, a module beside, a case in tests/invalid and a section in docs/rules.md.
"""

from __future__ import annotations

from typing import Final

from tfgen.rules import (
    claims,
    code,
    controlled_field,
    duplicate_job,
    egress,
    env_duplicate,
    expansion,
    gang_partial,
    gpu_on_ps,
    guarded,
    latest_tag,
    limits,
    mount_paths,
    names_taken,
    placement,
    plaintext_secret,
    ps_storage,
    roles_needed,
    run_folders,
    sub_paths,
    tensorboard,
    unknown_role,
    unknown_volume,
    volume_profile,
    wrong_shape,
)
from tfgen.rules.rule import AcrossRule, Rule

RULES: Final[tuple[Rule, ...]] = (
    *claims.RULES,
    *code.RULES,
    *controlled_field.RULES,
    *egress.RULES,
    *env_duplicate.RULES,
    *expansion.RULES,
    *gang_partial.RULES,
    *gpu_on_ps.RULES,
    *guarded.RULES,
    *latest_tag.RULES,
    *limits.RULES,
    *mount_paths.RULES,
    *names_taken.RULES,
    *placement.RULES,
    *plaintext_secret.RULES,
    *ps_storage.RULES,
    *roles_needed.RULES,
    *run_folders.RULES,
    *sub_paths.RULES,
    *tensorboard.RULES,
    *unknown_role.RULES,
    *unknown_volume.RULES,
    *volume_profile.RULES,
    *wrong_shape.RULES,
)

ACROSS: Final[tuple[AcrossRule, ...]] = (*duplicate_job.RULES,)
