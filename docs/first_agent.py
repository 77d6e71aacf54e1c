"""Ask where to deploy, read the answer, and continue."""

import re
import sys

answer = re.search(r'^> +answer: "(.+)"$', sys.stdin.read(), re.MULTILINE)
if answer is None:
    print("ASK: Where shall I deploy release 2.4?")
    print("OPTIONS: staging | production (!)")
else:
    print(f"REPORT: Release 2.4 is on {answer[1]}.")
    print("OUTCOME: WORK_DONE")
