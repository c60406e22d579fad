import { useTranslation } from 'react-i18next'
import { isEventImage, useEventImage } from '@/events/event-image'
import { LoadingImage } from '@/ui/overlay/loading-image'

/** The images of an event. */
export function Images({ urls, label }: { urls: readonly string[]; label?: string }) {
  const { t } = useTranslation()
  return urls.filter(isEventImage).map((url) => (
    <div key={url} className="mt-2">
      <Picture url={url} alt={label ?? t('chat.attached_image')} />
    </div>
  ))
}

function Picture({ url, alt }: { url: string; alt: string }) {
  return <LoadingImage picture={useEventImage(url)} alt={alt} className="max-h-80" />
}
