# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the DaskCluster of a farm in Kubernetes, for `kubectl apply -f -`.

    python kubernetes.py IMAGE WORKERS

IMAGE: made by nandlab's Containerfile, with nandlab[distributed] in its environment. The cluster
has the operator of dask-kubernetes.
"""

import json
import sys
from pathlib import Path

from dask_kubernetes.operator import make_cluster_spec

image, workers = sys.argv[1], int(sys.argv[2])
dask = "/nandlab/.venv/bin/dask"
lines = Path(__file__).with_name("quiet.env").read_text().split()
farm = make_cluster_spec(
    "nandlab",
    image,
    workers,
    resources={"requests": {"cpu": "1", "memory": "1Gi"}},
    env=dict(line.split("=", 1) for line in lines),
    worker_command=f"{dask} worker --nthreads 1 --memory-limit 0",
)
scheduler, worker = (
    farm["spec"][part]["spec"]["containers"][0] for part in ("scheduler", "worker")
)
# Distributed has no command dask-scheduler any more.
scheduler["args"] = [dask, "scheduler", *scheduler["args"][1:]]
# A board runs in a root of its own, which takes mounts.
worker["securityContext"] = {"privileged": True}
json.dump(farm, sys.stdout, indent=2)
