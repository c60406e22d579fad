/**
 * The page proof: a value that proves to the app server that a request comes from a page of the same origin.
 * Browsers send the session cookie to every port of the host. But only pages of the same origin can read this
 * storage. The proof is read again for each request, because another tab may have signed in since.
 */
import { readStored, writeStored } from '@/lib/browser/local-storage'

const STORAGE_KEY = 'slipway.page-proof'

/** The request header that carries the page proof. */
export const PROOF_HEADER = 'X-Slipway-Proof'

const SUBPROTOCOL = 'slipway'
const PROOF_SUBPROTOCOL = 'slipway.proof.'

/** The proof in memory. If the browser stores nothing, the proof exists until the page is closed. */
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

/**
 * Returns the subprotocols that carry the proof, because a WebSocket cannot send headers. The app server
 * selects the first one.
 */
export function proofSubprotocols(): string[] {
  const proof = pageProof()
  return proof ? [SUBPROTOCOL, PROOF_SUBPROTOCOL + proof] : [SUBPROTOCOL]
}
