"""Simulated weeks: what owners would see of the balance, with the real engine and words from a script or a brain.

    python -m tools.simulate_life [--brain DIR] [--pets 5]      the figures, as a table
    python -m tools.simulate_life --write                       the same into docs/balance.md, plots into docs/images

Reading order: `owners` (who does what when), `words` (who answers turns), `life` (one simulated life and what it
showed), `figures` (many of them in numbers), `plots`, `page`.
"""
