"""The paper's tables, ours beside the peers', measured in one run and written as one page.

A run is a list of cells (`plan`), each measured in a process of its own (`worker`, `measure`) and kept as one small
file (`store`); the page (`page`) is made of whatever has been measured. `run.reproduce` does it all.
"""
