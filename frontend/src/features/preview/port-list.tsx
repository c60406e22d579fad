import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import type { ListeningPort } from '@/api/sandboxes/ports'

export interface PortListProps {
  ports: readonly ListeningPort[]
  chosen: number | null
  /** The titles of the other conversations in the sandbox, by their id. */
  foreignTitles: ReadonlyMap<string, string>
  onOpen: (port: number) => void
}

/**
 * A button for each port, with the name of the program that listens there. Ports of other conversations come
 * last.
 */
export function PortList({ ports, chosen, foreignTitles, onOpen }: PortListProps) {
  const { t } = useTranslation()
  const named = ports.map((one) => ({ ...one, title: foreignTitles.get(one.conversation_id ?? '') }))
  const sorted = [
    ...named.filter(({ title }) => title === undefined),
    ...named.filter(({ title }) => title !== undefined),
  ]
  return (
    <ul
      aria-label={t('preview.ports')}
      className="flex shrink-0 gap-1.5 overflow-x-auto border-b border-border bg-sunken px-3 py-1.5"
    >
      {sorted.map(({ port, process_name, title }) => (
        <li key={port} className="shrink-0">
          <button
            type="button"
            aria-pressed={port === chosen}
            title={title === undefined ? process_name : `${process_name} ${t('preview.of', { title })}`}
            onClick={() => onOpen(port)}
            className={clsx(
              'flex h-8 max-w-64 items-center gap-2 rounded-md border px-2.5 text-xs transition-colors duration-100',
              port === chosen
                ? 'border-border-strong bg-raised shadow-raised'
                : 'border-transparent text-muted hover:bg-hover hover:text-text',
            )}
          >
            <span className="font-mono font-medium">{port}</span>{' '}
            <span className="truncate">{process_name}</span>
            {title !== undefined && (
              <>
                {' '}
                <span className="min-w-16 truncate text-faint">{t('preview.of', { title })}</span>
              </>
            )}
          </button>
        </li>
      ))}
    </ul>
  )
}
