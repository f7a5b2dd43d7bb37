"""Train a small classifier in one process, on a GPU, or on the CPU of a machine without a GPU.

    MODEL_DIR=/model python train.py --steps 3000

The classifier distinguishes the points of two spirals, which the program generates. The program writes to MODEL_DIR:
checkpoints to resume from in checkpoints/, and summaries for TensorBoard in logs/. At SIGTERM, the program saves a
checkpoint and exits with 143, so that the next start loses no step.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import math
import os
import signal
import sys
import threading

# Process 1 of a container ignores SIGTERM without a handler, and the import of TensorFlow takes seconds.
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())

import tensorflow as tf  # noqa: E402

BATCH_SIZE = 256
TEST_POINTS = 2_000
TEST_SEED, TRAINING_SEED = 0, 1
HIDDEN = 64
LEARNING_RATE = 0.1
MOMENTUM = 0.9

log = logging.getLogger("train")


def spirals(count: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return points [N, 2] of two interleaved spirals, with noise, and the number of each point's spiral: int32 [N].

    The same seed (two integers) gives the same points.
    """
    place, side, noise = tf.unstack(tf.random.split(seed, 3))
    labels = tf.random.stateless_uniform([count], side, 0, 2, tf.int32)
    radius = tf.sqrt(tf.random.stateless_uniform([count], place))
    angle = math.pi * (3 * radius + tf.cast(labels, tf.float32))
    points = radius[:, tf.newaxis] * tf.stack([tf.cos(angle), tf.sin(angle)], axis=1)
    return points + tf.random.stateless_normal([count, 2], noise, stddev=0.02), labels


class Classifier(tf.Module):
    """Classifier with three dense layers, from points [N, 2] to logits [N, 2]. The training uses momentum."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [2, HIDDEN, HIDDEN, 2]
        # He's initial values (arXiv:1502.01852).
        self.kernels = [
            tf.Variable(tf.random.stateless_normal(shape, [layer, 0], stddev=math.sqrt(2 / shape[0])))
            for layer, shape in enumerate(itertools.pairwise(sizes))
        ]
        self.biases = [tf.Variable(tf.zeros([size])) for size in sizes[1:]]
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.velocities = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.trainable_variables]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1], strict=True):
            x = tf.nn.relu(tf.matmul(x, kernel) + bias)
        return tf.matmul(x, self.kernels[-1]) + self.biases[-1]

    @tf.function
    def train(self) -> tf.Tensor:
        """Train with the batch of the current step, and return the loss. Every start has the same batches."""
        points, labels = spirals(BATCH_SIZE, tf.stack([TRAINING_SEED, self.step]))
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=self(points))
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        for variable, velocity, gradient in zip(self.trainable_variables, self.velocities, gradients, strict=True):
            velocity.assign(MOMENTUM * velocity + gradient)
            variable.assign_sub(LEARNING_RATE * velocity)
        self.step.assign_add(1)
        return loss

    def accuracy(self) -> float:
        """Return the share of test points that the model classifies correctly. The training uses no test point."""
        points, labels = spirals(TEST_POINTS, tf.constant([TEST_SEED, 0]))
        right = tf.argmax(self(points), axis=1, output_type=tf.int32) == labels
        return float(tf.reduce_mean(tf.cast(right, tf.float32)))


def train(options: argparse.Namespace) -> int:
    """Resume from the last checkpoint, if any, train to `options.steps`, and return the exit code."""
    model = Classifier()
    checkpoint = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(checkpoint, f"{options.model_dir}/checkpoints", max_to_keep=5)
    if path := manager.restore_or_initialize():
        log.info("resumed from %s at step %d", path, int(model.step))
    summaries = tf.summary.create_file_writer(f"{options.model_dir}/logs")
    while (step := int(model.step)) < options.steps:
        if stop.is_set():
            log.info("SIGTERM: saved %s", manager.save(checkpoint_number=step))
            return 128 + signal.SIGTERM
        loss = model.train()
        step += 1
        if step % options.checkpoint_every == 0 or step == options.steps:
            accuracy = model.accuracy()
            with summaries.as_default(step=step):
                tf.summary.scalar("loss", loss)
                tf.summary.scalar("accuracy", accuracy)
            summaries.flush()
            path = manager.save(checkpoint_number=step)
            log.info("step %d: loss %.4f, accuracy %.4f, saved %s", step, loss, accuracy, path)
    log.info("done: step %d, accuracy %.4f", step, model.accuracy())
    return 0


def positive(text: str) -> int:
    """Return the integer of a text, for argparse. A text without an integer of at least 1 raises a ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main() -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    log.setLevel(logging.INFO)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = os.environ.get("MODEL_DIR", "/tmp/model")
    parser.add_argument("--model-dir", default=folder, help="folder for checkpoints and summaries (%(default)s)")
    parser.add_argument("--steps", type=positive, default=3000, help="batches over all starts (%(default)s)")
    parser.add_argument("--checkpoint-every", type=positive, default=500, help="batches (%(default)s)")
    options = parser.parse_args()

    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        # By default, TensorFlow allocates all memory of the GPU at its start.
        tf.config.experimental.set_memory_growth(gpu, True)
    log.info("training on %s", gpus[0].name if gpus else "the CPU: there is no GPU")
    return train(options)


if __name__ == "__main__":
    sys.exit(main())
