"""The parts of the benchmark: each measures with a runner, and gives back one table."""
