#!/usr/bin/env python
"""Django's command line for Needs You."""

import os
import sys

from workspace.following import follow_supervisor
from workspace.state import take_state_option


def main() -> None:
    """Run one command. The state folder is settled first, because the settings depend on it."""
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
