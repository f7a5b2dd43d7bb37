"""Size limits of Kubernetes and Linux in bytes, each with its source."""

from __future__ import annotations

from typing import Final

STRING_MAX: Final = 131_071
"""Maximum size of an argument of a program, or of an environment variable as `NAME=value`.

MAX_ARG_STRLEN of Linux' include/uapi/linux/binfmts.h, 32 pages of 4 KiB, minus the zero byte that ends the string.
"""

PROGRAM_MAX: Final = 2_097_152
"""Maximum total size of the arguments and environment variables of a program, plus `STRING_COST` for each string.

Linux allows a quarter of the maximum stack size (bprm_stack_limits of Linux' fs/exec.c). The maximum stack size in
containers is 8 MiB.
"""

STRING_COST: Final = 9
"""Size that Linux adds for each argument or environment variable: a final zero byte, and a pointer of 8 bytes."""

ANNOTATIONS_MAX: Final = 262_144
"""Maximum total size of all keys and values of an object's annotations.

TotalAnnotationSizeLimitB of Kubernetes' apimachinery/pkg/api/validation/objectmeta.go.
"""

CONFIG_MAP_MAX: Final = 1_048_576
"""Maximum total size of all values of a ConfigMap (MaxSecretSize in Kubernetes' pkg/apis/core/types.go)."""

OBJECT_MAX: Final = 1_572_864
"""Maximum size of an object (DefaultMaxRequestBytes in etcd's server/embed/config.go).

etcd stores the object as protobuf or JSON, with the names of the fields that each field manager set.
"""
