# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers as jobs of Slurm: prints the scheduler's address, and ends them when it ends.

python slurm.py WORKERS
"""

import sys
import time

from dask_jobqueue import SLURMCluster

farm = SLURMCluster(cores=1, processes=1, memory="1GB", worker_extra_args=["--memory-limit", "0"])
farm.scale(int(sys.argv[1]))
print(farm.scheduler_address, flush=True)
time.sleep(86400)
