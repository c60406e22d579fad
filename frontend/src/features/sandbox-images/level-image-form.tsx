import { useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useSaveLevelItem, type AdministeredItem } from '@/api/people/level-items'
import { RUNTIME_PLUGINS, type RuntimePluginName } from '@/api/sandboxes/sandbox-specs'
import { Button } from '@/ui/form/button'
import { DescriptionField } from '@/ui/form/description-field'
import { EnforceField } from '@/ui/form/enforce-field'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Segmented } from '@/ui/form/segmented'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { DialogActions } from '@/ui/overlay/dialog'
import { ImageSource } from './image-source'
import { PluginChoices } from './plugin-choices'

export interface LevelImageFormProps {
  item: AdministeredItem | undefined
  teamId: string | null
  onClose: () => void
}

/** Adds a sandbox image of the organisation or a team, or changes one. */
export function LevelImageForm({ item, teamId, onClose }: LevelImageFormProps) {
  const { t } = useTranslation()
  const save = useSaveLevelItem()
  const spec = item?.sandbox_spec
  const [name, setName] = useState(item?.name ?? '')
  const [kind, setKind] = useState<'image' | 'dockerfile'>(spec?.dockerfile ? 'dockerfile' : 'image')
  const [text, setText] = useState(spec?.dockerfile ?? spec?.base ?? '')
  const [plugins, setPlugins] = useState<readonly RuntimePluginName[]>(
    spec?.runtime_plugins ?? RUNTIME_PLUGINS,
  )
  const [description, setDescription] = useState(item?.description ?? '')
  const [isDefault, setIsDefault] = useState(spec?.is_default ?? false)
  const [isEnforced, setIsEnforced] = useState(item?.enforced ?? false)
  const isReady = name.trim() !== '' && text.trim() !== ''

  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    if (!isReady) return
    const body = {
      [kind]: kind === 'image' ? text.trim() : text,
      runtime_plugins: plugins.length === RUNTIME_PLUGINS.length ? null : plugins,
      description: description.trim() || null,
      is_default: isDefault,
      enforced: isEnforced,
    }
    save.mutate({ kind: 'sandbox_spec', name: name.trim(), teamId, body }, { onSuccess: onClose })
  }

  return (
    <form onSubmit={handleSubmit} noValidate className="flex flex-col gap-4">
      <Notice tone="warning">{t('images.risk')}</Notice>
      <Field label={t('images.name')}>
        {(control) => (
          <Input
            {...control}
            readOnly={item !== undefined}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Segmented
        label={t('images.kind')}
        value={kind}
        options={[
          { value: 'image', label: t('images.kind_image') },
          { value: 'dockerfile', label: t('images.kind_dockerfile') },
        ]}
        onValueChange={(next) => {
          setKind(next)
          setText('')
        }}
      />
      <ImageSource kind={kind} text={text} onChange={setText} />
      <PluginChoices enabled={plugins} onChange={setPlugins} />
      <DescriptionField
        label={t('level_items.description')}
        description={description}
        onChange={setDescription}
      />
      <label className="flex items-center gap-2 text-sm">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={isDefault}
          onChange={(event) => setIsDefault(event.target.checked)}
        />
        {t('images.is_default')}
      </label>
      <EnforceField isEnforced={isEnforced} onChange={setIsEnforced} />
      {isDefault && isEnforced && <p className="text-sm text-muted">{t('images.enforced_default')}</p>}
      {save.isError && <ErrorState error={save.error} title={t('organisation.save_failed')} />}
      <DialogActions>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={save.isPending} disabled={!isReady}>
          {t('action.save')}
        </Button>
      </DialogActions>
    </form>
  )
}
