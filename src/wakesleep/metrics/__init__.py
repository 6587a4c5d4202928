"""Metrics: what logs say about lifelong learning, statistics over lifetimes, and the paper's own numbers."""
