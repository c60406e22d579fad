import { useQuery } from '@tanstack/react-query'
import { repositoryOwnerQuery, type RepositoryOwner } from '@/api/people/teams'
import { useDebounced } from '@/lib/hooks/use-debounced'

const DELAY_MS = 300

/** Returns the team that the typed repository belongs to. The request is sent when the user stops typing. */
export function useRepositoryOwner(typed: string): RepositoryOwner | null {
  const repository = useDebounced(typed.trim(), DELAY_MS)
  // Repositories on the server's disk belong to no team. A word without a slash is not a complete address
  // yet.
  const isNamed = repository.includes('/') && !/^[/~.]/.test(repository)
  const query = useQuery({ ...repositoryOwnerQuery(repository), enabled: isNamed })
  return (isNamed && query.data) || null
}
