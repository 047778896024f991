"""A home for tokenlings: pets whose mind is a small language model."""

__version__ = "0.1.0"
