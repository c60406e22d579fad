import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { useSignIn, type SignedInByLink } from '@/api/people/users'
import { webClientConfigQuery } from '@/api/web-client-config'
import { ErrorState } from '@/ui/feedback/error-state'
import { Spinner } from '@/ui/feedback/spinner'
import { ChoosePassword } from './choose-password'
import { CommandLine } from './command-line'
import { IdentityProviders } from './identity-providers'
import { forgetLinkToken, takeLinkToken } from './link-token'
import { PasswordSignInForm } from './password-sign-in-form'
import { refusalTextKey } from './refusal-texts'
import { clearFragment, addressMessage } from './address-messages'

const LINK_COMMAND = 'slipway sign-in-link'

interface SignInCardProps {
  /** The code of the refusal that led to this page. */
  reason?: string | null
  onSignedIn: () => void
}

/** Exchanges the link's token for a session. Without a valid token, it shows the ways to sign in. */
export function SignInCard({ reason = null, onSignedIn }: SignInCardProps) {
  const { t } = useTranslation()
  const [token] = useState(takeLinkToken)
  const [refusal] = useState(() => addressMessage('refused'))
  const signIn = useSignIn()
  const [isChoosing, setIsChoosing] = useState(false)

  function handleSignedIn({ may_choose_password: mayChoose }: SignedInByLink) {
    if (mayChoose) setIsChoosing(true)
    else onSignedIn()
  }

  useEffect(() => {
    if (refusal !== null) clearFragment()
  }, [refusal])

  useEffect(() => {
    // StrictMode runs effects twice, but a one-time token must be sent only once.
    const unsent = takeLinkToken()
    if (!unsent) return
    forgetLinkToken()
    signIn.mutate(unsent, { onSuccess: handleSignedIn })
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once per page load
  }, [])

  if (isChoosing) return <ChoosePassword onDone={onSignedIn} />
  if (token && !signIn.isError) {
    return (
      <p role="status" className="flex items-center gap-3 text-muted">
        <Spinner />
        {t('sign_in.checking')}
      </p>
    )
  }
  if (token && isUnanswered(signIn.error)) {
    return (
      <ErrorState
        error={signIn.error}
        title={t('sign_in.unreachable')}
        onRetry={() => signIn.mutate(token, { onSuccess: handleSignedIn })}
      />
    )
  }
  if (signIn.isError) {
    return (
      <div className="flex flex-col gap-4">
        <ErrorState error={signIn.error} title={t('sign_in.failed')} />
        <IdentityProviders />
        <p className="text-sm text-muted">{t('sign_in.failed_hint')}</p>
        <CommandLine command={LINK_COMMAND} />
      </div>
    )
  }
  return <WaysToSignIn reason={refusal ?? reason} onSignedIn={onSignedIn} />
}

/** Returns whether the app server has not checked the token. In this case, the token may still be valid. */
function isUnanswered(error: unknown): boolean {
  return isApiError(error) && (error.isNetworkFailure || error.status >= 500)
}

function WaysToSignIn({ reason, onSignedIn }: { reason: string | null; onSignedIn: () => void }) {
  const { t } = useTranslation()
  // Loaded again at each mount, because a user may have set the first password since the page was loaded.
  const config = useQuery({ ...webClientConfigQuery(), refetchOnMount: 'always' })
  const hasPasswords = config.data?.password_sign_in ?? false
  const explained = reason !== null && refusalTextKey(reason)
  return (
    <div className="flex flex-col gap-4">
      {explained && <p role="status">{t(explained)}</p>}
      {hasPasswords && <PasswordSignInForm onSignedIn={onSignedIn} />}
      <IdentityProviders />
      <p className="text-muted">{t('sign_in.lead')}</p>
      <ol className="flex list-decimal flex-col gap-3 pl-5 text-sm marker:font-mono marker:text-xs marker:text-faint">
        <li className="pl-1">{t('sign_in.step_start')}</li>
        <li className="pl-1">
          <p className="mb-2">{t('sign_in.step_again')}</p>
          <CommandLine command={LINK_COMMAND} />
        </li>
        <li className="pl-1">{t('sign_in.step_invited')}</li>
      </ol>
      <p className="text-xs text-faint">{t('sign_in.step_open')}</p>
    </div>
  )
}
