"""``demo``: poker agents play and another settles claims; turns and runs are captured, and the pages show them."""

import json
import os
import secrets
import signal
import time
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Permission, User
from django.core.management.base import BaseCommand, CommandError

from capture.auth import Scope, plain_key
from examples.poker.host.table import TableError
from examples.poker.policy_server import MODEL
from examples.poker.readback import Reader
from examples.poker.session import Plan, Session, settle_claims
from examples.poker.site import Site, SiteError


class Command(BaseCommand):
    help = (
        "Lets poker agents play at several tables, captures their turns, and serves the pages that show them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--hands", type=int, default=36, help="hands to play, all tables together")
        parser.add_argument(
            "--tables", type=int, default=3, help="tables that play side by side, six seats each"
        )
        parser.add_argument(
            "--seed", type=int, default=7, help="decides cards and the scripted policy's moods"
        )
        parser.add_argument(
            "--port", type=int, default=8000, help="where the site is served; 0 takes a free one"
        )
        parser.add_argument("--no-serve", action="store_true", help="end after the play")
        parser.add_argument("--json", action="store_true", help="end with the figures as one JSON object")
        parser.add_argument("--base-url", help="a real OpenAI-compatible endpoint; its key is OPENAI_API_KEY")
        parser.add_argument("--model", default=MODEL, help="the model's name at --base-url")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = self._plan(options)
        # Both end it in the same orderly way, also where a shell has started it with interrupts ignored.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        key = plain_key(Scope.READ_ALL)
        if key is None:
            raise CommandError(
                "AGENT_CAPTURE_SERVICE_KEYS has no key with read-all: the demo reads back through it"
            )
        try:
            with Site(0 if options["no_serve"] else options["port"]) as site:
                if not options["no_serve"]:
                    self._welcome(site.url)
                settle_claims()
                result = self._play(plan, Reader(site.url, key))
                self._report(result, as_json=options["json"])
                if not options["no_serve"]:
                    self.stderr.write(f"The site is served at {site.url}/agent-capture/ until Ctrl-C.")
                    site.wait()
        except (SiteError, TableError) as exc:
            raise CommandError(str(exc)) from exc
        except KeyboardInterrupt:
            self.stderr.write("\nEnded.")

    def _plan(self, options: dict[str, Any]) -> Plan:
        if options["hands"] < 1 or not 1 <= options["tables"] <= 50:
            raise CommandError("--hands takes 1 or more, --tables 1 to 50")
        tables = min(options["tables"], options["hands"])
        base_url = options["base_url"]
        if base_url and not base_url.startswith(("http://", "https://")):
            raise CommandError(f"--base-url {base_url!r} is no http address")
        url = base_url.rstrip("/") + "/" if base_url else None
        key = os.environ.get("OPENAI_API_KEY", "")
        return Plan(options["hands"], tables, options["seed"], url, options["model"], key)

    def _welcome(self, url: str) -> None:
        """A user for this run; whoever sees the terminal may log in."""
        password = secrets.token_urlsafe(9)
        user, _ = User.objects.get_or_create(username="demo", defaults={"is_staff": True})
        user.set_password(password)
        user.save()
        wanted = ("view_agentcallrecord", "view_agentinferencecharge", "view_agenthand", "pin_hand")
        user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
        self.stderr.write(f"\n  {url}/agent-capture/   name: demo   password: {password}\n")

    def _play(self, plan: Plan, reader: Reader) -> dict[str, Any]:
        started = time.monotonic()
        with Session(plan) as session:
            session.play(self._progress(len(session.hands)))
            seconds = time.monotonic() - started
            self.stderr.write("\nReading every turn back through the API ...")
            account = reader.account(session.hands, session.witness())
        pinned = max(account.striking, key=lambda hand: account.striking[hand], default=None)
        if pinned is not None:
            reader.pin(*pinned)
        name = f"{pinned[0]}:{pinned[1]}" if pinned else None
        return account.as_json(hands=len(session.hands), pinned_hand=name, seconds=seconds)

    def _progress(self, total: int) -> Any:
        said = -1

        def tell(done: int) -> None:
            nonlocal said
            if done != said and (self.stderr.isatty() or done == total):
                self.stderr.write(f"\rPlayed {done} of {total} hands", ending="")
                said = done

        return tell

    def _report(self, result: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(result))
            return
        self.stdout.write(summary(result))


def summary(result: dict[str, Any]) -> str:
    """The figures for people."""
    return (
        f"{result['turns']} turns of {result['hands']} hands captured in {result['seconds']} s: "
        f"{result['verified']} verified, {result['mismatched']} mismatched, {result['missing']} missing; "
        f"{result['fallbacks']} fallbacks, {result['clamped']} clamped.\n"
        f"{result['envelopes']} envelopes, {result['turnsPerEnvelope']} turns each; "
        f"{result['rawBytes']:,} bytes raw, {result['storedBytes']:,} stored. Kept: {result['pinnedHand']}"
    )
