"""Train a small image classifier with synchronous workers. Every task of the job runs this program.

Each worker computes the gradients of its own images. All workers apply the mean of all gradients, so all workers have
the same model (MultiWorkerMirroredStrategy). TensorFlow's resolver reads the index of the task from TF_CONFIG:

    TF_CONFIG='{"cluster": {"worker": ["a:2222", "b:2222", "c:2222"]}, "task": {"type": "worker", "index": 0}}' \
        MODEL_DIR=/model python train.py --steps 300

Only worker 0 writes to MODEL_DIR: checkpoints to resume from in checkpoints/, summaries for TensorBoard in logs/train,
and at the end a SavedModel in export/STEP/. If a worker is lost, all other workers fail as well. When all workers have
started again, the training resumes from the last checkpoint. After SIGTERM to one worker, all workers save a common
checkpoint and exit with 42.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

# Threads inherit the signal mask, so SIGTERM waits for `Termination`, also during the import of TensorFlow.
# Without the mask, process 1 of a container ignores this SIGTERM, and runs until the end of the grace period.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

CLASSES = 10
SIZE = 32
"""Height and width of an image in pixels, as in CIFAR-10."""
TRAINING_IMAGES = 50_000
TEST_IMAGES = 1_000
TRAINING_SPLIT, TEST_SPLIT = 0, 1

LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)
"""Errors of a common operation of the workers after the loss of a worker."""

PREEMPTED = 42
"""Exit code of all workers after SIGTERM to one worker. job.yaml lists the code in restart.ignoreExitCodes."""

Batches = Iterator[tuple[tf.Tensor, tf.Tensor]]

log = logging.getLogger("train")


def stripes(indices: tf.data.Dataset, split: int) -> tf.data.Dataset:
    """Map indices to (image float32 [32, 32, 3], label int64). The same index and split give the same image.

    The label is one of ten directions of the stripes. The width, the position and both colours of the stripes vary, and
    the image has noise.
    """
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float32)

    def draw(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        form, colours, noise = tf.unstack(tf.random.split(tf.stack([index, split]), 3))
        label = index % CLASSES
        turn, width, shift = tf.unstack(tf.random.stateless_uniform([3], form))
        angle = (tf.cast(label, tf.float32) + 0.4 * (turn - 0.5)) * np.pi / CLASSES
        wave = tf.sin((x * tf.cos(angle) + y * tf.sin(angle)) * (0.6 + 0.6 * width) + 2 * np.pi * shift)
        dark, light = tf.unstack(tf.random.stateless_uniform([2, 3], colours) * 0.5 + [[0.0], [0.5]])
        image = dark + (light - dark) * (wave[..., tf.newaxis] + 1) / 2
        image += tf.random.stateless_normal([SIZE, SIZE, 3], noise, stddev=0.2)
        return tf.clip_by_value(image, 0.0, 1.0), label

    return indices.map(draw, num_parallel_calls=tf.data.AUTOTUNE)


def training_batches(context: tf.distribute.InputContext, global_batch_size: int, first_step: int) -> tf.data.Dataset:
    """Return endless batches of this worker's share: of N workers, worker K takes every Nth image, from image K on.

    A resumed training continues with the next images.
    """
    batch_size = context.get_per_replica_batch_size(global_batch_size)
    indices = tf.data.Dataset.range(first_step * global_batch_size, tf.int64.max)
    share = indices.shard(context.num_input_pipelines, context.input_pipeline_id).map(lambda i: i % TRAINING_IMAGES)
    return stripes(share, TRAINING_SPLIT).batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


class Classifier(tf.Module):
    """Classifier with two strided convolutions, a mean over the image and a dense layer.

    The classifier maps images [N, 32, 32, 3] to logits [N, 10].
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = kernel([5, 5, 3, 16], "conv1")
        self.conv2 = kernel([3, 3, 16, 32], "conv2")
        self.dense = kernel([32, CLASSES], "dense")
        self.bias1 = weight(tf.zeros([16]), "bias1")
        self.bias2 = weight(tf.zeros([32]), "bias2")
        self.bias3 = weight(tf.zeros([CLASSES]), "bias3")

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        x = tf.nn.relu(tf.nn.conv2d(images - 0.5, self.conv1, strides=2, padding="SAME") + self.bias1)
        x = tf.nn.relu(tf.nn.conv2d(x, self.conv2, strides=2, padding="SAME") + self.bias2)
        return tf.matmul(tf.reduce_mean(x, axis=[1, 2]), self.dense) + self.bias3


def kernel(shape: list[int], name: str) -> tf.Variable:
    """Return a weight with He's initial values (arXiv:1502.01852). The last axis is the outputs of the layer."""
    scale = np.sqrt(2 / np.prod(shape[:-1]))
    return weight(scale * tf.random.stateless_normal(shape, seed=[len(name), shape[-1]]), name)


def weight(value: tf.Tensor, name: str) -> tf.Variable:
    """Return a variable with a copy on each replica. An update takes the mean of the values of all replicas."""
    return tf.Variable(value, name=name, aggregation=tf.VariableAggregation.MEAN)


def load(checkpoint: str) -> tuple[Classifier, int]:
    """Return the model and the step of a checkpoint. The model is only in this process."""
    model, step = Classifier(), tf.Variable(0, dtype=tf.int64)
    tf.train.Checkpoint(model=model, step=step).restore(checkpoint).assert_existing_objects_matched()
    return model, int(step)


def accuracy(model: Classifier) -> float:
    """Return the share of test images that the model classifies correctly. The training uses no test image."""
    test = stripes(tf.data.Dataset.range(TEST_IMAGES), TEST_SPLIT).batch(250)
    right = [tf.argmax(model(images), axis=1) == labels for images, labels in test]
    return float(tf.reduce_mean(tf.cast(tf.concat(right, axis=0), tf.float32)))


def export(model: Classifier, folder: str) -> None:
    """Write the model as a SavedModel that maps images [N, 32, 32, 3] to probabilities [N, 10]."""

    @tf.function(input_signature=[tf.TensorSpec([None, SIZE, SIZE, 3], tf.float32, name="images")])
    def predict(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"probabilities": tf.nn.softmax(model(images))}

    tf.saved_model.save(model, folder, signatures=predict)


def mean_over_workers(strategy: tf.distribute.Strategy, value: float) -> float:
    """Return the mean of the values of all workers. Each worker waits here for all other workers."""

    def mean() -> tf.Tensor:
        replica = tf.distribute.get_replica_context()
        return replica.all_reduce(tf.distribute.ReduceOp.MEAN, tf.constant(value, tf.float64))

    means = tf.function(lambda: strategy.run(mean))()
    return float(strategy.experimental_local_results(means)[0])


def training_step(
    strategy: tf.distribute.Strategy, model: Classifier, step: tf.Variable, learning_rate: float
) -> Callable[[Batches], tf.Tensor]:
    """Return the function of a common update: each worker takes a batch, and all workers receive the mean loss."""

    def update(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(images))
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
            variable.assign_sub(learning_rate * gradient)
        return loss

    @tf.function
    def run_step(batches: Batches) -> tf.Tensor:
        loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(update, args=next(batches)), axis=None)
        step.assign_add(1)
        return loss

    return run_step


class Termination:
    """Handler of SIGTERM: end the process before the training, and save a common checkpoint during the training."""

    def __init__(self) -> None:
        self._received = threading.Event()
        self._saves = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def handler(
        self,
        resolver: tf.distribute.cluster_resolver.ClusterResolver,
        manager: tf.train.CheckpointManager,
        step: tf.Variable,
    ) -> tf.distribute.experimental.PreemptionCheckpointHandler:
        """Return TensorFlow's handler: the workers agree on a step, save its checkpoint, and exit with PREEMPTED."""

        def leave() -> NoReturn:
            log.info("saved step %d for a worker with SIGTERM: exit %d", int(step), PREEMPTED)
            os._exit(PREEMPTED)

        self._saves.set()
        config = tf.distribute.experimental.TerminationConfig(self._received.is_set, leave)
        return tf.distribute.experimental.PreemptionCheckpointHandler(resolver, manager, termination_config=config)

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        if not self._saves.is_set():
            log.info("SIGTERM: exit %d", 128 + signal.SIGTERM)
            os._exit(128 + signal.SIGTERM)
        log.info("SIGTERM: all workers save a checkpoint, and exit with %d", PREEMPTED)
        self._received.set()


def train(
    resolver: tf.distribute.cluster_resolver.ClusterResolver, options: argparse.Namespace, termination: Termination
) -> NoReturn:
    """Resume from the last checkpoint, if any, and train to `options.steps`. Worker 0 exports the model."""
    log.info("waiting for all %d workers", resolver.cluster_spec().num_tasks("worker"))
    strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)
    chief = resolver.task_id == 0
    with strategy.scope():
        model = Classifier()
    step = tf.Variable(0, dtype=tf.int64)
    log.info("%d replicas on %d workers", strategy.num_replicas_in_sync, resolver.cluster_spec().num_tasks("worker"))

    # TensorFlow requires that all workers save a checkpoint. Only worker 0 saves into MODEL_DIR.
    checkpoint = tf.train.Checkpoint(model=model, step=step)
    folder = f"{options.model_dir}/checkpoints"
    keeper = (folder, 5) if chief else (tempfile.mkdtemp(), 1)
    manager = tf.train.CheckpointManager(checkpoint, *keeper)
    if latest := tf.train.latest_checkpoint(folder):
        checkpoint.restore(latest)
        log.info("resumed from %s at step %d", latest, int(step))
    if mean_over_workers(strategy, int(step)) != int(step):
        raise SystemExit(f"the workers found different checkpoints in {folder}: here that of step {int(step)}")

    preemption = termination.handler(resolver, manager, step)
    run_step = training_step(strategy, model, step, options.learning_rate)
    batches = iter(
        strategy.distribute_datasets_from_function(
            lambda context: training_batches(context, options.batch_size, first_step=int(step))
        )
    )
    logs = f"{options.model_dir}/logs/train"
    summaries = tf.summary.create_file_writer(logs) if chief else tf.summary.create_noop_writer()
    while (done := int(step)) < options.steps:
        start = time.monotonic()
        count = min(options.checkpoint_every, options.steps - done)
        losses = []
        for _ in range(count):
            losses.append(run_step(batches))
            preemption.save_checkpoint_if_preempted(checkpoint_number=step)
        loss = np.mean(losses)
        speed = count / (time.monotonic() - start)
        with summaries.as_default(step=int(step)):
            tf.summary.scalar("loss", loss)
            tf.summary.scalar("steps_per_second", speed)
        summaries.flush()
        path = manager.save(checkpoint_number=step)
        log.info("step %d: loss %.4f, %.0f steps/s, saved %s", int(step), loss, speed, path)

    if chief:
        trained, final_step = load(manager.latest_checkpoint)
        folder = f"{options.model_dir}/export/{final_step}"
        export(trained, folder)
        log.info("done: step %d, accuracy %.4f, model in %s", final_step, accuracy(trained), folder)
    leave(strategy)


def leave(strategy: tf.distribute.Strategy) -> NoReturn:
    """Exit with 0 after worker 0 has exported the model.

    If worker 0 fails during the export, all workers must train again. Kubernetes does not restart a worker that has
    exited with 0, so no worker exits earlier. The workers wait for each other twice: the first worker that exits after
    a wait may break the wait of a slower worker, and only the second wait ignores this error.
    """
    mean_over_workers(strategy, 0)
    with contextlib.suppress(*LOST):
        mean_over_workers(strategy, 0)
    os._exit(0)  # a regular exit would call workers that have ended, and wait long for their answers


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
        ("--steps", positive, "300", "common updates of the model, over all starts"),
        ("--batch-size", positive, "96", "images for one update, over all workers"),
        ("--learning-rate", float, "0.2", "step size of the gradient descent"),
        ("--checkpoint-every", positive, "50", "steps from one checkpoint to the next"),
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
    termination = Termination()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    role = resolver.task_type
    if role != "worker":
        log.error("TF_CONFIG names no role of this program (worker) but %r", role)
        return 2
    log.info("worker %s of run %s", resolver.task_id, os.environ.get("TFGEN_RUN") or "(unnamed)")
    try:
        train(resolver, options, termination)
    except LOST as error:
        log.error("%s", error)
        log.error("lost a worker; once all are started again, they resume from the last checkpoint")
        os._exit(1)  # as in `leave`


if __name__ == "__main__":
    sys.exit(main())
