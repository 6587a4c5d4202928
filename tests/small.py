"""Settings of a small wake-sleep agent by name: those of tests/agents, so that one compiled program serves all."""

SMALL = {
    "sleep.iterations": 20, "model.network.hidden": [32, 16], "model.latent": 8, "model.hidden": 32,
    "learner.network.hidden": [32, 16], "learner.minibatch_size": 64, "learner.num_envs": 4, "learner.num_steps": 32,
    "learner.epochs": 1, "wake_buffer_size": 512, "random_replay_per_sleep": 16, "random_replay_capacity": 64,
    "advice_steps": 1000,
}  # fmt: skip
