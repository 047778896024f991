"""What makers use and users do not need: training, export and grading of brains, and benchmarks."""
