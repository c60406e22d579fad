"""What git hosts send when something happens: whether it is genuine, and what it says. Pure."""
