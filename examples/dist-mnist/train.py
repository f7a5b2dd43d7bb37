"""Train a small digit classifier with parameter servers. Every task of the job runs this program.

TensorFlow's resolver reads the role of the task from TF_CONFIG:

    TF_CONFIG='{"cluster": {"chief": ["a:2222"], "ps": ["b:2222"], "worker": ["c:2222"]},
                "task": {"type": "chief", "index": 0}}' MODEL_DIR=/model python train.py --steps 600

The chief controls the training. The chief writes to MODEL_DIR: checkpoints to resume from in checkpoints/, summaries
for TensorBoard in logs/train, and at the end a SavedModel in export/STEP/. Parameter servers and workers serve until
SIGTERM. An optional evaluator evaluates new checkpoints until SIGTERM, and writes the accuracy to logs/eval.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

# Threads inherit the signal mask, so SIGTERM waits for `exit_on_sigterm`, also during the import of TensorFlow.
# Without the mask, process 1 of a container ignores this SIGTERM, and runs until the end of the grace period.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

TRAINING_IMAGES = 60_000
TEST_IMAGES = 2_000
TRAINING_SPLIT, TEST_SPLIT = 0, 1
SIZE = 28
"""Height and width of an image in pixels, as in MNIST."""

CHIEF_DEVICE = "/job:chief/replica:0/task:0/device:CPU:0"
CHIEF_IO = tf.train.CheckpointOptions(experimental_io_device=CHIEF_DEVICE)
"""Options for checkpoint files on the chief. By default, each ps writes its part of a checkpoint to its own disk."""

DIGITS = """
.###. ..#.. .###. .###. ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# #...# ..##. #.... #.... ....# #...# #...#
#..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ....#
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .###.
"""

log = logging.getLogger("train")


def digit_canvases() -> np.ndarray:
    """Return the ten digits at three times the size of DIGITS, as float32 [10, 35, 41].

    The margins are so wide that every 28x28 crop contains the whole digit.
    """
    rows = [line.split() for line in DIGITS.split("\n") if line]
    glyphs = np.array([[[dot == "#" for dot in row[digit]] for row in rows] for digit in range(10)])
    glyphs = glyphs.repeat(3, axis=1).repeat(3, axis=2).astype(np.float32)
    margins = [(SIZE - length,) * 2 for length in glyphs.shape[1:]]
    return np.pad(glyphs, [(0, 0), *margins])


def digits(indices: tf.data.Dataset, split: int) -> tf.data.Dataset:
    """Map indices to (image float32 [28, 28, 1], label int64). The same index and split give the same image."""
    canvases = digit_canvases()

    def draw(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        shift, ink, noise = tf.unstack(tf.random.split(tf.stack([index, split]), 3))
        label = index % 10
        image = tf.image.stateless_random_crop(tf.gather(canvases, label), [SIZE, SIZE], shift)
        image *= tf.random.stateless_uniform([], ink, 0.5, 1.0)
        image += tf.random.stateless_normal([SIZE, SIZE], noise, stddev=0.3)
        return tf.clip_by_value(image, 0.0, 1.0)[..., tf.newaxis], label

    return indices.map(draw, num_parallel_calls=tf.data.AUTOTUNE)


def training_batches(batch_size: int) -> tf.data.Dataset:
    """Return endless batches. Each worker builds its own dataset, and shuffles the dataset with its own seed."""
    indices = tf.data.Dataset.range(TRAINING_IMAGES).shuffle(TRAINING_IMAGES).repeat()
    return digits(indices, TRAINING_SPLIT).batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


class Classifier(tf.Module):
    """Classifier with two strided convolutions and two dense layers, from images [N, 28, 28, 1] to logits [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = kernel([5, 5, 1, 16], "conv1")
        self.conv2 = kernel([3, 3, 16, 32], "conv2")
        self.dense1 = kernel([7 * 7 * 32, 128], "dense1")
        self.bias1 = tf.Variable(tf.zeros([128]), name="bias1")
        self.dense2 = kernel([128, 10], "dense2")
        self.bias2 = tf.Variable(tf.zeros([10]), name="bias2")

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        x = tf.nn.relu(tf.nn.conv2d(images, self.conv1, strides=2, padding="SAME"))
        x = tf.nn.relu(tf.nn.conv2d(x, self.conv2, strides=2, padding="SAME"))
        x = tf.reshape(x, [-1, 7 * 7 * 32])
        x = tf.nn.relu(tf.matmul(x, self.dense1) + self.bias1)
        return tf.matmul(x, self.dense2) + self.bias2


def kernel(shape: list[int], name: str) -> tf.Variable:
    """Return a weight with He's initial values (arXiv:1502.01852). The last axis is the outputs of the layer."""
    scale = np.sqrt(2 / np.prod(shape[:-1]))
    return tf.Variable(scale * tf.random.stateless_normal(shape, seed=[len(name), shape[-1]]), name=name)


def load(checkpoint: str) -> tuple[Classifier, int]:
    """Return the model and the step of a checkpoint. All variables of the model are in this process."""
    model, step = Classifier(), tf.Variable(0, dtype=tf.int64)
    tf.train.Checkpoint(model=model, step=step).restore(checkpoint).assert_existing_objects_matched()
    return model, int(step)


def accuracy(model: Classifier) -> float:
    """Return the share of test images that the model classifies correctly. The training uses no test image."""
    test = digits(tf.data.Dataset.range(TEST_IMAGES), TEST_SPLIT).batch(500)
    right = [tf.argmax(model(images), axis=1) == labels for images, labels in test]
    return float(tf.reduce_mean(tf.cast(tf.concat(right, axis=0), tf.float32)))


def export(model: Classifier, folder: str) -> None:
    """Write the model as a SavedModel that maps images [N, 28, 28, 1] to probabilities [N, 10]."""

    @tf.function(input_signature=[tf.TensorSpec([None, SIZE, SIZE, 1], tf.float32, name="images")])
    def predict(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"probabilities": tf.nn.softmax(model(images))}

    tf.saved_model.save(model, folder, signatures=predict)


def wait_for_peers(cluster: dict[str, list[str]]) -> None:
    """Wait until every ps and worker accepts connections, and the name of the chief resolves.

    TensorFlow waits as well, but retries the connection to a late host only after minutes (gRPC's connection back-off).
    """
    start = time.monotonic()
    for role, addresses in cluster.items():
        for address in addresses:
            delay = 0.25
            while problem := unreachable(role, address):
                log.info("waiting for %s %s: %s", role, address, problem)
                time.sleep(delay)
                delay = min(2 * delay, 5)
    log.info("all tasks are reachable after %.1f s", time.monotonic() - start)


def unreachable(role: str, address: str) -> OSError | None:
    """Return the error of a connection to a task, or None. The port of the chief is not open yet: resolve its name."""
    host, _, port = address.rpartition(":")
    try:
        if role == "chief":
            socket.getaddrinfo(host, port)
        else:
            socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        return error
    return None


def training_step(
    strategy: tf.distribute.Strategy, model: Classifier, step: tf.Variable, options: argparse.Namespace
) -> Callable[[Iterator[tuple[tf.Tensor, tf.Tensor]]], tf.Tensor]:
    """Return the function of a worker, which takes a batch, updates the variables on the ps, and returns the loss.

    Workers do not lock the variables or wait for each other: the gradient descent is asynchronous. The learning rate
    falls during the last third of the steps. With a constant rate, the accuracy depends on the last few steps (0.82 to
    0.98 from one step to another).
    """

    def update(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(images))
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        left = 1 - tf.cast(step, tf.float32) / options.steps
        rate = options.learning_rate * tf.clip_by_value(3 * left, 0.0, 1.0)
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
            variable.assign_sub(rate * gradient)
        step.assign_add(1)
        return loss

    return tf.function(lambda batches: strategy.run(update, args=next(batches)))


def train(resolver: tf.distribute.cluster_resolver.ClusterResolver, options: argparse.Namespace) -> None:
    """Run the chief: resume from the last checkpoint, if any, train to `options.steps`, and export the model."""
    cluster = resolver.cluster_spec().as_dict()
    wait_for_peers(cluster)
    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(
        min_shard_bytes=64 << 10, max_shards=len(cluster["ps"])
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = Classifier()
        step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
    for variable in model.trainable_variables:
        log.info("variable %s %s on %s", variable.name, variable.shape, variable.device)

    checkpoint = tf.train.Checkpoint(model=model, step=step)
    manager = tf.train.CheckpointManager(checkpoint, f"{options.model_dir}/checkpoints", max_to_keep=5)
    if manager.latest_checkpoint:
        checkpoint.restore(manager.latest_checkpoint, options=CHIEF_IO)
        log.info("resumed from %s at step %d", manager.latest_checkpoint, int(step))

    run_step = training_step(strategy, model, step, options)
    batches = iter(coordinator.create_per_worker_dataset(lambda: training_batches(options.batch_size)))
    summaries = tf.summary.create_file_writer(f"{options.model_dir}/logs/train")
    while (done := int(step)) < options.steps:
        start = time.monotonic()
        count = min(options.checkpoint_every, options.steps - done)
        losses = [coordinator.schedule(run_step, args=(batches,)) for _ in range(count)]
        coordinator.join()
        loss, speed = np.mean(coordinator.fetch(losses)), count / (time.monotonic() - start)
        with summaries.as_default(step=int(step)):
            tf.summary.scalar("loss", loss)
            tf.summary.scalar("steps_per_second", speed)
        summaries.flush()
        path = manager.save(checkpoint_number=step, options=CHIEF_IO)
        log.info("step %d: loss %.4f, %.0f steps/s, saved %s", int(step), loss, speed, path)

    trained, final_step = load(manager.latest_checkpoint)
    folder = f"{options.model_dir}/export/{final_step}"
    export(trained, folder)
    log.info("done: step %d, accuracy %.4f, model in %s", final_step, accuracy(trained), folder)


def evaluate(model_dir: str) -> None:
    """Run the evaluator: write the accuracy of each new checkpoint for TensorBoard."""
    summaries = tf.summary.create_file_writer(f"{model_dir}/logs/eval")
    for path in tf.train.checkpoints_iterator(f"{model_dir}/checkpoints"):
        try:
            model, step = load(path)
        except tf.errors.NotFoundError:
            log.info("%s was replaced by newer ones before it was read", path)
            continue
        share = accuracy(model)
        with summaries.as_default(step=step):
            tf.summary.scalar("accuracy", share)
        summaries.flush()
        log.info("step %d: accuracy %.4f", step, share)


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Run a parameter server or a worker, which serves the chief until SIGTERM."""
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
    )
    log.info("serving")
    server.join()


def exit_on_sigterm(code: int) -> None:
    """End the process with `code` at SIGTERM, even during a long call of TensorFlow."""

    def wait() -> None:
        signal.sigwait({signal.SIGTERM})
        log.info("SIGTERM: exit %d", code)
        os._exit(code)

    threading.Thread(target=wait, daemon=True).start()


def positive(text: str) -> int:
    """Return the integer of a text, for argparse. A text without an integer of at least 1 raises a ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for flag, kind, default, meaning in (
        ("--model-dir", str, "/tmp/model", "folder for checkpoints, summaries and the exported model"),
        ("--steps", positive, "600", "batches to train on, over all workers and starts"),
        ("--batch-size", positive, "64", "images in a batch"),
        ("--learning-rate", float, "0.05", "step size of the gradient descent, which falls to 0 over the last third"),
        ("--checkpoint-every", positive, "100", "batches from one checkpoint to the next"),
    ):
        variable = flag.removeprefix("--").replace("-", "_").upper()
        parser.add_argument(
            flag,
            type=kind,
            default=os.environ.get(variable, default),
            help=f"{meaning} (environment: {variable}; default: {default})",
        )
    return parser.parse_args()


def main() -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    log.setLevel(logging.INFO)
    tf.get_logger().handlers.clear()  # the root logger prints TensorFlow's messages in the same format
    tf.get_logger().setLevel(logging.ERROR)
    options = parse_arguments()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    role = resolver.task_type
    exit_on_sigterm(128 + signal.SIGTERM if role == "chief" else 0)
    log.info("%s %s of run %s", role, resolver.task_id, os.environ.get("TFGEN_RUN") or "(unnamed)")
    match role:
        case "chief":
            try:
                train(resolver, options)
            except tf.errors.UnavailableError as error:
                log.error("lost a parameter server; the next start resumes from the last checkpoint: %s", error)
                os._exit(1)  # a regular exit would first call the lost parameter server
        case "ps" | "worker":
            serve(resolver)
        case "evaluator":
            evaluate(options.model_dir)
        case _:
            log.error("TF_CONFIG names no role of this program (chief, ps, worker, evaluator) but %r", role)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
