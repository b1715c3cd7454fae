"""gfscore where people work already: pytest, scikit-learn, torchmetrics, MLflow and Weights & Biases."""
