"""Several structures labelled together: evidence from the labels, refinement, linear head, calibration."""
