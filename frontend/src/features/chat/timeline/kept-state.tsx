import { createContext, useContext, useState, type ReactNode } from 'react'

const KeptContext = createContext<Map<string, unknown> | null>(null)
const RowContext = createContext('')

/** Remembers which parts of a row are open, because rows are removed from the page when they are out of view. */
export function KeptStateProvider({ children }: { children: ReactNode }) {
  const [kept] = useState(() => new Map<string, unknown>())
  return <KeptContext value={kept}>{children}</KeptContext>
}

export function KeptRow({ rowKey, children }: { rowKey: string; children: ReactNode }) {
  return <RowContext value={rowKey}>{children}</RowContext>
}

/** A part of a row with separate state. `name` is unique within the row. */
export function KeptPart({ name, children }: { name: string; children: ReactNode }) {
  return <RowContext value={`${useContext(RowContext)}/${name}`}>{children}</RowContext>
}

/** Like `useState`, but the state is kept while the row is out of view. `name` is unique within the row. */
export function useKeptState<T>(name: string, initial: T): [T, (value: T) => void] {
  const kept = useContext(KeptContext)
  const key = `${useContext(RowContext)}/${name}`
  const [value, setValue] = useState(() => (kept?.has(key) ? (kept.get(key) as T) : initial))
  function keep(next: T) {
    kept?.set(key, next)
    setValue(next)
  }
  return [value, keep]
}
