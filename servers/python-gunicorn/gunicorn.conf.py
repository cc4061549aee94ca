"""Gunicorn's settings, all else as it comes."""

import os

bind = f"{os.environ['HOST']}:{os.environ['PORT']}"
# What Gunicorn's documentation says to begin with.
workers = 2 * int(os.environ["CPUS"]) + 1
# As that says too: a heartbeat on a disk may block a worker.
worker_tmp_dir = "/dev/shm"
# It would lie in the home folder, one for all instances.
control_socket_disable = True
# Standard output and error are one log, of which lines are counted: workers that come up say nothing.
loglevel = "warning"
