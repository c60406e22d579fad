import { useConversation } from '@/events/use-conversation'
import { repositoryName } from '@/lib/text/repository-name'

/** The directory of the conversation's files in every sandbox, whatever the sandbox's root is. */
const PROJECT = /^.*?\/workspace\/project(?=\/|$)\/?/

/**
 * Returns `path` relative to the conversation's directory, which is the repository's directory if there is
 * one. Paths outside of it do not change.
 */
export function shortPath(path: string, repository: string | null): string {
  if (!PROJECT.test(path)) return path
  const inProject = path.replace(PROJECT, '').replace(/\/$/, '')
  const directory = repository && repositoryName(repository).split('/').at(-1)
  if (inProject === '' || inProject === directory) return directory || '.'
  return directory && inProject.startsWith(`${directory}/`)
    ? inProject.slice(directory.length + 1)
    : inProject
}

// A path must begin at the start of a word, so that parts of web addresses do not count as paths.
const IN_PROJECT = /(?<=^|[\s'"`(])(?:\/[^\s'"`:;,()]+?)?\/workspace\/project(?:\/[^\s'"`:;,()]*)?/g

/** Returns `text` with all paths in the conversation's directory shortened. */
export function withShortPaths(text: string, repository: string | null): string {
  return text.replace(IN_PROJECT, (path) => shortPath(path, repository))
}

export function useWithShortPaths(text: string): string {
  return withShortPaths(text, useRepository())
}

export function useShortPath(path: string): string {
  return shortPath(path, useRepository())
}

export function useShortPaths(paths: readonly string[]): string[] {
  const repository = useRepository()
  return paths.map((path) => shortPath(path, repository))
}

function useRepository(): string | null {
  return useConversation(({ view }) => view.conversation?.selected_repository ?? null)
}
