import json
import os
import signal
import tempfile

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before any other operation of TensorFlow
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # process 1 of a container ignores SIGTERM without a handler
folder = os.environ.get("MODEL_DIR", "model")
is_first = json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]["index"] == 0

random = np.random.default_rng(1)
labels = random.integers(10, size=4096)
points = (np.eye(10)[labels] + random.normal(scale=0.2, size=(4096, 10))).astype("float32")
batches = tf.data.Dataset.from_tensor_slices((points, labels)).shuffle(4096).repeat().batch(128)

with strategy.scope():
    layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.Input([10]), *layers])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])

backup = tf.keras.callbacks.BackupAndRestore(f"{folder}/backup")
model.fit(batches, epochs=5, steps_per_epoch=50, callbacks=[backup], verbose=2)
target = f"{folder}/export" if is_first else tempfile.mkdtemp()  # each worker saves, and one of them to the volume
model.save(target)
print("done: model in", target, flush=True)
