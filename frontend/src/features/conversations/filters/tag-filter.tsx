import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { tagsQuery } from '@/api/conversations/conversations'
import { tagText } from '@/lib/text/tags'
import { Select } from '@/ui/form/select'

export interface TagFilterProps {
  /** `key`, or `key:value`. Empty means any tag. */
  value: string
  onValueChange: (value: string) => void
}

/** Lets the user choose one of the existing tags. Shows nothing if there are no tags. */
export function TagFilter({ value, onValueChange }: TagFilterProps) {
  const { t } = useTranslation()
  const { data: tags = [] } = useQuery(tagsQuery())
  const texts = new Set(tags.map((tag) => tagText(tag.key, tag.value)))
  if (value) texts.add(value)
  if (texts.size === 0) return null
  return (
    <Select
      aria-label={t('tags.filter')}
      value={value}
      onChange={(event) => onValueChange(event.target.value)}
      className="w-full sm:w-44"
    >
      <option value="">{t('tags.any')}</option>
      {[...texts].map((text) => (
        <option key={text} value={text}>
          {text}
        </option>
      ))}
    </Select>
  )
}
