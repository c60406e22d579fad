import { FileMinus, FilePen, FilePlus, FileText, FolderOpen } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { InlineDiff } from '../inline-diff'
import { OutputBlock } from '../output-block'
import { Refusal, ToolStatus } from '../outcome'
import { contentText } from '../rows'
import { useShortPath } from '../short-path'
import { ToolCard } from '../tool-card'
import { changedLines, type FileCall } from './file-call'
import { LineCounts } from './line-counts'
import { observationOf, type ToolProps } from './tool-props'

const ICONS = {
  view: FileText,
  list: FolderOpen,
  create: FilePlus,
  str_replace: FilePen,
  insert: FilePen,
  undo_edit: FileMinus,
}

/** One file read or changed, or one directory listed, whichever tool did it. */
export function FileTool({ event, outcome, state, call }: Omit<ToolProps, 'action'> & { call: FileCall }) {
  const { t } = useTranslation()
  const Icon = ICONS[call.command] ?? FileText
  const shownPath = useShortPath(call.path)
  const observation = observationOf(outcome)
  const text = contentText(observation?.content ?? [])
  const diff = state === 'failed' ? [] : changedLines(call, observation)
  return (
    <ToolCard
      icon={<Icon aria-hidden />}
      title={
        <>
          <span className="text-muted">{t(`file.${call.command}`, { defaultValue: call.command })}</span>{' '}
          <span className="font-mono text-xs" title={call.path}>
            {shownPath}
          </span>
        </>
      }
      status={
        <>
          {diff.length > 0 && <LineCounts lines={diff} />}
          <ToolStatus state={state} since={event.timestamp} />
        </>
      }
      state={state}
      isOpenByDefault={call.command !== 'view' && call.command !== 'list'}
    >
      {diff.length > 0 ? (
        <InlineDiff lines={diff} />
      ) : (
        text !== '' && <OutputBlock text={text} keep="start" isError={state === 'failed'} />
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}
