import { skipToken, useQuery } from '@tanstack/react-query'
import { requestBlob } from '@/api/client'
import { isStoredImage } from '@/events/fold/shortened'

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
    queryFn: isKept ? async ({ signal }) => asDataUrl(await requestBlob(url, { signal })) : skipToken,
    staleTime: Infinity,
    gcTime: CACHE_MS,
  })
  return { source: isKept ? query.data : url, error: query.error, retry: () => void query.refetch() }
}

const CHUNK_BYTES = 32_768

async function asDataUrl(content: Blob): Promise<string> {
  const bytes = new Uint8Array(await content.arrayBuffer())
  let text = ''
  for (let begin = 0; begin < bytes.length; begin += CHUNK_BYTES)
    text += String.fromCharCode(...bytes.subarray(begin, begin + CHUNK_BYTES))
  return `data:${content.type};base64,${btoa(text)}`
}
