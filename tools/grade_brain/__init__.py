"""How good a brain is: asked what the engine asks, sampled as in production, marked by the writer's own rules."""
