$ arena submit tfjob --name=a --image=x:1 --selector ssd_node=ok --toleration all -d=pvc:/x:ro -e "A=b c" --evaluator-selector=x=y --loglevel debug python main.py --lr 0.1 > log.txt 2>&1
