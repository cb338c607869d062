"""Nothing is fetched unless asked for: a whole tour without a single connection."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SCRIPT = """
    import sys
    def no_network(event, arguments):
        if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "urllib.Request", "http.client.connect"):
            raise SystemExit(f"{event} {arguments}")
    sys.addaudithook(no_network)
    import spherevec
    texts = [" ".join(f"w{(i * j) % 7}" for j in range(1, 9)) for i in range(1, 30)]
    model = spherevec.train(texts, vector_size=4, min_count=1, threads=1, epochs=1)
    model.save(sys.argv[1])
    model = spherevec.load(sys.argv[1], verify=True)
    model.infer(["w1 w2"]), model.words.most_similar("w1")
    model.search("w1 w2"), model.topics(k=2, threads=1)
    from spherevec.cli import cli, main
    place, out = sys.argv[1], sys.argv[1] + "."
    open(out + "txt", "w").write("\\n".join(texts[:5]))
    open(out + "many.txt", "w").write("\\n".join(texts * 4))
    open(out + "labels", "w").write("\\n".join("ab"[i % 2] for i in range(len(texts))))
    lines = [
        ["info", place], ["check", place], ["neighbors", place, "w1"], ["search", place, "w1 w2"],
        ["topics", place, "--k", "2", "--out", out + "topics"], ["explore", place, "--out", out + "html"],
        ["export", place, "--words", out + "w2v"],
        ["infer", place, out + "txt", "--out", out + "npy"], ["import", out + "w2v", "--out", out + "imported"],
        ["update", place, out + "txt", "--out", out + "grown", "--threads", "1"], ["tokenize", out + "txt"],
        ["train", out + "txt", "--out", out + "trained", "--min-count", "1", "--epochs", "1"],
        ["analogy", place, "w1", "w2", "w3"],
        ["evaluate", "clustering", place, "--labels", out + "labels"],
        ["demo", "--corpus", out + "many.txt", "--out", out + "demo.html"],
    ]
    if missing := set(cli.list_commands(None)) - {line[0] for line in lines} - {"serve"}:  # which listens
        raise SystemExit(f"not tried: {missing}")
    for line in lines:
        if main(line):
            raise SystemExit(f"{line} failed")
"""


def test_nothing_connects_anywhere(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), tmp_path / "m"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
