"""A program of its own, which the server of the soak is attached to: `living.py SOCKET`."""

import signal
import sys

from tests.soak.server import server

if __name__ == "__main__":
    # Only the thread that waits below takes it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    with server.attach(socket=sys.argv[1]):
        sys.stdout.write("attached\n")
        sys.stdout.flush()
        signal.sigwait([signal.SIGTERM])
