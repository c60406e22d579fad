import clsx from 'clsx'
import { Target } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Field } from './field'
import { Input } from './input'
import { Popover } from '@/ui/overlay/popover'

const DEFAULT_ROUNDS = 10
const MAX_ROUNDS = 1000

export interface GoalToggleProps {
  /** How often a judge may send the agent back to work. Null means that the task is not a goal. */
  rounds: number | null
  onChange: (rounds: number | null) => void
}

/**
 * The control for a goal: the agent works on the task until a judge finds it done, for at most `rounds`
 * rounds.
 */
export function GoalToggle({ rounds, onChange }: GoalToggleProps) {
  const { t } = useTranslation()
  const isOn = rounds !== null
  return (
    <Popover
      label={t('goal.title')}
      side="top"
      trigger={
        <button
          type="button"
          title={t('goal.until_done')}
          aria-label={isOn ? t('goal.on', { rounds }) : t('goal.off')}
          className={clsx(
            'flex h-8 min-w-8 shrink-0 items-center justify-center gap-1 rounded-md px-2 text-xs tabular-nums',
            isOn ? 'bg-accent-soft text-accent' : 'text-muted hover:bg-hover hover:text-text',
          )}
        >
          <Target aria-hidden className="size-4" />
          {isOn && <span aria-hidden>{t('goal.at_most', { rounds })}</span>}
        </button>
      }
    >
      <label className="flex cursor-pointer items-start gap-2 text-sm font-medium">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => onChange(event.target.checked ? DEFAULT_ROUNDS : null)}
          className="mt-0.5 size-4 accent-accent"
        />
        {t('goal.until_done')}
      </label>
      <p className="mt-1 mb-3 text-xs text-muted">{t('goal.hint')}</p>
      <Field label={t('goal.rounds')}>
        {(control) => (
          <Input
            {...control}
            // The field keeps an invalid text while the user types. `onChange` is called only with a valid
            // number of rounds.
            key={String(isOn)}
            type="number"
            min={1}
            max={MAX_ROUNDS}
            disabled={!isOn}
            defaultValue={rounds ?? DEFAULT_ROUNDS}
            onChange={({ target }) => target.value && target.validity.valid && onChange(target.valueAsNumber)}
            className="h-8"
          />
        )}
      </Field>
    </Popover>
  )
}
