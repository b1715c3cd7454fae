"""Bytes that change on disk: what was damaged is computed again, the rest is not, and no number ever differs."""

import json

from catalogue import cases
from injected import POINTS
from jobs import check_the_same_in_the_end, prepared

BITS = (0x01, 0x10, 0x80, 0xFF)


def damage(path, case):
    """Change one byte, somewhere in the file."""
    content = bytearray(path.read_bytes())
    position = int(case.share * len(content))
    content[position] ^= BITS[position % len(BITS)]
    path.write_bytes(content)


def store_file(folder, pattern):
    (path,) = (folder / "work" / "store").glob(pattern)
    return path


def under_way(zygote, undisturbed, folder, case):
    """A run that was killed when its shards were all there."""
    finishing = undisturbed(case.job).points[POINTS] - 50
    fault = {"kind": "point", "events": POINTS, "index": finishing, "action": "kill"}
    assert zygote.run(case.job, prepared(folder, case.job), fault).code == -9
    return sorted((folder / "work" / "store").glob("??/*/shard-*"))


@cases("changed byte in a shard")
def test_a_shard(zygote, undisturbed, tmp_path, case):
    shards = under_way(zygote, undisturbed, tmp_path, case)
    damage(shards[int(97 * case.share) % len(shards)], case)
    check_the_same_in_the_end(zygote, tmp_path, case.job, undisturbed(case.job).results)


@cases("changed byte in a finished file")
def test_a_finished_file(zygote, undisturbed, tmp_path, case):
    expected = undisturbed(case.job).results
    assert zygote.run(case.job, prepared(tmp_path, case.job)).code == 0
    finished = {"audit": "logits", "votes": "votes"}[case.job]
    damage(store_file(tmp_path, f"??/*/{finished}.safetensors"), case)
    told = zygote.run(["store", "verify", "--store", "store"], tmp_path)
    assert told.stdout.startswith("damaged: ")
    check_the_same_in_the_end(zygote, tmp_path, case.job, expected)
    told = zygote.run(["store", "verify", "--store", "store"], tmp_path)
    assert "damaged" not in told.stdout


@cases("changed byte in an entry's description")
def test_a_description(zygote, undisturbed, tmp_path, case):
    """It decides nothing: what is looked for is known before it is found. But it is put right."""
    assert zygote.run(case.job, prepared(tmp_path, case.job)).code == 0
    path = store_file(tmp_path, "??/*/entry.json")
    sound = path.read_bytes()
    damage(path, case)
    again = zygote.run(case.job, tmp_path)
    assert (again.code, again.stderr) == (0, "")
    found, expected = json.loads(path.read_bytes()), json.loads(sound)
    assert found["recipe"] == expected["recipe"]
    path.write_bytes(sound)
    check_the_same_in_the_end(zygote, tmp_path, case.job, undisturbed(case.job).results)


@cases("changed byte in a log of scores")
def test_a_log_of_scores(zygote, undisturbed, tmp_path, case):
    assert zygote.run(case.job, prepared(tmp_path, case.job)).code == 0
    damage(store_file(tmp_path, "gate/*/scores.bin"), case)
    check_the_same_in_the_end(zygote, tmp_path, case.job, undisturbed(case.job).results)
    gate = json.loads((tmp_path / "work" / "out" / "gate.json").read_text())
    (used,) = (model["adaptive"]["from_store"] for model in gate["models"])
    assert used > 0  # only the record that was damaged is computed again


@cases("changed byte in the sum of a stream")
def test_a_sum(zygote, undisturbed, tmp_path, case):
    assert zygote.run(case.job, prepared(tmp_path, case.job)).code == 0
    damage(store_file(tmp_path, "sums/*/sum.safetensors"), case)
    check_the_same_in_the_end(zygote, tmp_path, case.job, undisturbed(case.job).results)
