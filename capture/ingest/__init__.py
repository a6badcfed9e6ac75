"""Turns, charges and events of runs that come by HTTP, from the SDK or from any language."""

from capture.ingest.batches import take_charges, take_turns
from capture.ingest.events import take_events
from capture.ingest.outcomes import Outcome, outcomes_json

__all__ = ["Outcome", "outcomes_json", "take_charges", "take_events", "take_turns"]
