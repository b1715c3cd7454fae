"""The training methods: each a strategy that reads like its formula, by the name that it is asked for."""

from gfscore.training.methods.bat import Bat
from gfscore.training.methods.cfa import Cfa
from gfscore.training.methods.csr import Csr
from gfscore.training.methods.dafa import Dafa
from gfscore.training.methods.faal import Coda, Faal
from gfscore.training.methods.frl import Frl, FrlRemargin
from gfscore.training.methods.plain import PlainTraining, Trades
from gfscore.training.methods.strategy import Batch, Needs, Strategy, Terms
from gfscore.training.methods.wat import Wat

STRATEGIES: dict[str, type[Strategy]] = {
    each.name: each for each in (Faal, Coda, Wat, Frl, FrlRemargin, Cfa, Bat, Csr, Dafa, PlainTraining, Trades)
}

__all__ = ["STRATEGIES", "Batch", "Needs", "Strategy", "Terms"]
