"""The shape of a Llama-type brain, under the names that its config.json carries."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama: grouped-query attention, SwiGLU, RMSNorm, rotary positions, one table for embedding and head."""

    vocab_size: int = 2048
    hidden_size: int = 160
    num_hidden_layers: int = 5
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    head_dim: int = 32
    intermediate_size: int = 448
    max_position_embeddings: int = 1024
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads must be a multiple of num_key_value_heads, "
                f"found {self.num_attention_heads} and {self.num_key_value_heads}"
            )
        if self.head_dim % 2:
            raise ValueError(f"head_dim must be even for rotary positions, found {self.head_dim}")

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every weight by its Hugging Face name, as (rows out, columns in)."""
        queries = self.num_attention_heads * self.head_dim
        keys = self.num_key_value_heads * self.head_dim
        found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocab_size, self.hidden_size)}
        for layer in range(self.num_hidden_layers):
            at = f"model.layers.{layer}."
            found |= {
                at + "input_layernorm.weight": (self.hidden_size,),
                at + "self_attn.q_proj.weight": (queries, self.hidden_size),
                at + "self_attn.k_proj.weight": (keys, self.hidden_size),
                at + "self_attn.v_proj.weight": (keys, self.hidden_size),
                at + "self_attn.o_proj.weight": (self.hidden_size, queries),
                at + "post_attention_layernorm.weight": (self.hidden_size,),
                at + "mlp.gate_proj.weight": (self.intermediate_size, self.hidden_size),
                at + "mlp.up_proj.weight": (self.intermediate_size, self.hidden_size),
                at + "mlp.down_proj.weight": (self.hidden_size, self.intermediate_size),
            }
        found["model.norm.weight"] = (self.hidden_size,)
        return found

    def parameters(self) -> int:
        """How many numbers the brain is made of."""
        total = 0
        for extent in self.tensors().values():
            total += extent[0] * (extent[1] if len(extent) == 2 else 1)
        return total

    def config(self, *, eos_token_id: int) -> dict[str, object]:
        """The config.json of this shape."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "attention_bias": False,
            "bos_token_id": None,
            "eos_token_id": eos_token_id,
            "hidden_act": "silu",
            "mlp_bias": False,
            "pad_token_id": eos_token_id,
            "rope_scaling": None,
            "tie_word_embeddings": True,
            "torch_dtype": "float32",
            **asdict(self),
        }
