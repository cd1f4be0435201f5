import type { Transport } from '../../../kafka/transport.ts'

const LONGEST_PAUSE_MS = 10

export interface GatedTransport {
  readonly transport: Transport
  /** Lets the fetchers return their records. */
  open(): void
}

/**
 * Wraps a transport so that its fetchers return nothing until `open` is called. Until then, standby copies make no
 * progress.
 */
export function gatedTransport(transport: Transport): GatedTransport {
  let isOpen = false
  return {
    transport: {
      ...transport,
      fetcher(options) {
        const fetcher = transport.fetcher(options)
        return { ...fetcher, poll: (timeoutMs, maxBytes) => (isOpen ? fetcher.poll(timeoutMs, maxBytes) : nothing(timeoutMs)) }
      },
    },
    open() {
      isOpen = true
    },
  }
}

async function nothing(timeoutMs: number): Promise<[]> {
  await new Promise((resolve) => setTimeout(resolve, Math.min(timeoutMs, LONGEST_PAUSE_MS)))
  return []
}
