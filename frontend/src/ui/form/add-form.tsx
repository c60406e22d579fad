import { Plus } from 'lucide-react'
import type { FormEventHandler, ReactNode } from 'react'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from './button'

export interface AddFormProps {
  onSubmit: FormEventHandler<HTMLFormElement>
  /** The text of the button. */
  label: string
  isBusy: boolean
  /** The reason why the last attempt failed. Null if it did not fail. */
  error: Error | null
  /** The title of the error. */
  errorTitle: string
  /** The fields. */
  children: ReactNode
}

/** A form above a list. The form adds an entry to the list. */
export function AddForm({ onSubmit, label, isBusy, error, errorTitle, children }: AddFormProps) {
  return (
    <form onSubmit={onSubmit} noValidate className="mb-5 flex flex-col gap-3">
      {children}
      <Button
        type="submit"
        variant="primary"
        icon={<Plus className="size-4" />}
        isBusy={isBusy}
        className="self-start"
      >
        {label}
      </Button>
      {error && <ErrorState error={error} title={errorTitle} />}
    </form>
  )
}
