"""Asleep: replay buffers, the three architectures, and the loop that consolidates."""
