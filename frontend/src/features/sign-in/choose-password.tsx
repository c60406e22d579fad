import { useQuery } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { passwordSettingsQuery, useSetPassword } from '@/api/people/passwords'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { PasswordFields } from './password-fields'

/** Offers an invited person to set a password after the sign-in with the link. */
export function ChoosePassword({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation()
  const settings = useQuery(passwordSettingsQuery()).data
  const set = useSetPassword()
  const [typedName, setTypedName] = useState<string | null>(null)
  const [password, setPassword] = useState('')
  const loginName = typedName ?? settings?.suggested_login_name ?? ''

  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    set.mutate({ login_name: loginName, password }, { onSuccess: onDone })
  }

  return (
    <form
      onSubmit={handleSubmit}
      noValidate
      aria-label={t('password.choose')}
      className="flex flex-col gap-4"
    >
      <p className="text-muted">{t('password.choose_lead')}</p>
      <PasswordFields
        loginName={loginName}
        onLoginName={setTypedName}
        password={password}
        onPassword={setPassword}
      />
      {set.isError && <ErrorState error={set.error} title={t('password.not_saved')} />}
      <div className="flex gap-2">
        <Button
          type="submit"
          variant="primary"
          className="flex-1"
          isBusy={set.isPending}
          disabled={loginName.trim() === '' || password === ''}
        >
          {t('password.set')}
        </Button>
        <Button onClick={onDone}>{t('password.not_now')}</Button>
      </div>
    </form>
  )
}
