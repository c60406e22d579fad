import clsx from 'clsx'
import { BookOpen, Circle, CircleCheckBig, CircleDashed, CircleDot, Lightbulb, ListTodo } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { observationIs, type ActionByKind, type PlannedTask } from '@/events/wire/types'
import { Markdown } from '../text/markdown'
import { readableText } from '../text/readable-text'
import { Refusal, ToolStatus } from './outcome'
import { contentText } from '../timeline/rows'
import { OriginalText, ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { observationOf, type ToolProps } from './tool-props'

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

/** The agent's last message, which says what it did. It looks different from the agent's other messages. */
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

/** A skill that the agent has read. Its text is shown on request. */
export function SkillTool({ event, outcome, state, action }: ToolProps<ActionByKind['InvokeSkillAction']>) {
  const { t } = useTranslation()
  const text = contentText(observationOf(outcome)?.content ?? [])
  const shown = readableText(t, text, state === 'failed' ? 'error' : 'answer')
  return (
    <ToolCard
      icon={<BookOpen aria-hidden />}
      title={
        <>
          <span className="text-muted">{t('tool.skill')}</span> {action.name}
        </>
      }
      status={<ToolStatus state={state} since={event.timestamp} />}
      state={state}
      isOpenByDefault={state === 'failed'}
    >
      {text !== '' && (
        <div className="max-h-96 overflow-y-auto px-3 py-2 text-sm text-muted">
          <Markdown text={shown} />
        </div>
      )}
      <OriginalText text={text} shown={shown} />
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

const TASK_ICONS = { todo: Circle, in_progress: CircleDot, done: CircleCheckBig }
const TASK_TONES = { todo: 'text-muted', in_progress: 'text-accent', done: 'text-success' }

export function TaskTrackerTool({
  event,
  outcome,
  state,
  action,
}: ToolProps<ActionByKind['TaskTrackerAction']>) {
  const { t } = useTranslation()
  const observation = observationOf(outcome)
  // A call that only views the list has no list in its arguments. Then the answer contains the list.
  const listed = observationIs(observation, 'TaskTrackerObservation') ? observation.task_list : undefined
  const tasks = listed ?? action.task_list ?? []
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
      {state === 'failed' && observation !== null && (
        <ReadableBlock text={contentText(observation.content)} kind="error" keep="start" isError />
      )}
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
  const status = task.status ?? 'todo'
  const Icon = TASK_ICONS[status] ?? CircleDashed
  return (
    <li className="flex gap-2">
      <Icon aria-hidden className={clsx('mt-0.5 size-4 shrink-0', TASK_TONES[status] ?? 'text-muted')} />
      <span className={status === 'done' ? 'text-muted' : undefined}>
        {task.title}
        <span className="sr-only">, {t(`tool.task_status.${status}`)}</span>
        {task.notes && <span className="block text-xs text-muted">{task.notes}</span>}
      </span>
    </li>
  )
}
