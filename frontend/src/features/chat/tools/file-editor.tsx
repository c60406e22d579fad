import { FileMinus, FilePen, FilePlus, FileText } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { observationIs, type ActionByKind } from '@/events/types'
import { lineDiff, type DiffLine } from '@/lib/line-diff'
import { InlineDiff } from '../inline-diff'
import { OutputBlock } from '../output-block'
import { Refusal, ToolStatus } from '../outcome'
import { contentText } from '../rows'
import { useShortPath } from '../short-path'
import { ToolCard } from '../tool-card'
import { observationOf, type ToolProps } from './tool-props'

type FileAction = ActionByKind['FileEditorAction']

const ICONS = {
  view: FileText,
  create: FilePlus,
  str_replace: FilePen,
  insert: FilePen,
  undo_edit: FileMinus,
}

export function FileEditorTool({ event, outcome, state, action }: ToolProps<FileAction>) {
  const { t } = useTranslation()
  const Icon = ICONS[action.command] ?? FileText
  const shownPath = useShortPath(action.path)
  const observation = observationOf(outcome)
  const text = contentText(observation?.content ?? [])
  const diff = state === 'failed' ? [] : changedLines(action, observation)
  return (
    <ToolCard
      icon={<Icon aria-hidden />}
      title={
        <>
          <span className="text-muted">{t(`file.${action.command}`, { defaultValue: action.command })}</span>{' '}
          <span className="font-mono text-xs" title={action.path}>
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
      isInitiallyOpen={action.command !== 'view'}
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

/** The edit as lines. The observation knows the whole file; before it comes, the action alone tells what is asked. */
function changedLines(action: FileAction, observation: ReturnType<typeof observationOf>): DiffLine[] {
  if (action.command === 'view') return []
  const result = observationIs(observation, 'FileEditorObservation') ? observation : null
  if (typeof result?.new_content === 'string') return lineDiff(result.old_content ?? '', result.new_content)
  switch (action.command) {
    case 'create':
      return lineDiff('', action.file_text ?? '')
    case 'str_replace':
      return lineDiff(action.old_str ?? '', action.new_str ?? '')
    case 'insert':
      return lineDiff('', action.new_str ?? '')
    case 'undo_edit':
      return []
  }
}

function LineCounts({ lines }: { lines: readonly DiffLine[] }) {
  const { t } = useTranslation()
  const added = lines.filter((line) => line.type === 'added').length
  const removed = lines.filter((line) => line.type === 'removed').length
  return (
    <span className="font-mono" aria-label={t('changes.counts', { added, removed })}>
      <span className="text-success">+{added}</span> <span className="text-danger">−{removed}</span>
    </span>
  )
}
