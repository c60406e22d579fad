import { useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useSaveLevelItem, type AdministeredItem } from '@/api/people/level-items'
import { Button } from '@/ui/form/button'
import { DescriptionField } from '@/ui/form/description-field'
import { EnforceField } from '@/ui/form/enforce-field'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Segmented } from '@/ui/form/segmented'
import { ErrorState } from '@/ui/feedback/error-state'
import { DialogActions } from '@/ui/overlay/dialog'

export interface LevelRuleFormProps {
  item: AdministeredItem | undefined
  teamId: string | null
  onClose: () => void
}

/** Adds a rule of the organisation or a team for a host, or changes one. */
export function LevelRuleForm({ item, teamId, onClose }: LevelRuleFormProps) {
  const { t } = useTranslation()
  const save = useSaveLevelItem()
  const [host, setHost] = useState(item?.name ?? '')
  const [kind, setKind] = useState<'allow' | 'deny'>(item?.allows ? 'allow' : 'deny')
  const [description, setDescription] = useState(item?.description ?? '')
  const [isEnforced, setIsEnforced] = useState(item?.enforced ?? true)

  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    if (!host.trim()) return
    const body = { allows: kind === 'allow', description: description.trim() || null, enforced: isEnforced }
    save.mutate({ kind: 'egress_rule', name: host.trim(), teamId, body }, { onSuccess: onClose })
  }

  return (
    <form onSubmit={handleSubmit} noValidate className="flex flex-col gap-4">
      <Field label={t('level_items.host')} hint={t('level_items.host_hint')}>
        {(control) => (
          <Input
            {...control}
            readOnly={item !== undefined}
            className="font-mono"
            autoComplete="off"
            spellCheck={false}
            placeholder="*.example.org"
            value={host}
            onChange={(event) => setHost(event.target.value)}
          />
        )}
      </Field>
      <Segmented
        label={t('level_items.rule')}
        value={kind}
        options={[
          { value: 'deny', label: t('level_items.deny') },
          { value: 'allow', label: t('level_items.allow') },
        ]}
        onValueChange={setKind}
      />
      <DescriptionField label={t('level_items.reason')} description={description} onChange={setDescription} />
      <EnforceField isEnforced={isEnforced} onChange={setIsEnforced} />
      {save.isError && <ErrorState error={save.error} title={t('organisation.save_failed')} />}
      <DialogActions>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={save.isPending} disabled={!host.trim()}>
          {t('action.save')}
        </Button>
      </DialogActions>
    </form>
  )
}
