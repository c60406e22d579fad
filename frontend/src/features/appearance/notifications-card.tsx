import { useTranslation } from 'react-i18next'
import { turnNotificationsOff, turnNotificationsOn, useNotificationState } from '@/lib/browser/notifications'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'

/** Turns notifications of the browser on and off. */
export function NotificationsCard() {
  const { t } = useTranslation()
  const state = useNotificationState()
  return (
    <Card className="mt-4 flex flex-wrap items-center justify-between gap-4 p-4">
      <div>
        <p className="font-medium">{t('notifications.title')}</p>
        <p className="text-sm text-muted">
          {t(
            state === 'blocked' || state === 'unsupported' ? `notifications.${state}` : 'notifications.hint',
          )}
        </p>
      </div>
      {state === 'off' && (
        <Button onClick={() => void turnNotificationsOn()}>{t('notifications.turn_on')}</Button>
      )}
      {state === 'on' && <Button onClick={turnNotificationsOff}>{t('notifications.turn_off')}</Button>}
    </Card>
  )
}
