"""The start of a child process: a file that Python runs with the name of the module whose `main` gets the socket.

It runs isolated from the environment and the working folder, and imports neither Django's settings nor its models. The
process ends when its parent closes the socket or dies.
"""

import importlib
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
    # Ctrl+C, and the signal that systemd sends to every process of a service, are for the parent. It may first finish
    # what it has begun; this process ends with it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    # It works on one thing at a time, and each thread of these libraries would take memory of its own. Arrow's own
    # allocator takes more than it uses.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    program = importlib.import_module(sys.argv[1])
    with socket.socket(fileno=0) as connection, suppress(OSError):  # the parent is gone
        program.main(connection)
