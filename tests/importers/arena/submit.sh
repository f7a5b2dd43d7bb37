#!/bin/sh
# https://arena-docs.readthedocs.io: a distributed job whose code is in git
arena submit tf \
  --name=tf-dist-git \
  --gpus=1 \
  --workers=2 \
  --worker-image=tensorflow/tensorflow:1.5.0-devel-gpu \
  --sync-mode=git \
  --sync-source=https://git.example.com/ml/tensorflow-sample-code.git \
  --ps=1 \
  --ps-image=tensorflow/tensorflow:1.5.0-devel \
  --tensorboard \
  "python code/tensorflow-sample-code/tfjob/docker/v1alpha2/distributed-mnist/main.py --log_dir=/training_logs --data_dir=code/tensorflow-sample-code/data"
arena list
