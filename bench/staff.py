"""A member of staff who may see the pages."""

from typing import Final

from bench.site import Site

# The right alone, as a person of a team has it: who may do everything is asked for nothing.
_LOG_IN: Final = """
from django.contrib.auth.models import Permission, User
from django.test import Client
from capture.auth import SEE
person = User.objects.create_user("bench", is_staff=True)
person.user_permissions.set(Permission.objects.filter(codename=SEE.partition(".")[2]))
client = Client()
client.force_login(person)
for name, morsel in client.cookies.items():
    print(f"{name}={morsel.value}")
"""


def staff_cookie(server: Site) -> str:
    """Make somebody who may see, and log in: the header ``Cookie`` of their session. Raises CalledProcessError."""
    return server.manage("shell", "--no-imports", "-c", _LOG_IN).strip().splitlines()[-1]
