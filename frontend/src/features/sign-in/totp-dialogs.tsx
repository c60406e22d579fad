import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  useBeginTotp,
  useConfirmTotp,
  useRemoveTotp,
  useRenewRecoveryCodes,
  type TotpEnrolment,
} from '@/api/people/passwords'
import { Input } from '@/ui/form/input'
import { CodeField, CurrentPasswordField, FormDialog } from './form-dialog'
import { RecoveryCodesDialog } from './recovery-codes-dialog'

/**
 * Asks for the current password, then shows the QR code and asks for a first code, and then shows the
 * recovery codes.
 */
export function AddTotpDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const begin = useBeginTotp()
  const confirm = useConfirmTotp()
  const [current, setCurrent] = useState('')
  const [code, setCode] = useState('')

  if (confirm.data) return <RecoveryCodesDialog codes={confirm.data.codes} onClose={onClose} />
  if (begin.data) {
    return (
      <FormDialog
        title={t('totp.scan_title')}
        description={t('totp.scan_text')}
        submitLabel={t('totp.confirm')}
        isFilled={code.trim() !== ''}
        isBusy={confirm.isPending}
        error={confirm.error}
        errorTitle={t('totp.not_added')}
        onSubmit={() => confirm.mutate({ code })}
        onClose={onClose}
      >
        <Secret enrolment={begin.data} />
        <CodeField value={code} onChange={setCode} hint={t('totp.confirm_hint')} />
      </FormDialog>
    )
  }
  return (
    <FormDialog
      title={t('totp.add_title')}
      description={t('totp.add_text')}
      submitLabel={t('totp.next')}
      isFilled={current !== ''}
      isBusy={begin.isPending}
      error={begin.error}
      errorTitle={t('totp.not_added')}
      onSubmit={() => begin.mutate({ current_password: current })}
      onClose={onClose}
    >
      <CurrentPasswordField value={current} onChange={setCurrent} />
    </FormDialog>
  )
}

function Secret({ enrolment }: { enrolment: TotpEnrolment }) {
  const { t } = useTranslation()
  return (
    <>
      <img
        src={`data:image/svg+xml,${encodeURIComponent(enrolment.qr_svg)}`}
        alt={t('totp.qr')}
        className="size-52 self-center rounded-md border border-border"
      />
      <Input
        readOnly
        aria-label={t('totp.secret')}
        value={enrolment.secret}
        onFocus={(event) => event.target.select()}
        className="font-mono"
      />
    </>
  )
}

export function RenewCodesDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const renew = useRenewRecoveryCodes()
  const [code, setCode] = useState('')
  if (renew.data) return <RecoveryCodesDialog codes={renew.data.codes} onClose={onClose} />
  return (
    <FormDialog
      title={t('totp.renew_title')}
      description={t('totp.renew_text')}
      submitLabel={t('totp.renew')}
      isFilled={code.trim() !== ''}
      isBusy={renew.isPending}
      error={renew.error}
      errorTitle={t('totp.not_renewed')}
      onSubmit={() => renew.mutate({ code })}
      onClose={onClose}
    >
      <CodeField value={code} onChange={setCode} hint={t('password.code_hint')} />
    </FormDialog>
  )
}

export function RemoveTotpDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useRemoveTotp()
  const [code, setCode] = useState('')
  return (
    <FormDialog
      title={t('totp.remove_title')}
      description={t('totp.remove_text')}
      submitLabel={t('totp.remove')}
      isDangerous
      isFilled={code.trim() !== ''}
      isBusy={remove.isPending}
      error={remove.error}
      errorTitle={t('totp.not_removed')}
      onSubmit={() =>
        remove.mutate(
          { code },
          {
            onSuccess: () => {
              toast.success(t('totp.removed'))
              onClose()
            },
          },
        )
      }
      onClose={onClose}
    >
      <CodeField value={code} onChange={setCode} hint={t('password.code_hint')} />
    </FormDialog>
  )
}
