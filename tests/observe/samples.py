"""Metrics as Prometheus reads them."""

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> tuple[dict[str, str], Samples]:
    """What a parser that is not ours makes of an exposition: types and samples."""
    types: dict[str, str] = {}
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        assert family.name not in types, "a family stands once"
        types[family.name] = family.type
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples, f"{key} stands twice"
            samples[key] = sample.value
    return types, samples


def value(samples: Samples, name: str, /, **labels: str) -> float:
    """The one sample that has these labels."""
    found = [
        number
        for (each, given), number in samples.items()
        if each == name and labels.items() <= dict(given).items()
    ]
    assert len(found) == 1, found
    return found[0]
