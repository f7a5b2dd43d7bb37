arena submit tfjob --name=mnist --image=registry.example.com/ml/mnist:1.4.0 --workers=2 --ps=1 \
  --selector zone=a --ps-selector disk=ssd --worker-selector gpu=t4 --env=GIT_SYNC_USERNAME=ada 'python train.py'
