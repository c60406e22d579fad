import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { type InstalledSkill, skillTextQuery } from '@/api/agents/skill-catalogue'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Dialog } from '@/ui/overlay/dialog'
import { ScrollPre } from '@/ui/text/scroll-pre'

/** Shows the complete text of a skill, as agents get it. */
export function SkillTextDialog({ skill, onClose }: { skill: InstalledSkill; onClose: () => void }) {
  const { t } = useTranslation()
  const query = useQuery(skillTextQuery(skill.id))
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={skill.name}
      description={skill.description}
      className="sm:max-w-3xl"
    >
      {query.isPending && <SkeletonList rows={4} label={t('skills.loading')} className="h-6" />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <ScrollPre
          aria-label={skill.name}
          className="max-h-[60vh] rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
        >
          {query.data.text}
        </ScrollPre>
      )}
    </Dialog>
  )
}
