import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isApiError, type ApiError } from './errors'

declare module '@tanstack/react-query' {
  interface Register {
    mutationMeta: {
      /** True if the caller shows the failure itself. Then no toast is shown. */
      errorShownInline?: boolean
      /** True if the request can be sent twice without a second effect, although it is a POST. */
      isRepeatable?: boolean
    }
  }
}

export interface QueryClientEvents {
  /** Called when a request was refused because no user is signed in. `reason` is the code of the refusal. */
  onSignedOut: (reason: string) => void
  /**
   * Called when a mutation failed and the caller does not show the failure. `repeat` sends the request again.
   * It is null unless the request got no answer and a repetition does no harm.
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
        // If the repetition fails, this function is called again.
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

/**
 * Returns whether another attempt can help. That is so if the app server was not reached or failed, but not
 * if it refused the request.
 */
function isTemporary(error: unknown): boolean {
  return isApiError(error) && (error.isNetworkFailure || error.status >= 500)
}
