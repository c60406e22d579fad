import { useTranslation } from 'react-i18next'
import { useLocation, useNavigate } from 'react-router'
import { SignInCard } from '@/features/sign-in/sign-in-card'
import { takeDestination } from '@/lib/browser/sign-in-destination'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { Card } from '@/ui/layout/card'
import { LinesDrawing } from '@/ui/drawings/lines-drawing'
import { Logo } from '@/ui/drawings/logo'

export function SignInRoute() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const { hash, state } = useLocation()
  useDocumentTitle(t('sign_in.title'))
  return (
    <main className="relative grid min-h-full place-items-center overflow-hidden px-4 py-10">
      <LinesDrawing className="pointer-events-none absolute top-1/2 left-1/2 w-[max(92rem,120vw)] -translate-x-1/2 -translate-y-1/2 text-border-strong opacity-40" />
      <Card className="relative w-full max-w-md p-8 shadow-overlay">
        <div className="mb-6 flex items-center gap-3">
          <Logo className="size-9" />
          <div>
            <p className="eyebrow">Slipway</p>
            <h1 className="text-xl leading-tight font-semibold">{t('sign_in.title')}</h1>
          </div>
        </div>
        {/* Another link in this tab changes only the fragment. The key then creates a new card. */}
        <SignInCard
          key={hash}
          reason={refusalTextKey(state)}
          onSignedIn={() => void navigate(takeDestination() ?? '/', { replace: true })}
        />
      </Card>
    </main>
  )
}

/** Returns the code of the refusal that led to this page. Returns null if there was no refusal. */
function refusalTextKey(state: unknown): string | null {
  const reason = typeof state === 'object' && state !== null && 'reason' in state ? state.reason : null
  return typeof reason === 'string' ? reason : null
}
