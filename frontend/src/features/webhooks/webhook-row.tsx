import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type Callback,
  type CallbackWithSecret,
  useDeleteCallback,
  useEnableCallback,
  useRotateSecret,
} from '@/api/automation/callbacks'
import { formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { Deliveries } from './deliveries'

const WITHOUT_ADDRESS: Partial<
  Record<Callback['processor'], 'webhooks.on_its_page' | 'webhooks.starts_task'>
> = {
  comment: 'webhooks.on_its_page',
  task: 'webhooks.starts_task',
}

export interface WebhookRowProps {
  callback: Callback
  onSecret: (callback: CallbackWithSecret) => void
}

export function WebhookRow({ callback, onSecret }: WebhookRowProps) {
  const { t } = useTranslation()
  const [isOpen, setOpen] = useState(false)
  const [question, setQuestion] = useState<'rotate' | 'delete' | null>(null)
  const enable = useEnableCallback()
  const { id, name, is_enabled: isEnabled } = callback
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span className="wrap-anywhere">{name}</span>
            {!isEnabled && <Badge tone="warning">{t('webhooks.disabled')}</Badge>}
            {callback.is_for_everyone && <Badge>{t('webhooks.for_everyone')}</Badge>}
          </p>
          <p className="text-xs wrap-anywhere text-muted">{useFacts(callback)}</p>
          {callback.disabled_reason && <p className="mt-1 text-xs text-danger">{callback.disabled_reason}</p>}
        </div>
        <div className="flex flex-wrap gap-2">
          <Button
            size="sm"
            aria-expanded={isOpen}
            aria-label={t('webhooks.deliveries_named', { name })}
            onClick={() => setOpen(!isOpen)}
          >
            {t('webhooks.deliveries')}
          </Button>
          <Button
            size="sm"
            isBusy={enable.isPending}
            aria-label={t(isEnabled ? 'webhooks.disable_named' : 'webhooks.enable_named', { name })}
            onClick={() => enable.mutate({ id, isEnabled: !isEnabled })}
          >
            {t(isEnabled ? 'webhooks.disable' : 'webhooks.enable')}
          </Button>
          {callback.processor === 'webhook' && (
            <Button
              size="sm"
              aria-label={t('webhooks.rotate_named', { name })}
              onClick={() => setQuestion('rotate')}
            >
              {t('webhooks.rotate')}
            </Button>
          )}
          <Button
            size="sm"
            aria-label={t('webhooks.delete_named', { name })}
            onClick={() => setQuestion('delete')}
          >
            {t('action.delete')}
          </Button>
        </div>
      </div>
      {isOpen && <Deliveries callback={callback} />}
      {question === 'delete' && <DeleteDialog callback={callback} onClose={() => setQuestion(null)} />}
      {question === 'rotate' && (
        <RotateDialog callback={callback} onClose={() => setQuestion(null)} onSecret={onSecret} />
      )}
    </li>
  )
}

function useFacts(callback: Callback): string {
  const { t } = useTranslation()
  const filters = [callback.kinds, callback.sources, callback.tools, callback.statuses].flatMap(
    (words) => words ?? [],
  )
  return [
    callback.processor === 'chat' && t('webhooks.processor_chat'),
    callback.host ?? callback.email ?? t(WITHOUT_ADDRESS[callback.processor] ?? 'webhooks.log'),
    filters.length > 0 ? filters.join(', ') : t('webhooks.every_event'),
    callback.previous_secret_until &&
      isAhead(callback.previous_secret_until) &&
      t('webhooks.previous_until', { date: formatDateTime(callback.previous_secret_until) }),
  ]
    .filter(Boolean)
    .join(' · ')
}

function isAhead(iso: string): boolean {
  return Date.parse(iso) > Date.now()
}

interface DialogProps {
  callback: Callback
  onClose: () => void
}

function DeleteDialog({ callback, onClose }: DialogProps) {
  const { t } = useTranslation()
  const remove = useDeleteCallback()
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('webhooks.delete_title', { name: callback.name })}
      description={t('webhooks.delete_text')}
      confirmLabel={t('action.delete')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(callback.id, { onSuccess: onClose })}
    />
  )
}

function RotateDialog({ callback, onClose, onSecret }: DialogProps & Pick<WebhookRowProps, 'onSecret'>) {
  const { t } = useTranslation()
  const rotate = useRotateSecret()
  function handleConfirm() {
    rotate.mutate(callback.id, {
      onSuccess: (changed) => {
        onClose()
        onSecret(changed)
      },
    })
  }
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('webhooks.rotate_title', { name: callback.name })}
      description={t('webhooks.rotate_text')}
      confirmLabel={t('webhooks.rotate')}
      isBusy={rotate.isPending}
      onConfirm={handleConfirm}
    />
  )
}
