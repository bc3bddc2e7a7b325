"""Where plans run, and what can be proved of a plan beforehand."""
