"""Steps of `tfgen import`."""
