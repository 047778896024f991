"""The start-up check: a real server with a CPU-only ONNX Runtime that is asked for a GPU.

`python -m tools.startup_check --out DIR` makes, in a fresh directory outside Git, a virtual environment with the locked
packages and the plain `onnxruntime` wheel, starts `tokenling serve` from it with `_GPU_DEVICE` set, and requires: the
fall-back to the CPU, private access, CORS and no-store, a real reply of the brain, transfer both ways, deletion. What
was found is in `DIR/report.json`: names, verdicts and times, never a key or a save.
"""
