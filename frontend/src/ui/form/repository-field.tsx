import type { ComponentProps } from 'react'
import { Field } from './field'
import { Input } from './input'

export interface RepositoryFieldProps extends Omit<
  ComponentProps<typeof Input>,
  'placeholder' | 'className'
> {
  label: string
  error?: string
  /** Of the field with its label. */
  className?: string
}

/** Where the name of a repository is typed in. */
export function RepositoryField({ label, error, className, ...input }: RepositoryFieldProps) {
  return (
    <Field label={label} error={error} className={className}>
      {(control) => (
        <Input {...control} placeholder="owner/name" spellCheck={false} {...input} className="font-mono" />
      )}
    </Field>
  )
}
