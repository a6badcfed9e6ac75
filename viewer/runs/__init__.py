"""The pages of capture runs: the list, a run with its timeline, its artifacts, its context, two runs compared."""
