"""Config files of every kind as documents whose values can be changed in place."""
