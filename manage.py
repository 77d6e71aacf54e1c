#!/usr/bin/env python
"""Django's command line for Needs You."""

import gc
import os
import sys

from workspace.local.follow_supervisor import follow_supervisor
from workspace.local.state import take_state_option

# Python looks for garbage after 700 new things. What a start loads are some two hundred thousand,
# and stay: looking through them again and again was a tenth of it.
NEW_THINGS = 50_000


def main() -> None:
    """Run one command. The state folder is settled first, because the settings depend on it."""
    gc.set_threshold(NEW_THINGS, 20, 20)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    follow_supervisor()
    take_state_option(sys.argv)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
