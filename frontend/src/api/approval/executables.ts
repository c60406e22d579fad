/**
 * Executables are the parts of a repository that would run in a sandbox, such as hooks. This file has their
 * types and the types of a user's decisions about them. See docs/protocol.md, *What a repository offers*. On
 * the wire, an executable is named an offer.
 */

import type { Schemas, Sent } from '@/api/schema'

export type ExecutableKind = Executable['kind']

/** A file that would run. `text` is null if the file is not a text. */
export type ExecutableFile = Sent<Schemas['ExecutableFile']>

/**
 * One executable of a repository. `hash` identifies its version. `runs` are its commands. `left_out` are
 * parts that Slipway does not understand and does not use. `problem` is the reason why the user cannot allow
 * it.
 */
export type Executable = Omit<Sent<Schemas['ProjectExecutable']>, 'definition'> &
  Pick<Schemas['ProjectExecutable'], 'definition'>

/**
 * An executable with the user's decision. `approved` is the version that the user allowed last, if it differs
 * from this version. `is_name_taken` is true for an MCP server that is not used because another MCP server
 * has its name.
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
