import { useTranslation } from 'react-i18next'
import { ZoomableImage } from '@/ui/overlay/zoomable-image'

/** Only pictures that travelled inside the event: a remote one would tell its host who reads here. */
export function Images({ urls, label }: { urls: readonly string[]; label?: string }) {
  const { t } = useTranslation()
  return urls
    .filter((url) => url.startsWith('data:image/'))
    .map((url) => (
      <div key={url} className="mt-2">
        <ZoomableImage src={url} alt={label ?? t('chat.attached_image')} className="max-h-80" />
      </div>
    ))
}
