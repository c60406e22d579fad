import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import type { ListeningPort } from '@/api/ports'

export interface PortListProps {
  ports: readonly ListeningPort[]
  chosen: number | null
  onOpen: (port: number) => void
}

/** A button for each port, with the program that listens there. */
export function PortList({ ports, chosen, onOpen }: PortListProps) {
  const { t } = useTranslation()
  return (
    <ul
      aria-label={t('preview.ports')}
      className="flex shrink-0 gap-1.5 overflow-x-auto border-b border-border bg-sunken px-3 py-1.5"
    >
      {ports.map(({ port, process_name }) => (
        <li key={port} className="shrink-0">
          <button
            type="button"
            aria-pressed={port === chosen}
            title={process_name}
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
          </button>
        </li>
      ))}
    </ul>
  )
}
