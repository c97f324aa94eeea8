"""The benchmark's tools on toolhaft, attached to a process that does nothing else."""

import sys

from toolhaft_server import server

attached = server.attach(socket=sys.argv[1])
print("attached", flush=True)
sys.stdin.read()
