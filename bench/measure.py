"""Runs one command and tells what it and all that it waited for have used.

    python -I measure.py null|pass -- COMMAND…

Prints one JSON line on descriptor 5. Descriptors 3 and 4, where given, reach the command.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time


def main() -> int:
    output, _, *command = sys.argv[1:]
    os.set_inheritable(5, False)
    target = subprocess.DEVNULL if output == "null" else None
    start = time.monotonic_ns()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=target, close_fds=False, check=False
    )
    end = time.monotonic_ns()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = {
        "start_ns": str(start),
        "wall_ms": (end - start) / 1e6,
        "user_ms": used.ru_utime * 1e3,
        "system_ms": used.ru_stime * 1e3,
        "status": done.returncode,
    }
    os.write(5, json.dumps(told).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
