"""Turns and charges that come by HTTP, from the SDK or from any language."""

from capture.ingest.batches import Outcome, outcomes_json, take_charges, take_turns

__all__ = ["Outcome", "outcomes_json", "take_charges", "take_turns"]
