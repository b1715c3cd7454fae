"""Follow the class scores of a torch network over its validation batches; the metrics share one update.

Run: pip install 'gfscore[torchmetrics]' && python examples/torchmetrics_validation.py
"""

from gfscore.integrations.torch_metrics import NRGC, RDI, WCR, ClassScores, FPGreat, torch  # mends torchvision first

from torchmetrics import MetricCollection  # isort: skip

torch.manual_seed(0)
network = torch.nn.Linear(8, 3)
labels = torch.arange(300) % 3
inputs = torch.randn(300, 8) + 3 * torch.nn.functional.one_hot(labels, 8)
torch.nn.init.eye_(network.weight)

metrics = MetricCollection([kind(num_classes=3) for kind in (ClassScores, WCR, RDI, NRGC, FPGreat)])
with torch.no_grad():
    for batch, targets in zip(inputs.split(64), labels.split(64)):
        metrics.update(network(batch), targets)
for name, value in metrics.compute().items():
    print(name, [round(number, 3) for number in value.reshape(-1).tolist()])
