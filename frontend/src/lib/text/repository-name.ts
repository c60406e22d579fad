/** Returns the short name of a repository: "app" for /srv/app, "owner/app" for a git URL. */
export function repositoryName(repository: string): string {
  const trimmed = repository.replace(/[/\\]+$/, '').replace(/\.git$/, '')
  const parts = trimmed.split(/[/\\:]+/).filter(Boolean)
  const isLocal = /^(\/|~|[a-zA-Z]:[/\\])/.test(repository)
  return parts.slice(isLocal ? -1 : -2).join('/') || repository
}
