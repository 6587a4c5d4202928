"""Lifetimes: one agent through one syllabus, logged, checkpointed, resumable to the same bytes."""
