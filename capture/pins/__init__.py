"""What is kept: pinned, read back, walked through, verified. Each room is named by what it does with pinned turns."""
