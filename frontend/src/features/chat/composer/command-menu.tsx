import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import type { Command } from './commands'

export interface CommandMenuProps {
  id: string
  commands: Command[]
  /** The index of the command that the Enter key chooses. */
  active: number
  onPick: (command: Command) => void
}

/**
 * Lists the commands that begin with the typed text. The focus stays in the composer, which handles the keys.
 */
export function CommandMenu({ id, commands, active, onPick }: CommandMenuProps) {
  const { t } = useTranslation()
  return (
    <ul
      id={id}
      role="listbox"
      aria-label={t('commands.title')}
      className="absolute inset-x-0 bottom-full z-10 mb-2 max-h-64 overflow-y-auto rounded-lg border border-border bg-raised p-1 shadow-overlay"
    >
      {commands.map((command, index) => (
        <li
          key={command.trigger}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          onMouseDown={(event) => {
            // A click must not take the focus from the composer.
            event.preventDefault()
            onPick(command)
          }}
          className={clsx(
            'cursor-pointer rounded-md px-3 py-2 text-sm',
            index === active ? 'bg-hover' : 'hover:bg-hover',
          )}
        >
          <span className="font-mono font-medium">{command.trigger}</span>{' '}
          <span className="font-mono text-xs text-muted">{command.inputs.map(shown).join(' ')}</span>
          {command.description && (
            <span className="block truncate text-xs text-muted">{command.description}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

function shown({ name, required }: Command['inputs'][number]): string {
  return required ? `<${name}>` : `[${name}]`
}
