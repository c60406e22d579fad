"""Support for Azure DevOps Services and Azure DevOps Server."""
