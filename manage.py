#!/usr/bin/env python
"""The command line of the server: every task of the project runs through here."""

import os
import sys


def main() -> None:
    """Run a command; a configuration that is refused is a line each, not a traceback, and the doctor's to explain."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capture_site.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("error: Django is not installed here: run make setup, then .venv/bin/python manage.py")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as exc:
        if sys.argv[1:2] == ["doctor"]:
            from capture.doctor.refused import explain

            sys.exit(explain(str(exc), sys.argv[2:]))
        sys.exit("\n".join(f"error: {line}" for line in str(exc).splitlines()))


if __name__ == "__main__":
    main()
