import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { useSignInWithPassword } from '@/api/people/passwords'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

/**
 * Asks for the login name and the password. If the account has an authenticator app, it asks for a code after
 * that.
 */
export function PasswordSignInForm({ onSignedIn }: { onSignedIn: () => void }) {
  const { t } = useTranslation()
  const signIn = useSignInWithPassword()
  const [loginName, setLoginName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)

  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    const wanted = { login_name: loginName, password, ...(needsCode && { code }) }
    signIn.mutate(wanted, {
      onSuccess: onSignedIn,
      onError: (error) => {
        if (hasCode(error, 'totp_code_needed')) setNeedsCode(true)
        if (hasCode(error, 'totp_code_wrong')) setCode('')
      },
    })
  }

  function handleBack() {
    setNeedsCode(false)
    setPassword('')
    setCode('')
    signIn.reset()
  }

  const isFilled = needsCode ? code.trim() !== '' : loginName.trim() !== '' && password !== ''
  return (
    <form onSubmit={handleSubmit} noValidate aria-label={t('password.form')} className="flex flex-col gap-4">
      {needsCode ? (
        <Field label={t('password.code')} hint={t('password.code_hint')}>
          {(ids) => (
            <Input
              {...ids}
              // The field of the previous step had the focus and has disappeared, so this field takes the
              // focus.
              ref={(input) => input?.focus()}
              autoComplete="one-time-code"
              autoCapitalize="none"
              value={code}
              onChange={(event) => setCode(event.target.value)}
              className="font-mono"
            />
          )}
        </Field>
      ) : (
        <>
          <Field label={t('password.login_name')}>
            {(ids) => (
              <Input
                {...ids}
                autoComplete="username"
                autoCapitalize="none"
                value={loginName}
                onChange={(event) => setLoginName(event.target.value)}
              />
            )}
          </Field>
          <Field label={t('password.password')}>
            {(ids) => (
              <Input
                {...ids}
                type="password"
                autoComplete="current-password"
                value={password}
                onChange={(event) => setPassword(event.target.value)}
              />
            )}
          </Field>
        </>
      )}
      {signIn.isError && !hasCode(signIn.error, 'totp_code_needed') && (
        <ErrorState error={signIn.error} title={t('sign_in.unreachable')} />
      )}
      <div className="flex gap-2">
        <Button
          type="submit"
          variant="primary"
          className="flex-1"
          isBusy={signIn.isPending}
          disabled={!isFilled}
        >
          {t('password.sign_in')}
        </Button>
        {needsCode && <Button onClick={handleBack}>{t('password.back')}</Button>}
      </div>
    </form>
  )
}

function hasCode(error: unknown, code: string): boolean {
  return isApiError(error) && error.code === code
}
