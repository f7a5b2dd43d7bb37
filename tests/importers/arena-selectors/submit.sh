arena submit tfjob --name=mnist --image=registry.example.com/ml/mnist:1.4.0 --workers=2 --ps=1 --chief --evaluator \
  --selector zone=a --ps-selector disk=ssd --sync-mode=git --sync-source=https://git.example.com/ml/mnist.git \
  -e GIT_SYNC_USERNAME=ada --env=GIT_SYNC_PASSWORD=secret --env=LEVEL=info 'python train.py'
