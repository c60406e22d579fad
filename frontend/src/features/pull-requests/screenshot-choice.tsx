import type { UseFormRegisterReturn } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import type { PullRequestProposal } from '@/api/git/pull-requests'
import { useEventImage } from '@/events/event-image'
import { ErrorState } from '@/ui/feedback/error-state'

type Screenshot = PullRequestProposal['screenshots'][number]

export interface ScreenshotChoiceProps {
  screenshots: Screenshot[]
  /**
   * Whether the images are uploaded to the git host. If not, the description gets links to the conversation.
   */
  areUploaded: boolean
  field: UseFormRegisterReturn
}

/**
 * Lets the user choose the screenshots for the description. None is chosen at first, because a page may show
 * secrets.
 */
export function ScreenshotChoice({ screenshots, areUploaded, field }: ScreenshotChoiceProps) {
  const { t } = useTranslation()
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="text-sm font-medium">{t('pull_requests.screenshots')}</legend>
      <p className="text-xs text-muted">
        {t(areUploaded ? 'pull_requests.screenshots_uploaded' : 'pull_requests.screenshots_linked')}
      </p>
      <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3">
        {screenshots.map((one) => (
          <li key={one.id}>
            <label className="group flex cursor-pointer flex-col gap-1 text-xs" title={one.title}>
              <Thumbnail screenshot={one} />
              <span className="flex items-center gap-2">
                <input type="checkbox" value={one.id} className="size-4 shrink-0 accent-accent" {...field} />
                <span className="truncate">{one.title}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  )
}

function Thumbnail({ screenshot }: { screenshot: Screenshot }) {
  const { source, error, retry } = useEventImage(screenshot.url)
  if (error) return <ErrorState error={error} onRetry={retry} />
  return source ? (
    <img
      src={source}
      alt=""
      className="aspect-video rounded border border-border object-cover object-top outline-accent group-has-checked:outline-2"
    />
  ) : (
    <span className="aspect-video animate-pulse rounded bg-sunken" />
  )
}
