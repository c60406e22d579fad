import { useEffect } from 'react'

const shown: { title: string | null | undefined; waiting: number } = { title: null, waiting: 0 }

function write() {
  const title = shown.title ? `${shown.title} · Slipway` : 'Slipway'
  document.title = shown.waiting > 0 ? `(${shown.waiting}) ${title}` : title
}

/** Puts `title` before the product's name in the browser tab while the caller is mounted. */
export function useDocumentTitle(title: string | null | undefined): void {
  useEffect(() => {
    shown.title = title
    write()
  }, [title])
}

/**
 * Puts a number before all titles while the caller is mounted. The number says how many conversations wait
 * for the user.
 */
export function useWaitingInTitle(count: number): void {
  useEffect(() => {
    shown.waiting = count
    write()
    return () => {
      shown.waiting = 0
      write()
    }
  }, [count])
}
