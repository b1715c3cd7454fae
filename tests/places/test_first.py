import json
import numpy as np
from gfscore.cli.main import run

def logits(path, seed=0, n=120):
    rng, labels = np.random.default_rng(seed), np.arange(n) % 3
    np.savez(path, logits=rng.normal(0, 1, (n, 3)) + 2 * np.eye(3)[labels], labels=labels)
    return path

def test_a(store, bucket, tmp_path, capsys):
    store.put_file(str(logits(tmp_path/"net.npz")), f"{bucket}/runs/net.npz")
    assert run(["audit", "net.npz", "--out", "here", "-q"]) == 0
    code = run(["audit", f"s3://{bucket}/runs/net.npz", "--out", f"s3://{bucket}/out"])
    print(capsys.readouterr())
    assert code == 0
    a=json.loads(store.cat_file(f"{bucket}/out/audit.json")); b=json.loads((tmp_path/"here/audit.json").read_text())
    print(a["provenance"])
    a.pop("provenance"); b.pop("provenance")
    assert a==b
    print(run(["report", f"s3://{bucket}/out/audit.json", "-o", f"s3://{bucket}/out/r.html"]), capsys.readouterr(), store.find(bucket))
    assert 0
