/** What repositories would run, and what a user has said about it: docs/protocol.md, *What a repository offers*. */

import type { Schemas, Sent } from '@/api/schema'

export type OfferKind = Offer['kind']

/** A file that would run. `text` is null when it is no text. */
export type OfferedFile = Sent<Schemas['OfferedFile']>

/**
 * One thing that a repository would run, in the version that `hash` stands for. `runs`: the commands in it.
 * `left_out`: what is not understood, and so not used. `problem`: why it cannot be consented to.
 */
export type Offer = Omit<Sent<Schemas['Offer']>, 'definition'> & Pick<Schemas['Offer'], 'definition'>

/**
 * `approved`: the version that was allowed last, if this is another. `is_name_taken`: an MCP server that is not used
 * because another one has its name.
 */
export type OfferInfo = Omit<Schemas['OfferInfo'], 'offer' | 'approved' | 'is_name_taken'> & {
  offer: Offer
  approved?: Offer | null
  is_name_taken?: boolean
}

export type FurtherConsent = Omit<Schemas['FurtherConsent'], 'items'> & { items: OfferInfo[] }

export type ConversationConsent = Omit<Schemas['ConversationConsent'], 'items' | 'further'> & {
  items: OfferInfo[]
  further?: FurtherConsent[]
}

/** A decision about one version of an offer. */
export type Consent = Omit<Schemas['ConsentInfo'], 'offer'> & { offer: Offer }
