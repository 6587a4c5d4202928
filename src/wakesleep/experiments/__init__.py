"""Experiments: many lifetimes, and the paper's studies of sleep in a single task."""
