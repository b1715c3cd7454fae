"""Choose the regularisation of a classifier by its worst class instead of its accuracy.

Run: pip install 'gfscore[sklearn]' && python examples/sklearn_selection.py
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from gfscore.integrations.sklearn_scorer import RobustnessScorer

images, labels = load_digits(return_X_y=True)
search = GridSearchCV(
    LogisticRegression(max_iter=1000),
    {"C": [0.0001, 0.001, 0.01]},
    scoring={"wcr": RobustnessScorer(metric="wcr"), "rdi": RobustnessScorer(metric="rdi")},
    refit="wcr",
    cv=3,
).fit(images / 16, labels)
for strength, wcr, rdi in zip(*(search.cv_results_[name] for name in ("param_C", "mean_test_wcr", "mean_test_rdi"))):
    print(f"C = {strength}: WCR {wcr:.3f}, RDI {-rdi:.3f}")
