"""The verdict on one patch, and the evidence for it."""
