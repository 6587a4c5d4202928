"""Syllabi: which tasks a life brings, in which order, and what is evaluated when."""
