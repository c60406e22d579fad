/** Returns the path of an entry of the directory `directory`. Null is the conversation's first repository. */
export function pathIn(directory: string | null, name: string): string {
  return directory === null ? name : `${directory}/${name}`
}

/** Returns the last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
