import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { DeviceSignIn } from '@/features/devices/device-sign-in'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { Card } from '@/ui/layout/card'

/** The page on which a user allows the sign-in of a terminal. `slipway login` prints its address. */
export function DeviceRoute() {
  const { t } = useTranslation()
  const [search] = useSearchParams()
  const code = search.get('user_code') ?? ''
  useDocumentTitle(t('device.title'))
  return (
    <div className="mx-auto max-w-xl px-4 py-10 sm:px-8 sm:py-16">
      <h1 className="mb-5 text-xl font-semibold">{t('device.title')}</h1>
      <Card className="p-5 sm:p-7">
        <DeviceSignIn key={code} codeInAddress={code} />
      </Card>
    </div>
  )
}
