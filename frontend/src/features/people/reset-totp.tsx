import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useResetTotp } from '@/api/people/people'
import type { Person } from '@/api/types'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'

/** Removes the authenticator app of a person. Asks for a confirmation first. */
export function ResetTotp({ person: { id, name } }: { person: Person }) {
  const { t } = useTranslation()
  const reset = useResetTotp()
  const [isAsking, setIsAsking] = useState(false)

  function handleConfirm() {
    reset.mutate(id, {
      onSuccess: () => toast.success(t('people.totp_reset', { name })),
      onSettled: () => setIsAsking(false),
    })
  }

  return (
    <>
      <Button size="sm" aria-label={t('people.reset_totp_named', { name })} onClick={() => setIsAsking(true)}>
        {t('people.reset_totp')}
      </Button>
      {isAsking && (
        <ConfirmDialog
          isOpen
          onOpenChange={setIsAsking}
          title={t('people.reset_totp_title', { name })}
          description={t('people.reset_totp_text')}
          confirmLabel={t('people.reset_totp')}
          isBusy={reset.isPending}
          onConfirm={handleConfirm}
        />
      )}
    </>
  )
}
