import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useRetryStart } from '@/api/conversations/start-tasks'
import type { StartError, StartTask } from '@/api/types'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { WithCode } from '@/ui/text/with-code'
import { retryChanges, RetryFields } from './retry-fields'

export interface StartFailureProps {
  task: StartTask
  error: StartError
  onRetried: (task: StartTask) => void
}

/**
 * Explains why the start failed and what to do about it, and offers to continue from the failed stage. If the
 * repository could not be fetched, the user can name another branch or repository.
 */
export function StartFailure({ task, error, onRetried }: StartFailureProps) {
  const { t } = useTranslation()
  const retry = useRetryStart(task.id)
  return (
    <div className="mt-3 flex flex-col gap-3">
      <Notice tone="danger" title={error.cause}>
        {error.fix && (
          <p className="text-text">
            <WithCode text={error.fix} />
          </p>
        )}
        <p className="mt-1 font-mono text-2xs">{error.code}</p>
      </Notice>
      {error.output && (
        <ScrollPre
          ref={scrollToEnd}
          role="region"
          aria-label={t('start.output')}
          className="max-h-72 rounded-md border border-border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap"
        >
          {error.output}
        </ScrollPre>
      )}
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const change = retryChanges(task, new FormData(event.currentTarget))
          retry.mutate(change, { onSuccess: onRetried })
        }}
      >
        <RetryFields task={task} error={error} />
        {retry.isError && <ErrorState error={retry.error} />}
        <Button
          type="submit"
          variant="primary"
          size="sm"
          className="self-start"
          icon={<RotateCw aria-hidden className="size-3.5" />}
          isBusy={retry.isPending}
        >
          {t('start.retry')}
        </Button>
      </form>
    </div>
  )
}

/** Scrolls the output to its end, because the last lines contain the error. */
function scrollToEnd(output: HTMLElement | null) {
  if (output) output.scrollTop = output.scrollHeight
}
