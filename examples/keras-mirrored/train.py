"""Train a small classifier by model.fit with synchronous workers. Every task of the job runs this program.

The program needs Keras 2, which is the package tf_keras. With TF_USE_LEGACY_KERAS=1, tf.keras is tf_keras. Keras 3
does not train under MultiWorkerMirroredStrategy. TensorFlow reads the hosts and the index of the task from TF_CONFIG:

    TF_CONFIG='{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}}' \
        TF_USE_LEGACY_KERAS=1 MODEL_DIR=/model python train.py --epochs 5

After each epoch, the workers back up the training into MODEL_DIR/backup, and the next start resumes from the backup.
At the end, worker 0 writes the model to MODEL_DIR/export. After SIGTERM, a worker exits with 143.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile

import numpy as np
import tensorflow as tf

CLASSES, FEATURES, SAMPLES = 10, 32, 4096


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points with noise around the centres of the classes, and the class of each point."""
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES))
    random = np.random.default_rng(seed)
    labels = random.integers(CLASSES, size=SAMPLES)
    noise = random.normal(scale=0.7, size=(SAMPLES, FEATURES))
    return (centres[labels] + noise).astype(np.float32), labels


def build_model() -> tf.keras.Model:
    """Return a compiled classifier. The variables of the classifier belong to the strategy of the current scope."""
    layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(CLASSES)]
    model = tf.keras.Sequential([tf.keras.Input([FEATURES]), *layers])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss=loss, metrics=["accuracy"])
    return model


def main(arguments: list[str]) -> None:
    """Train the model, and write the model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50, help="steps of an epoch")
    args = parser.parse_args(arguments)
    folder = os.environ["MODEL_DIR"]
    # Process 1 of a container ignores SIGTERM without a handler.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = build_model()
    batches = tf.data.Dataset.from_tensor_slices(samples(seed=1)).shuffle(SAMPLES).repeat().batch(128)
    backup = tf.keras.callbacks.BackupAndRestore(f"{folder}/backup")
    model.fit(batches, epochs=args.epochs, steps_per_epoch=args.steps, callbacks=[backup], verbose=2)

    # All workers must save the model, and two workers must not write to the same folder.
    is_first = json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0
    target = f"{folder}/export" if is_first else tempfile.mkdtemp()
    model.save(target)
    accuracy = np.mean(model.predict(samples(seed=2)[0], verbose=0).argmax(axis=1) == samples(seed=2)[1])
    print(f"done: accuracy {accuracy:.3f}, model in {target}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
