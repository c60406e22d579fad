import { ExternalLink } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type GitDeviceCode, useAskAboutDevice } from '@/api/git/git-sign-in'
import { Button, buttonClass } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Spinner } from '@/ui/feedback/spinner'

export interface DeviceDialogProps {
  host: string
  code: GitDeviceCode
  onClose: () => void
}

/**
 * Shows the code and the page where the user types it. Asks the host repeatedly, at the host's interval,
 * until the user has typed the code.
 */
export function DeviceDialog({ host, code, onClose }: DeviceDialogProps) {
  const { t } = useTranslation()
  const [next, setNext] = useState({ attempt: code.attempt, interval: code.interval })
  const { mutate: ask, error } = useAskAboutDevice()

  useEffect(() => {
    const timer = setTimeout(
      () =>
        ask(next.attempt, {
          onSuccess: ({ status, attempt, interval }) =>
            status === 'connected'
              ? onClose()
              : setNext({ attempt: attempt ?? next.attempt, interval: interval ?? next.interval }),
        }),
      next.interval * 1000,
    )
    return () => clearTimeout(timer)
  }, [next, ask, onClose])

  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('git_sign_in.code_title', { host })}
      description={t('git_sign_in.code_text')}
    >
      <p className="rounded-lg border border-border bg-sunken py-4 text-center font-mono text-2xl font-semibold tracking-widest select-all">
        {code.user_code}
      </p>
      {error ? (
        <ErrorState error={error} title={t('git_sign_in.failed')} className="mt-4" />
      ) : (
        <p role="status" className="mt-4 flex items-center gap-2 text-sm text-muted">
          <Spinner className="size-4" />
          {t('git_sign_in.waiting', { host })}
        </p>
      )}
      <DialogActions>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        {error ? (
          <Button variant="primary" onClick={() => setNext({ ...next })}>
            {t('git_sign_in.ask_again')}
          </Button>
        ) : (
          <a href={code.verification_uri} target="_blank" rel="noreferrer" className={buttonClass('primary')}>
            <ExternalLink aria-hidden className="size-4" />
            {t('git_sign_in.open_host', { host })}
          </a>
        )}
      </DialogActions>
    </Dialog>
  )
}
