import clsx from 'clsx'
import { RadioGroup } from 'radix-ui'
import type { ReactNode } from 'react'

export interface SegmentedProps<T extends string> {
  label: string
  value: T
  options: { value: T; label: ReactNode; icon?: ReactNode }[]
  onValueChange: (value: T) => void
}

/** A choice of one among a few options that are all visible. */
export function Segmented<T extends string>({ label, value, options, onValueChange }: SegmentedProps<T>) {
  return (
    <RadioGroup.Root
      aria-label={label}
      value={value}
      onValueChange={(next) => onValueChange(next as T)}
      className="inline-flex gap-1 rounded-lg border border-border bg-sunken p-1"
    >
      {options.map((option) => (
        <RadioGroup.Item
          key={option.value}
          value={option.value}
          className={clsx(
            'flex h-8 items-center gap-2 rounded-md px-3 text-sm text-muted *:[svg]:size-4',
            'hover:text-text data-[state=checked]:bg-raised data-[state=checked]:text-text data-[state=checked]:shadow-raised',
          )}
        >
          {option.icon}
          {option.label}
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  )
}
