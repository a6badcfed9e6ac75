#!/usr/bin/env python
"""The command line of the server: every task of the project runs through here."""

import os
import sys


def main() -> None:
    """Run a command; a configuration that is refused is one line, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capture_site.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("error: Django is not installed here: run make setup, then .venv/bin/python manage.py")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as exc:
        sys.exit(f"error: {exc}")


if __name__ == "__main__":
    main()
