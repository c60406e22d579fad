import { useQuery } from '@tanstack/react-query'
import { useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { retentionPreviewQuery, useSaveRetention, type RetentionSetting } from '@/api/automation/retention'
import { parseTags, tagText } from '@/lib/text/tags'
import { useDebounced } from '@/lib/hooks/use-debounced'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

const COUNT_DELAY_MS = 300
const MAX_DAYS = 3650

/** Reads a number of days. Returns null for an empty text, and undefined for an invalid text. */
function daysOf(text: string): number | null | undefined {
  if (text.trim() === '') return null
  const days = /^\d{1,4}$/.test(text.trim()) ? Number(text) : 0
  return days >= 1 && days <= MAX_DAYS ? days : undefined
}

/**
 * The form for the retention rule. It shows what the rule would do now. A rule that deletes needs a
 * confirmation before it is saved.
 */
export function RetentionForm({ setting }: { setting: RetentionSetting }) {
  const { t } = useTranslation()
  const [daysText, setDaysText] = useState(setting.days?.toString() ?? '')
  const [action, setAction] = useState(setting.action)
  const [tagsText, setTagsText] = useState(setting.kept_tags.join(', '))
  const [isConfirming, setConfirming] = useState(false)
  const save = useSaveRetention()
  const days = daysOf(daysText)
  const tags = parseTags(tagsText)
  const wanted: RetentionSetting | null =
    days === undefined || tags === undefined
      ? null
      : { days, action, kept_tags: Object.entries(tags).map(([key, value]) => tagText(key, value)) }

  function handleSave() {
    if (wanted === null) return
    save.mutate(wanted, {
      onSuccess: () => toast.success(t('retention.saved')),
      onSettled: () => setConfirming(false),
    })
  }

  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    if (wanted === null) return
    if (wanted.action === 'delete' && wanted.days !== null) setConfirming(true)
    else handleSave()
  }

  return (
    <Card>
      <form onSubmit={handleSubmit} noValidate className="flex flex-col gap-4 p-4">
        <div className="flex flex-wrap gap-4">
          <Field
            label={t('retention.days')}
            hint={t('retention.days_hint')}
            error={days === undefined && t('retention.days_wrong')}
            className="w-full sm:w-52"
          >
            {(control) => (
              <Input
                {...control}
                inputMode="numeric"
                value={daysText}
                onChange={(event) => setDaysText(event.target.value)}
              />
            )}
          </Field>
          <Field label={t('retention.action')} className="w-full sm:w-80">
            {(control) => (
              <Select
                {...control}
                value={action}
                onChange={(event) => setAction(event.target.value === 'delete' ? 'delete' : 'archive')}
              >
                <option value="archive">{t('retention.archive')}</option>
                <option value="delete">{t('retention.delete')}</option>
              </Select>
            )}
          </Field>
        </div>
        <Field
          label={t('retention.kept_tags')}
          hint={t('retention.kept_tags_hint')}
          error={tags === undefined && t('tags.wrong')}
        >
          {(control) => (
            <Input {...control} value={tagsText} onChange={(event) => setTagsText(event.target.value)} />
          )}
        </Field>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <RetentionEffect setting={wanted} />
          <Button type="submit" variant="primary" disabled={wanted === null} isBusy={save.isPending}>
            {t('action.save')}
          </Button>
        </div>
      </form>
      <ConfirmDialog
        isOpen={isConfirming}
        onOpenChange={setConfirming}
        title={t('retention.confirm_title')}
        description={t('retention.confirm_text', { days })}
        confirmLabel={t('retention.confirm')}
        isBusy={save.isPending}
        onConfirm={handleSave}
      />
    </Card>
  )
}

/** Says how many conversations the setting would archive or delete now. */
function RetentionEffect({ setting }: { setting: RetentionSetting | null }) {
  const { t } = useTranslation()
  const json = useDebounced(JSON.stringify(setting), COUNT_DELAY_MS)
  const counted = JSON.parse(json) as RetentionSetting | null
  const isOff = counted === null || counted.days === null
  const query = useQuery({
    ...retentionPreviewQuery(counted ?? { days: null, action: 'archive', kept_tags: [] }),
    enabled: !isOff,
  })
  if (setting === null) return <p />
  const text = isOff
    ? t('retention.none')
    : query.data
      ? t(`retention.would_${counted.action}`, { count: query.data.count })
      : t('retention.counting')
  return (
    <p role="status" className="text-sm text-muted">
      {text}
    </p>
  )
}
