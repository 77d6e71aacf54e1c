"""End a supervised process when its supervisor ends, however that happened.

No Django here: manage.py calls this first.
"""

import ctypes
import os
import signal
import sys
import threading
import time

SUPERVISOR = "NEEDS_YOU_SUPERVISOR"  # the supervisor's process id, in its children's environment
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
LOOK_SECONDS = 1.0
GRACE_SECONDS = 8.0


def follow_supervisor() -> bool:
    """End with the process that NEEDS_YOU_SUPERVISOR names; return whether it names one.

    Linux sends a signal at once. The thread is for macOS, and for a process that ignores SIGTERM.
    The variable is removed from the environment, so that our own children do not follow too.
    """
    named = os.environ.pop(SUPERVISOR, "")
    if not named.isdigit():
        return False
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(int(named),), daemon=True, name="supervisor").start()
    return True


def _watch(supervisor: int) -> None:
    while os.getppid() == supervisor:
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
