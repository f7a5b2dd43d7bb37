arena submit tf --trace --config=/root/.kube/config --name=trees --workers=2 --ps=1 --image=registry.example.com/ml/trees:1 \
  --worker-affinity-policy=spread --worker-affinity-constraint=required --ps-affinity-policy=binpack "python train.py"
