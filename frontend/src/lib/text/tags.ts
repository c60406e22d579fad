/** Tags by key. The value may be empty. */
export type Tags = Record<string, string>

const TAG = /^([a-z0-9]{1,50})(?::\s*(.{0,256}))?$/
const MAX_TAGS = 20

/** Returns a tag as people write it and as filters take it: `key`, or `key:value`. */
export function tagText(key: string, value: string): string {
  return value ? `${key}:${value}` : key
}

/** Returns all tags in one line, separated by commas. */
export function tagsText(tags: Tags): string {
  return Object.entries(tags)
    .map(([key, value]) => tagText(key, value))
    .join(', ')
}

/**
 * Reads a line of tags that are separated by commas. Returns undefined if a part is not a tag, or if there
 * are more than 20 tags.
 */
export function parseTags(text: string): Tags | undefined {
  const parts = text.split(',').map((part) => part.trim())
  const tags: Tags = {}
  for (const part of parts.filter(Boolean)) {
    const [, key, value] = TAG.exec(part) ?? []
    if (key === undefined) return undefined
    tags[key] = value?.trim() ?? ''
  }
  return Object.keys(tags).length > MAX_TAGS ? undefined : tags
}
