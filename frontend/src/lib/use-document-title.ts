import { useEffect } from 'react'

/** Puts `title` before the product's name in the browser tab while the caller is mounted. */
export function useDocumentTitle(title: string | null | undefined): void {
  useEffect(() => {
    document.title = title ? `${title} · Slipway` : 'Slipway'
  }, [title])
}
