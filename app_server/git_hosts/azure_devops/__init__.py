"""Azure DevOps Services and Server."""
