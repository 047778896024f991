"""How a brain is made: live simulated days, write the replies, train a tokenizer and a small Llama on them.

Reading order: `owners` (who lives with the pet, and what they say), `scene` and `compose` (what the pet would answer),
`lives` and `corpus` (examples from both), `pieces` and `tokenizer` (text to ids), `model`, `optimizer`, `train`.
docs/brains.md is the guide.
"""
