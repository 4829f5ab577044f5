"""Formulas as users write them: parsed, never evaluated as code; derivatives and signs."""
