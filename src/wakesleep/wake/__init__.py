"""Awake: reinforcement learners, rollouts with advice, single-task experts."""
