"""Stopping a turn from another thread."""


class Cancellation:
    """One turn's stop: `cancel` may be called from any thread, any number of times, and lasts.

    ONNX Runtime checks the flag of its run options between nodes (1 to 80 ms, facts measured on two cores); the flag
    stays set, so each turn has a `Cancellation` of its own.
    """

    def __init__(self) -> None:
        import onnxruntime

        self.run_options = onnxruntime.RunOptions()
        self.prompt_options = onnxruntime.RunOptions()
        """Of a step that runs a prompt: behind it ONNX Runtime gives back what its arena took, which is megabytes for
        each hundred tokens and would stay."""
        self.prompt_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self.is_cancelled = False

    def cancel(self) -> None:
        """Stop the step that runs, and every later one."""
        self.is_cancelled = True
        self.run_options.terminate = True
        self.prompt_options.terminate = True


class StepCancelled(Exception):  # noqa: N818 - control flow inside the room, never seen outside
    """A step was stopped by its turn's `Cancellation`."""
