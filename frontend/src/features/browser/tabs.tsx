import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import type { BrowserTab } from '@/api/sandboxes/browser'

/** The open tabs, in the order in which the agent opened them. Only the agent can switch between them. */
export function Tabs({ pages }: { pages: readonly BrowserTab[] }) {
  const { t } = useTranslation()
  return (
    <ul
      aria-label={t('browser.tabs')}
      className="flex gap-1 overflow-x-auto border-b border-border bg-sunken px-3 py-1.5"
    >
      {pages.map((page, index) => (
        <li
          key={index} // a tab has no id, and its position does not change
          aria-current={page.is_current ? 'true' : undefined}
          title={page.url}
          className={clsx(
            'max-w-44 shrink-0 truncate rounded-md px-2 py-1 text-xs',
            page.is_current ? 'bg-raised font-medium shadow-raised' : 'text-muted',
          )}
        >
          {page.title || page.url}
        </li>
      ))}
    </ul>
  )
}
