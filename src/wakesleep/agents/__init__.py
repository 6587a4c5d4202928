"""Agents: the wake-sleep agent of the paper, and what it is compared with."""
