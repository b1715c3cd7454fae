"""Log an audit of an embedded network to MLflow: metrics with their intervals, a table of classes, the report.

Run: pip install 'gfscore[mlflow]' && python examples/mlflow_logging.py && mlflow ui
"""

import mlflow

import gfscore
from gfscore.integrations.tracking import log_audit
from gfscore.jobs.sources import samples_of

audit = gfscore.audit_models({"trades": samples_of("zoo:trades", "zoo:digits")})
with mlflow.start_run(run_name="trades"):
    log_audit(audit, to="mlflow")
    kept = mlflow.get_run(mlflow.active_run().info.run_id).data.metrics
print(f"WCR {kept['gfscore/wcr']:.3f} [{kept['gfscore/wcr_low']:.3f}, {kept['gfscore/wcr_high']:.3f}]")
