"""Train a small classifier by model.fit of Keras 3 with synchronous workers. Every task runs this program.

The backend of Keras is JAX. keras.distribution reads the hosts and the index of the task from variables:

    KERAS_BACKEND=jax KERAS_DISTRIBUTION_JOB_ADDRESSES=a:2222,b:2222 KERAS_DISTRIBUTION_NUM_PROCESSES=2 \
        KERAS_DISTRIBUTION_PROCESS_ID=0 MODEL_DIR=/model python train.py --epochs 5

After each epoch, worker 0 saves the training to MODEL_DIR/backup.keras, and the next start resumes from this file. At
the end, worker 0 writes the model to MODEL_DIR/model.keras. After SIGTERM, a worker exits with 143.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

CLASSES, FEATURES, SAMPLES, BATCH = 10, 32, 4096, 64
STEPS = SAMPLES // BATCH


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points with noise around the centres of the classes, and the class of each point."""
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES))
    random = np.random.default_rng(seed)
    labels = random.integers(CLASSES, size=SAMPLES)
    noise = random.normal(scale=0.7, size=(SAMPLES, FEATURES))
    return (centres[labels] + noise).astype(np.float32), labels


def build_model() -> keras.Model:
    """Return a compiled classifier."""
    layers = [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(CLASSES)]
    model = keras.Sequential([keras.Input([FEATURES]), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss=loss, metrics=["accuracy"])
    return model


def save(model: keras.Model, path: Path, *, is_first: bool) -> None:
    """Save the model. All workers must call this function, and only worker 0 writes to the folder of the model.

    Worker 0 replaces the file in one step, so that a killed worker leaves no partial file.
    """
    with tempfile.TemporaryDirectory(dir=path.parent if is_first else None) as temporary:
        model.save(Path(temporary) / path.name)
        if is_first:
            (Path(temporary) / path.name).replace(path)


def main(arguments: list[str]) -> None:
    """Train the model, and write the model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args(arguments)
    folder = Path(os.environ["MODEL_DIR"])
    # Process 1 of a container ignores SIGTERM without a handler.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))

    # Each worker feeds its own samples, so Keras must not divide the data set.
    keras.distribution.initialize()
    distribution = keras.distribution.DataParallel(auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)
    worker = distribution.data_shard_id
    is_first = worker == 0
    print(f"worker {worker} of {distribution.num_processes}, {distribution.num_model_replicas} devices", flush=True)

    backup = folder / "backup.keras"
    model = keras.saving.load_model(backup) if backup.exists() else build_model()
    done = int(model.optimizer.iterations) // STEPS
    saves = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: save(model, backup, is_first=is_first))
    points, labels = samples(seed=1 + worker)
    model.fit(points, labels, BATCH, args.epochs, verbose=2, initial_epoch=done, callbacks=[saves])

    _, accuracy = model.evaluate(*samples(seed=0), BATCH, verbose=0)
    save(model, folder / "model.keras", is_first=is_first)
    print(f"done: epoch {args.epochs}, accuracy {accuracy:.3f}, model in {folder / 'model.keras'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
