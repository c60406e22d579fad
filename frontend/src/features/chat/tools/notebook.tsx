import { NotebookTabs } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Badge } from '@/ui/feedback/badge'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { HighlightedCode } from '@/ui/text/highlighted-code'
import { Images } from '../timeline/images'
import { Refusal, ToolStatus } from './outcome'
import { contentImages, contentText } from '../timeline/rows'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import type { CellCall } from './cell-call'
import { observationOf, ownSummary, type ToolProps } from './tool-props'

/** A cell of the agent's notebook: its code, its output and its pictures. */
export function NotebookTool({
  event,
  outcome,
  state,
  call,
}: Omit<ToolProps, 'action'> & { call: CellCall }) {
  const { t } = useTranslation()
  const content = observationOf(outcome)?.content ?? []
  const output = contentText(content)
  const images = contentImages(content)
  return (
    <ToolCard
      icon={<NotebookTabs aria-hidden />}
      title={ownSummary(event) ?? t('tool.cell')}
      status={
        <>
          {call.isRestart && <Badge>{t('tool.cell_restart')}</Badge>}
          <ToolStatus state={state} since={event.timestamp} />
        </>
      }
      state={state}
    >
      {call.code !== '' && (
        <ScrollPre dir="ltr" className="max-h-96 px-3 py-2 font-mono text-xs leading-relaxed">
          <HighlightedCode text={call.code} language="python" />
        </ScrollPre>
      )}
      {output !== '' && (
        <div className="border-t border-border first:border-t-0">
          <ReadableBlock text={output} kind={state === 'failed' ? 'output' : 'answer'} />
        </div>
      )}
      {images.length > 0 && (
        <div className="border-t border-border px-3 pb-3">
          <Images urls={images} label={t('tool.cell_picture')} />
        </div>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}
