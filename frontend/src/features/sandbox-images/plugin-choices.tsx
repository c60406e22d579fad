import { useTranslation } from 'react-i18next'
import { RUNTIME_PLUGINS, type RuntimePluginName } from '@/api/sandboxes/sandbox-specs'

interface Props {
  enabled: readonly RuntimePluginName[]
  onChange: (enabled: readonly RuntimePluginName[]) => void
}

/** Lets the user choose which runtime plugins of an image its sandboxes have. */
export function PluginChoices({ enabled, onChange }: Props) {
  const { t } = useTranslation()
  const toggle = (name: RuntimePluginName, isOn: boolean) =>
    onChange(RUNTIME_PLUGINS.filter((one) => (one === name ? isOn : enabled.includes(one))))
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-sm font-medium">{t('images.plugins')}</legend>
      <p className="text-xs text-muted">{t('images.plugins_hint')}</p>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {RUNTIME_PLUGINS.map((name) => (
          <label key={name} className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              className="accent-accent"
              checked={enabled.includes(name)}
              onChange={(event) => toggle(name, event.target.checked)}
            />
            {t(`images.plugin.${name}`)}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
