"""How large things may be that Kubernetes passes on, in bytes, each with its source."""

from __future__ import annotations

from typing import Final

STRING_MAX: Final = 131_071
"""One argument of a program, or one variable with its name and the equals sign.

MAX_ARG_STRLEN of Linux' include/uapi/linux/binfmts.h, 32 pages of 4 KiB, less the zero that ends the string.
"""

PROGRAM_MAX: Final = 2_097_152
"""All arguments and variables of a program, with `STRING_COST` for each.

A quarter of the stack (bprm_stack_limits of Linux' fs/exec.c), which containers have at 8 MiB.
"""

STRING_COST: Final = 9
"""What each of them costs beside its text: the zero that ends it, and the pointer to it."""

ANNOTATIONS_MAX: Final = 262_144
"""All keys and values of an object's annotations.

TotalAnnotationSizeLimitB of Kubernetes' apimachinery/pkg/api/validation/objectmeta.go.
"""

CONFIG_MAP_MAX: Final = 1_048_576
"""All values of a ConfigMap: MaxSecretSize of Kubernetes' pkg/apis/core/types.go, which is for both."""

OBJECT_MAX: Final = 1_572_864
"""An object: DefaultMaxRequestBytes of etcd's server/embed/config.go.

etcd gets it as protobuf or JSON, with the names of the fields that each of its managers set.
"""
