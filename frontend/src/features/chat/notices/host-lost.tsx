import { History } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useWakeSandbox } from '@/api/conversations/archives'
import { isApiError, type OutdatedBackup } from '@/api/errors'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { ErrorState } from '@/ui/feedback/error-state'

/** Lets the user wait for the lost host, or continue without it. If changes would be lost, asks first. */
export function HostLost({ sandboxId }: { sandboxId: string }) {
  const { t } = useTranslation()
  const [isAsking, setIsAsking] = useState(false)
  const [backup, setBackup] = useState<OutdatedBackup | null>(null)
  const resume = useWakeSandbox(sandboxId)
  const time = backup && formatDateTime(backup.at)

  function goOn() {
    if (backup) setIsAsking(true)
    else resume.mutate(undefined, { onError: handleRefusal })
  }

  function handleRefusal(error: Error) {
    const found = isApiError(error) ? error.backup : null
    setBackup(found)
    setIsAsking(found !== null)
  }

  return (
    <>
      {backup ? (
        <p className="mt-2">
          {t('host_lost.last', { time })} {t('host_lost.choice', { count: backup.laterEvents })}{' '}
          {t('host_lost.wait_hint')}
        </p>
      ) : (
        resume.isError && <ErrorState error={resume.error} className="mt-2" />
      )}
      <Button
        size="sm"
        className="mt-2"
        icon={<History aria-hidden className="size-3.5" />}
        isBusy={resume.isPending}
        onClick={goOn}
      >
        {t(backup ? 'host_lost.confirm' : 'host_lost.elsewhere')}
      </Button>
      {backup && (
        <ConfirmDialog
          isOpen={isAsking}
          onOpenChange={setIsAsking}
          title={t('host_lost.question', { time })}
          description={`${t('host_lost.choice', { count: backup.laterEvents })} ${t('host_lost.wait_hint')}`}
          confirmLabel={t('host_lost.confirm')}
          cancelLabel={t('host_lost.wait')}
          isBusy={resume.isPending}
          onConfirm={() => resume.mutate({ from_backup: true }, { onError: handleRefusal })}
        />
      )}
    </>
  )
}
