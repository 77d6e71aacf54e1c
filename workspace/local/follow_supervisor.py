"""A supervised process goes when its supervisor goes, however that died.

No Django here: it is called first thing in manage.py.
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


def follow_supervisor() -> None:
    """End with the process that NEEDS_YOU_SUPERVISOR names; do nothing when it names none.

    Linux tells at once. The thread is for macOS, and for a process that does not heed SIGTERM.
    The variable is taken out of the environment, so that what we start does not follow too.
    """
    named = os.environ.pop(SUPERVISOR, "")
    if not named.isdigit():
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(int(named),), daemon=True, name="supervisor").start()


def _watch(supervisor: int) -> None:
    while os.getppid() == supervisor:
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
