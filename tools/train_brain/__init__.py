"""How a brain is made: live simulated days, write the replies, train a tokenizer and a small Llama on them.

Reading order: `states` and `owners` (who lives with the pet, and how), `writer` (what the pet would say), `corpus`
(examples from both), `pieces` and `tokenizer` (text to ids), `model`, `optimizer`, `train`. docs/brains.md is the guide.
"""
