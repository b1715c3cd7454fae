"""AT and TRADES: adversarial training that treats all classes alike, the baselines of every other method."""

from gfscore.training.methods.strategy import Batch, Needs, Strategy, Terms, ones, zeros


class PlainTraining(Strategy):
    r"""Adversarial training: :math:`\ell_i = \mathrm{CE}(f(x'_i))`.

    Madry and others 2018 (arXiv:1706.06083); with the one-step attack N-FGSM de Jorge and others 2022
    (arXiv:2202.01181). Costs an attack and a pass for each batch.
    """

    name, reference = "at", "Madry and others 2018, arXiv:1706.06083"
    is_class_fair = False
    default_beta = None
    needs = Needs(clean_pass=False)

    def terms(self, batch: Batch) -> Terms:
        """Attacked images alone."""
        return Terms(clean=zeros(batch), boundary=zeros(batch), attacked=ones(batch))


class Trades(Strategy):
    r"""TRADES: :math:`\ell_i = \mathrm{CE}(f(x_i)) + \beta\, \mathrm{KL}(f(x_i) \| f(x'_i))`, beta 6.

    Zhang and others 2019 (arXiv:1901.08573). The authors attack the divergence itself; here every method attacks the
    cross-entropy, so that methods differ in their loss alone. Costs one more pass than AT.
    """

    name, reference = "trades", "Zhang and others 2019, arXiv:1901.08573"
    is_class_fair = False

    def terms(self, batch: Batch) -> Terms:
        """Clean images, and how far the attack moves them."""
        return Terms(clean=ones(batch), boundary=ones(batch), attacked=zeros(batch))
