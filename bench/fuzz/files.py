"""A file that another program may have written, any bytes: a state, a classifier, a table of meanings."""

from models.classifier import ClassifierError
from models.classifier import unpack as unpack_classifier
from models.reuse import LearnedStateError
from models.reuse import unpack as unpack_state
from models.semantic.table import SemanticTableError
from models.semantic.table import unpack as unpack_table


def sealed(data: bytes) -> None:
    """Read a file as each kind that there is; what is none is an error of one line."""
    for unpack, refused in (
        (unpack_state, LearnedStateError),
        (unpack_classifier, ClassifierError),
        (unpack_table, SemanticTableError),
    ):
        try:
            unpack(data)
        except refused as error:
            assert "\n" not in str(error)
