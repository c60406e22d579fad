import { useTranslation } from 'react-i18next'
import { ScrollPre } from '@/ui/text/scroll-pre'

export interface BuildDetailsProps {
  base: string | null
  dockerfile: string | null
  ignored: string[]
}

/** The sources of an image, and the parts of a devcontainer.json that are not used for it. */
export function BuildDetails({ base, dockerfile, ignored }: BuildDetailsProps) {
  const { t } = useTranslation()
  return (
    <div className="flex flex-col gap-3 text-sm">
      {dockerfile === null ? (
        <p className="font-mono text-xs wrap-anywhere">{base}</p>
      ) : (
        <ScrollPre
          role="region"
          aria-label={t('images.dockerfile')}
          className="max-h-72 rounded-md border border-border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap"
        >
          {dockerfile}
        </ScrollPre>
      )}
      {ignored.length > 0 && (
        <div>
          <p className="font-medium">{t('images.ignored')}</p>
          <ul className="list-disc pl-5 text-muted">
            {ignored.map((each) => (
              <li key={each} className="wrap-anywhere">
                {each}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}
