import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type InstalledSkill,
  type SkillLoading,
  useChooseSkill,
  useRemoveSkill,
  useUpdateSkill,
} from '@/api/agents/skill-catalogue'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { SkillTextDialog } from './skill-text-dialog'

export interface ServerSkillRowProps {
  skill: SkillLoading
  installed: InstalledSkill | undefined
  /** The repository for which the switch applies. Empty means all repositories. */
  repository: string
  mayShare: boolean
}

export function ServerSkillRow({ skill, installed, repository, mayShare }: ServerSkillRowProps) {
  const { t } = useTranslation()
  const choose = useChooseSkill()
  const update = useUpdateSkill()
  const { name, is_loaded: isLoaded } = skill
  const error = choose.error ?? update.error
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span className="wrap-anywhere">{name ?? skill.path}</span>
            <Badge tone={isLoaded ? 'success' : 'warning'}>
              {t(isLoaded ? 'skills.loaded' : 'skills.not_loaded')}
            </Badge>
            <Badge>{t(`skills.origin_${skill.origin}`)}</Badge>
            {installed?.has_update && <Badge tone="warning">{t('skills.has_update')}</Badge>}
          </p>
          <p className="text-sm wrap-anywhere">{skill.reason}</p>
          <p className="text-xs wrap-anywhere text-muted">{installed ? origin(installed) : skill.path}</p>
          {installed !== undefined && installed.other_files > 0 && (
            <p className="text-xs text-warning">
              {t('skills.other_files', { count: installed.other_files })}
            </p>
          )}
          {installed?.check_problem && (
            <p className="text-xs wrap-anywhere text-warning">
              {t('skills.check_failed', { problem: installed.check_problem })}
            </p>
          )}
          {update.isSuccess && (
            <p role="status" className="text-xs text-success">
              {t('skills.updated', { name })}
            </p>
          )}
        </div>
        <div className="flex flex-wrap gap-2">
          {name && (
            <Button
              size="sm"
              isBusy={choose.isPending}
              aria-label={t(isLoaded ? 'skills.switch_off_named' : 'skills.switch_on_named', { name })}
              onClick={() => choose.mutate({ name, repository: repository || null, is_enabled: !isLoaded })}
            >
              {t(isLoaded ? 'skills.switch_off' : 'skills.switch_on')}
            </Button>
          )}
          {installed && <ShowButton installed={installed} />}
          {installed && (mayShare || !installed.is_for_everyone) && (
            <>
              <Button
                size="sm"
                isBusy={update.isPending}
                aria-label={t('skills.update_named', { name })}
                onClick={() => update.mutate(installed.id)}
              >
                {t('skills.update')}
              </Button>
              <RemoveButton installed={installed} />
            </>
          )}
        </div>
      </div>
      {error && <ErrorState error={error} title={t('skills.change_failed')} />}
    </li>
  )

  function origin({ source, ref, path, commit }: InstalledSkill) {
    const version = commit && t('skills.version', { commit: commit.slice(0, 10) })
    return [source ?? t('skills.product'), ref, path, version].filter(Boolean).join(' · ')
  }
}

function ShowButton({ installed }: { installed: InstalledSkill }) {
  const { t } = useTranslation()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        size="sm"
        aria-label={t('skills.show_named', { name: installed.name })}
        onClick={() => setOpen(true)}
      >
        {t('skills.show')}
      </Button>
      {isOpen && <SkillTextDialog skill={installed} onClose={() => setOpen(false)} />}
    </>
  )
}

function RemoveButton({ installed: { id, name } }: { installed: InstalledSkill }) {
  const { t } = useTranslation()
  const [isDoomed, setDoomed] = useState(false)
  const remove = useRemoveSkill()
  return (
    <>
      <Button size="sm" aria-label={t('skills.remove_named', { name })} onClick={() => setDoomed(true)}>
        {t('skills.remove')}
      </Button>
      {isDoomed && (
        <ConfirmDialog
          isOpen
          onOpenChange={() => setDoomed(false)}
          title={t('skills.remove_title', { name })}
          description={t('skills.remove_text')}
          confirmLabel={t('skills.remove')}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate(id, { onSettled: () => setDoomed(false) })}
        />
      )}
      {remove.isError && <ErrorState error={remove.error} title={t('skills.change_failed')} />}
    </>
  )
}
