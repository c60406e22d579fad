import { readStored, writeStored } from '@/lib/browser/local-storage'

const STORAGE_KEY = 'slipway.recent-repositories'
const LIMIT = 8

/** Returns the repositories of tasks that were started in this browser, the latest first. */
export function recentRepositories(): string[] {
  const stored = readStored(STORAGE_KEY)
  return Array.isArray(stored) ? stored.filter((item): item is string => typeof item === 'string') : []
}

export function rememberRepository(repository: string): void {
  const others = recentRepositories().filter((item) => item !== repository)
  writeStored(STORAGE_KEY, [repository, ...others].slice(0, LIMIT))
}
