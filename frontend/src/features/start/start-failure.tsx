import { RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useRetryStart } from '@/api/start-tasks'
import type { StartError, StartTask } from '@/api/types'
import { Button } from '@/ui/button'
import { Notice } from '@/ui/notice'
import { ScrollPre } from '@/ui/scroll-pre'
import { WithCode } from '@/ui/with-code'

export interface StartFailureProps {
  taskId: string
  error: StartError
  onRetried: (task: StartTask) => void
}

/** Why the start failed, what to do about it, and the way to go on from the failed stage. */
export function StartFailure({ taskId, error, onRetried }: StartFailureProps) {
  const { t } = useTranslation()
  const retry = useRetryStart(taskId)
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
      <Button
        variant="primary"
        size="sm"
        className="self-start"
        icon={<RotateCw aria-hidden className="size-3.5" />}
        isBusy={retry.isPending}
        onClick={() => retry.mutate(undefined, { onSuccess: onRetried })}
      >
        {t('start.retry')}
      </Button>
    </div>
  )
}

/** What went wrong stands in the last lines. */
function scrollToEnd(output: HTMLElement | null) {
  if (output) output.scrollTop = output.scrollHeight
}
