"""From one fp16 source to the graphs of a brain directory: same weights, same bytes."""
