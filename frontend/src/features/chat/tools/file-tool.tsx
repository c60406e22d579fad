import { FileMinus, FilePen, FilePlus, FileText, FolderOpen, ImageIcon } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Images } from '../timeline/images'
import { InlineDiff } from '../text/inline-diff'
import { Refusal, ToolStatus } from './outcome'
import { contentImages, contentText } from '../timeline/rows'
import { useShortPath, useWithShortPaths } from '../text/short-path'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { changedLines, verbOf, type FileCall } from './file-call'
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

/** One file that was read or changed, or one listed directory. All file tools use this card. */
export function FileTool({ event, outcome, state, call }: Omit<ToolProps, 'action'> & { call: FileCall }) {
  const { t } = useTranslation()
  const shownPath = useShortPath(call.path)
  const observation = observationOf(outcome)
  const text = contentText(observation?.content ?? [])
  const caption = useWithShortPaths(text)
  const images = contentImages(observation?.content ?? [])
  const Icon = images.length > 0 ? ImageIcon : (ICONS[call.command] ?? FileText)
  const verb = verbOf(call, event.tool_call?.arguments)
  const diff = state === 'failed' ? [] : changedLines(call, observation)
  return (
    <ToolCard
      icon={<Icon aria-hidden />}
      title={
        <>
          <span className="text-muted">{t(`file.${verb}`, { defaultValue: call.command })}</span>{' '}
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
      isOpenByDefault={state === 'failed' || images.length > 0 || !isLook(call)}
    >
      {diff.length > 0 ? (
        <InlineDiff lines={diff} />
      ) : (
        text !== '' &&
        images.length === 0 && (
          <ReadableBlock
            text={text}
            kind={state === 'failed' ? 'error' : 'answer'}
            keep="start"
            isError={state === 'failed'}
          />
        )
      )}
      {images.length > 0 && (
        <div className="px-3 pb-3">
          <Images urls={images} />
          <p className="mt-2 text-xs wrap-anywhere text-muted">{caption}</p>
        </div>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

/** Returns whether the call only reads. Its result is for the agent, so it is shown on request only. */
function isLook({ command }: FileCall): boolean {
  return command === 'view' || command === 'list'
}
