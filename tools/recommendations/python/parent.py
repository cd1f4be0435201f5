"""Ends this process when the process that started it ends, because nothing else reads its results."""

import os
import sys
import threading


def end_with_parent():
    """Ends this process once standard input is closed. The parent keeps it open, and even a kill of the parent closes it."""

    def wait():
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
