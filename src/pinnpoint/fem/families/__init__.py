"""Many instances of one problem: neural operators, coefficients by groups, references."""
