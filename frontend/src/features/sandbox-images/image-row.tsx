import { Trash2 } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { type SandboxSpec, useDeleteSandboxSpec } from '@/api/sandboxes/sandbox-specs'
import { Button } from '@/ui/form/button'
import { BuildDetails } from './build-details'

/** One image of the user, its sources, and a button to remove it. */
export function ImageRow({ spec }: { spec: SandboxSpec }) {
  const { t } = useTranslation()
  const remove = useDeleteSandboxSpec()
  return (
    <li className="px-4 py-3">
      <details>
        <summary className="cursor-pointer">
          <span className="text-sm font-medium wrap-anywhere">{spec.name}</span>
          <span className="block font-mono text-xs wrap-anywhere text-muted">{spec.origin ?? spec.base}</span>
        </summary>
        <div className="mt-3 flex flex-col gap-3">
          <BuildDetails base={spec.base} dockerfile={spec.dockerfile} ignored={spec.ignored} />
          {spec.runtime_plugins && (
            <p className="text-sm">
              {t('images.plugins')}:{' '}
              {spec.runtime_plugins.map((name) => t(`images.plugin.${name}`)).join(', ') ||
                t('images.plugins_none')}
            </p>
          )}
          <Button
            size="sm"
            className="self-start"
            icon={<Trash2 aria-hidden className="size-3.5" />}
            isBusy={remove.isPending}
            onClick={() => remove.mutate(spec.id)}
          >
            {t('images.delete', { name: spec.name })}
          </Button>
        </div>
      </details>
    </li>
  )
}
