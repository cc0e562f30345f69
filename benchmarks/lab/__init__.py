"""The fault lab: small training programs, healthy ones and ones with a known fault, and how well the doctor
distinguishes them."""
