import { createContext, useContext, useState, type ReactNode } from 'react'

const RowStatesContext = createContext<Map<string, unknown> | null>(null)
const ScopeContext = createContext('')

/**
 * Remembers which parts of a row are open, because rows are removed from the page when they are out of view.
 */
export function RowStateProvider({ children }: { children: ReactNode }) {
  const [states] = useState(() => new Map<string, unknown>())
  return <RowStatesContext value={states}>{children}</RowStatesContext>
}

/** Sets the row whose state the components inside use. */
export function RowStateScope({ rowKey, children }: { rowKey: string; children: ReactNode }) {
  return <ScopeContext value={rowKey}>{children}</ScopeContext>
}

/** Gives a part of a row a separate state. `name` is unique within the row. */
export function RowPartStateScope({ name, children }: { name: string; children: ReactNode }) {
  return <ScopeContext value={`${useContext(ScopeContext)}/${name}`}>{children}</ScopeContext>
}

/** Like `useState`, but the state survives while the row is out of view. `name` is unique within the row. */
export function useRowState<T>(name: string, initial: T): [T, (value: T) => void] {
  const states = useContext(RowStatesContext)
  const key = `${useContext(ScopeContext)}/${name}`
  const [value, setValue] = useState(() => (states?.has(key) ? (states.get(key) as T) : initial))
  function setAndStore(next: T) {
    states?.set(key, next)
    setValue(next)
  }
  return [value, setAndStore]
}
