#!/usr/bin/env python
"""Django's command line for Needs You."""

import gc
import os
import sys

from workspace.local.database_first import refuse_without_database
from workspace.local.follow_supervisor import follow_supervisor
from workspace.local.state import take_state_option

# By default Python collects garbage after 700 new objects. A start loads some 200,000 objects that
# stay; collecting among them again and again took a tenth of the start.
GC_THRESHOLD = 50_000


def main() -> None:
    """Run a command. The state folder comes first, because the settings depend on it."""
    gc.set_threshold(GC_THRESHOLD, 20, 20)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    supervised = follow_supervisor()
    take_state_option(sys.argv)
    refuse_without_database(sys.argv, supervised=supervised)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
