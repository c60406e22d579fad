import { Search } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Input } from '@/ui/form/input'

export interface SearchFieldProps {
  value: string
  onValueChange: (value: string) => void
  className?: string
}

export function SearchField({ value, onValueChange, className }: SearchFieldProps) {
  const { t } = useTranslation()
  return (
    <div className="relative">
      <Search
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-faint"
      />
      <Input
        type="search"
        aria-label={t('conversations.search')}
        placeholder={t('conversations.search_placeholder')}
        value={value}
        onChange={(event) => onValueChange(event.target.value)}
        className={className ?? 'pl-8'}
      />
    </div>
  )
}
