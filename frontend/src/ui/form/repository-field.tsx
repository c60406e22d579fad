import type { ComponentProps } from 'react'
import { Field } from './field'
import { Input } from './input'

export interface RepositoryFieldProps extends Omit<
  ComponentProps<typeof Input>,
  'placeholder' | 'className'
> {
  label: string
  error?: string
  /** The class of the field together with its label. */
  className?: string
}

/** A text field for the name of a repository. */
export function RepositoryField({ label, error, className, ...input }: RepositoryFieldProps) {
  return (
    <Field label={label} error={error} className={className}>
      {(control) => (
        <Input {...control} placeholder="owner/name" spellCheck={false} {...input} className="font-mono" />
      )}
    </Field>
  )
}
