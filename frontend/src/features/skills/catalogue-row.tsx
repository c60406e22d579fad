import { useTranslation } from 'react-i18next'
import { type CatalogueSkill, useInstallSkill } from '@/api/agents/skill-catalogue'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'

export function CatalogueRow({ skill, mayShare }: { skill: CatalogueSkill; mayShare: boolean }) {
  const { t } = useTranslation()
  const install = useInstallSkill()
  const { name, marketplace } = skill
  const source = marketplace ?? t('skills.product')
  const put = (isForEveryone: boolean) =>
    install.mutate({ name, marketplace, is_for_everyone: isForEveryone })
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span className="wrap-anywhere">{name}</span>
            <Badge>{source}</Badge>
            {skill.is_installed && <Badge tone="success">{t('skills.installed')}</Badge>}
            {skill.is_installed_for_everyone && (
              <Badge tone="success">{t('skills.installed_for_everyone')}</Badge>
            )}
            {skill.has_update && <Badge tone="warning">{t('skills.has_update')}</Badge>}
          </p>
          <p className="text-sm wrap-anywhere text-muted">{skill.description}</p>
        </div>
        <div className="flex flex-wrap gap-2">
          {!skill.is_installed && (
            <Button
              size="sm"
              isBusy={install.isPending}
              aria-label={t('skills.install_named', { name, source })}
              onClick={() => put(false)}
            >
              {t('skills.install')}
            </Button>
          )}
          {mayShare && !skill.is_installed_for_everyone && (
            <Button
              size="sm"
              isBusy={install.isPending}
              aria-label={t('skills.install_for_everyone_named', { name, source })}
              onClick={() => put(true)}
            >
              {t('skills.install_for_everyone')}
            </Button>
          )}
        </div>
      </div>
      {install.isError && <ErrorState error={install.error} title={t('skills.install_failed')} />}
    </li>
  )
}
