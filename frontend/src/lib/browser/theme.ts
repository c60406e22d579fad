import { useSyncExternalStore } from 'react'

export type ThemeChoice = 'system' | 'light' | 'dark'

/** public/theme.js uses the same key. It applies the choice before the first paint. */
const STORAGE_KEY = 'slipway.theme'
const listeners = new Set<() => void>()

export function readTheme(): ThemeChoice {
  const theme = document.documentElement.dataset.theme
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

/** Applies the choice at once and stores it in this browser. */
export function setTheme(choice: ThemeChoice): void {
  if (choice === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = choice
  localStorage.setItem(STORAGE_KEY, choice)
  listeners.forEach((listener) => listener())
}

export function useTheme(): ThemeChoice {
  return useSyncExternalStore(subscribe, readTheme)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
