elasticdl train --job_name=a --num_workers=2 --image_name=gcr.io/$PROJECT/a --distribution_strategy=AllreduceStrategy train.py
elasticdl train --job_name=b --num_ps_pods=1 --num_workers=many
elasticdl train --num_ps_pods=1
