import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useRemovePassword, useSetPassword, type PasswordSettings } from '@/api/people/passwords'
import { CurrentPasswordField, FormDialog } from './form-dialog'
import { PasswordFields } from './password-fields'

export function SetPasswordDialog({
  settings,
  onClose,
}: {
  settings: PasswordSettings
  onClose: () => void
}) {
  const { t } = useTranslation()
  const set = useSetPassword()
  const hasPassword = settings.login_name !== null
  const [loginName, setLoginName] = useState(settings.login_name ?? settings.suggested_login_name)
  const [password, setPassword] = useState('')
  const [current, setCurrent] = useState('')

  function handleSubmit() {
    set.mutate(
      { login_name: loginName, password, ...(hasPassword && { current_password: current }) },
      {
        onSuccess: () => {
          toast.success(t('password.saved'))
          onClose()
        },
      },
    )
  }

  const isFilled = loginName.trim() !== '' && password !== '' && (!hasPassword || current !== '')
  return (
    <FormDialog
      title={t(hasPassword ? 'password.change_title' : 'password.set_title')}
      description={hasPassword ? t('password.change_text') : undefined}
      submitLabel={t(hasPassword ? 'password.change' : 'password.set')}
      isFilled={isFilled}
      isBusy={set.isPending}
      error={set.error}
      errorTitle={t('password.not_saved')}
      onSubmit={handleSubmit}
      onClose={onClose}
    >
      {hasPassword && <CurrentPasswordField value={current} onChange={setCurrent} />}
      <PasswordFields
        loginName={loginName}
        onLoginName={setLoginName}
        password={password}
        onPassword={setPassword}
      />
    </FormDialog>
  )
}

export function RemovePasswordDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useRemovePassword()
  const [current, setCurrent] = useState('')
  return (
    <FormDialog
      title={t('password.remove_title')}
      description={t('password.remove_text')}
      submitLabel={t('password.remove')}
      isDangerous
      isFilled={current !== ''}
      isBusy={remove.isPending}
      error={remove.error}
      errorTitle={t('password.not_removed')}
      onSubmit={() =>
        remove.mutate(
          { current_password: current },
          {
            onSuccess: () => {
              toast.success(t('password.removed'))
              onClose()
            },
          },
        )
      }
      onClose={onClose}
    >
      <CurrentPasswordField value={current} onChange={setCurrent} />
    </FormDialog>
  )
}
