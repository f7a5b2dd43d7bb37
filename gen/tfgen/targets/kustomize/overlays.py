"""Writes the kustomize base and overlays of a job: ``overlays/NAME/base`` and ``overlays/NAME/ENVIRONMENT``.

An overlay changes the objects of the base into the objects of the environment. The fields `images` and `replicas` of
the kustomization change images and numbers of replicas, if the fields can express the changes exactly. A patch for each
object makes all other changes. The patch is a JSON patch if an item of a list changes and kustomize does not know the
key of the list, and a merge patch in all other cases. A patch can also delete an object. Each new object has a file in
the overlay. The overlay of a retired environment does not use the base: it contains the remaining objects as files.

An environment with a separate run has a second group of patches, which rename the objects (`rename`). ``nameSuffix``
cannot rename the objects, because the run is in the middle of a name (mnist-2-worker), and because kustomize does not
rename an object in an annotation, an argument or TF_CONFIG.

``namespace`` of a kustomization is the namespace of its environment, so that `kubectl apply -k` needs no ``-n``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from tfgen.graph.built import BuiltJob, Objects, objects_with_run_name_of_job
from tfgen.kubernetes.object import group, identity
from tfgen.kubernetes.scope import NAMESPACED_BY_KUSTOMIZE
from tfgen.places import OVERLAYS
from tfgen.record import EMPTY
from tfgen.targets.generated_note import generated_note
from tfgen.targets.kustomize.images import image_changer, image_changes, with_images
from tfgen.targets.kustomize.pairs import object_pairs
from tfgen.targets.kustomize.patch_entry import Patch, delete_patch, object_patch, patch_target, patch_text
from tfgen.targets.kustomize.rename import Rename
from tfgen.targets.kustomize.replicas import replica_counts, with_replicas
from tfgen.targets.kustomize.resources import Sources, file_stem, resources
from tfgen.text import yaml_text

_HEAD: Final = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}

_WITHOUT_NAMESPACE: Final = """\
apiVersion: builtin
kind: PatchTransformer
metadata:
  name: cluster-scoped
target:
  group: {group}
  kind: {kind}
patch: |-
  - op: remove
    path: /metadata/namespace"""
"""A transformer, which runs after kustomize has set the namespaces, for a kind that kustomize takes for namespaced."""

_WHY_RENAMES: Final = "# The patches below rename the objects for the run of this environment."


def kustomize(built: BuiltJob, sources: Sources = EMPTY) -> dict[str, str]:
    """Return the files of the base and of each overlay.

    Args:
        built: the job and its objects.
        sources: the files from which kustomize generates ConfigMaps.
    """
    job, base = built.job, built.base
    files = {f"base/{path}": text for path, text in _base(base, sources, job.namespace).items()}
    retired = {item.name for item in job.environments if not item.enabled}
    files_by_content: dict[Hashable, dict[str, str]] = {}  # equal objects have equal files
    for environment, objects in built.environments.items():
        is_retired, namespace = environment in retired, job.namespace_of(environment)
        key = (is_retired, namespace, *((file, id(item)) for file, item in objects.items()))
        if key not in files_by_content:
            if is_retired:
                files_by_content[key] = _base(objects, sources, namespace)
            else:
                rename = Rename.of(objects_with_run_name_of_job(built, environment), objects)
                files_by_content[key] = _overlay(base, rename, sources, namespace)
        files |= {f"{environment}/{path}": text for path, text in files_by_content[key].items()}
    note = generated_note(job.name)
    return {
        f"{OVERLAYS}/{job.name}/{path}": note + text if path.endswith(".yaml") and "/files/" not in path else text
        for path, text in files.items()
    }


def _base(objects: Objects, sources: Sources, namespace: str | None) -> dict[str, str]:
    files = resources(objects, sources)
    kustomization = {
        **_kustomization_head(namespace),
        "resources": list(files.paths),
        **files.generators,
        **_transformers(objects, namespace),
    }
    return {"kustomization.yaml": yaml_text.dump(kustomization), **files.files}


def _overlay(base: Objects, rename: Rename, sources: Sources, namespace: str | None) -> dict[str, str]:
    """Return the files of an overlay. The overlay changes the objects of the base, and then renames the objects."""
    pairs = object_pairs(base, rename.before)
    final = rename.renamed_pairs(pairs)
    replicas = replica_counts(final, rename.after)
    images = image_changes(
        [old for old, _ in final.values()], [new for _, new in final.values()], list(rename.after.values())
    )
    files: dict[str, str] = {}
    patches: list[dict[str, Any]] = []
    for name, item in base.items():
        if name not in pairs:
            patch: Patch | None = delete_patch(item)
        else:
            # kustomize changes replicas and images after the patches, so the patches do not contain these changes.
            changed = with_replicas(item, replicas.get(final[name][1]["metadata"]["name"]) if name in final else None)
            patch = object_patch(with_images(changed, image_changer(images)) if images else changed, pairs[name][1])
        if patch:
            path = f"{file_stem(name)}.patch.yaml"
            files[path] = patch_text(item, patch)
            patches.append({"path": path, **patch_target(item, patch)})
    from_base = {identity(new) for _, new in pairs.values()}
    patches += rename.entries(from_base)
    new = resources(rename.resources(from_base), sources)
    kustomization = {
        **_kustomization_head(namespace),
        "resources": ["../base", *new.paths],
        **new.generators,
        **({"images": [change.to_kustomize() for change in images]} if images else {}),
        **({"replicas": [{"name": name, "count": count} for name, count in replicas.items()]} if replicas else {}),
        **({"patches": patches} if patches else {}),
        **_transformers(rename.after, namespace),
    }
    text = yaml_text.dump(kustomization).replace("\n- patch:", f"\n{_WHY_RENAMES}\n- patch:", 1)
    return {"kustomization.yaml": text, **new.files, **files}


def _transformers(objects: Objects, namespace: str | None) -> dict[str, Any]:
    """Return the field that removes the namespace of the kustomization from cluster-scoped objects."""
    kinds = {(group(item), item["kind"]) for item in objects.values() if item["kind"] in NAMESPACED_BY_KUSTOMIZE}
    entries = [_WITHOUT_NAMESPACE.format(group=api_group, kind=kind) for api_group, kind in sorted(kinds)]
    return {"transformers": entries} if namespace and entries else {}


def _kustomization_head(namespace: str | None) -> dict[str, Any]:
    return {**_HEAD, **({"namespace": namespace} if namespace else {}), "sortOptions": {"order": "fifo"}}
