import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isApiError } from './errors'

declare module '@tanstack/react-query' {
  interface Register {
    mutationMeta: {
      /** The caller renders the failure itself; no toast is shown. */
      errorShownInline?: boolean
    }
  }
}

export interface QueryClientEvents {
  /** A request was refused because nobody is signed in. */
  onSignedOut: () => void
  /** A mutation failed whose caller does not render the failure. */
  onMutationError: (error: unknown) => void
}

const MAX_RETRIES = 2

export function createQueryClient({ onSignedOut, onMutationError }: QueryClientEvents): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && onSignedOut() }),
    mutationCache: new MutationCache({
      onError: (error, _variables, _context, mutation) => {
        if (mutation.meta?.errorShownInline) return
        if (isSignedOut(error)) onSignedOut()
        else onMutationError(error)
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: (failures, error) => failures < MAX_RETRIES && isTemporary(error),
      },
    },
  })
}

function isSignedOut(error: unknown): boolean {
  return isApiError(error) && error.status === 401
}

/** A refusal stays a refusal; only an unreachable or failing server is worth another try. */
function isTemporary(error: unknown): boolean {
  return isApiError(error) && (error.isNetworkFailure || error.status >= 500)
}
