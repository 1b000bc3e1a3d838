"""The inputs of the learned policy that a crawl has by its settings."""

from models.learner.inputs import Input
from models.learner.semantic import inputs_with
from streams.settings import Settings


def inputs_of(settings: Settings) -> tuple[Input, ...]:
    """Return the inputs, in their order."""
    return inputs_with(settings.semantic is not None, settings.importance, settings.patterns)
