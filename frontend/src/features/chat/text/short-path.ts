import { useConversation } from '@/events/use-conversation'
import { repositoryName } from '@/lib/text/repository-name'

/** Where every sandbox keeps the conversation's files, wherever its own root may lie. */
const PROJECT = /^.*?\/workspace\/project(?=\/|$)\/?/

/**
 * `path` as people say it: relative to the conversation's directory, which is the repository's where there is one.
 * Paths outside of it stay whole.
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

// A path begins where a word does, so that no part of an address is taken for one.
const IN_PROJECT = /(?<=^|[\s'"`(])(?:\/[^\s'"`:;,()]+?)?\/workspace\/project(?:\/[^\s'"`:;,()]*)?/g

/** `text` with every path in the conversation's directory as people say it. */
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
