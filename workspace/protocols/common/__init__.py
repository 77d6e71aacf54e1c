"""What driving an agent behind somebody else's server has in common, whatever that server speaks."""
