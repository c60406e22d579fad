import { Clapperboard, KeyRound, Play, Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { useStartConversation } from '@/api/conversations/start-tasks'
import type { WebClientConfig } from '@/api/types'
import { repositoryName } from '@/lib/text/repository-name'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { startRequest } from './start-request'

export interface FirstRunProps {
  demo: WebClientConfig['demo']
  onAddModel: () => void
}

/** Shown before any model is set up. The user can watch a recorded model at work, or connect a real model. */
export function FirstRun({ demo, onAddModel }: FirstRunProps) {
  return (
    <div className="grid gap-4 md:grid-cols-2">
      {demo && <DemoCard demo={demo} />}
      <AddModelCard onAddModel={onAddModel} />
    </div>
  )
}

function DemoCard({ demo }: { demo: NonNullable<WebClientConfig['demo']> }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const start = useStartConversation()
  const { profile, repository, task } = demo

  function handleStart() {
    start.mutate(startRequest({ task, repository, branch: '', budget: '', profile }), {
      onSuccess: (started) => void navigate(`/conversations/${started.app_conversation_id}`),
    })
  }

  return (
    <ChoiceCard
      title={t('first_run.demo_title')}
      badge={
        <Badge tone="warning" icon={<Clapperboard />}>
          {t('first_run.demo_badge')}
        </Badge>
      }
      text={t('first_run.demo_text')}
      action={
        <Button
          variant="primary"
          icon={<Play className="size-4" />}
          isBusy={start.isPending}
          onClick={handleStart}
        >
          {t('first_run.demo_start')}
        </Button>
      }
    >
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 border-l-2 border-signal pl-3 text-sm">
        <dt className="text-muted">{t('first_run.demo_task')}</dt>
        <dd>{task}</dd>
        <dt className="text-muted">{t('first_run.demo_repository')}</dt>
        <dd className="truncate font-mono text-xs leading-5" title={repository}>
          {repositoryName(repository)}
        </dd>
      </dl>
      {start.isError && <ErrorState error={start.error} />}
    </ChoiceCard>
  )
}

function AddModelCard({ onAddModel }: Pick<FirstRunProps, 'onAddModel'>) {
  const { t } = useTranslation()
  return (
    <ChoiceCard
      title={t('first_run.model_title')}
      badge={
        <Badge tone="accent" icon={<KeyRound />}>
          {t('first_run.model_badge')}
        </Badge>
      }
      text={t('first_run.model_text')}
      action={
        <Button icon={<Plus className="size-4" />} onClick={onAddModel}>
          {t('first_run.model_start')}
        </Button>
      }
    />
  )
}

interface ChoiceCardProps {
  title: string
  badge: ReactNode
  text: string
  action: ReactNode
  children?: ReactNode
}

function ChoiceCard({ title, badge, text, action, children }: ChoiceCardProps) {
  return (
    <Card className="flex flex-col gap-4 p-6">
      <div className="flex items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">{title}</h2>
        {badge}
      </div>
      <p className="text-sm text-muted">{text}</p>
      {children}
      <div className="mt-auto pt-1">{action}</div>
    </Card>
  )
}
