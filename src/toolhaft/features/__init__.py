"""What a server offers, one module per part of the specification."""
