"""Pairs each object of the base with its counterpart in an environment. The counterpart may have a new name.

object_pairs({"worker": <StatefulSet mnist-worker>}, {"worker": <StatefulSet mnist-2-worker>})
    ->  {"worker": (<StatefulSet mnist-worker>, <StatefulSet mnist-2-worker>)}
"""

from __future__ import annotations

from tfgen.data_path import texts
from tfgen.graph.built import Objects
from tfgen.kubernetes.object import Object, identity, literal_name
from tfgen.targets.kustomize.references import references
from tfgen.text import yaml_text


def object_pairs(base: Objects, target: Objects) -> dict[str, tuple[Object, Object]]:
    """Return each object of the base with its counterpart in an environment, by key of the object in the base.

    The counterpart has the same kind and name. If the environment has no such object, the counterpart has the same kind
    and key, and a new name, because the environment has a different run. Omit an object with a new name in the
    following cases. kustomize then deletes the old object and adds the new object:

    - A reference of the user contains the old name. kustomize would change the reference.
    - The object comes from `objects` in job.yaml. Any text can refer to such an object.
    - The object loses a label or an annotation, or YAML needs quotes around the new name (`_is_renamable`).
    """
    before = {identity(item) for item in base.values()}
    after = {identity(item): item for item in target.values()}
    new_objects = {name: item for name, item in target.items() if identity(item) not in before}
    pairs = {}
    renamed = {}
    for name, item in base.items():
        version, kind, _ = identity(item)
        new = after.get(identity(item)) or new_objects.get(name)
        if new and identity(new)[:2] == (version, kind):
            pairs[name] = (item, new)
            if identity(new) != identity(item):
                renamed[name] = (item, new)
    if renamed:
        referred = {reference for item in target.values() for reference in references(item)}
        user_texts = {text for item in target.values() if literal_name(item) is not None for _, text in texts(item)}
    for name, (item, new) in renamed.items():
        _, kind, old_name = identity(item)
        is_referred = (kind, old_name) in referred or old_name in user_texts or literal_name(item) is not None
        if is_referred or not _is_renamable(item, new):
            del pairs[name]
    return pairs


def _is_renamable(item: Object, new_item: Object) -> bool:
    """Test whether kustomize sets the correct name, labels and annotations when a patch renames an object.

    kustomize writes the new name without quotes, so that the name "123" becomes a number. kustomize copies the labels
    and annotations of the patch. A null, which removes a label, becomes the text "null":
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/resource/resource.go (CopyMergeMetaDataFieldsFrom).
    """
    old, new = item["metadata"], new_item["metadata"]
    is_plain = yaml_text.scalar(new["name"]) == new["name"]
    return is_plain and all(
        old.get(field, {}).keys() <= new.get(field, {}).keys() for field in ("labels", "annotations")
    )
