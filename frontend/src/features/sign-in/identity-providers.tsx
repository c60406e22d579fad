import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { identityProvidersQuery } from '@/api/people/identities'
import { buttonClass } from '@/ui/form/button'

/**
 * A button for each identity provider. It opens the provider's page in this tab. Shows nothing if there are
 * no providers.
 */
export function IdentityProviders() {
  const { t } = useTranslation()
  const { data: providers = [] } = useQuery(identityProvidersQuery())
  if (providers.length === 0) return null
  return (
    <div className="flex flex-col gap-2">
      {providers.map(({ name, title, url }) => (
        <a key={name} href={url} className={buttonClass('primary', 'md', 'w-full')}>
          {t('sign_in.continue_with', { title })}
        </a>
      ))}
      <p className="mt-2 flex items-center gap-3 text-xs text-faint before:h-px before:flex-1 before:bg-border after:h-px after:flex-1 after:bg-border">
        {t('sign_in.or')}
      </p>
    </div>
  )
}
