"""The paper's tables, measured anew: `make reproduce ARGS="--quick --data DIR --out DIR"`."""
