"""Finds messages that are sent around the outbox, the one door out of a seat.

    python -m capture_sdk.lint PATH…      exit status 0 clean, 1 findings, 2 a file could not be read

    OUT001  a send that goes round the outbox
    OUT002  an allowance without a reason
    OUT003  an allowance that allows nothing

What is allowed on purpose carries a comment, on the line of the call or on the one above it:
``# outbox: allowed because <reason>``. It reads source, it does not run it: a send that is reached by a name
made at run time escapes it.

The rooms, from the ground up: ``words`` (what libraries call things), ``scopes`` (where a name holds),
``kinds`` (what an expression is), ``learning`` (what a module says), ``wrapping`` (what outboxes wrap),
``sends``, ``findings``, ``command``.
"""

from capture_sdk.lint.command import main
from capture_sdk.lint.findings import Finding, UnreadableSource, check

__all__ = ["Finding", "UnreadableSource", "check", "main"]
