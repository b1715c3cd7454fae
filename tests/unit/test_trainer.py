"""The trainer on images of a few pixels: it resumes to the same weights, sees collapses, and keeps parts apart."""

import copy
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gfscore.errors import OptionError, RunError  # noqa: E402
from gfscore.measures import Run  # noqa: E402
from gfscore.scores import Norm  # noqa: E402
from gfscore.training import STRATEGIES, Recipe  # noqa: E402
from gfscore.training.inner_attack import InnerAttack  # noqa: E402
from gfscore.training.parts import PartOfRun, split_rows, without_copies  # noqa: E402
from gfscore.training.trained import Epoch, is_collapse  # noqa: E402
from gfscore.training.trainer import Trainer  # noqa: E402

K = 3


class Pictures:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = np.arange(n) % K
        centres = np.random.default_rng(5).uniform(0.2, 0.8, (K, 1, 4, 4))
        self.pixels = np.clip(centres[self.labels] + rng.normal(0, 0.15, (n, 1, 4, 4)), 0, 1).astype(np.float32)

    def take(self, rows):
        return self.pixels[rows]


def network(dropout=0.0, seed=0):
    torch.manual_seed(seed)
    layers = torch.nn.Flatten(), torch.nn.Linear(16, 12), torch.nn.ReLU(), torch.nn.Dropout(dropout)
    made = torch.nn.Sequential(*layers, torch.nn.Linear(12, K))
    made.register_buffer("scale", torch.ones(1))
    return made


def trainer(method="at", *, epochs=3, checkpoint=None, lr=0.05, dropout=0.0, **words):
    recipe = Recipe(method=method, norm="linf", eps=0.05, epochs=epochs, lr=lr, batch=16, **words)
    parts = {"train": Pictures(60, 1), "held": Pictures(45, 2)}
    return Trainer(
        module=network(dropout), recipe=recipe, n_classes=K, **parts, checkpoint=checkpoint, key=recipe.key()
    )


@pytest.mark.parametrize("method", STRATEGIES)
def test_every_method_trains(method):
    found = trainer(method, epochs=2, lr=0.02).run()
    assert len(found.epochs) == 2
    moved = [not torch.equal(found.weights[name], each) for name, each in network().state_dict().items()]
    assert any(moved)
    assert all(torch.isfinite(each).all() for each in found.weights.values())


def test_training_learns():
    found = trainer("at", epochs=12).run()
    assert found.epochs[-1].value > found.start.value + 0.5  # worst class plus mean under PGD


@pytest.mark.parametrize("method", ["wat", "cfa", "csr"])
def test_an_interrupted_run_goes_on_to_the_same_weights(method, tmp_path):
    whole = trainer(method, dropout=0.3).run()
    path = tmp_path / "run.safetensors"
    first = trainer(method, dropout=0.3, checkpoint=path)
    steps = []

    def stop(done, _total):
        steps.append(done)
        if done == 6:  # within the second of three epochs
            raise KeyboardInterrupt

    first.progress = stop
    with pytest.raises(KeyboardInterrupt):
        first.run()
    torch.manual_seed(99)  # nothing that was drawn elsewhere matters
    resumed = trainer(method, dropout=0.3, checkpoint=path).run()
    assert resumed.resumed == 1
    for name, tensor in whole.weights.items():
        assert torch.equal(resumed.weights[name], tensor), name
        assert torch.equal(resumed.best[name], whole.best[name]), name
    assert resumed.epochs == whole.epochs
    again = trainer(method, dropout=0.3, checkpoint=path).run()  # all is there: nothing is trained
    assert again.resumed == 3
    assert torch.equal(again.weights["1.weight"], whole.weights["1.weight"])


def test_a_checkpoint_of_another_recipe_or_a_damaged_one_is_not_used(tmp_path):
    path = tmp_path / "run.safetensors"
    trainer(checkpoint=path).run()
    assert trainer(checkpoint=path, seed=1).run().resumed == 0
    path.write_bytes(path.read_bytes()[:100])
    assert trainer(checkpoint=path, seed=1).run().resumed == 0


def test_a_start_that_is_not_robust_meets_attacks_that_grow():
    made = trainer(epochs=4)
    with torch.no_grad():
        made.module[-1].bias.copy_(torch.tensor([50.0, 0.0, 0.0]))  # everything is class 0
    found = made.run()
    assert not found.is_ramped  # a third is right, whatever the attack does
    made = trainer(epochs=4)
    with torch.no_grad():
        made.module[-1].weight.zero_()
        made.module[-1].bias.zero_()
    made.held.labels = np.where(made.held.labels == 0, 1, made.held.labels)  # ties go to class 0: none is right
    found = made.run()
    assert found.is_ramped
    assert [epoch.eps for epoch in found.epochs] == pytest.approx([0.025, 0.05, 0.05, 0.05])


def test_training_that_goes_astray_says_so():
    with pytest.raises(RunError, match=r"training by at went astray: its loss is not finite. Give a smaller --lr."):
        trainer(lr=1e30, epochs=4).run()


def epoch(number, trained, watched):
    shares = (trained,) * K
    return Epoch(number=number, lr=0.1, eps=0.1, trained=shares, clean=shares, robust=shares, watched=watched, value=1)


def test_a_collapse_is_a_fall_that_the_attack_of_training_does_not_see():
    before = [epoch(1, 0.4, 0.4), epoch(2, 0.45, 0.42)]
    assert is_collapse(before, epoch(3, 0.8, 0.05))
    assert not is_collapse(before, epoch(3, 0.3, 0.05))  # training sees it, too
    assert not is_collapse(before, epoch(3, 0.8, 0.38))  # no fall to speak of
    assert not is_collapse([], epoch(1, 0.8, 0.0))


@pytest.mark.parametrize("norm", [Norm.LINF, Norm.L2])
def test_attacks_keep_their_size_and_find_more_than_noise(norm):
    module, pictures = network(), Pictures(60, 1)
    images, labels = torch.from_numpy(pictures.pixels), torch.from_numpy(pictures.labels)
    sizes = torch.linspace(0.01, 0.3, 60)
    loss = torch.nn.functional.cross_entropy
    for steps in (None, 5):
        moved = InnerAttack(norm=norm, steps=steps).move(torch, module, images, labels, sizes)
        away = (moved - images).flatten(1)
        lengths = away.abs().amax(dim=1) if norm is Norm.LINF else away.norm(dim=1)
        most = 1.0 if steps else 3.0  # N-FGSM: noise of twice eps, a step of eps, and no way back
        assert bool((lengths <= most * sizes + 1e-6).all())
        assert float(lengths[-1]) > float(lengths[0])  # each image has a size of its own
        assert float(moved.min()) >= 0
        assert float(moved.max()) <= 1
        with torch.no_grad():
            assert float(loss(module(moved), labels)) > float(loss(module(images), labels))


def test_a_walk_stops_at_the_last_right_and_the_first_wrong_point():
    module, pictures = network(), Pictures(60, 1)
    images, labels = torch.from_numpy(pictures.pixels), torch.from_numpy(pictures.labels)
    walked = InnerAttack(norm=Norm.LINF, steps=10).walk(torch, module, images, labels, torch.full((60,), 0.3))
    right, wrong = (module(walked[name]).argmax(dim=1) == labels for name in ("right", "wrong"))
    clean, end = (module(each).argmax(dim=1) == labels for each in (images, walked["attacked"]))
    assert bool((~wrong | end).all())  # a first wrong point that is right is the end of a walk that stays right
    moved = (walked["right"] != images).flatten(1).any(dim=1)
    assert bool((right | ~moved).all())  # a last right point that is wrong is the image itself
    assert bool(clean.any())


class Data:
    """Labelled images as a run has them."""

    def __init__(self, n):
        self.labels, self.sample_ids = np.arange(n) % K, None


def test_parts_share_no_row_and_every_class_has_its_share():
    run = copy.copy(type("Stub", (), {"data": Data(120)})())
    parts = split_rows(run, (0.5, 0.25, 0.25), seed=3)
    assert sorted(np.concatenate(parts).tolist()) == list(range(120))
    assert [np.bincount(run.data.labels[rows]).tolist() for rows in parts] == [[20] * K, [10] * K, [10] * K]
    assert parts[0].tolist() != split_rows(run, (0.5, 0.25, 0.25), seed=4)[0].tolist()


def test_training_images_that_also_judge_are_left_out(tmp_path):
    from gfscore.inputs.data import load_data
    from gfscore.inputs.models import load_model

    digits = load_data("zoo:digits")
    images, labels = digits.images(slice(0, 60)), digits.labels[:60]
    np.savez(tmp_path / "train.npz", images=images, labels=labels)
    np.savez(tmp_path / "judge.npz", images=images[50:], labels=labels[50:])
    model = load_model("zoo:standard")
    train, judge = (Run(model=model, data=load_data(str(tmp_path / f"{name}.npz"))) for name in ("train", "judge"))
    parts = [PartOfRun(run=run, rows=np.arange(run.n_samples)) for run in (train, judge)]
    kept, left_out = without_copies(*parts)
    assert kept.rows.tolist() == list(range(50))
    assert left_out == 10


def test_images_that_select_do_not_judge():
    """The same data given twice: what selects is left out of what judges, and neither trains."""
    from gfscore.inputs.data import load_data
    from gfscore.inputs.models import load_model
    from gfscore.jobs.training_parts import find_parts

    run = Run(model=load_model("zoo:standard"), data=load_data("zoo:digits"))
    found = find_parts(run, None, run, per_class=60, least=2, seed=0)
    rows = [set(part.rows.tolist()) for part in (found.train, found.select, found.audit)]
    assert len(rows[2]) == 300 - found.not_judging < 300
    assert rows[1].isdisjoint(rows[2])
    assert rows[0].isdisjoint(rows[1] | rows[2])


def test_classes_alternate_in_what_is_held_out():
    mixed = PartOfRun(run=type("Stub", (), {"data": Data(90)})(), rows=np.arange(90)).mixed(0)
    assert sorted(mixed.rows.tolist()) == list(range(90))
    assert np.bincount(mixed.labels[:30]).min() >= 9


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"method": "fgsm"}, "method 'fgsm' trains nothing. Choose faal, coda, wat,"),
        ({"inner": "cw"}, "inner attack 'cw' is not known. Choose nfgsm, or pgd with its steps, as pgd10."),
        ({"lr": -1.0}, "lr -1.0 is no rate of learning. Give a number above 0, such as 0.003."),
        ({"epochs": 0}, "epochs is 0. Give 1 or more."),
        ({"eps": 0.0}, "eps 0 is not the size of an attack."),
        ({"beta": 2.0}, "beta weighs a divergence, and the loss of at has none. Leave it out."),
        ({"method": "trades", "beta": 0.0}, "beta 0 weighs nothing. Give a number above 0, such as 6."),
    ],
)
def test_recipes_that_cannot_be_are_refused(words, told):
    with pytest.raises(OptionError) as caught:
        Recipe(**{"method": "at", "norm": "linf", "eps": 0.1, **words})
    assert told in str(caught.value)


def test_costs_are_known_before_a_run():
    def passes(method, **words):
        return Recipe(method=method, norm="linf", eps=0.1, epochs=1, **words).passes(1000, 0)[1]

    assert passes("at") == passes("faal") == 2000  # an attack and a pass
    assert passes("trades") == passes("dafa") == 3000
    assert passes("csr") == 4000  # an attack before the epoch, too
    assert passes("bat") == 13000  # ten steps, and passes at three points
    assert passes("at", inner="pgd10") == 11000


def test_patience_lasts_most_of_a_run():
    recipe = Recipe(method="wat", norm="linf", eps=0.1, epochs=60, beta=2.0)
    assert recipe.waits == 45
    assert Recipe(method="wat", norm="linf", eps=0.1, epochs=4).waits == 10
    assert Recipe(method="wat", norm="linf", eps=0.1, epochs=4, patience=3).waits == 3
    plain = recipe.of_method("at")
    assert (plain.method, plain.epochs, plain.beta) == ("at", 60, None)


def test_an_epoch_that_gives_up_the_worst_class_is_not_chosen(monkeypatch):
    """Whatever the mean gains: a repair is of the worst class."""
    scripted = iter([(0.2, 0.3, 0.3), (0.1, 1.0, 1.0), (0.2, 0.4, 0.4), (0.0, 1.0, 1.0)])
    plain = Trainer._epoch

    def epoch(self, *told):
        robust = next(scripted)
        return replace(plain(self, *told), robust=robust, value=min(robust) + sum(robust) / K)

    monkeypatch.setattr(Trainer, "_epoch", epoch)
    found = trainer("at", epochs=3).run()
    assert [round(each.value, 2) for each in found.epochs] == [0.8, 0.53, 0.67]
    assert found.chosen == 2


def rare(n, seed):
    """Images of which one class in three is rare: a tenth of it is left."""
    pictures = Pictures(n, seed)
    kept = (pictures.labels != K - 1) | (np.arange(n) % (10 * K) == K - 1)
    pictures.labels, pictures.pixels = pictures.labels[kept], pictures.pixels[kept]
    return pictures


@pytest.mark.parametrize("method", ["faal", "coda", "wat", "frl"])
def test_a_class_with_few_images_is_raised_by_methods_that_weigh_classes(method):
    """More than by plain training of the same budget, on images that were not trained on."""
    start = trainer("at", epochs=12)
    start.train = rare(300, 1)
    weights = start.run().weights

    def after(name, **words):
        made = trainer(name, epochs=20, **words)
        made.train, made.held = rare(300, 1), Pictures(300, 9)
        made.module.load_state_dict(weights)
        found = made.run()
        return found.start.robust[K - 1], found.epochs[-1].robust[K - 1]

    before, repaired = after(method, **({"beta": 1.0} if method in ("wat", "frl") else {}))
    plain = after("at")[1]
    assert repaired > max(before, plain) + 0.3
