"""A job with a value for every field."""

from __future__ import annotations

from tfgen.schema.kinds import COPIED
from tfgen.schema.tunables import at

EVERYTHING = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "dist-mnist", "namespace": "ml"},
    "spec": {
        "strategy": "ParameterServer",
        "run": "2",
        "image": "registry.example.com/ml/dist-mnist:1.4.0",
        "imagePullPolicy": "Always",
        "cloud": {"eci": {"specs": ["ecs.gn6i-c4g1.xlarge"]}},
        "imagePullSecrets": [{"name": "registry"}],
        "command": ["python", "/opt/train.py"],
        "args": ["--steps=1000"],
        "workingDir": "/opt",
        "env": {
            "DATA_DIR": "/data",
            "TOKEN": {"secretKeyRef": {"name": "hub", "key": "token", "optional": True}},
            "BATCH": {"configMapKeyRef": {"name": "settings", "key": "batch"}},
            "POD_IP": {"fieldRef": {"fieldPath": "status.podIP"}},
            "CPUS": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 1}},
        },
        "envFrom": [
            {"prefix": "HUB_", "secretRef": {"name": "hub"}},
            {"configMapRef": {"name": "a", "optional": True}},
        ],
        "nodeSelector": {"kubernetes.io/arch": "amd64", "08": "x", "8": "y"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}],
        "affinity": {"nodeAffinity": {"required": {"terms": [{"values": ["eu-1a", 7, True]}]}}},
        "placement": "spread",
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "minDomains": 2,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
                "matchLabelKeys": ["example.com/team"],
                "nodeAffinityPolicy": "Honor",
                "nodeTaintsPolicy": "Ignore",
            }
        ],
        **{key: at((key,)).schema["examples"][0] for key in COPIED},
        "objects": {
            "quota": {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "q", "labels": {"a": "b"}, "annotations": {"a": "b"}},
                "spec": {"hard": {"pods": 20}, "scopes": ["NotTerminating"]},
            },
        },
        "patches": {
            "team": {
                "target": {"kind": "Job", "name": "worker"},
                "merge": {
                    "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}},
                    "spec": {"activeDeadlineSeconds": None},
                },
            },
            "board": {
                "target": {"kind": "Service", "name": "tensorboard-service"},
                "json": [
                    {"op": "add", "path": "/spec/own", "value": {"a": 1}},
                    {"op": "move", "from": "/spec/own", "path": "/spec/more"},
                ],
            },
        },
        "serviceAccountName": "trainer",
        "labels": {"example.com/team": "vision"},
        "annotations": {"example.com/owner": "vision@example.com, grüße"},
        "shm": "2Gi",
        "storage": {
            "data": {"mountPath": "/data", "subPath": "a/b", "claim": {"name": "mnist"}, "for": ["chief", "worker"]},
            "model": {"mountPath": "/m", "claim": {"size": 1, "storageClass": "nfs", "accessMode": "ReadWriteMany"}},
            "own": {"mountPath": "/own", "claim": {"size": "1Gi", "volumeName": "pv"}},
            "nfs": {"mountPath": "/nfs", "nfs": {"server": "nfs.example.com", "path": "/x", "readOnly": True}},
            "disk": {"mountPath": "/disk", "readOnly": True, "hostPath": {"path": "/mnt", "type": "Directory"}},
            "names": {"mountPath": "/n", "configMap": {"name": "n", "items": [{"key": "k", "path": "p", "mode": 256}]}},
            "keys": {"mountPath": "/k", "secret": {"secretName": "s", "defaultMode": 288, "optional": False}},
            "share": {"mountPath": "/a", "azureFile": {"secretName": "s", "shareName": "a", "readOnly": True}},
            "bucket": {
                "mountPath": "/b",
                "subPathExpr": "$(TASK_INDEX)",
                "csi": {
                    "driver": "gcsfuse.csi.storage.gke.io",
                    "volumeAttributes": {"bucketName": "b"},
                    "nodePublishSecretRef": {"name": "s"},
                    "fsType": "ext4",
                    "readOnly": True,
                },
            },
            "nas": {
                "mountPath": "/nas",
                "flexVolume": {
                    "driver": "a/nas",
                    "options": {"vers": "3"},
                    "secretRef": {"name": "s"},
                    "fsType": "nfs",
                },
            },
            "all": {"mountPath": "/all", "projected": {"sources": [{"secret": {"name": "s"}}], "defaultMode": 288}},
            "scratch": {"mountPath": "/s", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        },
        "code": {
            "mountPath": "/code",
            "git": {
                "repository": "git@git.example.com:ml/train.git",
                "revision": "v1.4.0",
                "folder": "training",
                "secretName": "git",
                "image": "registry.example.com/git-sync:v4.4.0",
            },
        },
        "retries": 3,
        "port": 3333,
        "legacyFlags": True,
        "legacyVariables": True,
        "completion": {"by": "Chief", "release": "Keep", "onFailure": "Keep", "evaluatorGrace": 9, "image": "x:1"},
        "deadline": 86400,
        "startDeadline": 3600,
        "workload": {"kind": "Job"},
        "initContainers": [{"name": "fetch", "image": "x", "resources": {"limits": {"cpu": "500m"}}}],
        "sidecars": [{"name": "metrics", "image": "metrics:1"}],
        "podTemplate": {"metadata": {"annotations": {"a": "b"}}, "spec": {"hostAliases": None}},
        "roles": {
            "chief": {"resources": {"cpu": 2, "memory": "4Gi"}, "terminationGracePeriodSeconds": 30},
            "ps": {"replicas": 2, "placement": "pack", "env": {"ROLE": "ps"}},
            "worker": {
                "replicas": 4,
                "runs": "ToCompletion",
                "resources": {
                    "requests": {"cpu": "1.5"},
                    "limits": {"ephemeral-storage": "1e3"},
                    "gpu": {"count": 1, "product": "NVIDIA-T4", "productLabel": "a/b", "resource": "nvidia.com/gpu"},
                },
                "ports": [{"name": "metrics", "containerPort": 9100, "protocol": "TCP"}],
                "podTemplate": {"spec": {"hostAliases": [{"ip": "10.0.0.7"}]}},
            },
            "evaluator": {"image": "x:1", "shm": 64},
        },
        "gang": {"scheduler": "volcano", "enabled": True, "queue": "q", "priorityClassName": "", "minAvailable": 0},
        "network": {"policy": "Isolated"},
        "security": {
            "profile": "privileged",
            "runAsUser": 1,
            "runAsGroup": 2,
            "fsGroup": 3,
            "readOnlyRootFilesystem": False,
        },
        "environments": {
            "dev": {
                "run": "3",
                "roles": {"worker": {"replicas": 1, "resources": {"gpu": {"count": 0}, "requests": {"cpu": None}}}},
                "gang": {"enabled": False},
                "env": {"TOKEN": None, "CPUS": {"resourceFieldRef": None, "fieldRef": {"fieldPath": "spec.nodeName"}}},
                "affinity": {"nodeAffinity": {"required": None}},
                "storage": {"data": {"claim": None, "emptyDir": {}}, "nfs": None, "model": {"claim": {"size": "9Gi"}}},
                "labels": {"example.com/team": "research"},
                "network": {"policy": "Off"},
            },
            "prod": {},
        },
    },
}
