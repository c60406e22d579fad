import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isApiError, type ApiError } from './errors'

declare module '@tanstack/react-query' {
  interface Register {
    mutationMeta: {
      /** The caller renders the failure itself; no toast is shown. */
      errorShownInline?: boolean
      /** Doing it twice is the same as doing it once, although it is a POST. */
      isRepeatable?: boolean
    }
  }
}

export interface QueryClientEvents {
  /** A request was refused because no user is signed in; `reason` is the code of the refusal. */
  onSignedOut: (reason: string) => void
  /**
   * A mutation failed whose caller does not render the failure. `repeat` does it again; null unless its request
   * got no answer and is harmless where it did arrive.
   */
  onMutationError: (error: unknown, repeat: (() => void) | null) => void
}

const MAX_RETRIES = 2

export function createQueryClient({ onSignedOut, onMutationError }: QueryClientEvents): QueryClient {
  const queryClient = new QueryClient({
    queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && onSignedOut(error.code) }),
    mutationCache: new MutationCache({
      onError: (error, variables, _context, mutation) => {
        if (mutation.meta?.errorShownInline) return
        if (isSignedOut(error)) return onSignedOut(error.code)
        const again = () => queryClient.getMutationCache().build(queryClient, mutation.options)
        // A failure of the repetition comes here as well.
        const repeat = () =>
          void again()
            .execute(variables)
            .catch(() => undefined)
        const canRepeat = isApiError(error) && error.isNetworkFailure
        const isHarmless = mutation.meta?.isRepeatable === true || (isApiError(error) && error.isIdempotent)
        onMutationError(error, canRepeat && isHarmless ? repeat : null)
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: (failures, error) => failures < MAX_RETRIES && isTemporary(error),
      },
    },
  })
  return queryClient
}

function isSignedOut(error: unknown): error is ApiError {
  return isApiError(error) && error.status === 401
}

/** A refusal stays a refusal; only an unreachable or failing server is worth another try. */
function isTemporary(error: unknown): boolean {
  return isApiError(error) && (error.isNetworkFailure || error.status >= 500)
}
