import { useTranslation } from 'react-i18next'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Textarea } from '@/ui/form/textarea'

export interface ImageSourceProps {
  kind: 'image' | 'dockerfile'
  text: string
  onChange: (text: string) => void
}

/** The name of an image, or the text of a Dockerfile. */
export function ImageSource({ kind, text, onChange }: ImageSourceProps) {
  const { t } = useTranslation()
  const isImage = kind === 'image'
  return (
    <Field
      label={t(isImage ? 'images.image_name' : 'images.dockerfile')}
      hint={t(isImage ? 'images.image_hint' : 'images.dockerfile_hint')}
    >
      {(control) =>
        isImage ? (
          <Input
            {...control}
            value={text}
            onChange={(event) => onChange(event.target.value)}
            placeholder="python:3.12-bookworm"
            spellCheck={false}
            autoCapitalize="none"
            className="font-mono"
          />
        ) : (
          <Textarea
            {...control}
            value={text}
            onChange={(event) => onChange(event.target.value)}
            placeholder={'FROM debian:bookworm-slim\nRUN apt-get update && apt-get install -y golang'}
            spellCheck={false}
            autoCapitalize="none"
            className="min-h-32 font-mono"
          />
        )
      }
    </Field>
  )
}
