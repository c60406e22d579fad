import { CircleCheckBig, CircleDashed, CircleDot, Circle, Lightbulb, ListTodo } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { ActionByKind, PlannedTask } from '@/events/types'
import { Markdown } from '../markdown'
import { Refusal, ToolStatus } from '../outcome'
import { ToolCard } from '../tool-card'
import type { ToolProps } from './tool-props'

export function ThinkTool({ event, outcome, state, action }: ToolProps<ActionByKind['ThinkAction']>) {
  const { t } = useTranslation()
  return (
    <ToolCard
      icon={<Lightbulb aria-hidden />}
      title={t('tool.think')}
      status={<ToolStatus state={state} since={event.timestamp} />}
      state={state}
    >
      <div className="px-3 py-2 text-sm text-muted">
        <Markdown text={action.thought} />
      </div>
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

/** The agent's last word: what it did, set apart from everything it said on the way. */
export function FinishTool({ action }: ToolProps<ActionByKind['FinishAction']>) {
  const { t } = useTranslation()
  return (
    <section className="rounded-xl border border-success/40 bg-raised p-4 shadow-raised">
      <h2 className="mb-1.5 flex items-center gap-2 text-sm font-medium text-success">
        <CircleCheckBig aria-hidden className="size-4" />
        {t('tool.finished')}
      </h2>
      <Markdown text={action.message} />
    </section>
  )
}

const TASK_ICONS = { todo: Circle, in_progress: CircleDot, done: CircleCheckBig }

export function TaskTrackerTool({
  event,
  outcome,
  state,
  action,
}: ToolProps<ActionByKind['TaskTrackerAction']>) {
  const { t } = useTranslation()
  const tasks = action.task_list ?? []
  const done = tasks.filter((task) => task.status === 'done').length
  return (
    <ToolCard
      icon={<ListTodo aria-hidden />}
      title={t('tool.tasks')}
      status={
        <>
          {tasks.length > 0 && t('tool.tasks_done', { done, total: tasks.length })}
          <ToolStatus state={state} since={event.timestamp} />
        </>
      }
      state={state}
    >
      {tasks.length > 0 && (
        <ul className="space-y-1 px-3 py-2 text-sm">
          {tasks.map((task, index) => (
            <TaskLine key={index} task={task} />
          ))}
        </ul>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

function TaskLine({ task }: { task: PlannedTask }) {
  const { t } = useTranslation()
  const Icon = TASK_ICONS[task.status] ?? CircleDashed
  return (
    <li className="flex gap-2">
      <Icon
        aria-hidden
        className={task.status === 'done' ? 'mt-0.5 size-4 text-success' : 'mt-0.5 size-4 text-muted'}
      />
      <span className={task.status === 'done' ? 'text-muted' : undefined}>
        {task.title}
        <span className="sr-only">, {t(`tool.task_status.${task.status}`)}</span>
        {task.notes && <span className="block text-xs text-muted">{task.notes}</span>}
      </span>
    </li>
  )
}
