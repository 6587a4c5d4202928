"""Networks: feature extractors, policy and value heads, and distributions over actions."""
