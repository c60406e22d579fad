import { skipToken, useQuery } from '@tanstack/react-query'
import { requestBlob } from '@/api/client'
import { isStoredImage } from '@/events/fold/shortened'
import { toDataUrl } from '@/lib/browser/data-url'

export interface LoadedPicture {
  /** The image. Undefined while it is being loaded. */
  source: string | undefined
  error: unknown
  retry: () => void
}

const CACHE_MS = 60_000

/**
 * Whether the page shows the image. Only images of events themselves are shown. An image at another address
 * would tell its host who reads the conversation.
 */
export const isEventImage = (url: string | null | undefined): url is string =>
  url != null && (url.startsWith('data:image/') || isStoredImage(url))

/** Returns an image of an event. An image that is stored beside the log is loaded when the row is shown. */
export function useEventImage(url: string): LoadedPicture {
  const isKept = isStoredImage(url)
  const query = useQuery({
    queryKey: ['event-image', isKept ? url : null],
    // A cookie alone gives no access, so the address cannot be used directly as the source of the image.
    queryFn: isKept ? async ({ signal }) => toDataUrl(await requestBlob(url, { signal })) : skipToken,
    staleTime: Infinity,
    gcTime: CACHE_MS,
  })
  return { source: isKept ? query.data : url, error: query.error, retry: () => void query.refetch() }
}
