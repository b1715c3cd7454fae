"""BAT: training at the boundary itself, where source and target classes are in balance."""

from typing import Any

from gfscore.training.methods.strategy import Batch, Needs, Strategy, Terms, zeros


class Bat(Strategy):
    r"""BAT: the last point of an attack that is still right, the first that is wrong, and neither should be sure.

    .. math:: \ell_i = \mathrm{CE}(f(x^r)) + \beta\, \mathrm{KL}(f(x) \| f(x^w))
        + \mathrm{KL}(f(x^r) \| u) + \mathrm{KL}(f(x^w) \| u)

    Sun and others 2022 (arXiv:2209.07534), beta 6. It has no class variable at all: fairness is to follow from the
    boundary. An image that is wrong from the start has itself as the last right point; one that no step moves has the
    last step as the first wrong point. The authors' code walks twice, once for each point; here one walk finds both.
    Costs an attack in steps (10, where one step is asked for) and one more pass than TRADES.
    """

    name, reference = "bat", "Sun and others 2022, arXiv:2209.07534"
    needs = Needs(stop_points=True)

    def terms(self, batch: Batch) -> Terms:
        """Nothing of the common terms: all of it is about other points."""
        return Terms(clean=zeros(batch), boundary=zeros(batch), attacked=zeros(batch))

    def extra_loss(self, torch: Any, logits: dict[str, Any]) -> Any:
        """The loss of each image, (n,), from logits at x (clean), at both points (right, wrong), and the labels."""
        right, wrong = (logits[name].log_softmax(dim=1) for name in ("right", "wrong"))
        clean = logits["clean"].log_softmax(dim=1)
        fits = -right.gather(1, logits["labels"][:, None])[:, 0]
        moved = (clean.exp() * (clean - wrong)).sum(dim=1)
        log_classes = float(torch.log(torch.tensor(float(right.shape[1]))))
        sure = sum((each.exp() * each).sum(dim=1) + log_classes for each in (right, wrong))
        return fits + self.common_beta * moved + sure
