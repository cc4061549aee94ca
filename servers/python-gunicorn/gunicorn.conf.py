"""Gunicorn's settings; the rest are defaults."""

import os

bind = f"{os.environ['HOST']}:{os.environ['PORT']}"
# Gunicorn's documentation recommends to start with this.
workers = 2 * int(os.environ["CPUS"]) + 1
# It also recommends this: a heartbeat file on a disk may block a worker.
worker_tmp_dir = "/dev/shm"
# The socket would be in the home folder, shared by all instances.
control_socket_disable = True
# Prony counts the lines on standard output and error, so workers must not announce their start.
loglevel = "warning"
