import { AppWindow } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Images } from '../timeline/images'
import { Refusal, ToolStatus } from './outcome'
import { contentImages, contentText } from '../timeline/rows'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { answeredCall, type BrowserCall } from './browser-call'
import { observationOf, type ToolProps } from './tool-props'

/** One step in the agent's browser. Screenshots are shown at once, other results when the user opens them. */
export function BrowserTool({
  event,
  outcome,
  state,
  call,
}: Omit<ToolProps, 'action'> & { call: BrowserCall }) {
  const { t } = useTranslation()
  const content = observationOf(outcome)?.content ?? []
  const answer = contentText(content)
  const images = contentImages(content)
  const { verb, subject, isAddress } = answeredCall(call, answer)
  return (
    <ToolCard
      icon={<AppWindow aria-hidden />}
      title={
        <>
          <span className="text-muted">{t(`tool.browser.${verb}`)}</span>{' '}
          <span className={isAddress ? 'font-mono text-xs' : undefined} title={subject}>
            {subject}
          </span>
        </>
      }
      status={<ToolStatus state={state} since={event.timestamp} />}
      state={state}
      isOpenByDefault={state === 'failed' || images.length > 0}
    >
      {images.length > 0 && (
        <div className="px-3 pb-3">
          <Images urls={images} label={t('tool.browser.screenshot')} />
        </div>
      )}
      {answer !== '' && (
        <ReadableBlock
          text={answer}
          kind={state === 'failed' ? 'error' : 'answer'}
          keep="start"
          isError={state === 'failed'}
        />
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}
