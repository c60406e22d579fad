import { useId } from 'react'
import { Card } from '@/ui/layout/card'

export interface Choice<Value> {
  value: Value
  label: string
  hint: string
}

export interface ChoiceListProps<Value> {
  label: string
  choices: Choice<Value>[]
  chosen: Value | undefined
  onChoose: (value: Value) => void
}

/** A choice of one among a few options. Each option has a sentence that explains it. */
export function ChoiceList<Value extends string | null>({
  label,
  choices,
  chosen,
  onChoose,
}: ChoiceListProps<Value>) {
  const id = useId()
  return (
    <Card>
      <fieldset className="divide-y divide-border" aria-label={label}>
        {choices.map(({ value, label, hint }, index) => (
          <div key={value} className="flex items-start gap-3 px-4 py-3">
            <input
              id={`${id}-${index}`}
              type="radio"
              name={id}
              checked={value === chosen}
              onChange={() => onChoose(value)}
              aria-describedby={`${id}-${index}-hint`}
              className="mt-1 size-4 shrink-0 accent-accent"
            />
            <div>
              <label htmlFor={`${id}-${index}`} className="block cursor-pointer font-medium">
                {label}
              </label>
              <p id={`${id}-${index}-hint`} className="text-sm text-muted">
                {hint}
              </p>
            </div>
          </div>
        ))}
      </fieldset>
    </Card>
  )
}
