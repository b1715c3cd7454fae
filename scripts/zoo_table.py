"""Print the Markdown table of ``docs/zoo.md`` from the manifest: ``python scripts/zoo_table.py``."""

import gfscore.zoo


def main() -> None:
    """One row per network, with its least protected class."""
    models, names = gfscore.zoo.models(), gfscore.zoo.test_set().class_names
    radius = f"{models[0].attack_radius:g}"
    print(
        f"| network | trained how | clean accuracy | accuracy under attack, L2 {radius} | worst class | GREAT score |"
    )
    print("|---|---|--:|--:|--:|--:|")
    for model in models:
        worst = min(model.class_attack_accuracies)
        label = names[model.class_attack_accuracies.index(worst)]
        print(
            f"| `{model.name}` | {model.description} | {100 * model.clean_accuracy:.1f} % "
            f"| {100 * model.attack_accuracy:.1f} % | {label}: {100 * worst:.1f} % | {model.great_score:.3f} |"
        )


if __name__ == "__main__":
    main()
