"""A brain directory from a local Hugging Face directory: gpt2, gpt_neox and llama, without PyTorch."""
