import { useTranslation } from 'react-i18next'
import { ErrorState } from '@/ui/feedback/error-state'
import { Skeleton } from '@/ui/feedback/skeleton'
import { ZoomableImage } from './zoomable-image'

export interface LoadingImageProps {
  picture: { source: string | undefined; error: unknown; retry: () => void }
  alt: string
  className?: string
}

/** Shows a picture. Shows a placeholder while the picture loads, and an error if it cannot be loaded. */
export function LoadingImage({ picture, alt, className }: LoadingImageProps) {
  const { t } = useTranslation()
  if (picture.error)
    return <ErrorState title={t('chat.image_failed')} error={picture.error} onRetry={picture.retry} />
  if (picture.source === undefined)
    return (
      <div role="status" aria-label={t('chat.image_loading')}>
        <Skeleton className="aspect-video max-h-80 w-full max-w-xl" />
      </div>
    )
  return <ZoomableImage src={picture.source} alt={alt} className={className} />
}
