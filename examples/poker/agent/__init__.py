"""A hosted poker agent, in a process of its own: it knows the SDK, a model's address and a table's socket.

Read ``seat.py`` first; it is where the SDK is used. Nothing here imports Django or the poker engine.
"""
