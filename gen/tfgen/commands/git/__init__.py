"""Steps of the commands that commit and push."""
