import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { NETWORK_MODES, type NetworkMode } from '@/api/sandboxes/network'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'
import { Textarea } from '@/ui/form/textarea'

interface Setting {
  mode: NetworkMode | null
  hosts: string[]
}

export interface NetworkFormProps {
  label: string
  setting: Setting
  /** The mode that applies if no mode is chosen. Null means the mode that applies to all tasks. */
  defaultMode: NetworkMode | null
  save: {
    mutate: (setting: Setting, options: { onSuccess: () => void }) => void
    isPending: boolean
    error: Error | null
  }
}

/** The network mode and the additional hosts, for all tasks or for one repository. */
export function NetworkForm({ label, setting, defaultMode, save }: NetworkFormProps) {
  const { t } = useTranslation()
  const [mode, setMode] = useState(setting.mode)
  const [text, setText] = useState(setting.hosts.join('\n'))
  const hosts = text.split(/[\s,]+/).filter(Boolean)
  const isChanged = mode !== setting.mode || hosts.join() !== setting.hosts.join()
  const inherited = defaultMode
    ? t('network.inherited_from', { mode: t(`network.mode.${defaultMode}`) })
    : t('network.inherited')
  const submit = () => save.mutate({ mode, hosts }, { onSuccess: () => toast.success(t('network.saved')) })
  return (
    <form
      aria-label={label}
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Field label={t('network.mode.label')} hint={t(`network.mode.${mode ?? 'inherited'}_hint`)}>
        {(control) => (
          <Select
            {...control}
            value={mode ?? ''}
            onChange={(event) => setMode((event.target.value || null) as NetworkMode | null)}
          >
            <option value="">{inherited}</option>
            {NETWORK_MODES.map((each) => (
              <option key={each} value={each}>
                {t(`network.mode.${each}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t('network.hosts')} hint={t('network.hosts_hint')}>
        {(control) => (
          <Textarea
            {...control}
            value={text}
            onChange={(event) => setText(event.target.value)}
            placeholder="example.org"
            spellCheck={false}
            autoCapitalize="none"
            className="max-h-60 font-mono"
          />
        )}
      </Field>
      {save.error && <ErrorState error={save.error} title={t('network.save_failed')} />}
      <div>
        <Button type="submit" variant="primary" isBusy={save.isPending} disabled={!isChanged}>
          {t('network.save')}
        </Button>
      </div>
    </form>
  )
}
