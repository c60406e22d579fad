import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

export const MIN_CHARACTERS = 12

export interface PasswordFieldsProps {
  loginName: string
  onLoginName: (loginName: string) => void
  password: string
  onPassword: (password: string) => void
}

/** The fields for a new password: the login name and the password. The user can make the password visible. */
export function PasswordFields({ loginName, onLoginName, password, onPassword }: PasswordFieldsProps) {
  const { t } = useTranslation()
  const [isShown, setIsShown] = useState(false)
  const showId = useId()
  return (
    <>
      <Field label={t('password.login_name')} hint={t('password.login_name_hint')}>
        {(ids) => (
          <Input
            {...ids}
            autoComplete="username"
            autoCapitalize="none"
            value={loginName}
            onChange={(event) => onLoginName(event.target.value)}
          />
        )}
      </Field>
      <Field label={t('password.new')} hint={t('password.new_hint', { count: MIN_CHARACTERS })}>
        {(ids) => (
          <Input
            {...ids}
            type={isShown ? 'text' : 'password'}
            autoComplete="new-password"
            value={password}
            onChange={(event) => onPassword(event.target.value)}
          />
        )}
      </Field>
      <div className="flex items-center gap-2 text-sm">
        <input
          id={showId}
          type="checkbox"
          checked={isShown}
          onChange={(event) => setIsShown(event.target.checked)}
          className="size-4 accent-accent"
        />
        <label htmlFor={showId}>{t('password.show')}</label>
      </div>
    </>
  )
}
