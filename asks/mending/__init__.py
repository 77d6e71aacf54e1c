"""What follows for asks and grants from a change of their agent."""
