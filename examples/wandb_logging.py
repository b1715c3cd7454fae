"""Log an audit of an embedded network to Weights & Biases: metrics with their intervals, a table, the report.

Run: pip install 'gfscore[wandb]' && WANDB_MODE=offline python examples/wandb_logging.py
"""

import wandb

import gfscore
from gfscore.integrations.tracking import log_audit
from gfscore.jobs.sources import samples_of

audit = gfscore.audit_models({"trades": samples_of("zoo:trades", "zoo:digits")})
with wandb.init(project="robustness", name="trades") as run:
    log_audit(audit, to="wandb")
    print(f"WCR {run.summary['gfscore/wcr']:.3f}")
