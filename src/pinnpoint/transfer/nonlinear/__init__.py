"""Monotone reactions: the linearised dual and its remainder."""
