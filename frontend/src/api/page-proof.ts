/**
 * What proves to the server that a request comes from a page of this very origin. Browsers send the session cookie
 * to every port of the host, but show this storage to no other origin. Read anew for each request: another tab may
 * have signed in since.
 */
import { readStored, writeStored } from '@/lib/browser/local-storage'

const STORAGE_KEY = 'slipway.page-proof'

/** The header of requests. */
export const PROOF_HEADER = 'X-Slipway-Proof'

const SUBPROTOCOL = 'slipway'
const PROOF_SUBPROTOCOL = 'slipway.proof.'

/** If the browser stores nothing, the proof lasts as long as the page. */
let kept: string | null = null

export function pageProof(): string | null {
  const stored = readStored(STORAGE_KEY)
  return typeof stored === 'string' ? stored : kept
}

export function keepPageProof(proof: string): void {
  kept = proof
  writeStored(STORAGE_KEY, proof)
}

export function forgetPageProof(): void {
  kept = null
  writeStored(STORAGE_KEY, null)
}

/** What a WebSocket offers: it cannot send headers. The server selects the first. */
export function proofSubprotocols(): string[] {
  const proof = pageProof()
  return proof ? [SUBPROTOCOL, PROOF_SUBPROTOCOL + proof] : [SUBPROTOCOL]
}
