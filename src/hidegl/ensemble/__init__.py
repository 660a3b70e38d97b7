"""Several structures labelled together: experts, their posterior weights, class sizes, and weak sources."""
