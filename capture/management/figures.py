"""Nested figures for people, and who runs a command."""

import os
import pwd
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError

from capture.management.report import ReportCommand
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id, checked_index


class FiguresCommand(ReportCommand):
    """A command whose figures nest: the same object as JSON, one line each for people.

    Recorded ids are hostile text: for people they are printed with every control and direction character escaped.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run, with one sentence for a durable store that fails instead of a page of frames."""
        try:
            return super().execute(*args, **options)
        except (OperationalError, InterfaceError) as exc:
            failure = type(exc.__cause__ or exc).__name__
            raise CommandError(
                f"the durable store failed ({failure}): see that it answers, and run it again"
            ) from exc

    def tell(self, figures: Mapping[str, object], options: Mapping[str, Any]) -> None:
        """Print the figures."""
        self.report(figures if options["json"] else dict(_lines("", figures)), options)


class HandCommand(FiguresCommand):
    """One that works on a hand: TABLE and HAND, and the agents that ``--agent`` names."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("table", type=given_id, metavar="TABLE", help="the table's id")
        parser.add_argument("hand", type=given_number, metavar="HAND", help="the hand's number")
        parser.add_argument(
            "--agent", type=given_id, action="append", metavar="ID", help="this agent alone; may be repeated"
        )


def given_id(text: str) -> str:
    """An id from the command line."""
    try:
        return checked_id("the id", text)
    except IdError as exc:
        raise ArgumentTypeError(str(exc)) from exc


def given_number(text: str) -> int:
    """A hand's number from the command line."""
    try:
        return checked_index("the hand number", int(text))
    except ValueError as exc:
        raise ArgumentTypeError(f"{text!r} is no hand number: a whole number from 0 is wanted") from exc


def actor(command: str) -> str:
    """Who acts, for the access log and ``pinned_by``: ``command:NAME by USER``, the user being the process's own."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user need not have a name
        user = f"uid {os.getuid()}"
    return f"command:{command} by {user}"


def _lines(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and not value:
        yield name, "none"
    elif isinstance(value, Mapping):
        for inner, held in value.items():
            yield from _lines(f"{name}.{inner}" if name else str(inner), held)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for place, each in enumerate(value, start=1):
            yield f"{name} {place}", " ".join(f"{inner}={held!r}" for inner, held in each.items())
    else:
        yield name, repr(value) if isinstance(value, str | list) else value
