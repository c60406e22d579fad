/**
 * Executables of repositories, and the decisions of a user about them: docs/protocol.md, *What a repository offers*.
 * On the wire, an executable is an offer.
 */

import type { Schemas, Sent } from '@/api/schema'

export type ExecutableKind = Executable['kind']

/** A file that would run. `text`: null if the file is not a text. */
export type ExecutableFile = Sent<Schemas['ExecutableFile']>

/**
 * One thing that a repository would run. `hash` identifies its version. `runs`: its commands. `left_out`: parts that
 * Slipway does not understand and does not use. `problem`: why it cannot be allowed.
 */
export type Executable = Omit<Sent<Schemas['ProjectExecutable']>, 'definition'> &
  Pick<Schemas['ProjectExecutable'], 'definition'>

/**
 * An executable with the user's decision. `approved`: the version that was allowed last, if it differs from this one.
 * `is_name_taken`: true for an MCP server that is not used because another MCP server has its name.
 */
export type ExecutableWithState = Omit<Schemas['ExecutableInfo'], 'offer' | 'approved' | 'is_name_taken'> & {
  offer: Executable
  approved?: Executable | null
  is_name_taken?: boolean
}

export type FurtherConsent = Omit<Schemas['FurtherConsent'], 'items'> & { items: ExecutableWithState[] }

export type ConversationConsent = Omit<Schemas['ConversationConsent'], 'items' | 'further'> & {
  items: ExecutableWithState[]
  further?: FurtherConsent[]
}

/** A decision about one version of an executable. */
export type Consent = Omit<Schemas['ConsentInfo'], 'offer'> & { offer: Executable }
