import { NotebookPen, NotebookText } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Markdown } from '../text/markdown'
import { Refusal, ToolStatus } from './outcome'
import { contentText } from '../timeline/rows'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import type { NoteCall } from './note-call'
import { observationOf, type ToolProps } from './tool-props'

/** A note that the agent writes for later conversations, or the agent's search in the existing notes. */
export function MemoryTool({ event, outcome, state, call }: Omit<ToolProps, 'action'> & { call: NoteCall }) {
  const { t } = useTranslation()
  const Icon = call.command === 'search' ? NotebookText : NotebookPen
  const answer = contentText(observationOf(outcome)?.content ?? [])
  const text = call.command === 'search' ? answer : call.text
  return (
    <ToolCard
      icon={<Icon aria-hidden />}
      title={
        <>
          <span className="text-muted">{t(`tool.note_${call.command}`)}</span> {call.subject}
        </>
      }
      status={<ToolStatus state={state} since={event.timestamp} />}
      state={state}
      isOpenByDefault={state === 'failed'}
    >
      {state === 'failed' && answer !== '' ? (
        <ReadableBlock text={answer} kind="error" keep="start" isError />
      ) : (
        <div className="max-h-96 overflow-y-auto px-3 py-2 text-sm text-muted">
          <Markdown text={text || answer} />
        </div>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}
