"""Fit a linear model with the parameter servers of TensorFlow 1. Every task of the job runs this program.

Four flags set the role of the task, as in other programs for TensorFlow 1. The program does not read TF_CONFIG:

    MODEL_DIR=/model python train.py --job_name=worker --task_index=0 --ps_hosts=a:2222 --worker_hosts=b:2222,c:2222

Each worker has its own session and batches, and updates the variables on the ps without waiting for other workers.
Worker 0 initializes or restores the variables, and writes checkpoints and summaries to MODEL_DIR.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

# Threads inherit the signal mask, so SIGTERM waits for `exit_on_sigterm`, also during the import of TensorFlow.
# A Python signal handler would never run during `Server.join`.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

import tensorflow.compat.v1 as tf  # noqa: E402

FEATURES = 20
NOISE = 0.1
"""Standard deviation of the noise in the targets. The loss falls to the square of this value."""

tf.flags.DEFINE_enum("job_name", None, ["ps", "worker"], "role of this task")
tf.flags.DEFINE_integer("task_index", None, "place of this task among those of its role", lower_bound=0)
tf.flags.DEFINE_list("ps_hosts", None, "HOST:PORT of each parameter server")
tf.flags.DEFINE_list("worker_hosts", None, "HOST:PORT of each worker")
tf.flags.mark_flags_as_required(["job_name", "task_index", "ps_hosts", "worker_hosts"])
tf.flags.DEFINE_string("model_dir", os.environ.get("MODEL_DIR", "/tmp/model"), "folder for checkpoints and summaries")
tf.flags.DEFINE_integer("steps", 5000, "batches to train on, over all workers and starts", lower_bound=1)
tf.flags.DEFINE_integer("batch_size", 64, "rows in a batch", lower_bound=1)
tf.flags.DEFINE_float("learning_rate", 0.002, "step size of the gradient descent")
FLAGS = tf.flags.FLAGS


def batch(size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return random features [N, 20] and their targets [N, 1], which differ in each call of `session.run`.

    The targets are a fixed linear function of the features, with noise.
    """
    features = tf.random.normal([size, FEATURES])
    weights = tf.linspace(-2.0, 2.0, FEATURES)[:, tf.newaxis]
    return features, tf.matmul(features, weights) + 1 + tf.random.normal([size, 1], stddev=NOISE)


def linear_model(features: tf.Tensor) -> tf.Tensor:
    weights = tf.get_variable("weights", [FEATURES, 1], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    return tf.matmul(features, weights) + bias


def wait_for(hosts: list[str]) -> None:
    """Wait until every host accepts connections. TensorFlow waits as well, but with growing pauses between attempts."""
    for address in hosts:
        host, _, port = address.rpartition(":")
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=5).close()
                break
            except OSError as error:
                tf.logging.info("waiting for ps %s: %s", address, error)
                time.sleep(1)


def train(server: tf.train.Server, cluster: tf.train.ClusterSpec) -> None:
    """Run a worker until all workers together have processed `--steps` batches."""
    task = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=task)):
        global_step = tf.train.get_or_create_global_step()
        features, targets = batch(FLAGS.batch_size)
        loss = tf.reduce_mean(tf.squared_difference(linear_model(features), targets))
        optimizer = tf.train.GradientDescentOptimizer(FLAGS.learning_rate)
        with tf.control_dependencies([optimizer.minimize(loss, global_step=global_step)]):
            update = global_step.read_value()
        tf.summary.scalar("loss", loss)

    session = tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=FLAGS.task_index == 0,
        checkpoint_dir=FLAGS.model_dir,
        save_checkpoint_secs=60,
        save_summaries_steps=100,
        log_step_count_steps=500,
        hooks=[tf.train.StopAtStepHook(last_step=FLAGS.steps)],
        # Without the filter, a worker waits for all other workers at its start.
        config=tf.ConfigProto(device_filters=["/job:ps", task]),
    )
    with session:
        own = 0
        while not session.should_stop():
            step, value = session.run([update, loss])
            if own % 500 == 0:
                tf.logging.info("step %d: loss %.4f", step, value)
            own += 1
    tf.logging.info("done: step %d, %d of them here, loss %.4f", step, own, value)


def exit_on_sigterm(code: int) -> None:
    """End the process with `code` at SIGTERM, even during a long call of TensorFlow."""

    def wait() -> None:
        signal.sigwait({signal.SIGTERM})
        tf.logging.info("SIGTERM: exit %d", code)
        os._exit(code)

    threading.Thread(target=wait, daemon=True).start()


def main(_: list[str]) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.get_logger().handlers.clear()  # the root logger prints TensorFlow's messages as well
    tf.disable_eager_execution()
    exit_on_sigterm(0 if FLAGS.job_name == "ps" else 128 + signal.SIGTERM)
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts, "worker": FLAGS.worker_hosts})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    wait_for(FLAGS.ps_hosts)
    train(server, cluster)


if __name__ == "__main__":
    tf.app.run(main)
