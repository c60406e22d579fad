import { toDataUrl } from '@/lib/browser/data-url'

/** How the page shows a file. `url` is the `data:` URL of an image. */
export type ShownFile =
  { kind: 'text'; text: string } | { kind: 'image'; url: string } | { kind: 'empty' | 'binary' | 'large' }

const MAX_TEXT_BYTES = 1_000_000
const MAX_IMAGE_BYTES = 10_000_000
const PROBE_BYTES = 8_000
const IMAGES: Record<string, string> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
}

/** Returns whether a file of this size is too large for the page. */
export function isTooLarge(path: string, bytes: number): boolean {
  return bytes > (imageType(path) === null ? MAX_TEXT_BYTES : MAX_IMAGE_BYTES)
}

/** Decodes a file. One with a NUL character near its beginning is binary, as it is for git. */
export async function readFile(path: string, content: Blob): Promise<ShownFile> {
  const image = imageType(path)
  if (content.size === 0) return { kind: 'empty' }
  if (isTooLarge(path, content.size)) return { kind: 'large' }
  if (image !== null) return { kind: 'image', url: await toDataUrl(content, image) }
  const bytes = new Uint8Array(await content.arrayBuffer())
  if (bytes.subarray(0, PROBE_BYTES).includes(0)) return { kind: 'binary' }
  return { kind: 'text', text: new TextDecoder().decode(bytes) }
}

/** Returns the media type of an image by the end of its name. Returns null if the file is no image. */
function imageType(path: string): string | null {
  return IMAGES[path.split('.').pop()?.toLowerCase() ?? ''] ?? null
}
