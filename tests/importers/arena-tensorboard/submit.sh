arena submit tf --name=tf-dist         \
                  --working-dir=/root \
                  --gpus=1              \
                  --workers=2              \
                  --worker-image=tensorflow/tensorflow:1.5.0-devel-gpu  \
                  --sync-mode=git \
                  --sync-source=https://code.aliyun.com/xiaozhou/tensorflow-sample-code.git \
                  --ps=1              \
                  --ps-image=tensorflow/tensorflow:1.5.0-devel   \
                  --data=tfdata:/data_dir \
                  --tensorboard \
                  --logdir=/training_logs \
                  "python code/tensorflow-sample-code/tfjob/docker/mnist/main.py --max_steps 100 --log_dir /training_logs --data_dir /data_dir/MNIST"
