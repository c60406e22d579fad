import { useQueries, useQuery } from '@tanstack/react-query'
import { type GitCredential, gitCredentialsQuery } from '@/api/git/git-credentials'
import {
  branchesQuery,
  type FoundBranch,
  type FoundRepository,
  repositoriesQuery,
} from '@/api/git/git-search'
import { useDebounced } from '@/lib/hooks/use-debounced'

const DELAY_MS = 200
const MAX_HOSTS = 6

export interface RepositorySearchResult {
  repositories: FoundRepository[]
  /** The hosts whose search failed, each with the reason. */
  failures: { host: string; reason: string }[]
}

/**
 * Finds repositories whose names contain the typed text, at all git hosts of the user. The search begins when
 * the user stops typing.
 */
export function useRepositorySearch(typed: string): RepositorySearchResult {
  const hosts = useQuery(gitCredentialsQuery()).data ?? []
  const text = useDebounced(searchText(typed), DELAY_MS)
  const asked = text === null ? [] : hosts.slice(0, MAX_HOSTS)
  return useQueries({
    queries: asked.map((host) => repositoriesQuery(host, text ?? '')),
    combine: (results) => ({
      repositories: results.flatMap((result) => result.data ?? []),
      failures: results.flatMap(({ error }, index) =>
        error ? [{ host: asked[index]?.host ?? '', reason: error.message }] : [],
      ),
    }),
  })
}

/** Finds branches of a repository. `repository` is its address at one of the user's git hosts. */
export function useBranchSearch(repository: string, typed: string): FoundBranch[] {
  const hosts = useQuery(gitCredentialsQuery()).data ?? []
  const text = useDebounced(typed.trim(), DELAY_MS)
  const found = hostAndName(useDebounced(repository.trim(), DELAY_MS), hosts)
  const query = useQuery({
    ...branchesQuery(found?.host ?? { host: '', provider: 'github' }, found?.name ?? '', text),
    enabled: found !== null,
  })
  return found === null ? [] : (query.data ?? [])
}

/** Returns the text to search for. Returns null for a path on the server and for a complete address. */
function searchText(typed: string): string | null {
  const text = typed.trim()
  return /^[/~.]|:\/\/|^git@/.test(text) ? null : text
}

function hostAndName(address: string, hosts: GitCredential[]): { host: GitCredential; name: string } | null {
  for (const host of hosts) {
    const origin = host.host.includes('://') ? host.host : `https://${host.host}`
    if (address.startsWith(`${origin}/`)) {
      const name = address
        .slice(origin.length + 1)
        .replace(/\.git$/, '')
        .replace(/^scm\//, '')
        .replace('/_git/', '/')
      return { host, name }
    }
  }
  return null
}
