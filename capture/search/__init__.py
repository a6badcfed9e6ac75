"""The text of pinned turns to search in: derived, and made anew at any time."""
