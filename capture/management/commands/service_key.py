"""``service_key``: make, list and revoke the service keys that live in the database."""

import getpass
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from capture.auth import Scope
from capture.auth.making import KeyRefused, create_key, described, revoke_keys
from capture.models import AgentServiceKey
from capture_sdk.errors import IdError


class Command(BaseCommand):
    help = "Makes a service key and shows it once, lists the keys there are, or revokes one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        act = parser.add_subparsers(dest="act", required=True)
        create = act.add_parser("create", help="make a key; it is shown once and kept nowhere")
        create.add_argument("name", help="who will use it; stands in the access log")
        create.add_argument(
            "--scope", action="append", required=True, choices=list(Scope), help="may be repeated"
        )
        create.add_argument(
            "--agent", action="append", default=[], help="bind it to this agent; may be repeated"
        )
        create.add_argument("--days", type=int, help="after so many days it is refused; unless given, never")
        revoke = act.add_parser("revoke", help="refuse a key from now on")
        revoke.add_argument("named", help="its public id, or a name: then every key of it")
        for each in (create, revoke, act.add_parser("list", help="every key, its scopes and its last use")):
            each.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            figures, line = getattr(self, f"_{options['act']}")(options)
        except (KeyRefused, IdError) as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(json.dumps(figures) if options["json"] else line)

    def _create(self, options: dict[str, Any]) -> tuple[object, str]:
        scopes = [Scope(scope) for scope in options["scope"]]
        by = f"command:service_key by {getpass.getuser()}"
        row, key = create_key(options["name"], scopes, agents=options["agent"], days=options["days"], by=by)
        self.stderr.write(f"the key of {row.name}, public id {row.public_id}, is not shown again")
        return described(row) | {"key": key}, key

    def _list(self, options: dict[str, Any]) -> tuple[object, str]:
        rows = [described(row) for row in AgentServiceKey.objects.order_by("name", "id")]
        return {"keys": rows}, "\n".join("  ".join(str(value) for value in row.values()) for row in rows)

    def _revoke(self, options: dict[str, Any]) -> tuple[object, str]:
        revoked = revoke_keys(options["named"])
        if not revoked:
            raise CommandError(f"no valid key has the public id or name {options['named']!r}; list shows all")
        return {"revoked": revoked}, f"{revoked} revoked"
