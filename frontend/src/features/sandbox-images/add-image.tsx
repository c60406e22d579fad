import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  type NewSandboxSpec,
  RUNTIME_PLUGINS,
  type RuntimePluginName,
  useCreateSandboxSpec,
} from '@/api/sandboxes/sandbox-specs'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Notice } from '@/ui/feedback/notice'
import { Segmented } from '@/ui/form/segmented'
import { RepositoryImageForm } from './repository-image-form'
import { ImageSource } from './image-source'
import { PluginChoices } from './plugin-choices'

type Kind = 'image' | 'dockerfile' | 'repository'

/** Adds an image by its name, from a Dockerfile, or from the files of a repository. */
export function AddImage() {
  const { t } = useTranslation()
  const [kind, setKind] = useState<Kind>('image')
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [plugins, setPlugins] = useState<readonly RuntimePluginName[]>(RUNTIME_PLUGINS)
  const create = useCreateSandboxSpec()
  const add = (spec: NewSandboxSpec) => {
    const hasAllPlugins = plugins.length === RUNTIME_PLUGINS.length
    create.mutate(hasAllPlugins ? spec : { ...spec, runtime_plugins: [...plugins] }, {
      onSuccess: () => {
        setName('')
        setText('')
        setPlugins(RUNTIME_PLUGINS)
        toast.success(t('images.added'))
      },
    })
  }
  const change = (next: Kind) => {
    setKind(next)
    setText('')
    create.reset()
  }
  const isReady = name.trim() !== '' && text.trim() !== ''
  return (
    <section aria-label={t('images.add')}>
      <h3 className="mb-3 font-medium">{t('images.add')}</h3>
      <Card className="flex flex-col gap-4 p-4">
        <Notice tone="warning">{t('images.risk')}</Notice>
        <div className="max-w-full self-start overflow-x-auto">
          <Segmented
            label={t('images.kind')}
            value={kind}
            onValueChange={change}
            options={[
              { value: 'image', label: t('images.kind_image') },
              { value: 'dockerfile', label: t('images.kind_dockerfile') },
              { value: 'repository', label: t('images.kind_repository') },
            ]}
          />
        </div>
        <Field label={t('images.name')}>
          {(control) => (
            <Input
              {...control}
              value={name}
              onChange={(event) => setName(event.target.value)}
              maxLength={100}
            />
          )}
        </Field>
        <PluginChoices enabled={plugins} onChange={setPlugins} />
        {kind === 'repository' ? (
          <RepositoryImageForm name={name.trim()} isBusy={create.isPending} onAdd={add} />
        ) : (
          <form
            className="flex flex-col gap-4"
            onSubmit={(event) => {
              event.preventDefault()
              add(
                kind === 'image'
                  ? { name: name.trim(), image: text.trim() }
                  : { name: name.trim(), dockerfile: text },
              )
            }}
          >
            <ImageSource kind={kind} text={text} onChange={setText} />
            <div>
              <Button type="submit" variant="primary" isBusy={create.isPending} disabled={!isReady}>
                {t('images.add')}
              </Button>
            </div>
          </form>
        )}
        {create.error && <ErrorState error={create.error} title={t('images.add_failed')} />}
      </Card>
    </section>
  )
}
