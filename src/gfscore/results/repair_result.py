"""A repair: what was added to the logits, what that does to every class, and whether the worst one gained."""

from typing import Any, Literal

from pydantic import Field

from gfscore.results.base_result import Flag, Metric, Provenance, Result, ResultFile, RunInfo, Share


class RepairedPart(Result):
    """A class (or group) before and after the repair, on samples that did not choose it."""

    name: str
    n: int = Field(ge=1)
    before: Metric
    after: Metric
    change: Metric = Field(description="after minus before")
    verdict: Literal["gained", "paid", "unclear"] = Field(description="by the interval of the change")


class WorstPart(Metric):
    """The worst class (or group)."""

    class_: str = Field(alias="class")


class BeforeAfter(Result):
    """One way of judging a repair: the same samples before and after."""

    measure: str = Field(
        description="clean (accuracy), first-order or midpoint (share of radii above eps), great (score), or an "
        "attack: autoattack, apgd (its two APGD attacks) or pgd (20 steps of APGD)"
    )
    n: int = Field(ge=1, description="samples")
    delta: float = Field(gt=0, lt=1, description="all intervals here hold together with probability 1 - delta")
    before: float = Field(description="mean over the parts, which weigh alike")
    after: float
    change: Metric = Field(description="of that mean")
    worst_before: WorstPart
    worst_after: WorstPart = Field(description="which may be another part")
    parts: tuple[RepairedPart, ...]

    def of(self, verdict: str) -> tuple[RepairedPart, ...]:
        """The parts with a verdict: gained, paid or unclear."""
        return tuple(part for part in self.parts if part.verdict == verdict)


class FrontierPoint(Result):
    """A bias that could have been chosen, and what it does on the samples that choose."""

    worst: Share = Field(description="of the worst part")
    mean: Share = Field(description="over the parts, which weigh alike")
    clean: Share = Field(description="mean over the parts of clean accuracy")
    largest_loss: float = Field(description="of any part, against no bias; negative where every part gains")
    bias: tuple[float, ...] = Field(description="added to the logit of each class")
    shares: tuple[Share, ...] = Field(
        default=(), description="of each part, in the order of parts: what worst and mean are of"
    )


class ChosenBy(Result):
    """What the choice rests on."""

    n: int = Field(ge=1, description="samples that chose")
    judged_by: int = Field(ge=1, description="samples that judge: others")
    source: str = Field(description="of the samples that chose")
    judge_source: str = Field(description="of those that judge")
    gradients: bool | None = Field(description="whether slopes are gradients; null: no slopes, from logits alone")
    rivals: int = Field(ge=1, description="other classes that the slopes were measured towards")
    keep_mean: float = Field(description="what the mean may lose")
    max_loss: float = Field(description="what any part may lose, clean or under attack")
    seed: int
    weakest: str = Field(description="the worst part on the samples that chose, before")


class TrainedEpoch(Result):
    """One epoch; shares are of each class in order, null where it has no image."""

    number: int = Field(ge=1)
    lr: float = Field(ge=0, description="rate of learning at its end")
    eps: float = Field(ge=0, description="size of the attack in training at its end, before factors of classes")
    trained: tuple[Share | None, ...] = Field(description="accuracy of training images under the attack of training")
    clean: tuple[Share | None, ...] = Field(description="accuracy of held-out images, under the averaged weights")
    robust: tuple[Share | None, ...] = Field(description="the same under PGD at the common eps")
    watched: Share = Field(description="mean of the classes under PGD, under the weights as they are")


class Baseline(Result):
    """What the same budget gives without the method, on the same samples that judge."""

    name: str = Field(description="at: plain adversarial training; average: the same with its weights averaged")
    gained: bool = Field(description="whether its worst class is shown to have gained on the network before")
    epoch: int = Field(ge=0, description="whose weights these are")
    bias: tuple[float, ...] = Field(description="added to the logits, as with the method")
    judged: BeforeAfter = Field(description="the network before, and the baseline")
    against: BeforeAfter = Field(description="the baseline, and the repaired network: what the method itself adds")


class Training(Result):
    """How a network was trained, and what the samples that select said meanwhile."""

    inner: str = Field(description="attack on training images: nfgsm, or pgd and its steps")
    epochs: int = Field(ge=1, description="that were asked for")
    done: int = Field(ge=0, description="epochs that were trained")
    chosen: int = Field(ge=0, description="epoch whose averaged weights are kept; 0: none was better than the start")
    lr: float
    batch: int
    seed: int
    is_ramped: bool = Field(description="whether attacks grew over the first half, as the start was not robust")
    collapsed: int | None = Field(default=None, description="epoch in which training collapsed")
    train_n: int = Field(ge=1, description="images that trained")
    select_n: int = Field(ge=1, description="images that selected: epoch, stop, bias")
    held_n: int = Field(ge=1, description="of them, those that were attacked after each epoch")
    train_source: str
    left_out: int = Field(default=0, ge=0, description="training images that also select or judge, pixel by pixel")
    forward_passes: int = Field(ge=0, description="at most, of this method")
    backward_passes: int = Field(ge=0)
    then: str = Field(description="what followed: bias or none")
    start_clean: tuple[Share | None, ...] = Field(description="of held-out images, before training")
    start_robust: tuple[Share | None, ...] = Field(description="the same under PGD")
    curves: tuple[TrainedEpoch, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    weights: str | None = Field(default=None, description="file that holds the weights by their names in the network")


class Repair(ResultFile):
    """What ``gfscore repair`` says: before and after on samples that did not choose, and whether the worst gained."""

    schema_: str = Field(default="gfscore.repair/1", alias="schema", pattern=r"^gfscore\.repair/1$")
    name: str
    method: str
    gained: bool = Field(description="the worst part is shown to have gained, whichever it is then")
    reason: str
    delta: float = Field(gt=0, lt=1, description="gained is wrong with at most this probability")
    judged_on: str | None = Field(description="the measure that gained is about; null where nothing was judged")
    norm: str | None = Field(description="of the attack; null: from logits alone")
    eps: float | None
    partition: str = "class"
    class_names: tuple[str, ...]
    bias: tuple[float, ...] = Field(description="added to the logit of each class")
    parts: tuple[str, ...] = Field(default=(), description="classes (or groups) that have samples, in order")
    unrepaired: FrontierPoint = Field(description="no bias, on the samples that chose")
    chosen: FrontierPoint = Field(description="on the samples that chose it, which flatters it")
    choice: ChosenBy
    frontier: tuple[FrontierPoint, ...] = Field(description="worst part against the mean, best mean first")
    clean_frontier: tuple[FrontierPoint, ...] = Field(
        default=(), description="worst part against the mean of clean accuracy, best mean first"
    )
    judged: tuple[BeforeAfter, ...] = Field(default=(), description="the measure that decides is judged_on")
    training: Training | None = Field(default=None, description="null where nothing was trained")
    made_by: RunInfo | None = Field(default=None, description="how the model was run")
    written: str | None = Field(default=None, description="file that holds the repaired model, or the bias")
    flags: tuple[Flag, ...] = ()
    provenance: Provenance

    @property
    def decisive(self) -> BeforeAfter | None:
        """What the verdict rests on."""
        return next((each for each in self.judged if each.measure == self.judged_on), None)

    def apply(self, model: Any) -> Any:
        """The model with the bias: a torch module becomes one, scikit-learn and functions a function of inputs."""
        return self._ask("apply", model)
