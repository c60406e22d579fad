import { useForm, type UseFormRegisterReturn } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type GitCredential, USUAL_HOSTS, useChangeAuthorities } from '@/api/git/git-credentials'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Textarea } from '@/ui/form/textarea'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'

/**
 * Returns whether an organisation may run this host itself. A private authority may then have signed its
 * certificate.
 */
export function isSelfHosted(host: string): boolean {
  const name = host.replace(/^https:\/\//i, '').replace(/\/$/, '')
  return (
    name !== '' && !name.startsWith('http://') && !Object.values(USUAL_HOSTS).includes(name.toLowerCase())
  )
}

/** The rule of the field: it is empty, or it contains certificates as PEM. */
export const AUTHORITIES_RULES = { pattern: /^\s*$|-----BEGIN CERTIFICATE-----/ }

export interface CertificateAuthoritiesFieldProps {
  /** The registered field. It is registered with `AUTHORITIES_RULES`. */
  field: UseFormRegisterReturn
  isInvalid: boolean
}

/** The field for the certificate authorities that are trusted for one host, as PEM. */
export function CertificateAuthoritiesField({ field, isInvalid }: CertificateAuthoritiesFieldProps) {
  const { t } = useTranslation()
  return (
    <Field
      label={t('git_hosts.authorities')}
      hint={t('git_hosts.authorities_hint')}
      error={isInvalid && t('git_hosts.authorities_invalid')}
    >
      {(control) => (
        <Textarea
          {...control}
          autoComplete="off"
          spellCheck={false}
          placeholder="-----BEGIN CERTIFICATE-----"
          className="max-h-40 min-h-20 font-mono"
          {...field}
        />
      )}
    </Field>
  )
}

/** Changes the certificate authorities of a stored connection. The token stays. */
export function CertificateAuthoritiesDialog(props: { credential: GitCredential; onClose: () => void }) {
  const { t } = useTranslation()
  const { id, host, certificate_authorities } = props.credential
  const save = useChangeAuthorities()
  const { register, handleSubmit, formState } = useForm({
    defaultValues: { certificate_authorities: certificate_authorities ?? '' },
  })
  const submit = handleSubmit((given) => save.mutate({ id, ...given }, { onSuccess: props.onClose }))
  return (
    <Dialog
      isOpen
      onOpenChange={props.onClose}
      title={t('git_hosts.authorities_of', { host })}
      description={t('git_hosts.authorities_text')}
    >
      <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
        <CertificateAuthoritiesField
          field={register('certificate_authorities', AUTHORITIES_RULES)}
          isInvalid={Boolean(formState.errors.certificate_authorities)}
        />
        {save.isError && <ErrorState error={save.error} title={t('git_hosts.authorities_failed')} />}
        <DialogActions>
          <Button onClick={props.onClose}>{t('action.cancel')}</Button>
          <Button type="submit" variant="primary" isBusy={save.isPending}>
            {t('git_hosts.authorities_save')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
