#!/bin/bash
# The least that ElasticDL's client takes, with the master's priority above all others.
elasticdl train \
  --image_name=registry.example.com/elastic:2 \
  --model_zoo=model_zoo --model_def=deepctr.edl.custom_model \
  --training_data=/data/train --validation_data= \
  --num_epochs=2 --num_ps_pods=2 \
  --master_pod_priority=high --master_resource_request="cpu=2" \
  --job_name=deepctr
