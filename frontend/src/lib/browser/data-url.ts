const CHUNK_BYTES = 32_768

/** Returns the content as a `data:` URL. The page may show images of such URLs, but none of `blob:` URLs. */
export async function toDataUrl(content: Blob, mediaType = content.type): Promise<string> {
  const bytes = new Uint8Array(await content.arrayBuffer())
  let text = ''
  for (let begin = 0; begin < bytes.length; begin += CHUNK_BYTES)
    text += String.fromCharCode(...bytes.subarray(begin, begin + CHUNK_BYTES))
  return `data:${mediaType};base64,${btoa(text)}`
}
