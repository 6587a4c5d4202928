"""Eighteen Minigrid tasks: a JAX engine, proved equal to the real `minigrid` package, and that package itself."""
