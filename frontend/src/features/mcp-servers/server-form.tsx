import { zodResolver } from '@hookform/resolvers/zod'
import { useId, type ReactNode } from 'react'
import { useForm, useWatch, type UseFormReturn } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { useSaveMcpServer, type NamedMcpServer } from '@/api/agents/mcp-servers'
import { Button } from '@/ui/form/button'
import { DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Segmented } from '@/ui/form/segmented'
import { Textarea } from '@/ui/form/textarea'
import { NamedValuesField } from './named-values-field'
import { serverSchema, toForm, toServer, type ServerFormValues } from './server-schema'

export interface ServerFormProps {
  /** The server to edit. If it is left out, the form adds a new server. */
  server?: NamedMcpServer
  onCancel: () => void
  onSaved: (name: string) => void
}

type ErrorOf = (field: keyof ServerFormValues) => string | undefined

export function ServerForm({ server, onCancel, onSaved }: ServerFormProps) {
  const save = useSaveMcpServer()
  return (
    <ServerFields
      server={server}
      canSignIn
      isBusy={save.isPending}
      error={save.error}
      onSubmit={(values) =>
        save.mutate(
          { name: values.name, isNew: !server, server: toServer(values, server) },
          { onSuccess: () => onSaved(values.name) },
        )
      }
      onCancel={onCancel}
    />
  )
}

export interface ServerFieldsProps {
  server: NamedMcpServer | undefined
  /** Whether the form offers a sign-in of the user at the server. */
  canSignIn: boolean
  isBusy: boolean
  error: Error | null
  onSubmit: (values: ServerFormValues) => void
  onCancel: () => void
  /** More fields at the end of the form. */
  children?: ReactNode
}

/** The fields of a server and the buttons of the form. The caller saves the values. */
export function ServerFields(props: ServerFieldsProps) {
  const { server, canSignIn, isBusy, error, onSubmit, onCancel, children } = props
  const { t } = useTranslation()
  const form = useForm<ServerFormValues>({
    resolver: zodResolver(serverSchema),
    defaultValues: toForm(server),
  })
  const kind = useWatch({ control: form.control, name: 'kind' })
  const submit = form.handleSubmit(onSubmit)

  /** Returns the error of a field: the error of our check, or else the error from the app server. */
  function errorOf(field: keyof ServerFormValues) {
    const found = form.formState.errors[field]
    const own = found?.message ?? (found && 'root' in found ? found.root?.message : undefined)
    if (own) return t(own)
    if (!isApiError(error)) return undefined
    const named: string[] = field === 'variables' ? ['env', 'env_hosts'] : [field]
    return error.fieldErrors.find((item) => item.loc.some((part) => named.includes(String(part))))?.msg
  }

  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
      {!server && (
        <Segmented
          label={t('mcp_servers.kind')}
          value={kind}
          options={[
            { value: 'http', label: t('mcp_servers.kind_http') },
            { value: 'stdio', label: t('mcp_servers.kind_stdio') },
          ]}
          onValueChange={(value) => form.setValue('kind', value)}
        />
      )}
      <Field
        label={t('mcp_servers.name')}
        hint={t(server ? 'mcp_servers.name_fixed' : 'mcp_servers.name_hint')}
        error={errorOf('name')}
      >
        {(control) => <Input {...control} readOnly={Boolean(server)} {...form.register('name')} />}
      </Field>
      {kind === 'http' ? (
        <RemoteFields form={form} errorOf={errorOf} server={server} canSignIn={canSignIn} />
      ) : (
        <CommandFields form={form} errorOf={errorOf} server={server} />
      )}
      {children}
      {error && <ErrorState error={error} title={t('mcp_servers.save_failed')} />}
      <DialogActions>
        <Button onClick={onCancel}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={isBusy}>
          {t('action.save')}
        </Button>
      </DialogActions>
    </form>
  )
}

interface FieldsProps {
  form: UseFormReturn<ServerFormValues>
  errorOf: ErrorOf
  server?: NamedMcpServer | undefined
}

function RemoteFields({ form, errorOf, server, canSignIn }: FieldsProps & { canSignIn: boolean }) {
  const { t } = useTranslation()
  return (
    <>
      <Field label={t('mcp_servers.url')} hint={t('mcp_servers.url_hint')} error={errorOf('url')}>
        {(control) => (
          <Input
            {...control}
            className="font-mono"
            inputMode="url"
            placeholder="https://example.org/mcp"
            {...form.register('url')}
          />
        )}
      </Field>
      {canSignIn && <SignInField form={form} />}
      <NamedValuesField
        form={form}
        list="headers"
        stored={Object.keys(server?.headers ?? {})}
        error={errorOf('headers')}
      />
    </>
  )
}

function SignInField({ form }: Pick<FieldsProps, 'form'>) {
  const { t } = useTranslation()
  const id = useId()
  return (
    <div className="flex items-start gap-2">
      <input
        id={id}
        type="checkbox"
        aria-describedby={`${id}-hint`}
        className="mt-0.5 size-4 accent-accent"
        {...form.register('signsIn')}
      />
      <div>
        <label htmlFor={id} className="text-sm font-medium">
          {t('mcp_servers.signs_in')}
        </label>
        <p id={`${id}-hint`} className="text-xs text-muted">
          {t('mcp_servers.signs_in_hint')}
        </p>
      </div>
    </div>
  )
}

function CommandFields({ form, errorOf, server }: FieldsProps) {
  const { t } = useTranslation()
  return (
    <>
      <Field label={t('mcp_servers.command')} error={errorOf('command')}>
        {(control) => (
          <Input {...control} className="font-mono" placeholder="npx" {...form.register('command')} />
        )}
      </Field>
      <Field label={t('mcp_servers.args')} hint={t('mcp_servers.args_hint')} error={errorOf('args')}>
        {(control) => <Textarea {...control} className="max-h-40 font-mono" {...form.register('args')} />}
      </Field>
      <NamedValuesField
        form={form}
        list="variables"
        stored={Object.keys(server?.env ?? {})}
        error={errorOf('variables')}
      />
    </>
  )
}
