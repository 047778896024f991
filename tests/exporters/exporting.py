"""Brain directories by exporters that other people wrote: Optimum, torch.onnx, and ONNX Runtime's own quantiser."""

import shutil
from pathlib import Path

import tiny_models
import torch
import transformers

GRAPH, QUANTISED = "onnx/model.onnx", "onnx/model_quantized.onnx"
KEPT = ("config.json", "tokenizer.json", "greedy.json")


def export_with_optimum(source: Path, out: Path) -> None:
    """`optimum-cli export onnx --task text-generation-with-past`, as a call."""
    from optimum.exporters.onnx import main_export

    made = out / "made"
    main_export(str(source), output=made, task="text-generation-with-past", device="cpu", do_validation=False)
    lay_out(made / "model.onnx", made, source, out)
    shutil.rmtree(made)


class WithPast(torch.nn.Module):
    """A Transformers model with flat caches: what torch.onnx can give names to."""

    def __init__(self, model: transformers.PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *pasts):  # type: ignore[no-untyped-def]
        """Logits, then key and value of each layer, grown."""
        pairs = tuple(zip(pasts[0::2], pasts[1::2], strict=True))
        cache = transformers.DynamicCache.from_legacy_cache(pairs)
        result = self.model(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache,
            use_cache=True,
        )  # fmt: skip
        return (result.logits, *(part for pair in result.past_key_values.to_legacy_cache() for part in pair))


def export_with_torch(source: Path, out: Path) -> None:
    """`torch.onnx.export` over torch.export (its newer exporter; Optimum uses the older one)."""
    model = transformers.AutoModelForCausalLM.from_pretrained(source, attn_implementation="eager").eval()
    heads = getattr(model.config, "num_key_value_heads", None) or model.config.num_attention_heads
    width = model.config.hidden_size // model.config.num_attention_heads
    names = [f"{layer}.{part}" for layer in range(model.config.num_hidden_layers) for part in ("key", "value")]
    pasts = [torch.zeros(1, heads, 3, width) for _ in names]
    ids = torch.tensor([[5, 6]])
    arguments = (ids, torch.ones(1, 5, dtype=torch.int64), torch.tensor([[3, 4]]), *pasts)
    dynamic = torch.export.Dim.AUTO
    axes = ({1: dynamic}, {1: dynamic}, {1: dynamic}, tuple({2: dynamic} for _ in names))
    (out / "onnx").mkdir(parents=True)
    torch.onnx.export(
        WithPast(model).eval(), arguments, str(out / GRAPH), dynamo=True, external_data=False, dynamic_shapes=axes,
        input_names=["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{name}" for name in names)],
        output_names=["logits", *(f"present.{name}" for name in names)],
    )  # fmt: skip
    lay_out(out / GRAPH, source, source, out)


def quantise(out: Path) -> None:
    """The graph of `out` by ONNX Runtime's dynamic quantiser, int8 weights."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(out / GRAPH, out / QUANTISED, weight_type=QuantType.QInt8)


def lay_out(graph: Path, made: Path, source: Path, out: Path) -> None:
    """The files of a brain directory where the design wants them; no brain.json, as of any foreign export."""
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    if graph != out / GRAPH:
        shutil.move(graph, out / GRAPH)
    for name in KEPT:
        shutil.copyfile((made if (made / name).exists() else source) / name, out / name)


EXPORTERS = {"optimum": export_with_optimum, "torch": export_with_torch}


def export(model_type: str, exporter: str, folder: Path) -> Path:
    """A foreign brain directory `folder/TYPE-EXPORTER` with fp32 and q8 graphs and `greedy.json`."""
    source, out = folder / f"{model_type}-source", folder / f"{model_type}-{exporter}"
    tiny_models.write_source(model_type, source)
    EXPORTERS[exporter](source, out)
    quantise(out)
    return out
