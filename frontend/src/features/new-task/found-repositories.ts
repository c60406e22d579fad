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

export interface FoundRepositories {
  repositories: FoundRepository[]
  /** Hosts that could not be asked, and why. */
  failures: { host: string; reason: string }[]
}

/** Repositories at all hosts of the user whose name holds what was typed. Asks once typing stops. */
export function useFoundRepositories(typed: string): FoundRepositories {
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

/** Branches of a repository that is given by its address at one of the user's hosts. */
export function useFoundBranches(repository: string, typed: string): FoundBranch[] {
  const hosts = useQuery(gitCredentialsQuery()).data ?? []
  const text = useDebounced(typed.trim(), DELAY_MS)
  const place = placeOf(useDebounced(repository.trim(), DELAY_MS), hosts)
  const query = useQuery({
    ...branchesQuery(place?.host ?? { host: '', provider: 'github' }, place?.name ?? '', text),
    enabled: place !== null,
  })
  return place === null ? [] : (query.data ?? [])
}

/** What to search for; null for what is no name: a path on the server, or a whole address. */
function searchText(typed: string): string | null {
  const text = typed.trim()
  return /^[/~.]|:\/\/|^git@/.test(text) ? null : text
}

function placeOf(address: string, hosts: GitCredential[]): { host: GitCredential; name: string } | null {
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
