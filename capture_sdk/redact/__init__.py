"""Redaction, before anything leaves the agent's process: pure, recursive, idempotent, and it fails closed.

names      which names are secret: ``agentToken`` is, ``max_tokens`` is not
patterns   what a secret looks like inside text
texts      one text: where its secrets are, and the same text with marks in their place
marks      what stands where a value stood: rule, length and, with a key, a keyed digest
policy     what the owner of an agent wants done with which field
redactor   the walk over one record
quiet      whether a frozen value needs the walk at all
"""

from capture_sdk.redact.marks import Keys, decrypt
from capture_sdk.redact.policy import Action, CapturePolicy, Rule
from capture_sdk.redact.redactor import Redactor

__all__ = ["Action", "CapturePolicy", "Keys", "Redactor", "Rule", "decrypt"]
