arena submit tfjob --name estimator -n ml --workers 4 --workerImage registry.example.com/ml/estimator:1.0.0 \
  --chief --chief-cpu 2 --chief-memory 4Gi --evaluator --ps 2 --psImage registry.example.com/ml/estimator:1.0.0-cpu \
  --ps-cpu 1 --ps-cpu-limit 2 --worker-cpu 4 --worker-memory 8Gi --gpus 1 --worker-port 2222 --ps-port 2222 \
  --data training-data:/data --data model:/model --data-dir /srv/cache:/cache \
  -e LEVEL=info --env 'MESSAGE=a b' --annotation example.com/owner=vision --label team=vision \
  --selector zone=a --worker-selector gpu=t4 --toleration all --toleration team=vision:NoSchedule,Equal \
  --priority high --clean-task-policy None --running-timeout 1h30m --ttl-after-finished 60s --starting-timeout 10m \
  --image-pull-secret hub --image-pull-policy IfNotPresent --working-dir /opt --share-memory 4Gi --gang --retry 3 \
  --tensorboard --logdir /model/logs --tensorboard-image registry.example.com/ml/tensorboard:2.15.0 \
  --success-policy ChiefWorker --shell bash 'cd /opt && python train.py --steps=$STEPS'
