"""Train a small classifier by model.fit with parameter servers. Every task of the job runs this program.

The program needs Keras 2, which is the package tf_keras. With TF_USE_LEGACY_KERAS=1, tf.keras is tf_keras. Keras 3
does not train under ParameterServerStrategy. TensorFlow's resolver reads the role of the task from TF_CONFIG:

    TF_CONFIG='{"cluster": {"chief": ["a:2222"], "ps": ["b:2222"], "worker": ["c:2222"]},
                "task": {"type": "chief", "index": 0}}' TF_USE_LEGACY_KERAS=1 MODEL_DIR=/model python train.py

The chief controls the training. Parameter servers and workers serve the chief until SIGTERM. After each epoch, the
chief writes a checkpoint to MODEL_DIR/checkpoint. After a restart, the chief resumes from the last checkpoint. At the
end, the chief writes the model to MODEL_DIR/export.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading

# Threads inherit the signal mask, so `exit_on_sigterm` receives SIGTERM, also while a server waits in `join`.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

import tensorflow as tf  # noqa: E402

FEATURES = 16


def exit_on_sigterm() -> None:
    """End the process at SIGTERM, which process 1 of a container ignores without a handler."""
    signal.sigwait({signal.SIGTERM})
    os._exit(0)


def batches(_: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Return endless batches of points, with the label 1 for a positive sum. Each worker builds its own dataset."""

    def draw(seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        points = tf.random.stateless_normal([64, FEATURES], [seed, 1])
        return points, tf.cast(tf.reduce_sum(points, axis=1) > 0, tf.float32)

    return tf.data.Dataset.random(seed=7).map(lambda number: draw(tf.cast(number % 2**31, tf.int32)))


def train(strategy: tf.distribute.Strategy, folder: str, epochs: int) -> None:
    """Train the model, and write the model."""
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input([FEATURES]), tf.keras.layers.Dense(1)])
        model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
        model.optimizer.learning_rate = 0.05
    if latest := tf.train.latest_checkpoint(folder + "/checkpoint"):
        model.load_weights(latest)
    # Keras cannot send a dataset to the workers, so each worker calls `batches`.
    data = tf.keras.utils.experimental.DatasetCreator(batches)
    saves = tf.keras.callbacks.ModelCheckpoint(folder + "/checkpoint/weights", save_weights_only=True)
    history = model.fit(data, epochs=epochs, steps_per_epoch=40, callbacks=[saves], verbose=2)
    model.save(folder + "/export")
    print(f"done: accuracy {history.history['accuracy'][-1]:.3f}, model in {folder}/export", flush=True)


def main(arguments: list[str]) -> None:
    """Serve, or train as the chief."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args(arguments)
    threading.Thread(target=exit_on_sigterm, daemon=True).start()

    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if cluster.task_type in ("worker", "ps"):
        spec = cluster.cluster_spec()
        tf.distribute.Server(spec, job_name=cluster.task_type, task_index=cluster.task_id, protocol="grpc").join()
    train(tf.distribute.ParameterServerStrategy(cluster), os.environ["MODEL_DIR"], args.epochs)


if __name__ == "__main__":
    main(sys.argv[1:])
