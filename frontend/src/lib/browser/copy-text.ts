/**
 * Copies a text to the clipboard. Returns false if the browser refuses, because it has no permission or uses
 * plain http.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
